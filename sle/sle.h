/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of Space Link Extension (CCSDS 910.x, 911.1 RAF, 911.2 RCF, 911.5 ROCF, 912.1 FCLTU,
 * 913.1 ISP1) that all of sle/ shares. Numbers are those on the wire unless said otherwise.
 */
#ifndef SLE_SLE_H
#define SLE_SLE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/slice.h"
#include "base/tick.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SLE_VERSION_MIN 2
#define SLE_VERSION_MAX 5
#define SLE_AUTHORITY_MIN 3 /* characters of an authority identifier (initiator, responder) */
#define SLE_AUTHORITY_MAX 16
#define SLE_PORT_NAME_MAX 128 /* characters of a responder port identifier */
#define SLE_SIID_MAX 255      /* characters of a service instance identifier as text */
#define SLE_ANTENNA_MAX 16    /* octets of an antenna id */
#define SLE_ANNOTATION_MAX 128
#define SLE_FRAME_MAX 65536 /* octets of a frame */
#define SLE_CLTU_MAX 4096   /* octets of a CLTU; 4098 up to version 3 */
#define SLE_QUALIFIER_MAX 1024
#define SLE_GVCIDS_MAX                                                                             \
    256 /* of a permitted set; as many as there are virtual channels of four masters */

/* serviceType of BIND. */
enum sle_service { SLE_RAF = 0, SLE_RCF = 2, SLE_ROCF = 4, SLE_FCLTU = 16 };
const char *sle_service_text(enum sle_service service); /* "raf", "rcf", "rocf", "cltu" */

/* Delivery modes, as in the service instance identifier. */
enum sle_mode { SLE_TIMELY = 0, SLE_COMPLETE = 1, SLE_OFFLINE = 2, SLE_FORWARD = 3 };
const char *sle_mode_text(enum sle_mode mode); /* "onlt", "onlc", "offl", "fwd" */

/*
 * Words that have numbers: LIST(X, P) is X(P, NAME, number, text) for each. Their enumeration, and
 * the body of a function that returns the text of a number:
 *
 *     enum sle_abort { SLE_ABORTS(SLE_NUMBERED, SLE_ABORT_) };
 *     const char *sle_abort_text(unsigned diagnostic)
 *     {
 *         SLE_TEXT_OF(SLE_ABORTS, diagnostic, "unknown reason");
 *     }
 */
#define SLE_NUMBERED(prefix, name, number, text) prefix##name = number,
#define SLE_TEXT_CASE(prefix, name, number, text)                                                  \
    case number:                                                                                   \
        return text;
#define SLE_TEXT_OF(LIST, number, otherwise)                                                       \
    do {                                                                                           \
        switch (number) {                                                                          \
            LIST(SLE_TEXT_CASE, )                                                                  \
        default:                                                                                   \
            return otherwise;                                                                      \
        }                                                                                          \
    } while (false)

/* The octet of a PEER-ABORT: SLE's own diagnostics below 128, those of the transport mapping from
 * there on. SLE_ABORT_UNKNOWN is never transmitted: the connection closed without a PEER-ABORT. */
#define SLE_ABORTS(X, P)                                                                           \
    X(P, ACCESS_DENIED, 0, "access denied")                                                        \
    X(P, UNEXPECTED_RESPONDER, 1, "unexpected responder id")                                       \
    X(P, OPERATIONAL, 2, "operational requirement")                                                \
    X(P, PROTOCOL_ERROR, 3, "protocol error")                                                      \
    X(P, COMMUNICATIONS, 4, "communications failure")                                              \
    X(P, ENCODING_ERROR, 5, "encoding error")                                                      \
    X(P, RETURN_TIMEOUT, 6, "return timeout")                                                      \
    X(P, END_OF_PERIOD, 7, "end of service provision period")                                      \
    X(P, UNSOLICITED_INVOKE_ID, 8, "unsolicited invoke id")                                        \
    X(P, OTHER, 127, "other reason")                                                               \
    X(P, TML_PROTOCOL, 128, "protocol error of the transport mapping")                             \
    X(P, TML_BAD_MESSAGE, 129, "bad message of the transport mapping")                             \
    X(P, TML_HEARTBEAT, 130, "heartbeat parameters not acceptable")                                \
    X(P, TML_ESTABLISH_TIMEOUT, 131, "establishing timed out")                                     \
    X(P, TML_HEARTBEAT_TIMEOUT, 132, "no heartbeat was received in time")                          \
    X(P, TML_UNEXPECTED_CLOSE, 133, "unexpected close of the connection")                          \
    X(P, TML_OTHER, 199, "other reason of the transport mapping")                                  \
    X(P, UNKNOWN, 256, "unknown reason")
