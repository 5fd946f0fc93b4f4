/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PDUs of the framework (CstsFrameworkPdu of 921.1-B-2 annex F), read and written by one walk each.
 * What a procedure adds to a PDU is an EMBEDDED PDV: an object identifier and octets. These octets
 * are read and written by the functions of csts/extension.h.
 *
 * Slices of a PDU that was read lie in the octets that were read.
 */
#ifndef CSTS_PDU_H
#define CSTS_PDU_H

#include "csts/csts.h"

#define CSTS_PDUS(X)                                                                               \
    X(BIND, "BIND")                                                                                \
    X(BIND_RETURN, "BIND return")                                                                  \
    X(UNBIND, "UNBIND")                                                                            \
    X(UNBIND_RETURN, "UNBIND return")                                                              \
    X(PEER_ABORT, "PEER-ABORT")                                                                    \
    X(START, "START")                                                                              \
    X(START_RETURN, "START return")                                                                \
    X(STOP, "STOP")                                                                                \
    X(STOP_RETURN, "STOP return")                                                                  \
    X(EXECUTE_DIRECTIVE, "EXECUTE-DIRECTIVE")                                                      \
    X(DIRECTIVE_ACKNOWLEDGE, "EXECUTE-DIRECTIVE acknowledgement")                                  \
    X(DIRECTIVE_RETURN, "EXECUTE-DIRECTIVE return")                                                \
    X(GET, "GET")                                                                                  \
    X(GET_RETURN, "GET return")                                                                    \
    X(NOTIFY, "NOTIFY")                                                                            \
    X(PROCESS_DATA, "PROCESS-DATA")                                                                \
    X(PROCESS_DATA_RETURN, "PROCESS-DATA return")                                                  \
    X(FORWARD_BUFFER, "forward buffer")                                                            \
    X(TRANSFER_DATA, "TRANSFER-DATA")                                                              \
    X(RETURN_BUFFER, "return buffer")
#define CSTS_PDU_ENUM(name, text) CSTS_PDU_##name,
enum csts_pdu_kind { CSTS_PDUS(CSTS_PDU_ENUM) CSTS_PDU_COUNT };
#undef CSTS_PDU_ENUM
const char *csts_pdu_text(enum csts_pdu_kind kind);

/* EMBEDDED PDV with the alternative `syntax`. */
struct csts_embedded {
    struct csts_oid oid;
    struct slice data;
};
struct csts_extended {
    bool used;
    struct csts_embedded pdv;
};

enum csts_role { CSTS_PRIME = 0, CSTS_SECONDARY = 1, CSTS_ASSOCIATION = 2 };
struct csts_procedure {
    struct csts_oid type;
    enum csts_role role;
    uint32_t number; /* CSTS_SECONDARY: 1.. */
};
bool csts_procedure_same(const struct csts_procedure *a, const struct csts_procedure *b);

/* The name of a parameter, an event or a directive; with `label`, one for each instance: only
 * `resource.type` or `procedure.type`. */
struct csts_name {
    bool is_procedure;
    struct csts_oid resource; /* functional resource type */
    uint32_t instance;        /* functional resource instance number, 1.. */
    struct csts_procedure procedure;
    struct csts_oid id;
};
bool csts_name_same(const struct csts_name *a, const struct csts_name *b);

/* ListOfParametersEvents. */
enum csts_list_kind {
    CSTS_LIST_DEFAULT = 0,
    CSTS_LIST_NAMES = 1,
    CSTS_LIST_LABELS = 2,
    CSTS_LIST_NAMED = 3,
    CSTS_LIST_RESOURCE = 4,
    CSTS_LIST_RESOURCE_TYPE = 5,
    CSTS_LIST_PROCEDURE_TYPE = 6,
    CSTS_LIST_PROCEDURE = 7
};
struct csts_list {
    enum csts_list_kind kind;
    struct slice text;   /* NAMED */
    struct csts_oid oid; /* RESOURCE_TYPE, PROCEDURE_TYPE, and the type of RESOURCE */
    uint32_t instance;   /* RESOURCE */
    struct csts_procedure procedure;
    struct slice items; /* NAMES, LABELS: the encoded elements */
};
/* The next element; false: there is none (also when the octets are none: they are checked when the
 * PDU is read). */
bool csts_names_next(struct slice *rest, struct csts_name *out);
bool csts_labels_next(struct slice *rest, struct csts_oid *out);
/* Encoded elements for `items`; octets written, 0: they do not fit, or there are none. */
size_t csts_names_write(const struct csts_name *names, size_t count, uint8_t *out, size_t room);
size_t csts_labels_write(const struct csts_oid *labels, size_t count, uint8_t *out, size_t room);

/* QualifiedValue. */
enum csts_state_of_value {
    CSTS_VALID = 0,
    CSTS_UNAVAILABLE = 1,
    CSTS_UNDEFINED = 2,
    CSTS_ERROR = 3
};
struct csts_value {
    enum csts_state_of_value state;
    struct csts_embedded pdv; /* CSTS_VALID: type, and the encoded value */
};
/* QualifiedParameter: a name and values. */
struct csts_parameter {
    struct csts_name name;
    struct slice values; /* encoded QualifiedValues */
};
bool csts_values_next(struct slice *rest, struct csts_value *out);
bool csts_parameters_next(struct slice *rest, struct csts_parameter *out);
size_t csts_values_write(const struct csts_value *values, size_t count, uint8_t *out, size_t room);
size_t csts_parameter_write(const struct csts_parameter *p, uint8_t *out, size_t room);

