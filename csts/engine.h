/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cross Support Transfer Services over ISP1: associations of both sides, and the procedures of
 * Monitored Data; those of Forward Frame are in csts/forward.h, buffered data delivery is in
 * csts/delivery.h. Pure: no I/O, no clock, no
 * callbacks but the hash.
 *
 *   set up:  csts_new · csts_peer_set · provider: csts_service_new, csts_parameter_add …
 *   links:   csts_accept (provider) · csts_connect (user)
 *   push:    csts_link_fed · csts_link_urgent · csts_link_closed · csts_link_wrote · csts_expire,
 *            csts_parameter_set, csts_event_raise · csts_get, csts_start_report …
 *   pull:    csts_link_poll (the next notice) · csts_link_output (what to write) ·
 *            csts_link_stream (whether to close) · csts_link_reads, csts_link_space · csts_deadline
 *
 * After each push the host polls the links until there is no notice, and writes what
 * csts_link_output gives. Time never goes back. The user binds. An association:
 *
 *   connection → context → BIND → bound ⇄ procedures inactive/active → UNBIND → ended
 *
 * and any failure ends it at once. Each procedure has the states of 921.1-B-2: inactive, and active
 * between START and STOP; information query has none. A provider does what the procedures demand by
 * itself: its host sets values and raises events.
 */
#ifndef CSTS_ENGINE_H
#define CSTS_ENGINE_H

#include "csts/extension.h"
#include "sle/engine.h"

enum {
    CSTS_PROCEDURES_MAX = 16, /* active at once in an association */
    CSTS_AWAITED_MAX = 64,    /* of a user: invocations without a return */
    CSTS_ENTRIES_MAX = 16384, /* parameters of a service; events */
    CSTS_LISTS_MAX = 256,     /* named lists of a service */
    CSTS_LABELS_MAX = 4096,   /* of a named list */
    CSTS_VALUE_MAX = 65536,   /* octets of a parameter's values */
    CSTS_UNIT_NO_DIAG = 255   /* a reason that is none of its own: pdu.diagnostic */
};

struct csts;
struct csts_link;
struct csts_service;
struct isp1; /* sle/isp1.h */
struct isp1_link;

/* 0 takes the default in brackets. */
struct csts_config {
    struct sle_identity self; /* our authority identifier and password */
    struct sle_tml_terms tml; /* copied; message_max [1 MiB] */
    tick auth_delay;          /* how old or early credentials may be [180 s] */
    sle_hash_function *hash;  /* NULL: no authentication */
    void *hash_context;
    uint64_t seed;             /* of the random numbers in credentials */
    uint64_t unix_ns;          /* Unix time at tick 0 */
    uint32_t links_max;        /* [1024] */
    uint32_t backlog_max;      /* octets that wait for a slow user [1 MiB]: reports are left out,
                                  invocations are not read; NOTIFYs end the association at four
                                  times as much */
    uint16_t return_timeout_s; /* of a user [60] */
};
/* NULL: memory is out, or the identity is none. */
struct csts *csts_new(const struct csts_config *config);
void csts_free(struct csts *s); /* with links and services */
void csts_clock_set(struct csts *s, uint64_t unix_ns);
/* A remote application; SLE_HASH_BY_VERSION is SHA-256. 0, HELIO_EINVAL, HELIO_ENOMEM. */
int csts_peer_set(struct csts *s, const struct sle_peer *peer);

#define CSTS_COUNTS(X)                                                                             \
    ISP1_COUNTS(X)                                                                                 \
    X(ignored, "PDUs ignored")                                                                     \
    X(reports, "reports queued, or received")                                                      \
    X(reports_left_out, "reports that were due and not sent: the user was slow")                   \
    X(events, "NOTIFYs queued, or received")                                                       \
    X(queries, "GETs answered")                                                                    \
    X(returns_negative, "negative returns")
#define CSTS_COUNT_FIELD(name, text) uint64_t name;
struct csts_counts {
    CSTS_COUNTS(CSTS_COUNT_FIELD)
};
#undef CSTS_COUNT_FIELD
const struct csts_counts *csts_counts(const struct csts *s);

/* ---- a provider's service instances ---- */

struct csts_service_config {
    struct csts_instance_id id;
    char initiator[SLE_AUTHORITY_MAX + 1]; /* the peer that may bind; "": each peer that is known */
    uint32_t cycle_min;                    /* least delivery cycle, ms [100] */
    uint32_t version;                      /* of the service in BIND [CSTS_VERSION] */
};
/* NULL: memory is out, or there is one with this identifier. */
struct csts_service *csts_service_new(struct csts *s, const struct csts_service_config *config);

/* A parameter without a value (unavailable). Returns its index, from 0 on; HELIO_ENOMEM,
 * HELIO_EINVAL (the name is there), HELIO_EAGAIN. */
int csts_parameter_add(struct csts_service *v, const struct csts_name *name);
/* Its values from now on: encoded QualifiedValues (csts_values_write). True: they have changed. An
 * error, or none: `changed` may be NULL. HELIO_ENOMEM, HELIO_EINVAL. */
int csts_parameter_set(struct csts_service *v, int index, struct slice values, bool *changed);
int csts_event_add(struct csts_service *v, const struct csts_name *name);
/* Tells each association whose notification procedure has asked for it; `values` as above, empty:
 * the event has none. Returns how many NOTIFYs were queued. */
size_t csts_event_raise(struct csts_service *v, int index, struct slice values, tick now);
/* A list of labels with a name; `is_default`: also without its name. HELIO_E*. */
int csts_list_add(struct csts_service *v, const char *name, bool is_default,
                  const struct csts_oid *labels, size_t count);
