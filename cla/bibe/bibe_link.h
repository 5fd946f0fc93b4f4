/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the adapter "bibe", for its bibe_*.c files. */
#ifndef CLA_BIBE_LINK_H
#define CLA_BIBE_LINK_H

#include "bp/custody/custody.h"
#include "cla/bibe/bibe_join.h"
#include "cla/cla.h"
#include "os/world.h"

enum bibe_state { BIBE_UP, BIBE_DOWN };
enum bibe_custody { BIBE_CUSTODY_OFF, BIBE_CUSTODY_ON };

/* Explained by the table's help texts. */
struct bibe_config {
    struct eid local, remote;
    tick lifetime, hold;
    uint64_t segment, window, transfers, memory, nesting;
    bool any_source;
    int state;
    int custody, records; /* enum bibe_custody, custody_form */
    tick timer, signal_after;
    uint64_t custody_window, signal_count;
};

/* A bundle in transmission: its encapsulating bundles are submitted one by one. */
struct bibe_sending {
    struct list node;
    uint64_t key, transfer;
    uint64_t custody_id;    /* transmission ID; 0: without custody */
    uint32_t token;         /* of all its encapsulating bundles */
    uint64_t sent;          /* bytes that were submitted */
    uint64_t open;          /* encapsulating bundles without an answer of the node */
    struct cla_stamp stamp; /* of the latest encapsulating bundle */
    tick ends;              /* all of them expire then */
    struct buf *bundle;
    bool cancelled;
    enum cla_reason failed; /* CLA_REASON_NONE: not so far */
};

/* A received bundle: waits to be passed to the node, then for the node's answer. */
struct bibe_arrival {
    struct list node;
    uint64_t key;        /* of its encapsulating bundle */
    uint64_t token;      /* of ours */
    uint64_t custody_id; /* the peer's transmission ID; 0: it waits for no signal */
    bool has_key;        /* else it was made of segments, which are done with */
    struct buf *bundle;  /* NULL: it is with the node */
    struct buf *kept;    /* made of segments: until the node has it */
    tick until; /* likewise; at that time it is dropped, if the node has had no room for so long */
    /* Likewise: when it is passed to the node; pause before the next attempt, 0: the first. */
    tick at, pause;
};

/* Counted events for the operator; dropped bundles have their name in the status (else NULL). */
#define BIBE_NOTES(X)                                                                              \
    X(MALFORMED, "malformed", "thrown away: no encapsulating bundle of the draft")                 \
    X(RESERVED, "reserved", "thrown away: in a form of a later draft")                             \
    X(FOREIGN, "foreign", "thrown away: from another endpoint than remote")                        \
    X(NESTED, "nested", "thrown away: nested too deep (nesting)")                                  \
    X(CORRUPT, "corrupt", "transfers thrown away: their segments contradict each other")           \
    X(TOO_LONG, "too_long", "thrown away: longer than bundles.max")                                \
    X(FULL, "full", "transfers thrown away: they gave way to longer ones, or found no room")       \
    X(NO_MEMORY, "no_memory", "thrown away: out of memory")                                        \
    X(FORGED, "forged", "thrown away: custody signals from another endpoint than remote")          \
    X(UNISSUED, NULL, "sequences in custody signals of IDs that were not issued")                  \
    X(LOST, NULL, "bundles without a custody signal in time: they are sent again")                 \
    X(NOT_TAKEN, NULL, "bundles of which the peer refused custody")                                \
    X(EXPIRED, NULL, "transfers ended incomplete: hold, or the lifetime of their segments")        \
    X(FAULTY, NULL, "bundles refused for good: malformed, damaged, too long, or not secured")      \
    X(UNWANTED, NULL, "bundles refused for good: no route from here, or no rule allows them")      \
    X(PUT_OFF, NULL, "times no room: bundles stay in the store, and are tried again")
#define BIBE_NOTE_ENUM(name, word, text) BIBE_NOTE_##name,
enum bibe_note { BIBE_NOTES(BIBE_NOTE_ENUM) BIBE_NOTE_COUNT };
#undef BIBE_NOTE_ENUM