enum sle_abort { SLE_ABORTS(SLE_NUMBERED, SLE_ABORT_) };
const char *sle_abort_text(unsigned diagnostic); /* of any octet; static */

#define SLE_BIND_DIAGS(X, P)                                                                       \
    X(P, ACCESS_DENIED, 0, "access denied")                                                        \
    X(P, SERVICE_TYPE, 1, "service type not supported")                                            \
    X(P, VERSION, 2, "version not supported")                                                      \
    X(P, NO_INSTANCE, 3, "no such service instance")                                               \
    X(P, ALREADY_BOUND, 4, "already bound")                                                        \
    X(P, NOT_ACCESSIBLE, 5, "service instance not accessible to this initiator")                   \
    X(P, INCONSISTENT_TYPE, 6, "inconsistent service type")                                        \
    X(P, INVALID_TIME, 7, "not in the service provision period")                                   \
    X(P, OUT_OF_SERVICE, 8, "out of service")                                                      \
    X(P, OTHER, 127, "other reason")
enum sle_bind_diag { SLE_BIND_DIAGS(SLE_NUMBERED, SLE_BIND_) };
/* The diagnostic in words; static. */
const char *sle_bind_text(unsigned diagnostic);

/* Reasons of UNBIND. */
enum sle_unbind {
    SLE_UNBIND_END = 0,
    SLE_UNBIND_SUSPEND = 1,
    SLE_UNBIND_VERSION = 2,
    SLE_UNBIND_OTHER = 127
};

/*
 * The diagnostic of a negative return (other than BIND's): SLE_OK = positive; a specific one of the
 * operation is its number + SLE_SPECIFIC, a common one (100 duplicate invoke id, 127 other) is its
 * number + SLE_COMMON.
 */
enum { SLE_OK = 0, SLE_COMMON = 0x100, SLE_SPECIFIC = 0x200 };
enum sle_diag {
    SLE_DUPLICATE_INVOKE_ID = SLE_COMMON + 100,
    SLE_OTHER_REASON = SLE_COMMON + 127,
    /* START of RAF, RCF, ROCF */
    SLE_START_OUT_OF_SERVICE = SLE_SPECIFIC + 0,
    SLE_START_UNABLE = SLE_SPECIFIC + 1,
    SLE_START_INVALID_START = SLE_SPECIFIC + 2,
    SLE_START_INVALID_STOP = SLE_SPECIFIC + 3,
    SLE_START_MISSING_TIME = SLE_SPECIFIC + 4,
    SLE_START_INVALID_GVCID = SLE_SPECIFIC + 5,        /* RCF, ROCF */
    SLE_START_INVALID_CONTROL_WORD = SLE_SPECIFIC + 6, /* ROCF */
    SLE_START_INVALID_TC_VCID = SLE_SPECIFIC + 7,      /* ROCF */
    SLE_START_INVALID_UPDATE_MODE = SLE_SPECIFIC + 8,  /* ROCF */
    /* START of FCLTU; 0 and 1 as above */
    SLE_START_PERIOD_EXPIRED = SLE_SPECIFIC + 2,
    SLE_START_INVALID_CLTU_ID = SLE_SPECIFIC + 3,
    /* SCHEDULE-STATUS-REPORT */
    SLE_REPORT_NOT_IN_MODE = SLE_SPECIFIC + 0,
    SLE_REPORT_ALREADY_STOPPED = SLE_SPECIFIC + 1,
    SLE_REPORT_INVALID_CYCLE = SLE_SPECIFIC + 2,
    /* GET-PARAMETER */
    SLE_GET_UNKNOWN = SLE_SPECIFIC + 0,
    /* FCLTU TRANSFER-DATA */
    SLE_CLTU_UNABLE_TO_PROCESS = SLE_SPECIFIC + 0,
    SLE_CLTU_UNABLE_TO_STORE = SLE_SPECIFIC + 1,
    SLE_CLTU_OUT_OF_SEQUENCE = SLE_SPECIFIC + 2,
    SLE_CLTU_INCONSISTENT_TIME = SLE_SPECIFIC + 3,
    SLE_CLTU_INVALID_TIME = SLE_SPECIFIC + 4,
    SLE_CLTU_LATE = SLE_SPECIFIC + 5,
    SLE_CLTU_INVALID_DELAY = SLE_SPECIFIC + 6,
    SLE_CLTU_ERROR = SLE_SPECIFIC + 7,
    /* THROW-EVENT */
    SLE_EVENT_NOT_SUPPORTED = SLE_SPECIFIC + 0,
    SLE_EVENT_OUT_OF_SEQUENCE = SLE_SPECIFIC + 1,
    SLE_EVENT_UNKNOWN = SLE_SPECIFIC + 2,
};

