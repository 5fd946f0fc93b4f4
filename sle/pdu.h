/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The PDUs of RAF, RCF, ROCF and FCLTU (versions 2 to 5) as structures, read from and written to
 * BER. Any definite length form is read; the shortest is written. Slices point into what was read.
 *
 * TRANSFER-BUFFER is read item by item (sle_buffer_next), and its frames are not written here: the
 * engine has templates for them (sle_frame_head).
 */
#ifndef SLE_PDU_H
#define SLE_PDU_H

#include "sle/auth.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SLE_PDUS(X)                                                                                \
    X(BIND, "BIND")                                                                                \
    X(BIND_RETURN, "BIND return")                                                                  \
    X(UNBIND, "UNBIND")                                                                            \
    X(UNBIND_RETURN, "UNBIND return")                                                              \
    X(PEER_ABORT, "PEER-ABORT")                                                                    \
    X(START, "START")                                                                              \
    X(START_RETURN, "START return")                                                                \
    X(STOP, "STOP")                                                                                \
    X(STOP_RETURN, "STOP return")                                                                  \
    X(SCHEDULE, "SCHEDULE-STATUS-REPORT")                                                          \
    X(SCHEDULE_RETURN, "SCHEDULE-STATUS-REPORT return")                                            \
    X(GET, "GET-PARAMETER")                                                                        \
    X(GET_RETURN, "GET-PARAMETER return")                                                          \
    X(BUFFER, "TRANSFER-BUFFER")                                                                   \
    X(STATUS, "STATUS-REPORT")                                                                     \
    X(CLTU, "TRANSFER-DATA")                                                                       \
    X(CLTU_RETURN, "TRANSFER-DATA return")                                                         \
    X(EVENT, "THROW-EVENT")                                                                        \
    X(EVENT_RETURN, "THROW-EVENT return")                                                          \
    X(NOTIFY, "ASYNC-NOTIFY")
#define SLE_PDU_ENUM(name, text) SLE_PDU_##name,
enum sle_pdu_kind { SLE_PDUS(SLE_PDU_ENUM) SLE_PDU_COUNT };
#undef SLE_PDU_ENUM
/* The name of a PDU; static. */
const char *sle_pdu_text(enum sle_pdu_kind kind);

