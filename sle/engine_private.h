/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the engine's files share. A link has the stream (sle/isp1.h) and the state; an instance has
 * the service. They point at each other from BIND to the end of the association.
 */
#ifndef SLE_ENGINE_PRIVATE_H
#define SLE_ENGINE_PRIVATE_H

#include "sle/frame_head.h"
#include "sle/isp1.h"
#include "sle/provider.h"
#include "sle/user.h"

enum {
    NOTICES_MAX = 4, /* that one message can cause */
    ANSWERS_MAX =
        1 << 20,     /* octets of a provider's answers that wait: with more it does not read */
    EVENTS_MAX = 64, /* THROW-EVENTs that the host has not answered */
    CONTINUITY_MAX = 16777215,   /* dataLinkContinuity */
    BUFFER_OCTETS_MAX = 3 << 20, /* of a transfer buffer: then it is full */
    COPY_BELOW = 64,             /* octets of data that are copied to their header */
    FRONT = BUFFER_HEAD_MAX + 80 /* before the first item: the heads, and a notification */
};

/* The times of Space Link Extension, behind those of links (sle/isp1.h). */
enum kept_kind {
    /* of a provider's instance */
    KEPT_PERIOD = KEPT_OF_LINK, /* the provision period ends */
    KEPT_LATENCY,               /* the buffer being filled must leave */
    KEPT_ROOM,                  /* there may be memory again */
    KEPT_REPORT,                /* the next STATUS-REPORT */
    KEPT_CLTU,                  /* the first CLTU is due */
    KEPT_END,
    KEPT_OF_INSTANCE = KEPT_END - KEPT_OF_LINK,
    /* of a CLTU that is queued */
    KEPT_EXPIRY = KEPT_END /* its radiation must have begun */
};

struct sle {
    struct isp1 isp;
    struct list instances;
    struct sle_counts counts;
};

/* An invocation that awaits its return. */
struct awaited {
    uint8_t kind; /* enum sle_pdu_kind; 0: answered */
    uint32_t cltu_id, octets;
    tick due;
};

struct sle_link {
    struct isp1_link isp;
    struct sle *sle;
    struct sle_instance *instance; /* that it is, or was, bound for */
    enum sle_state state;
    struct sle_dialect dialect_in, dialect_out;
    struct slice buffer;                   /* of a TRANSFER-BUFFER that is being given */
    uint8_t verified[SLE_CREDENTIALS_MAX]; /* credentials that were right, of this buffer */
    size_t verified_len;
    struct sle_notice notices[NOTICES_MAX];
    unsigned notice_at, notice_count;
    /* user: awaited[id & (room - 1)] */
    struct awaited *awaited;
    uint32_t awaited_room, awaited_count;
    uint16_t first_id, next_id; /* oldest that may be awaited, next to give */
};

struct cltu {
    struct list node;
    struct kept expiry;
    struct sle_instance *instance;
    struct sle_when start; /* of its radiation; not known: it has not begun */
    tick arrived;
    struct sle_cltu c;
    uint8_t octets[];
};

/* An event that the host has not answered. */
struct thrown {
    uint32_t invocation;
    uint16_t invoke_id;
};

/* What FCLTU keeps. */
struct forward {
    struct list queue; /* struct cltu */
    struct cltu *on_air;
    size_t held;      /* octets */
    uint32_t count;   /* CLTUs held */
    uint32_t next_id; /* expected */
    uint32_t next_event;
    tick not_before; /* the delay behind the last one */
    struct sle_last_processed last_processed;
    struct sle_last_ok last_ok;
    enum sle_uplink uplink;
    uint32_t received, processed, radiated;
    bool blocked;                     /* a new START is needed */
    bool ready_told;                  /* that the first one is due */
    bool ready;                       /* sle_poll is to report this */
    bool cleared;                     /* sle_poll is to report this */
    struct thrown events[EVENTS_MAX]; /* in the order in which they were thrown */
    unsigned event_count;
};

struct provider {
    struct sle_provider_config c; /* its pointers are ours */
    uint8_t antenna[SLE_ANTENNA_MAX];
    char clcw_channel[33];
    struct sle_locks locks;
    uint32_t production;
    struct sle_start wanted; /* of the last START */
    bool has_wanted, starting;
    uint16_t start_id;
    /* STATUS-REPORT */
    uint32_t report_s; /* 0: off */
    uint32_t good, delivered, processed;
    /* return services */
    struct frame_template head;
    struct out *fill;
    tick fill_due;      /* its latency limit; KEPT_LATENCY may be that of one before it */
    bool fill_late;     /* that has passed, and the queue was full */
    struct out *spare;  /* chain by node.next */
    uint32_t queued;    /* buffers in the link's queue */
    bool backlog;       /* the next buffer begins with its notification */
    bool first;         /* the next frame is the first since START */
    int32_t missing;    /* of the continuity of frames that were not of the requested quality */
    bool refused, room; /* SLE_FULL was returned; SLE_ROOM is due */
    bool ended;         /* the stop time has been passed */
    bool has_ocf;
    uint8_t last_ocf[4];
    struct forward f;
};

struct user {
    struct sle_user_config c;
    uint32_t next_cltu;
    uint64_t available; /* octets, of the latest return */
    uint64_t in_flight; /* octets of CLTUs not answered */
    uint32_t cltus;     /* of them */
    bool resync;        /* a CLTU was refused: wait until all are answered */
};

