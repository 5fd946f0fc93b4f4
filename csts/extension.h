/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What procedures put into the extensions of PDUs: the octets of an EMBEDDED PDV, by the object
 * identifier in brackets. Each write returns octets, 0: they do not fit; each read is false for
 * octets that are not of this type. Slices lie in what was read.
 */
#ifndef CSTS_EXTENSION_H
#define CSTS_EXTENSION_H

#include "csts/pdu.h"

/* Parameters with their values [GET_RESULT, CYCLIC_DATA]. */
struct csts_report {
    struct slice parameters; /* encoded QualifiedParameters */
    struct csts_extended extension;
};
size_t csts_report_write(const struct csts_report *r, uint8_t *out, size_t room);
bool csts_report_read(struct slice in, struct csts_report *out);

/* START of a cyclic report [CYCLIC_START]. */
struct csts_cyclic_start {
    uint32_t cycle; /* 1..: milliseconds */
    struct csts_list list;
    struct csts_extended extension; /* ON_CHANGE_START, or not used */
};
size_t csts_cyclic_start_write(const struct csts_cyclic_start *s, uint8_t *out, size_t room);
bool csts_cyclic_start_read(struct slice in, struct csts_cyclic_start *out);
/* 922.1: only what has changed [ON_CHANGE_START]. */
size_t csts_on_change_write(bool on_change, uint8_t *out, size_t room);
bool csts_on_change_read(struct slice in, bool *on_change);

/* START of a notification [NOTIFICATION_START]. */
size_t csts_notification_start_write(const struct csts_list *l, uint8_t *out, size_t room);
bool csts_notification_start_read(struct slice in, struct csts_list *out);

/* BIND's diagnostic [BIND_DIAGNOSTIC]. */
#define CSTS_BIND_DIAGS(X, P)                                                                      \
    X(P, ACCESS_DENIED, 1, "access denied")                                                        \
    X(P, SERVICE_TYPE, 2, "service type not supported")                                            \
    X(P, VERSION, 3, "version not supported")                                                      \
    X(P, NO_INSTANCE, 4, "no such service instance")                                               \
    X(P, ALREADY_BOUND, 5, "already bound")                                                        \
    X(P, NOT_ACCESSIBLE, 6, "service instance not accessible to this initiator")                   \
    X(P, INCONSISTENT_TYPE, 7, "inconsistent service type")                                        \
    X(P, OUT_OF_SERVICE, 8, "out of service")
enum csts_bind_diag { CSTS_BIND_DIAGS(SLE_NUMBERED, CSTS_BIND_) };
const char *csts_bind_text(unsigned diagnostic);
size_t csts_bind_diag_write(enum csts_bind_diag d, struct slice text, uint8_t *out, size_t room);
bool csts_bind_diag_read(struct slice in, unsigned *d, struct slice *text);

/* Why a list of parameters or events was refused: ListOfParamEventsDiagnostics. */
enum csts_list_diag_kind {
    CSTS_UNKNOWN_RESOURCE = 0,
    CSTS_UNKNOWN_RESOURCE_TYPE = 1,
    CSTS_UNKNOWN_IDENTIFIER = 2, /* labels and names */
    CSTS_UNKNOWN_LIST = 3,
    CSTS_UNDEFINED_DEFAULT = 4,
    CSTS_UNKNOWN_PROCEDURE_TYPE = 5,
    CSTS_UNKNOWN_PROCEDURE = 6
};
struct csts_list_diag {
    enum csts_list_diag_kind kind;
    struct slice text; /* UNDEFINED_DEFAULT, UNKNOWN_LIST */
    struct csts_oid oid;
    uint32_t instance;
    struct csts_procedure procedure;
    struct slice items; /* UNKNOWN_IDENTIFIER: encoded elements, see csts_unknown_write */
};
/* One label (is_label) or name as an element of `items`, and back. */
size_t csts_unknown_write(const struct csts_name *n, bool is_label, uint8_t *out, size_t room);
bool csts_unknown_next(struct slice *rest, struct csts_name *out, bool *is_label);

/* The diagnostic of a negative return of GET or START, in one. */
enum csts_refusal_kind {
    CSTS_REFUSED_LIST,           /* list */
    CSTS_REFUSED_RANGE,          /* of a cyclic report's cycle: text */
    CSTS_REFUSED_UNABLE,         /* START: text */
    CSTS_REFUSED_OUT_OF_SERVICE, /* START: text */
    /* START of buffered data delivery: text */
    CSTS_REFUSED_MISSING_TIME,
    CSTS_REFUSED_START_TIME,
    CSTS_REFUSED_STOP_TIME,
    CSTS_REFUSED_INCONSISTENT_TIMES
};
struct csts_refusal {
    enum csts_refusal_kind kind;
    struct csts_list_diag list;
    struct slice text;
};
/* The PDV's octets and its object identifier: GET_DIAGNOSTIC for GET (`which` CSTS_GET_DIAGNOSTIC,
 * a list alone), else START_DIAGNOSTIC, in which lies CYCLIC_START_DIAGNOSTIC,
 * NOTIFICATION_START_DIAGNOSTIC or DELIVERY_START_DIAGNOSTIC (`which`). */
size_t csts_refusal_write(const struct csts_refusal *r, enum csts_known which, uint8_t *out,
                          size_t room);
/* Of whichever of these. */
bool csts_refusal_read(const struct csts_embedded *pdv, struct csts_refusal *out);