struct sle_bind {
    char initiator[SLE_AUTHORITY_MAX + 1];
    char port[SLE_PORT_NAME_MAX + 1]; /* responderPortIdentifier */
    uint32_t service;                 /* serviceType: enum sle_service, or what the peer says */
    uint32_t version;
    struct sle_siid instance;
};
struct sle_bind_return {
    char responder[SLE_AUTHORITY_MAX + 1];
    bool positive;
    uint32_t version;    /* positive */
    uint32_t diagnostic; /* negative: enum sle_bind_diag */
};
struct sle_start {
    struct sle_when start, stop; /* not FCLTU */
    enum sle_wanted quality;     /* RAF */
    struct sle_gvcid gvcid;      /* RCF, ROCF */
    enum sle_control_word word;  /* ROCF */
    uint8_t tc_vcid;             /* ROCF, of SLE_CLCW: 0..63 or SLE_TC_VC_NONE */
    enum sle_update update;      /* ROCF */
    uint32_t first_cltu;         /* FCLTU */
};
struct sle_start_return {
    struct sle_time radiation_start; /* FCLTU, positive */
    struct sle_when radiation_stop;
};
/* When status reports are sent. */
enum sle_report { SLE_REPORT_NOW, SLE_REPORT_PERIODIC, SLE_REPORT_STOP };
struct sle_schedule {
    enum sle_report report;
    uint32_t cycle_s; /* PERIODIC: 2..600 is legal; what the peer says */
};
/* A parameter's value; which members mean something depends on `parameter`. */
struct sle_value {
    uint32_t parameter; /* enum sle_parameter */
    /* bufferSize, deliveryMode, latencyLimit (online), cycles, timeouts, lengths, modes, numbers */
    uint32_t number;
    /* latencyLimit offline, reportingCycle off, nothing requested (gvcid, TC VC), not configured
     * (CLCW), noTcVC (set of TC VCs) */
    bool none;
    struct sle_gvcid gvcid; /* requestedGvcid, clcwGlobalVcId */
    char text[33];          /* clcwPhysicalChannel */
    uint8_t tc_vcid;        /* requestedTcVcid: 0..63, SLE_TC_VC_NONE */
    uint32_t set;      /* bits: permittedFrameQuality, …ControlWordTypeSet, …UpdateModeSet */
    uint64_t tc_vcids; /* bits: permittedTcVcidSet */
    /* permittedGvcidSet: written from here (borrowed, `gvcid_count` of them); when read, the set's
     * content lies in `gvcid_set` for sle_gvcids_next. */
    const struct sle_gvcid *gvcids;
    size_t gvcid_count;
    struct slice gvcid_set;
};
/* The CLTU that was processed last (912.1 CLTU-ASYNC-NOTIFY). */
struct sle_last_processed {
    bool any;
    uint32_t id;
    struct sle_when start;
    enum sle_cltu_status status;
};
/* The CLTU that was radiated last (912.1 CLTU-ASYNC-NOTIFY). */
struct sle_last_ok {
    bool any;
    uint32_t id;
    struct sle_time stop;
};
/* STATUS-REPORT */
struct sle_status {
    uint32_t good;      /* RAF: error free frames */
    uint32_t delivered; /* RAF, RCF: frames delivered; ROCF: control words delivered */
    uint32_t processed; /* ROCF: frames processed; FCLTU: CLTUs processed */
    struct sle_locks locks;
    uint32_t production; /* enum sle_production, FCLTU: enum sle_uplink_production */
    /* FCLTU */
    struct sle_last_processed last_processed;
    struct sle_last_ok last_ok;
    enum sle_uplink uplink;
    uint32_t received, radiated, buffer_available;
};
struct sle_cltu {
    uint32_t id;
    struct sle_when earliest, latest;
    uint32_t delay_us;
    bool notify; /* produceNotification */
    struct slice data;
};
struct sle_cltu_return {
    uint32_t next_id; /* that is expected next */
    uint32_t buffer_available;
};
struct sle_event {
    uint32_t invocation; /* eventInvocationIdentification */
    uint32_t event;      /* 1..65535 */
    struct slice qualifier;
};
/* The number that the next event must have (912.1 CLTU-THROW-EVENT). */
struct sle_event_return {
    uint32_t next_invocation;
};
#define SLE_NOTIFICATIONS(X)                                                                       \
    X(RADIATED, "CLTU radiated")                                                                   \
    X(EXPIRED, "CLTU expired")                                                                     \
    X(INTERRUPTED, "production interrupted")                                                       \
    X(HALTED, "production halted")                                                                 \
    X(OPERATIONAL, "production operational")                                                       \
    X(BUFFER_EMPTY, "buffer empty")                                                                \
    X(ACTIONS_DONE, "action list completed")                                                       \
    X(ACTIONS_NOT_DONE, "action list not completed")                                               \
    X(CONDITION_FALSE, "event condition is false")
#define SLE_NOTIFICATION_ENUM(name, text) SLE_ASYNC_##name,
enum sle_notification { SLE_NOTIFICATIONS(SLE_NOTIFICATION_ENUM) SLE_ASYNC_COUNT };
#undef SLE_NOTIFICATION_ENUM
/* The notification in a few words; static. */
const char *sle_notification_text(enum sle_notification n);
struct sle_async {
    enum sle_notification notification;
    uint32_t invocation; /* of the last three */
    struct sle_last_processed last_processed;
    struct sle_last_ok last_ok;
    uint32_t production; /* enum sle_uplink_production */
    enum sle_uplink uplink;
};
/* SYNC-NOTIFY of the return services */
enum sle_sync_kind { SLE_SYNC_LOSS, SLE_SYNC_PRODUCTION, SLE_SYNC_BACKLOG, SLE_SYNC_END };
struct sle_sync {
    enum sle_sync_kind kind;
    struct sle_time time;   /* LOSS */
    struct sle_locks locks; /* LOSS: carrier, subcarrier, symbol */
    uint32_t production;    /* PRODUCTION */
};

