/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of an LTP link over UDP: keys, relations between them, and what follows. */
#ifndef CLA_LTP_UDP_H
#define CLA_LTP_UDP_H

#include "base/tick.h"
#include "cla/cla.h"
#include "ltp/ltp.h"

/* With aggregation the window has so many bundles for each export session. */
#define LTP_UDP_CAPSULES 64

/* The most export sessions of sessions: auto; as many as a peer lets open by default. */
#define LTP_UDP_SESSIONS_MAX 1024

enum ltp_udp_colour { LTP_UDP_RED, LTP_UDP_GREEN, LTP_UDP_ORANGE };
enum ltp_udp_state { LTP_UDP_UP, LTP_UDP_DOWN };
enum ltp_udp_recovery { LTP_UDP_PLAIN, LTP_UDP_DEFAULT, LTP_UDP_OWN };
enum ltp_udp_auth { LTP_UDP_AUTH_OFF, LTP_UDP_AUTH_ACCEPT, LTP_UDP_AUTH_REQUIRE };

struct ltp_udp_rule; /* cla/ltp/ltp_udp_rule.h */

/* peer_profile is an enum ltp_profile. Explained by the table's help texts. */
struct ltp_udp_config {
    struct cla_address local, remote;
    uint64_t engine, peer_engine; /* 0: the number of the node */
    uint64_t rate, overhead, segment, sessions;
    tick rto, owlt, margin, report_delay, report_defer, idle_timeout, burst, slack, gather;
    uint64_t retries, cycles, claims, ranges, block_max;
    uint64_t import_sessions, import_sessions_all, held_bytes, closed_sessions;
    tick closed_time;
    uint64_t accept_unknown, unknown_sessions, unknown_bytes;
    uint64_t socket_buffer, dscp;
    uint64_t aggregate;
    tick aggregate_time;
    tick orange_wait, orange_answer;
    uint64_t resend;
    bool answer_orange;
    struct ltp_udp_rule *colours; /* of the list */
    size_t colours_len;
    int colour, state, auth, auth_suite, recovery, peer_profile;
    uint64_t sessions_bytes; /* sessions 0: auto */
    tick sessions_age;
    /* with recovery: own */
    bool rto_auto, merge_claims, oldest_first;
    tick rto_min, rto_max, copy_spacing, checkpoint_time, resend_wait;
    uint64_t closing, copies, report_copies, checkpoint_segments;
    char *auth_key_file, *auth_peer_key_file, *auth_key_id, *cookie; /* NULL: "" */
    bool batch;
};

extern const struct conf_option ltp_udp_options[];

/* As cla_ops.check. */
int ltp_udp_check(const void *config, const char **key, char *why, size_t why_cap);

/* The LTP engine number of a node: its ipn node number, with a non-default allocator above it (RFC
 * 9758 §3.3.1); 0 when there is none. */
uint64_t ltp_udp_engine(const struct eid *node);

/* The retransmission timer: as configured, or 2 x owlt + margin. */
tick ltp_udp_rto(const struct ltp_udp_config *k);

/* How many bundles may be on the link at once, with so many export sessions. */
uint32_t ltp_udp_window(const struct ltp_udp_config *k, uint32_t sessions);

/* The recovery switches of a configuration. */
struct ltp_recovery ltp_udp_recovery(const struct ltp_udp_config *k);

/* What the link asks of the kernel's socket buffers, bytes of datagrams. */
uint64_t ltp_udp_buffer(const struct ltp_udp_config *k);

/* The keys of auth_…: *out is NULL when authentication is off. 0, or as ltp_udp_check. */
int ltp_udp_auth(const struct ltp_udp_config *k, struct ltp_auth **out, const char **key, char *why,
                 size_t why_cap);

struct ltp_span ltp_udp_span(const struct ltp_udp_config *k, uint64_t peer, uint64_t bundle_max,
                             bool confirm);

#endif
