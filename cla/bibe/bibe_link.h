/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the adapter "bibe", for its bibe_*.c files. */
#ifndef CLA_BIBE_LINK_H
#define CLA_BIBE_LINK_H

#include "cla/bibe/bibe_join.h"
#include "cla/cla.h"
#include "os/world.h"

enum bibe_state { BIBE_UP, BIBE_DOWN };

/* Explained by the table's help texts. */
struct bibe_config {
    struct eid local, remote;
    tick lifetime, hold;
    uint64_t segment, window, transfers, memory, nesting;
    bool any_source;
    int state;
};

/* A bundle that goes: its encapsulating bundles are submitted one by one. */
struct bibe_sending {
    struct list node;
    uint64_t key, transfer;
    uint32_t token; /* of all its encapsulating bundles */
    uint64_t sent;  /* bytes that were submitted */
    uint64_t open;  /* encapsulating bundles without an answer of the node */
    tick ends;      /* all of them expire then */
    struct buf *bundle;
    bool cancelled;
    enum cla_reason failed; /* CLA_REASON_NONE: not so far */
};

/* A bundle that came: waits to be received, then for the node's answer. */
struct bibe_arrival {
    struct list node;
    uint64_t key;       /* of its encapsulating bundle */
    uint64_t token;     /* of ours */
    bool has_key;       /* else it was made of segments, which are done with */
    struct buf *bundle; /* NULL: it is with the node */
};

struct bibe_link {
    struct cla cla;
    struct cla_env env;
    const struct bibe_config *config;
    struct alarm alarm;
    struct list sending, arrivals; /* in the order in which they came */
    uint64_t sending_len, arrivals_len;
    struct bibe_joins joins;
    uint64_t next_transfer, next_arrival;
    uint32_t next_token;
    bool allowed;          /* by the operator */
    bool planned, contact; /* the plan says something of it; it may transmit now */
    bool up, told_up, told;
    tick heard; /* when something of its peer came last; TICK_NEVER: nothing did */
    struct {
        uint64_t bundles_sent, bundles_failed, encapsulated;
        uint64_t bundles_received, bundles_refused, segments;
        /* what was thrown away, by reason */
        uint64_t malformed, reserved, foreign, nested, corrupt, too_long, full, no_memory;
    } n;
    void (*closed)(void *context);
    void *closed_context;
};

static inline void bibe_kick(struct bibe_link *l) /* a turn soon */
{
    alarm_set(&l->alarm, 0);
}

/* bibe_config.c */
extern const struct conf_option bibe_options[];
int bibe_check(const void *config, const char **key, char *why, size_t why_cap);
int bibe_check_names(const void *config, const struct eid *node, const struct eid *peer,
                     const char **key, char *why, size_t why_cap);

/* bibe_send.c: the calls of cla_ops; _turn: what waits goes on, what is over is told */
enum cla_reason bibe_send(struct cla *c, uint64_t key, struct buf *bundle);
int bibe_cancel(struct cla *c, uint64_t key);
void bibe_submitted(struct cla *c, uint32_t token, bool ok);
void bibe_send_turn(struct bibe_link *l);
void bibe_send_forget(struct bibe_link *l); /* nothing is told any more */

/* bibe_take.c: the same for what comes */
void bibe_delivered(struct cla *c, const struct cla_delivery *d);
void bibe_confirm(struct cla *c, uint64_t token, enum cla_verdict verdict);
void bibe_take_turn(struct bibe_link *l);
void bibe_take_forget(struct bibe_link *l);

/* bibe_status.c */
void bibe_status(struct cla *c, struct json_t *object);
void bibe_gauges(const struct cla *c, struct cla_gauges *out);
void bibe_check_self(const struct cla *c);

#endif