struct sle_pdu {
    enum sle_pdu_kind kind;
    struct slice credentials; /* of `used`, without tag and length; len 0: unused */
    uint16_t invoke_id;       /* where the PDU has one */
    unsigned diag;            /* of a return: SLE_OK or enum sle_diag */
    union {
        struct sle_bind bind;
        struct sle_bind_return bind_return;
        uint32_t unbind; /* reason: enum sle_unbind */
        struct sle_start start;
        struct sle_start_return start_return;
        struct sle_schedule schedule;
        uint32_t parameter; /* GET */
        struct sle_value value;
        struct slice buffer; /* content of a TRANSFER-BUFFER */
        struct sle_status status;
        struct sle_cltu cltu;
        struct sle_cltu_return cltu_return;
        struct sle_event event;
        struct sle_event_return event_return;
        struct sle_async async;
        uint32_t abort;
    } u;
};

/* The speaker determines the possible PDUs. */
enum sle_speaker { SLE_FROM_USER, SLE_FROM_PROVIDER };

/*
 * How a PDU is read or written. Before the BIND the service is not known: `any_bind` reads nothing
 * but BIND, in whatever direction.
 */
struct sle_dialect {
    enum sle_service service;
    enum sle_speaker speaker;
    uint8_t version; /* 2..5 */
    bool any_bind;
};

enum sle_pdu_verdict {
    SLE_PDU_OK,
    SLE_PDU_UNKNOWN, /* no PDU of this service and speaker */
    SLE_PDU_BAD      /* undecodable: lengths, tags, values out of their range */
};
/* The whole of `in` is one PDU. */
enum sle_pdu_verdict sle_pdu_read(const struct sle_dialect *d, struct slice in,
                                  struct sle_pdu *out);

/*
 * Writes all but TRANSFER-BUFFER. Credentials are written as they are in pdu->credentials. Octets
 * written; 0: they do not fit. 2048 are enough for all but CLTU and permitted sets
 * (SLE_PDU_ROOM(pdu)). *credentials_at: where the content of `used` begins, 0 without (may be
 * NULL).
 */
size_t sle_pdu_write(const struct sle_dialect *d, const struct sle_pdu *pdu, uint8_t *out,
                     size_t room, size_t *credentials_at);
/* Octets that are enough for it. */
size_t sle_pdu_room(const struct sle_pdu *pdu);

/* What is in a TRANSFER-BUFFER. */
struct sle_item {
    bool is_sync;
    struct slice credentials;
    struct sle_sync sync;
    /* a frame (ROCF: a control word of four octets) */
    struct sle_time time;
    struct slice antenna;
    bool antenna_global; /* content of an OBJECT IDENTIFIER, else 1..16 octets */
    /* -1: the first since START; 0: follows the one before; n: some n are missing */
    int32_t continuity;
    enum sle_quality quality; /* RAF */
    struct slice annotation;  /* len 0: none */
    struct slice data;
};
/* Takes the next item off `rest`. OK, BAD; UNKNOWN: rest was empty. */
enum sle_pdu_verdict sle_buffer_next(const struct sle_dialect *d, struct slice *rest,
                                     struct sle_item *out);

/* Iterates over a permittedGvcidSet that was read: begin with .rest = the set, all else 0. */
struct sle_gvcids {
    struct slice rest, list; /* further masters; numbers of the one that is open */
    struct sle_gvcid master;
    bool bad; /* it stopped because of an error */
};
/* The next channel, or whole master (vcid SLE_MASTER); false: there is no more. */
bool sle_gvcids_next(struct sle_gvcids *it, struct sle_gvcid *out);

/* Does the service have this parameter in this version? */
bool sle_parameter_exists(const struct sle_dialect *d, uint32_t parameter);

#ifdef __cplusplus
}
#endif

#endif
