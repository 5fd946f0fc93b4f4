/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine's files share. */
#ifndef CSTS_ENGINE_PRIVATE_H
#define CSTS_ENGINE_PRIVATE_H

#include "csts/engine.h"
#include "sle/isp1.h"

enum {
    KEPT_REPORT = KEPT_OF_LINK, /* of a procedure: the next report */
    KEPT_LATENCY,               /* of a forward service: its first frame is too old */
    KEPT_RELEASE                /* of buffered data delivery: its return buffer is sent */
};

struct csts {
    struct isp1 isp;
    struct csts_config config;
    struct list services;
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
    struct forward *forward;   /* of Forward Frame; else NULL */
    struct delivery *delivery; /* with buffered data delivery; else NULL */
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
    struct kept timer;
    struct csts_link *link;
};

struct awaited {
    enum csts_pdu_kind kind; /* of the return */
    uint32_t id;
    tick due;
};

struct csts_link {
    struct isp1_link isp;
    struct csts *csts;
    struct csts_service *service; /* of a provider, while it is bound */
    struct csts_user_config user;
    enum csts_state state;
    bool told; /* `notice` waits for the host */
    struct csts_notice notice;
    uint32_t next_id;
    uint32_t associate_id; /* of our BIND or UNBIND */
    /* user */
    struct awaited awaited[CSTS_AWAITED_MAX]; /* in the order of their times */
    unsigned awaited_count;
    uint32_t forward_id; /* of START of frames; 0: none is awaited */
    bool forwards;       /* frames may be sent */
    bool sequenced;      /* by sequence-controlled data processing */
    bool refused;        /* a directive: a return of this one is passed over */
    uint32_t refused_id;
    struct csts_procedure delivery; /* buffered data delivery that was started last */
    uint32_t delivery_id;           /* of its START or STOP */
    bool delivers;                  /* from START's positive return to STOP's */
    struct slice elements;          /* of a return buffer, still to be reported */
    struct slice admitted;          /* credentials of the one before these */
    /* provider */
    struct procedure procedures[CSTS_PROCEDURES_MAX];
};

/* link.c */
bool assoc_engine_init(struct csts *s, const struct sle_config *config);
void assoc_abort(struct csts_link *l, unsigned diagnostic, tick now);
void assoc_refuse(struct csts_link *l, tick now); /* PEER-ABORT "protocol error" */
struct csts_notice *assoc_notice(struct csts_link *l, enum csts_notice_kind kind,
                                 const struct csts_pdu *pdu);
/* Nothing is read while the host has something to poll. */
void assoc_note_pending(struct csts_link *l);
/* Puts it into the queue. 0, HELIO_ESTOPPED, or HELIO_ENOMEM: the link has ended, then */
int assoc_send(struct csts_link *l, struct csts_pdu *p, tick now);
/* link_in.c */
void assoc_take_pdu(struct isp1_link *isp, struct slice body, tick now);
/* Are the credentials of an element of a buffer right? Those of the one before it (*last, empty:
 * there is none) are not hashed again. */
bool assoc_admit_element(struct csts_link *l, const struct csts_pdu *p, struct slice *last,
                         tick now);
static inline void assoc_timer_set(struct csts_link *l, struct kept *k, tick due)
{
    kept_set(&l->csts->isp, k, due);
}
static inline void assoc_link_timer(struct csts_link *l, unsigned kind, tick due)
{
    kept_set(&l->csts->isp, link_kept(&l->isp, kind), due);
}
static inline struct sle_time assoc_time(const struct csts *s, tick now)
{
    return isp1_time(&s->isp, now);
}
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
/* A positive return without more. */
void assoc_answer(struct csts_link *l, enum csts_pdu_kind kind, uint32_t id, tick now);
/* START's negative return: see csts_refusal_write. */
void assoc_refuse_start(struct csts_link *l, uint32_t id, const struct csts_refusal *r,
                        enum csts_known which, tick now);
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
tick assoc_user_due(const struct csts_link *l); /* of the return that is awaited first */
/* Sends it and awaits its return. The invoke id, or HELIO_E*. */
int assoc_invoke(struct csts_link *l, struct csts_pdu *p, enum csts_pdu_kind answer, tick now);
void assoc_await(struct csts_link *l, enum csts_pdu_kind answer, uint32_t id, tick now);
void assoc_user_take(struct csts_link *l, const struct csts_pdu *p, tick now);

#define COUNT(l, name) ((l)->csts->counts.name++)

#endif
