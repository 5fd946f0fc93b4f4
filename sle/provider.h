/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The provider's side of a service instance: reports of production (frames, status, radiated
 * CLTUs), and requests to it. Links and notices are in sle/engine.h.
 *
 * Return services: production offers each frame with sle_provider_frame, whether the instance is
 * bound or not. The engine filters, fills transfer buffers, and delivers by the instance's mode:
 *
 *   timely    never blocks; data that cannot be sent in time is discarded and counted, and the
 *             user is notified
 *   complete  SLE_FULL when the buffers are full: offer that frame again after the notice SLE_ROOM
 *   offline   like complete, without latency limit; the host passes the recorded frames of the
 *             time range in SLE_STARTED_BY_USER, then calls sle_provider_end_of_data
 *
 * FCLTU: the engine queues CLTUs. Production takes the next one when it is due
 * (sle_provider_cltu_next) and reports its radiation.
 */
#ifndef SLE_PROVIDER_H
#define SLE_PROVIDER_H

#include "sle/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* 0 takes the default in brackets; strings and sets are copied. */
struct sle_provider_config {
    const char *id;                /* service instance identifier; says service and mode */
    const char *const *initiators; /* authority identifiers that may bind it; peers of the engine */
    size_t initiator_count;
    const char *responder_port; /* our own name of the port; with `initiate`: the user's [“”] */
    uint32_t versions; /* bit n: version n is accepted [2..5]; the highest is used to initiate */
    struct sle_when begin, end; /* service provision period; not known: unlimited */
    bool initiate;              /* sle_connect binds it, to initiators[0]; users may not */
    uint16_t return_timeout_s;  /* 1..600 [30] */
    uint16_t
        min_reporting_cycle_s; /* 2..600 [2]; sent from version 5 on; shorter ones are refused */
    /* return services */
    uint32_t buffer_frames; /* transfer buffer size: frames and notifications, 1..65535 [20] */
    tick latency; /* latency limit of a partly filled buffer [1 s]; sent in whole seconds, >= 1 */
    /* full transfer buffers that wait for the connection [16]. In timely mode one more discards
     * those of which nothing was written. 1 is as old implementations have it */
    uint32_t queue_buffers;
    bool confirm_start; /* sle_provider_answer_start decides */
    /* complete mode: frames of times before START can be had (the online frame buffer of the
     * standard); false: such a START is refused */
    bool keeps_past;
    /* of frames that name none: 1..16 octets (or an OBJECT IDENTIFIER's content) [“ANT”] */
    struct slice antenna;
    bool antenna_global;
    uint32_t permitted_quality;     /* RAF: bits of enum sle_wanted [all three] */
    const struct sle_gvcid *gvcids; /* RCF, ROCF: permitted set */
    size_t gvcid_count;             /* 1..SLE_GVCIDS_MAX */
    uint32_t permitted_words;       /* ROCF: bits of enum sle_control_word [all three] */
    uint64_t permitted_tc_vcids;    /* ROCF: bits [all]; with permitted_no_tc_vc also “any” */
    bool only_no_tc_vc;             /* ROCF: no TC VC can be asked for, only “any” */
    uint32_t permitted_updates;     /* ROCF: bits of enum sle_update [both] */
    /* FCLTU */
    uint32_t cltu_buffer; /* octets of CLTUs that are held [1 MiB] */
    /* octets of the longest CLTU, 12..65535 [4096]; more than 4096 is not by the book */
    uint16_t cltu_max;
    uint32_t cltus_max;        /* CLTUs that are held [65536] */
    uint32_t minimum_delay_us; /* shortest delayTime [0] */
    bool continue_on_abort;    /* protocolAbortMode: the queue continues to be radiated */
    bool deferred;             /* notificationMode deferred (only reported): [immediate] */
    bool bit_lock_required, rf_available_required;  /* only reported */
    uint16_t acquisition_length, plop1_idle_length; /* only reported */
    uint8_t plop;                                   /* 1, 2: plopInEffect [2] */
    uint32_t modulation_frequency;                  /* 0.1 Hz, >= 1 [1] */
    uint16_t modulation_index, subcarrier_ratio;    /* >= 1 [1] */
    bool clcw_known; /* clcwGlobalVcId and …PhysicalChannel are configured */
    struct sle_gvcid clcw_gvcid;
    const char *clcw_channel; /* 1..32 characters */
};

/* 0; HELIO_EINVAL: a value is out of its range; HELIO_EEXIST: there is one with this id;
 * HELIO_ENOMEM. */
int sle_provider_add(struct sle *s, const struct sle_provider_config *config,
                     struct sle_instance **out);

/* Answers SLE_STARTED_BY_USER of an instance with confirm_start: SLE_OK, or a diagnostic of START.
 */
void sle_provider_answer_start(struct sle_instance *i, unsigned diag, tick now);

/* Ends an association that this end has bound (`initiate`), only in SLE_READY: the user has not
 * started, or has stopped. SLE_UNBOUND and SLE_OVER follow. Returns 0; HELIO_ESTOPPED: not in this
 * state, or the user has bound; HELIO_EINVAL: the reason; HELIO_ENOMEM: the link is closed. */
int sle_provider_unbind(struct sle_instance *i, enum sle_unbind reason, tick now);

/* ---- return services ---- */