/* NULL: no user is bound. */
struct csts_link *csts_service_link(const struct csts_service *v);

/* ---- time ---- */

/* The head of the one agenda of the engine. */
tick csts_deadline(const struct csts *s);
/* Serves one time that is due; *link: whose it was. False: there is none. Call it until then. */
bool csts_expire(struct csts *s, struct csts_link **link, tick now);

/* ---- links ---- */

struct csts_link *csts_accept(struct csts *s, tick now); /* NULL: memory, links_max */

struct csts_user_config {
    char responder[SLE_AUTHORITY_MAX + 1]; /* a peer that is known */
    char port[SLE_PORT_NAME_MAX + 1];      /* responder port identifier */
    struct csts_instance_id id;
    uint32_t version; /* [CSTS_VERSION] */
};
/* A connection was made: context and BIND are the first output. NULL: memory, links_max, the peer
 * is not known. */
struct csts_link *csts_connect(struct csts *s, const struct csts_user_config *config, tick now);
void csts_link_free(struct csts_link *l); /* in any state, without a word to the peer */
/* For cla/framed/isp1_conn.h. */
struct isp1_link *csts_link_isp1(struct csts_link *l);
struct isp1 *csts_isp1(struct csts *s);

enum csts_state { CSTS_UNBOUND, CSTS_BINDING, CSTS_BOUND, CSTS_UNBINDING, CSTS_ENDED };
enum csts_state csts_link_state(const struct csts_link *l);
/* The peer's authority identifier as its BIND or BIND return said, "" before. */
const char *csts_link_peer(const struct csts_link *l);

/* As sle_link_… of sle/engine.h. */
bool csts_link_reads(const struct csts_link *l);
uint8_t *csts_link_space(struct csts_link *l, size_t *len);
void csts_link_fed(struct csts_link *l, size_t len, tick now);
void csts_link_urgent(struct csts_link *l, uint8_t octet, tick now);
void csts_link_closed(struct csts_link *l, tick now);
size_t csts_link_output(struct csts_link *l, struct slice *parts, size_t max, tick now);
void csts_link_wrote(struct csts_link *l, size_t octets, tick now);
enum sle_stream csts_link_stream(const struct csts_link *l);
size_t csts_link_backlog(const struct csts_link *l);      /* octets queued for output */
uint8_t csts_link_abort_octet(const struct csts_link *l); /* of SLE_STREAM_ABORT */
void csts_link_abort(struct csts_link *l, enum csts_abort diagnostic, tick now);

/* ---- a user's calls ---- */

/* Each returns the invoke id (>= 0) that its return has, or HELIO_ESTOPPED (not bound),
 * HELIO_EAGAIN (CSTS_AWAITED_MAX), HELIO_ENOMEM, HELIO_EINVAL. */
int csts_get(struct csts_link *l, const struct csts_list *list, tick now);
/* number 0: the prime procedure; else the secondary one with this number. cycle in ms. */
int csts_start_report(struct csts_link *l, uint32_t number, uint32_t cycle, bool on_change,
                      const struct csts_list *list, tick now);
int csts_stop_report(struct csts_link *l, uint32_t number, tick now);
/* number >= 1 */
int csts_start_events(struct csts_link *l, uint32_t number, const struct csts_list *list, tick now);
int csts_stop_events(struct csts_link *l, uint32_t number, tick now);
int csts_unbind(struct csts_link *l, tick now);

/* ---- notices ---- */

enum csts_notice_kind {
    CSTS_TOLD_BOUND,
    CSTS_TOLD_STARTED, /* provider: procedure. user: its return; invoke_id, positive … */
    CSTS_TOLD_STOPPED,
    CSTS_TOLD_VALUES,    /* user: the return of GET */
    CSTS_TOLD_REPORT,    /* user: pdu is a TRANSFER-DATA, report */
    CSTS_TOLD_EVENT,     /* user: pdu is a NOTIFY */
    CSTS_TOLD_DATA,      /* user: pdu is a TRANSFER-DATA of buffered data delivery */
    CSTS_TOLD_UNITS,     /* provider: frames were queued: csts_forward_next */
    CSTS_TOLD_PROCESSED, /* user: pdu is a NOTIFY of data processing; processing */
    CSTS_TOLD_ANSWER,    /* user: the return of PROCESS-DATA; next_unit, unit_diag */
    CSTS_TOLD_DIRECTIVE, /* user: the acknowledgement or the return of a directive (pdu.kind) */
    CSTS_TOLD_UNBOUND,
    CSTS_TOLD_OVER /* comes last, once */
};
/* Slices in it stay until the next poll. */
struct csts_notice {
    enum csts_notice_kind kind;
    struct csts_pdu pdu; /* the received PDU, but of BOUND and UNITS of a provider and of OVER */
    struct csts_report report;         /* VALUES (positive), REPORT */
    struct csts_processing processing; /* PROCESSED */
    bool has_next;                     /* ANSWER: the number that is expected next is known: */
    uint32_t next_unit;
    unsigned unit_diag; /* ANSWER, negative: enum csts_unit_diag, or CSTS_UNIT_NO_DIAG */
    enum sle_end end;   /* OVER */
    unsigned bind_diag; /* OVER with SLE_END_REFUSED: enum csts_bind_diag, 0: another reason */
    unsigned abort;     /* OVER: the octet, or SLE_ABORT_UNKNOWN */
};
bool csts_link_poll(struct csts_link *l, struct csts_notice *out, tick now);

/* Invariants, asserted. */
void csts_check(const struct csts *s);
/* After csts_expire has said false at `now`: no time has passed unserved, asserted. */
void csts_check_served(const struct csts *s, tick now);

#endif
