/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine's files share. */
#ifndef CSTS_ENGINE_PRIVATE_H
#define CSTS_ENGINE_PRIVATE_H

#include "base/agenda.h"
#include "base/list.h"
#include "base/rng.h"
#include "csts/engine.h"
#include "sle/replay.h"

/* Every time that the engine keeps is one of these, in the one agenda. */
enum timer_kind {
    TIMER_ESTABLISH, /* context and BIND must have come */
    TIMER_ASSOCIATE, /* the return of BIND or UNBIND must have come */
    TIMER_RETURN,    /* that of the oldest invocation */
    TIMER_SILENCE,   /* the peer must have sent something */
    TIMER_CLOSE,     /* the peer must have closed */
    TIMER_HEARTBEAT, /* we must have sent something */
    TIMER_REPORT,    /* of a procedure: the next report */
    TIMERS_OF_LINK = TIMER_REPORT
};
struct timer {
    struct heap_node node;
    enum timer_kind kind;
    struct csts_link *link;
};

struct peer {
    struct list node;
    struct sle_peer p;
    struct replay replay;
};

struct csts {
    struct csts_config config;
    struct list links, services, peers;
    uint32_t link_count;
    struct agenda agenda;
    struct rng rng;
    struct csts_counts counts;
};

/* A parameter or an event. */
struct entry {
    struct csts_name name;
    uint8_t *octets; /* a parameter: its encoded QualifiedParameter */
    uint32_t len;
    uint64_t changed; /* service.changes when it was set to something else */
};
struct entries {
    struct entry *all;
    uint32_t len, cap;
    uint32_t *sorted; /* indices by id, then by the rest of the name; NULL: not made yet */
};
struct named_list {
    struct list node;
    char *name;
    bool is_default;
    struct csts_oid *labels;
    size_t count;
};
struct csts_service {
    struct list node;
    struct csts *csts;
    struct csts_service_config c;
    struct csts_link *link;
    struct entries parameters, events;
    struct list lists; /* struct named_list */
    uint32_t list_count;
    uint64_t changes;
};

/* A procedure that is active, at the provider. */
struct procedure {
    bool active;
    struct csts_procedure name;
    bool reports; /* else it notifies */
    bool on_change;
    tick cycle, due;
    uint32_t sequence;  /* of the next report */
    uint32_t *selected; /* indices of entries */
    uint32_t selected_len;
    uint64_t told; /* service.changes at the last report */
    struct timer timer;
};

/* A message on its way out. */
struct message {
    struct list node;
    size_t len, done;
    size_t stamp, stamp_len; /* where credentials go; 0: none */
    tick stamped;            /* TICK_NEVER: not yet */
    uint8_t octets[];
};

struct awaited {
    enum csts_pdu_kind kind; /* of the return */
    uint32_t id;
    tick due;
};

struct csts_link {
    struct list node;
    struct csts *csts;
    struct csts_service *service; /* of a provider, while it is bound */
    struct csts_user_config user;
    enum csts_state state;
    bool initiator;
    char peer_id[SLE_AUTHORITY_MAX + 1];
    struct sle_peer peer;
    struct replay *replay;
    void *host;
    /* transport mapping */
    bool context;
    uint16_t heartbeat_s, dead_factor;
    tick last_in, last_out;
    struct timer timers[TIMERS_OF_LINK];
    /* in: octets [at, len) are not taken */
    uint8_t *in;
    size_t in_at, in_len, in_cap;
    size_t wanted; /* octets of the message that is not whole */
    bool hungry, eof;
    bool told; /* `notice` waits for the host */
    struct csts_notice notice;
    /* out */
    struct list queue;
    size_t queued; /* octets */
    uint32_t next_id;
    uint32_t associate_id; /* of our BIND or UNBIND */
    /* user */
    struct awaited awaited[CSTS_AWAITED_MAX]; /* in the order of their times */
    unsigned awaited_count;
    /* provider */
    struct procedure procedures[CSTS_PROCEDURES_MAX];
    /* the end */
    enum sle_stream stream;
    enum sle_end end;
    unsigned abort, bind_diag;
    bool closing; /* what is queued still goes */
    bool polite;  /* the peer closes first */
    bool over_told;
};

/* engine.c */
struct peer *assoc_peer(const struct csts *s, const char *id);
struct sle_time assoc_time(const struct csts *s, tick now);
void assoc_timer_init(struct timer *t, enum timer_kind kind, struct csts_link *l);
void assoc_timer_set(struct timer *t, tick due); /* TICK_NEVER: not */
/* link.c */
void assoc_beats(struct csts_link *l, uint16_t heartbeat_s, uint16_t dead_factor, tick now);
bool assoc_serve(struct csts_link *l, enum timer_kind kind, tick now);
void assoc_end(struct csts_link *l, enum sle_end end, enum sle_stream stream, unsigned abort,
               tick now);
void assoc_abort(struct csts_link *l, enum sle_end end, unsigned diagnostic, tick now);
void assoc_close(struct csts_link *l, enum sle_end end, tick now);
struct csts_notice *assoc_notice(struct csts_link *l, enum csts_notice_kind kind,
                                 const struct csts_pdu *pdu);
/* link_out.c; 0 or HELIO_ENOMEM: the link has ended, then */
int assoc_send(struct csts_link *l, struct csts_pdu *p, tick now);
int assoc_send_tml(struct csts_link *l, const uint8_t *octets, size_t len);
void assoc_drop_queue(struct csts_link *l);
/* link_in.c */
bool assoc_authentic(struct csts_link *l, struct slice credentials, bool binds, bool *replayed,
                     tick now);
/* bind.c */
void assoc_bind_send(struct csts_link *l, tick now);
void assoc_bind_take(struct csts_link *l, const struct csts_pdu *p, tick now);
void assoc_bind_take_return(struct csts_link *l, const struct csts_pdu *p, tick now);
void assoc_unbind_take(struct csts_link *l, const struct csts_pdu *p, tick now);
void assoc_unbind_take_return(struct csts_link *l, const struct csts_pdu *p, tick now);
/* provider.c */
void assoc_provider_take(struct csts_link *l, const struct csts_pdu *p, tick now);
void assoc_provider_leave(struct csts_link *l); /* the association has ended: nothing is active */
bool assoc_provider_may_unbind(const struct csts_link *l);
void assoc_provider_report(struct procedure *q, tick now);
/* service.c */
/* What a list of parameters or events means: indices of entries, each once. */
struct selection {
    uint32_t *found;
    uint32_t len;
    bool refused; /* by `why`, whose items lie in `items`; else memory was out */
    struct csts_list_diag why;
    uint8_t *items;
};
/* False: refused, or no memory. assoc_selection_fini frees it in any case. */
bool assoc_select_entries(struct selection *s, struct csts_service *v, struct entries *of,
                          const struct csts_list *list);
void assoc_selection_fini(struct selection *s);
void assoc_service_free(struct csts_service *v);
/* user.c */
void assoc_user_take(struct csts_link *l, const struct csts_pdu *p, tick now);

#define COUNT(l, name) ((l)->csts->counts.name++)

#endif