/*
 * A CCSDS day-segmented time: days since 1958-01-01, ms of the day (0..86,400,999), ps of the ms
 * (0..999,999,999). `pico`: it was read, or is to be written, in the form with picoseconds; else
 * with microseconds (ps is a multiple of 1,000,000, or is cut to it).
 */
struct sle_time {
    uint32_t ms, ps;
    uint16_t day;
    bool pico;
};
struct sle_when { /* ConditionalTime */
    bool known;
    struct sle_time at;
};
#define SLE_TIME_UNIX_DAY 4383 /* 1970-01-01 */

/* Unix time in ns, without leap seconds, to a time with microseconds, and back. Days beyond 16 bits
 * wrap (year 2137). Times before 1970 are 0 ns. */
struct sle_time sle_time_of(uint64_t unix_ns);
/* Unix time in ns. */
uint64_t sle_time_unix(struct sle_time t);
/* 8 octets, or 10 of a time with picoseconds; returns how many. */
size_t sle_time_put(struct sle_time t, uint8_t *out);
/* Of 8 or 10 octets; false: beyond the day or the millisecond. */
bool sle_time_get(struct slice in, struct sle_time *out);
/* < 0, 0, > 0 */
int sle_time_compare(struct sle_time a, struct sle_time b);

/* A channel of frames: transfer frame version 0 TM, 1 AOS (2 TC never), 12 USLP. */
enum { SLE_MASTER = 255, SLE_VERSION_USLP = 12 };
struct sle_gvcid {
    uint16_t scid;   /* 0..1023; of AOS frames 0..255; USLP 0..65535 */
    uint8_t version; /* 0..3, 12 */
    uint8_t vcid;    /* 0..63, or SLE_MASTER: the whole master channel */
};
/* Are the numbers in the ranges of its version? */
bool sle_gvcid_ok(struct sle_gvcid g);
/* The channel of a frame by its first octets; false: too short, or a version that is not known. */
bool sle_gvcid_of_frame(struct slice frame, struct sle_gvcid *out);
/* Is `one` (with a vcid) in `set` (a virtual channel, or its master)? */
bool sle_gvcid_has(struct sle_gvcid set, struct sle_gvcid one);

/*
 * A service instance identifier, as text: "sagr=A.spack=B.rsl-fg=C.raf=onlc1". Four attributes in
 * this order; the group is rsl-fg or fsl-fg; the last one is raf, rcf, rocf (value onltN, onlcN,
 * offlN) or cltu (cltuN). Values have no '.', '=' or blank.
 */
struct sle_siid {
    char text[SLE_SIID_MAX + 1];
};
/* HELIO_EFORMAT: it is not one, *out is unchanged. Fills service and mode where they are not NULL.
 */
int sle_siid_parse(const char *text, struct sle_siid *out, enum sle_service *service,
                   enum sle_mode *mode);
/* Is it an authority identifier: 3..16 visible characters, no blank? A port name: 1..128? */
bool sle_authority_ok(const char *text);
/* Is it a port name: 1..128 visible characters? */
bool sle_port_name_ok(const char *text);