struct bibe_link {
    struct cla cla;
    struct cla_env env;
    const struct bibe_config *config;
    struct alarm alarm;
    struct list sending, arrivals; /* in order of arrival */
    uint64_t sending_len, arrivals_len;
    struct bibe_joins joins;
    struct custody *custody; /* NULL: without */
    struct cla_stamp signal; /* the latest one, if signalled */
    bool signalled;
    tick round_trip; /* light time by the contact plan; TICK_NEVER: unknown */
    uint64_t next_transfer, next_arrival;
    uint32_t next_token;
    bool allowed;          /* by the operator */
    bool planned, contact; /* the plan says something of it; it may transmit now */
    bool up;
    tick heard; /* latest arrival from its peer; TICK_NEVER: none */
    struct {
        uint64_t bundles_sent, bundles_failed, encapsulated;
        uint64_t bundles_received, bundles_refused, segments;
        uint64_t notes[BIBE_NOTE_COUNT];
    } n;
    uint64_t told_notes[BIBE_NOTE_COUNT]; /* of n.notes, what the log has */
    tick spent[BIBE_NOTE_COUNT];          /* of their allowance (base/allowance.h) */
    uint64_t waiting_bytes;               /* of arrivals made of segments, not with the node */
    uint64_t reserved;                    /* of the node's memory: these, and joins.charged */
};

static inline void bibe_kick(struct bibe_link *l) /* a turn soon */
{
    alarm_set(&l->alarm, 0);
}

/* bibe_config.c */
extern const struct conf_option bibe_options[];
int bibe_check(const void *config, const char **key, char *why, size_t why_cap);
/* As cla_ops.tunnel. */
void bibe_tunnel(const void *config, struct cla_tunnel *out);
int bibe_check_names(const void *config, const struct eid *node, const struct eid *peer,
                     const char **key, char *why, size_t why_cap);
/* As cla_ops.conflict: both have one endpoint. */
int bibe_conflict(const struct cla_named *config, const struct cla_named *other, const char **key,
                  char *why, size_t why_cap);

/* bibe_send.c: functions of cla_ops; _turn: continues queued bundles, and reports outcomes */
enum cla_reason bibe_send(struct cla *c, uint64_t key, struct buf *bundle);
int bibe_cancel(struct cla *c, uint64_t key);
void bibe_submitted(struct cla *c, uint32_t token, bool ok);
void bibe_send_turn(struct bibe_link *l);
void bibe_send_forget(struct bibe_link *l); /* drops all without reports */

/* bibe_custody.c: custody transfer with the peer; link->custody is not NULL unless noted */
int bibe_custody_open(struct bibe_link *l);
struct custody_config bibe_custody_config(const struct bibe_link *l);
void bibe_custody_times(struct bibe_link *l); /* the configuration or the plan has other times */
/* Puts a BPDU's head in front of a bundle. */
void bibe_custody_head(const struct bibe_link *l, uint64_t id, struct buf *payload);
/* The node's verdict about a bundle of the peer. */
void bibe_custody_verdict(struct bibe_link *l, uint64_t id, enum cla_verdict verdict);
void bibe_custody_refuse(struct bibe_link *l, uint64_t id); /* for good; 0: nothing */
void bibe_custody_input(struct bibe_link *l, const struct cla_delivery *d,
                        const struct custody_record *signal, struct range *at);
tick bibe_custody_turn(struct bibe_link *l); /* as bibe_take_turn; without custody TICK_NEVER */
void bibe_custody_status(const struct bibe_link *l, struct json_t *object);
void bibe_custody_gauges(const struct bibe_link *l, struct cla_gauges *out);

/* bibe_take.c: the same for received bundles */
void bibe_delivered(struct cla *c, const struct cla_delivery *d);
void bibe_confirm(struct cla *c, uint64_t token, enum cla_verdict verdict);
tick bibe_take_turn(struct bibe_link *l); /* when there is the next one; TICK_NEVER */
void bibe_take_forget(struct bibe_link *l);

/* bibe_tell.c: counts, and a line of the log follows, at most one of each kind in 10 s */
void bibe_note(struct bibe_link *l, enum bibe_note kind, uint64_t amount);
const char *bibe_note_word(enum bibe_note kind); /* of thrown_away; NULL: it is none */
tick bibe_tell(struct bibe_link *l);             /* as bibe_take_turn */

/* bibe_status.c */
void bibe_status(struct cla *c, struct json_t *object);
void bibe_gauges(const struct cla *c, struct cla_gauges *out);
void bibe_check_self(const struct cla *c);

#endif