/* Diagnostic of a negative return. */
enum csts_diagnostic_kind {
    CSTS_INVALID_PARAMETER = 0,
    CSTS_CONFLICTING = 1,
    CSTS_OTHER_REASON = 2,
    CSTS_UNSUPPORTED_OPTION = 3,
    CSTS_DIAGNOSTIC_EXTENSION = 100
};
struct csts_diagnostic {
    enum csts_diagnostic_kind kind;
    struct slice text;
    struct slice appellation; /* INVALID_PARAMETER: its characters; CONFLICTING: encoded elements */
    struct csts_embedded pdv; /* EXTENSION */
};

struct csts_bind {
    char initiator[SLE_AUTHORITY_MAX + 1];
    char port[SLE_PORT_NAME_MAX + 1];
    struct csts_oid service;
    uint32_t version;
    struct csts_instance_id instance;
};

/* AbstractChoice. */
struct csts_data {
    bool extended;
    struct slice opaque;
    struct csts_embedded pdv;
};
struct csts_transfer {
    struct sle_time generated;
    uint32_t sequence;
    struct csts_data data;
};
struct csts_process {
    uint32_t id;
    struct csts_data data;
};
/* EXECUTE-DIRECTIVE: acknowledged when it is accepted, and returned when it is done. */
enum csts_directive_target {
    CSTS_OF_THIS_PROCEDURE = 0,
    CSTS_OF_PROCEDURE = 1,
    CSTS_OF_RESOURCE = 2,
    CSTS_OF_EXTENSION = 3
};
enum csts_qualifier_kind {
    CSTS_QUALIFIER_NAMED = 0,
    CSTS_QUALIFIER_VALUE = 1,
    CSTS_QUALIFIER_NONE = 2
};
struct csts_directive {
    struct csts_oid id;
    enum csts_directive_target target;
    struct csts_procedure procedure; /* OF_PROCEDURE */
    struct csts_oid resource;        /* OF_RESOURCE */
    uint32_t instance;               /* OF_RESOURCE */
    enum csts_qualifier_kind kind;   /* not OF_EXTENSION */
    struct slice named;       /* QUALIFIER_NAMED: encoded elements: identifiers with their values */
    struct csts_embedded pdv; /* QUALIFIER_VALUE, OF_EXTENSION */
};
/* Elements of `named`, as csts_labels_next and csts_labels_write. */
bool csts_qualifiers_next(struct slice *rest, struct csts_oid *id, struct csts_embedded *value);
size_t csts_qualifier_write(const struct csts_oid *id, const struct csts_embedded *value,
                            uint8_t *out, size_t room);

enum csts_event_kind { CSTS_EVENT_VALUES = 0, CSTS_EVENT_EMPTY = 1, CSTS_EVENT_EXTENSION = 100 };
struct csts_notify {
    struct sle_time at;
    struct csts_name event;
    enum csts_event_kind kind;
    struct slice values; /* EVENT_VALUES: encoded QualifiedValues */
    struct csts_embedded pdv;
};

struct csts_pdu {
    enum csts_pdu_kind kind;
    struct slice credentials;        /* empty: unused */
    uint32_t invoke_id;              /* not of a PEER-ABORT or a buffer */
    struct csts_procedure procedure; /* of invocations */
    /* of returns */
    bool positive;
    struct csts_diagnostic diagnostic; /* negative */
    /* of an invocation; of a return its positive result's, or negExtension */
    struct csts_extended extension;
    union {
        struct csts_bind bind;
        char responder[SLE_AUTHORITY_MAX + 1]; /* BIND return */
        uint8_t abort;
        struct csts_list list; /* GET */
        struct csts_directive directive;
        struct csts_notify notify;
        struct csts_process process;
        struct csts_transfer transfer;
        struct slice buffer; /* encoded elements */
    } u;
};
bool csts_pdu_is_return(enum csts_pdu_kind kind);

enum csts_pdu_verdict { CSTS_PDU_OK, CSTS_PDU_UNKNOWN /* no such PDU */, CSTS_PDU_BAD };
enum csts_pdu_verdict csts_pdu_read(struct slice in, struct csts_pdu *out);
/* Octets written; 0: they do not fit. */
size_t csts_pdu_write(const struct csts_pdu *p, uint8_t *out, size_t room);
/* The next of a buffer (an invocation of PROCESS-DATA; TRANSFER-DATA or NOTIFY of a return buffer).
 * CSTS_PDU_UNKNOWN: there is none. */
enum csts_pdu_verdict csts_buffer_next(enum csts_pdu_kind buffer, struct slice *rest,
                                       struct csts_pdu *out);
/* One element for a buffer; `p` is of one of those kinds. */
size_t csts_element_write(const struct csts_pdu *p, enum csts_pdu_kind buffer, uint8_t *out,
                          size_t room);

#endif