struct sle_frame {
    /* Buffer of `data`. The engine takes its own references; the octets must not change until it
     * has dropped them. NULL: data is copied. */
    struct buf *owner;
    /* Octets before `data` in `owner` that only the engine may write while it has its reference:
     * the head is written there if it fits. If there are exactly sle_provider_head of them between
     * frames, frames and heads are contiguous for the system call. 0: none. */
    size_t room;
    /* 1..65536 octets: the whole transfer frame. ROCF: also the frame; its control word is read
     * from it, see `ocf`. */
    struct slice data;
    struct sle_time time; /* earth receive time */
    struct slice antenna; /* len 0: the instance's */
    bool antenna_global;
    int32_t
        continuity; /* -1 first, 0 follows, n missing; the first frame after START always is -1 */
    enum sle_quality quality;
    struct slice annotation; /* 0..128 octets, copied */
    /* ROCF: the operational control field, four octets in `ocf`; the frame's channel is read from
     * `data`. has_ocf false: it has none, and is not delivered. */
    bool has_ocf;
    uint8_t ocf[4];
};

enum sle_taken {
    SLE_TAKEN,      /* it will be delivered (or discarded as a backlog, counted) */
    SLE_FILTERED,   /* the user did not ask for it */
    SLE_NOT_ACTIVE, /* no user is active */
    /* complete, offline: not taken (the buffers are full, or memory is out); offer it again after
     * SLE_ROOM */
    SLE_FULL
};
/* Offers a frame, whose octets are copied if they are taken. */
enum sle_taken sle_provider_frame(struct sle_instance *i, const struct sle_frame *frame, tick now);
/* Octets of a frame's head in this association (256 to 65000 octets of data, the instance's
 * antenna, no annotation); 0: not active. */
size_t sle_provider_head(const struct sle_instance *i);
/* Frames that would be taken now without SLE_FULL or a discarded backlog. 0: not active. */
size_t sle_provider_room(const struct sle_instance *i);
/* Does the user want frames of this channel or quality? For hosts that would have to build them. */
bool sle_provider_active(const struct sle_instance *i);

/* Sets production's state for status reports; the user is notified of a change (SYNC-NOTIFY; FCLTU:
 * ASYNC-NOTIFY). Return services: enum sle_production; FCLTU: enum sle_uplink_production. Initially
 * running (operational), with unknown locks. When it is interrupted or halted, radiation of a CLTU
 * ends: its data is freed, and production must report nothing about it. */
void sle_provider_production(struct sle_instance *i, unsigned production, tick now);
/* Sets the locks for status reports and notifications. */
void sle_provider_locks(struct sle_instance *i, const struct sle_locks *locks);
/* Frame synchronisation was lost at `time`: SYNC-NOTIFY with `locks`. */
void sle_provider_loss(struct sle_instance *i, struct sle_time time, const struct sle_locks *locks,
                       tick now);
/* SYNC-NOTIFY end of data, behind all frames. */
void sle_provider_end_of_data(struct sle_instance *i, tick now);
/* Sends a partly filled buffer now. */
void sle_provider_flush(struct sle_instance *i, tick now);

/* ---- FCLTU ---- */

struct sle_cltu_out {
    uint32_t id;
    struct slice data; /* valid until the CLTU is reported as radiated or interrupted */
    struct sle_when earliest, latest;
    uint32_t delay_us;
    tick ready; /* it could be radiated since: its earliest time, or its arrival if that is later */
};
/*
 * The next CLTU to radiate, if it is due. One is returned at a time; the next only after
 * sle_provider_cltu_radiated and its delay. If its latest time has passed, it is reported as
 * expired, and later ones are discarded (SLE_CLTUS_CLEARED): the user must STOP and START before
 * another is accepted (912.1 CLTU-ASYNC-NOTIFY). False: none now; call it again after
 * SLE_CLTU_READY or sle_expire.
 */
bool sle_provider_cltu_next(struct sle_instance *i, struct sle_cltu_out *out, tick now);
/* When to call sle_provider_cltu_next again; TICK_NEVER: no CLTU waits for a time. */
tick sle_provider_cltu_deadline(const struct sle_instance *i);
/* CLTUs that are held: in the queue, or being radiated. */
uint32_t sle_provider_cltus_held(const struct sle_instance *i);
/* Begin and end of its radiation, at this time. */
void sle_provider_cltu_started(struct sle_instance *i, struct sle_time at, tick now);
/* The end of its radiation, at this time. */
void sle_provider_cltu_radiated(struct sle_instance *i, struct sle_time at, tick now);
/* Sets the uplink's state for status reports. */
void sle_provider_uplink(struct sle_instance *i, enum sle_uplink status);
/* Answers SLE_EVENT_THROWN: SLE_OK or a diagnostic of THROW-EVENT. After one that is refused the
 * same invocation number is expected again: events thrown behind it that wait for an answer get
 * "out of sequence" with it, and none of the host. What is not answered when the association ends
 * was not accepted. */
void sle_provider_answer_event(struct sle_instance *i, uint16_t invoke_id, unsigned diag, tick now);
/* The result of an event's actions: SLE_ASYNC_ACTIONS_DONE, …NOT_DONE, …CONDITION_FALSE. A bound
 * user is notified. */
void sle_provider_event_done(struct sle_instance *i, uint32_t invocation, enum sle_notification how,
                             tick now);

#ifdef __cplusplus
}
#endif

#endif