enum sle_quality { SLE_GOOD = 0, SLE_ERRED = 1, SLE_UNDETERMINED = 2 }; /* of a frame */
/* requestedFrameQuality of RAF-START. */
enum sle_wanted {
    SLE_GOOD_ONLY = 0,
    SLE_ERRED_ONLY = 1,
    SLE_ALL_FRAMES = 2,
    SLE_WANTED_UNDEFINED = 3
};
/* Lock status of a part of the receiver. */
enum sle_lock { SLE_IN_LOCK = 0, SLE_OUT_OF_LOCK = 1, SLE_NOT_IN_USE = 2, SLE_LOCK_UNKNOWN = 3 };
/* Lock status as in SYNC-NOTIFY and status reports. */
struct sle_locks {
    enum sle_lock frame, symbol, subcarrier, carrier;
};
/* productionStatus of the return services */
enum sle_production { SLE_RUNNING = 0, SLE_INTERRUPTED = 1, SLE_HALTED = 2 };
/* productionStatus of FCLTU */
enum sle_uplink_production {
    SLE_OPERATIONAL = 0,
    SLE_CONFIGURED = 1,
    SLE_UP_INTERRUPTED = 2,
    SLE_UP_HALTED = 3
};
/* uplinkStatus of FCLTU. */
enum sle_uplink { SLE_UPLINK_UNKNOWN = 0, SLE_NO_RF = 1, SLE_NO_BIT_LOCK = 2, SLE_NOMINAL = 3 };
/* cltuStatus */
enum sle_cltu_status {
    SLE_CLTU_RADIATED = 0,
    SLE_CLTU_EXPIRED = 1,
    SLE_CLTU_INTERRUPTED = 2,
    SLE_CLTU_STARTED = 4,
    SLE_CLTU_NOT_STARTED = 5
};
/* ROCF: which control words; TC_VC_ANY: of CLCWs of any TC virtual channel (the CHOICE noTcVC) */
enum sle_control_word {
    SLE_ALL_WORDS = 0,
    SLE_CLCW = 1,
    SLE_NOT_CLCW = 2,
    SLE_WORDS_UNDEFINED = 3
};
/* updateMode of ROCF-START. */
enum sle_update { SLE_CONTINUOUS = 0, SLE_CHANGE_BASED = 1, SLE_UPDATE_UNDEFINED = 3 };
enum { SLE_TC_VC_NONE = 255 };

/* parameterName of GET-PARAMETER */
#define SLE_PARAMETERS(X, P)                                                                       \
    X(P, BIT_LOCK_REQUIRED, 3, "bitLockRequired")                                                  \
    X(P, BUFFER_SIZE, 4, "bufferSize")                                                             \
    X(P, DELIVERY_MODE, 6, "deliveryMode")                                                         \
    X(P, EXPECTED_EVENT, 9, "expectedEventInvocationIdentification")                               \
    X(P, EXPECTED_SLDU, 10, "expectedSlduIdentification")                                          \
    X(P, LATENCY_LIMIT, 15, "latencyLimit")                                                        \
    X(P, MAXIMUM_SLDU, 21, "maximumSlduLength")                                                    \
    X(P, MODULATION_FREQUENCY, 22, "modulationFrequency")                                          \
    X(P, MODULATION_INDEX, 23, "modulationIndex")                                                  \
    X(P, PERMITTED_GVCIDS, 24, "permittedGvcidSet")                                                \
    X(P, PLOP_IN_EFFECT, 25, "plopInEffect")                                                       \
    X(P, REPORTING_CYCLE, 26, "reportingCycle")                                                    \
    X(P, REQUESTED_QUALITY, 27, "requestedFrameQuality")                                           \
    X(P, REQUESTED_GVCID, 28, "requestedGvcid")                                                    \
    X(P, RETURN_TIMEOUT, 29, "returnTimeoutPeriod")                                                \
    X(P, RF_AVAILABLE_REQUIRED, 31, "rfAvailableRequired")                                         \
    X(P, SUBCARRIER_RATIO, 34, "subcarrierToBitRateRatio")                                         \
    X(P, PERMITTED_TC_VCIDS, 102, "permittedTcVcidSet")                                            \
    X(P, PERMITTED_WORDS, 101, "permittedControlWordTypeSet")                                      \
    X(P, PERMITTED_UPDATES, 103, "permittedUpdateModeSet")                                         \
    X(P, REQUESTED_WORD, 104, "requestedControlWordType")                                          \
    X(P, REQUESTED_TC_VCID, 105, "requestedTcVcid")                                                \
    X(P, REQUESTED_UPDATE, 106, "requestedUpdateMode")                                             \
    X(P, ACQUISITION_LENGTH, 201, "acquisitionSequenceLength")                                     \
    X(P, CLCW_GVCID, 202, "clcwGlobalVcId")                                                        \
    X(P, CLCW_CHANNEL, 203, "clcwPhysicalChannel")                                                 \
    X(P, MINIMUM_DELAY, 204, "minimumDelayTime")                                                   \
    X(P, NOTIFICATION_MODE, 205, "notificationMode")                                               \
    X(P, PLOP1_IDLE_LENGTH, 206, "plop1IdleSequenceLength")                                        \
    X(P, PROTOCOL_ABORT_MODE, 207, "protocolAbortMode")                                            \
    X(P, MIN_REPORTING_CYCLE, 301, "minReportingCycle")                                            \
    X(P, PERMITTED_QUALITY, 302, "permittedFrameQuality")
enum sle_parameter { SLE_PARAMETERS(SLE_NUMBERED, SLE_PAR_) };
const char *sle_parameter_text(unsigned parameter); /* "unknown" when it is none */

#ifdef __cplusplus
}
#endif

#endif