struct sle_instance {
    struct list node;
    struct sle *sle;
    struct sle_link *link;
    struct sle_siid id;
    enum sle_service service;
    enum sle_mode mode;
    bool provides;
    char port[SLE_PORT_NAME_MAX + 1];
    char (*initiators)[SLE_AUTHORITY_MAX + 1];
    size_t initiator_count;
    uint32_t versions;
    uint16_t return_timeout_s;
    struct sle_counts counts;
    struct kept kept[KEPT_OF_INSTANCE];
    struct provider p;
    struct user u;
};

/* Counts for the engine and the link's instance. */
#define COUNT(l, name, n)                                                                          \
    do {                                                                                           \
        (l)->sle->counts.name += (n);                                                              \
        if ((l)->instance != NULL)                                                                 \
            (l)->instance->counts.name += (n);                                                     \
    } while (0)
#define COUNT_INSTANCE(i, name, n)                                                                 \
    do {                                                                                           \
        (i)->sle->counts.name += (n);                                                              \
        (i)->counts.name += (n);                                                                   \
    } while (0)

static inline struct kept *instance_kept(struct sle_instance *i, enum kept_kind kind)
{
    return &i->kept[kind - KEPT_OF_LINK];
}
/* link.c */
extern const struct isp1_service link_service;
/* As isp1_due and isp1_serve, with KEPT_RETURN and KEPT_ASSOCIATE. */
tick link_due(const struct sle_link *l, unsigned kind);
bool link_serve(struct sle_link *l, unsigned kind, tick now);
/* What is sent is of this version from now on. */
void link_speak(struct sle_link *l, uint8_t version);
struct sle_notice *link_notice(struct sle_link *l, enum sle_notice_kind kind);
void link_attach(struct sle_link *l, struct sle_instance *i, uint8_t version);
static inline void link_abort(struct sle_link *l, enum sle_end end, unsigned diagnostic, tick now)
{
    isp1_abort(&l->isp, end, diagnostic, now);
}
static inline void link_close(struct sle_link *l, enum sle_end end, tick now)
{
    isp1_close(&l->isp, end, now);
}
static inline bool link_bound(const struct sle_link *l)
{
    return l->state == SLE_READY || l->state == SLE_STARTING || l->state == SLE_ACTIVE ||
           l->state == SLE_STOPPING;
}
/* link_in.c */
void link_take_pdu(struct isp1_link *isp, struct slice body, tick now);
/* link_out.c: 0, HELIO_ENOMEM (the link has ended, then) */
int link_send(struct sle_link *l, const struct sle_pdu *pdu, tick now);
/* octets of credentials of such a PDU; 0: none are sent */
size_t link_credentials_len(const struct sle_link *l, enum sle_pdu_kind kind);
/* bind.c */
void bind_send(struct sle_link *l, tick now);
void bind_take(struct sle_link *l, const struct sle_pdu *pdu, tick now);
void bind_take_return(struct sle_link *l, const struct sle_pdu *pdu, tick now);
int unbind_send(struct sle_instance *i, enum sle_unbind reason, tick now);
void unbind_take(struct sle_link *l, const struct sle_pdu *pdu, tick now);
void unbind_take_return(struct sle_link *l, tick now);
/* provider: operate.c */
void provider_take(struct sle_link *l, const struct sle_pdu *pdu, tick now);
void provider_bound(struct sle_instance *i);
void provider_leave(struct sle_instance *i, tick now); /* the association has ended */
void provider_report(struct sle_instance *i, tick now);
tick provider_due(const struct sle_instance *i, enum kept_kind kind);
bool provider_serve(struct sle_instance *i, enum kept_kind kind, tick now); /* as link_serve */
void provider_clock(struct sle_instance *i); /* the system's clock was set */
bool provider_flags(struct sle_instance *i, struct sle_notice *out, tick now);
bool value_of(struct sle_instance *i, uint8_t version, uint32_t parameter, struct sle_value *out);
/* buffer.c */
void buffer_written(struct sle_link *l, struct out *o, tick now); /* takes it */
void buffer_dropped(struct sle_instance *i, struct out *o);       /* takes it */
void buffer_pass(struct sle_instance *i, tick now);
void buffer_room(struct sle_instance *i); /* SLE_ROOM is due if SLE_FULL was returned */
void buffer_sync(struct sle_instance *i, const struct sle_sync *sync, tick now);
void buffer_clear(struct sle_instance *i);
/* KEPT_LATENCY of what is being filled: TICK_NEVER while it waits for room, not for time. */
tick buffer_due(const struct sle_instance *i);
bool buffer_late(struct sle_instance *i, tick now);
/* forward.c */
void forward_take_cltu(struct sle_link *l, const struct sle_pdu *pdu, tick now);
void forward_forget_events(struct sle_instance *i);
void forward_take_event(struct sle_link *l, const struct sle_pdu *pdu, tick now);
void forward_clear(struct sle_instance *i);
void forward_keep(struct sle_instance *i);            /* KEPT_CLTU, of what may have changed */
void forward_clock(struct sle_instance *i);           /* all that is kept, anew */
bool forward_ready(struct sle_instance *i, tick now); /* SLE_CLTU_READY is due */
tick forward_due(const struct cltu *c, tick now);     /* its KEPT_EXPIRY, as seen at `now` */
bool forward_expire(struct cltu *c, tick now);        /* as link_serve */
/* What is being radiated is so no more; processed, not radiated. */
void forward_interrupt(struct sle_instance *i);
uint32_t forward_available(const struct sle_instance *i);
void forward_notify(struct sle_instance *i, enum sle_notification n, uint32_t invocation, tick now);
/* user.c */
void user_take(struct sle_link *l, const struct sle_pdu *pdu, tick now);

#endif
