/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of an LTP link over UDP: its keys, relations between them, and derived
 * values. */
#ifndef CLA_LTP_CONFIG_H
#define CLA_LTP_CONFIG_H

#include "base/tick.h"
#include "cla/cla.h"
#include "cla/framed/frame_keys.h"
#include "cla/udp_keys.h"
#include "erasure/erasure.h"
#include "ltp/options.h"

/* With aggregation the window has so many bundles for each export session. */
#define LTP_LINK_CAPSULES 64

/* The most export sessions of sessions: auto; as many as a peer lets open by default. */
#define LTP_LINK_SESSIONS_MAX 1024

enum ltp_link_colour { LTP_LINK_RED, LTP_LINK_GREEN, LTP_LINK_ORANGE };
enum ltp_link_state { LTP_LINK_UP, LTP_LINK_DOWN };
enum ltp_link_recovery { LTP_LINK_PLAIN, LTP_LINK_DEFAULT, LTP_LINK_OWN };
enum ltp_link_erasure_codec { LTP_LINK_ERASURE_OFF, LTP_LINK_ERASURE_RS, LTP_LINK_ERASURE_RS8 };
enum ltp_link_auth { LTP_LINK_AUTH_OFF, LTP_LINK_AUTH_ACCEPT, LTP_LINK_AUTH_REQUIRE };

struct ltp_link_rule; /* cla/ltp/ltp_rule.h */

/* A field for each line of the tables of ltp/options.h. */
#define LTP_LINK_TYPE_TIME tick
#define LTP_LINK_TYPE_BYTES uint64_t
#define LTP_LINK_TYPE_COUNT uint64_t
#define LTP_LINK_TYPE_FLAG bool
#define LTP_LINK_FIELD(group, name, unit, field, part, initial, least, most, word, help)           \
    LTP_LINK_TYPE_##unit name;
#define LTP_ENGINE_FIELD(key, name, unit, field, initial, least, most, help)                       \
    LTP_LINK_TYPE_##unit name;

/* peer_profile is an enum ltp_profile. Explained by the tables' help texts. */
struct ltp_link_config {
    struct udp_keys udp;
    struct pace_keys pace;
    struct frame_keys frames;
    uint64_t engine, peer_engine; /* 0: the number of the node */
    LTP_OPTIONS(LTP_LINK_FIELD)   /* as the file says them; sessions 0: auto */
    tick owlt, margin, gather;
    LTP_ENGINE_OPTIONS(LTP_ENGINE_FIELD)
    uint64_t aggregate;
    tick aggregate_time;
    uint64_t resend;
    bool answer_orange;
    struct ltp_link_rule *colours; /* of the list */
    size_t colours_len;
    int colour, state, auth, auth_suite, recovery, peer_profile;
    int source;  /* enum address_check */
    int erasure; /* enum ltp_link_erasure_codec */
    double erasure_rate;
    uint64_t erasure_span, erasure_interleave, erasure_matrices;
    bool erasure_requests;
    bool erasure_adaptive;
    tick erasure_time;
    char *auth_key_file, *auth_peer_key_file, *auth_key_id, *cookie; /* NULL: "" */
};

extern const struct conf_option ltp_link_options[];
extern const struct cla_renamed ltp_link_renamed[];

/* As cla_ops.needs. */
const char *ltp_link_needs(const char *key);
/* As cla_ops.check. */
int ltp_link_check(const void *config, const char **key, char *why, size_t why_cap);
/* As cla_ops.warn: it listens at all addresses without authentication. */
bool ltp_link_warn(const void *config, const struct eid *node, int64_t now, const char **key,
                   char *why, size_t cap);

/* The LTP engine number of a node: its ipn node number, with a non-default allocator above it (RFC
 * 9758 §3.3.1); 0 when there is none. */
uint64_t ltp_link_engine(const struct eid *node);

/* The longest segment: as configured, or the capacity of a TC frame. The keys of frames must be
 * valid. */
uint32_t ltp_link_segment(const struct ltp_link_config *k);

/* Permitted excess length of a checkpoint: as configured, within the capacity of a frame, and
 * within the usual path limits that the longest segment observes. */
uint32_t ltp_link_extra(const struct ltp_link_config *k);

/* The erasure code as erasure/erasure.h wants it, but for `first` and the arithmetic, when
 * `erasure` is not off. NULL, or what is wrong. */
const char *ltp_link_erasure(const struct ltp_link_config *k, struct erasure_config *out);

/* From a segment of a matrix until its repair segments have arrived, requested ones included, at
 * most; 0 without a code. */
tick ltp_link_matrix_time(const struct ltp_link_config *k);

/* The retransmission timer: as configured, or 2 x owlt + margin; with erasure code one matrix
 * longer. */
tick ltp_link_rto(const struct ltp_link_config *k);

/* How many bundles may be on the link at once, with so many export sessions. */
uint32_t ltp_link_window(const struct ltp_link_config *k, uint32_t sessions);

/* The recovery switches of a configuration. */
struct ltp_recovery ltp_link_recovery(const struct ltp_link_config *k);

/* What the link asks of the kernel's socket buffers, bytes of datagrams. */
uint64_t ltp_link_buffer(const struct ltp_link_config *k);

/* The keys of auth_…: *out is NULL when authentication is off. 0, or as ltp_link_check. */
int ltp_link_auth(const struct ltp_link_config *k, struct ltp_auth **out, const char **key,
                  char *why, size_t why_cap);

struct ltp_span ltp_link_span(const struct ltp_link_config *k, uint64_t peer, uint64_t bundle_max,
                              bool confirm);

#endif