/* PROCESS-DATA: is a report of its completion wanted [PROCESS_DATA]? */
size_t csts_process_ext_write(bool report, uint8_t *out, size_t room);
bool csts_process_ext_read(struct slice in, bool *report);

/* NOTIFY of data processing [PROCESSING_NOTIFY]. */
enum csts_processed {
    CSTS_PROCESSED = 0,
    CSTS_PROCESSING_INTERRUPTED = 1,
    CSTS_PROCESSING_STARTED = 2,
    /* sequence-controlled data processing [SEQUENCE_STATUS], without a time */
    CSTS_PROCESSING_EXPIRED = 3,
    CSTS_PROCESSING_NOT_STARTED = 4
};
enum csts_production {
    CSTS_CONFIGURED = 0,
    CSTS_OPERATIONAL = 1,
    CSTS_INTERRUPTED = 2,
    CSTS_HALTED = 3
};
/* A change of it: an event of a functional resource, and its value. SANA's registry has the event
 * at .2.1.1 of the resource's type, and the type of the value at .1 of the event. The framework's
 * issue 1 had PRODUCTION_CHANGE with PRODUCTION_STATUS for all resources. */
#define CSTS_PRODUCTION_OCTETS 64
/* The event of this type; false: there is no room for its identifier. */
bool csts_production_change(const struct csts_oid *resource, struct csts_oid *change);
struct csts_name csts_production_event(const struct csts_oid *resource,
                                       const struct csts_oid *change);
struct slice csts_production_write(enum csts_production p, const struct csts_oid *change,
                                   uint8_t out[CSTS_PRODUCTION_OCTETS]);
/* Is it one of the two? */
bool csts_production_is(const struct csts_name *event);
struct csts_processing {
    bool any; /* a data unit was processed: */
    uint32_t last;
    enum csts_processed status;
    struct sle_time started;
    bool any_ok; /* one was processed with success: */
    uint32_t last_ok;
    struct sle_time stopped;
    bool change; /* the event is a change of the production status, and has it; else: */
    enum csts_production production;
};
size_t csts_processing_write(const struct csts_processing *p, uint8_t *out, size_t room);
bool csts_processing_read(struct slice in, struct csts_processing *out);

/* ---- sequence-controlled data processing ---- */

/* A data unit's number: the first one of START [SEQUENCE_START], the one that is expected next of a
 * return [SEQUENCE_POSITIVE, SEQUENCE_NEGATIVE]. */
size_t csts_unit_id_write(uint32_t id, uint8_t *out, size_t room);
bool csts_unit_id_read(struct slice in, uint32_t *id);

/* When a data unit may begin [SEQUENCE_DATA]; the generation times that START of buffered data
 * delivery asks for [DELIVERY_START]. */
struct csts_window {
    struct sle_when earliest, latest;
};
size_t csts_window_write(const struct csts_window *w, uint8_t *out, size_t room);
bool csts_window_read(struct slice in, struct csts_window *out);

/* PROCESS-DATA: as above [PROCESS_DATA], and when it may begin [SEQUENCE_DATA, within it]. */
size_t csts_sequence_ext_write(bool report, const struct csts_window *w, uint8_t *out, size_t room);
bool csts_sequence_ext_read(struct slice in, bool *report, struct csts_window *w);

/* Why a data unit was refused [SEQUENCE_DIAGNOSTIC]. */
#define CSTS_UNIT_DIAGS(X, P)                                                                      \
    X(P, UNABLE_TO_PROCESS, 0, "unable to process")                                                \
    X(P, LOCKED, 1, "service instance locked")                                                     \
    X(P, OUT_OF_SEQUENCE, 2, "out of sequence")                                                    \
    X(P, INCONSISTENT_TIMES, 3, "inconsistent time range")                                         \
    X(P, INVALID_TIME, 4, "invalid time")                                                          \
    X(P, LATE, 5, "late data")                                                                     \
    X(P, DATA_ERROR, 6, "data error")                                                              \
    X(P, UNABLE_TO_STORE, 7, "unable to store")
enum csts_unit_diag { CSTS_UNIT_DIAGS(SLE_NUMBERED, CSTS_UNIT_) };
const char *csts_unit_text(unsigned diagnostic);
size_t csts_unit_diag_write(enum csts_unit_diag d, uint8_t *out, size_t room);
bool csts_unit_diag_read(struct slice in, unsigned *d);

/* ---- directives ---- */

/* Why a directive was not accepted [DIRECTIVE_DIAGNOSTIC]; `names`: encoded elements of the last
 * three (csts_names_write). */
enum csts_directive_diag {
    CSTS_DIRECTIVE_UNKNOWN = 0,
    CSTS_DIRECTIVE_QUALIFIER = 1,
    CSTS_DIRECTIVE_PROCEDURE = 2,
    CSTS_DIRECTIVE_RESOURCE = 3,
    CSTS_DIRECTIVE_RESOURCE_PARAMETER = 4,
    CSTS_DIRECTIVE_PROCEDURE_PARAMETER = 5,
    CSTS_DIRECTIVE_RANGE = 6
};
size_t csts_directive_diag_write(enum csts_directive_diag d, struct slice names, uint8_t *out,
                                 size_t room);
bool csts_directive_diag_read(struct slice in, unsigned *d, struct slice *names);
/* Its action was not completed [DIRECTIVE_FAILED]; `names` of parameters, empty: none is named. */
size_t csts_directive_failed_write(struct slice names, uint8_t *out, size_t room);
bool csts_directive_failed_read(struct slice in, struct slice *names);

#endif
