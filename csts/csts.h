/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of the Cross Support Transfer Services (CCSDS 921.1-B-2 framework, 922.1-B-1 Monitored
 * Data, 922.3-B-1 Forward Frame) that all of csts/ shares. Numbers are those on the wire.
 */
#ifndef CSTS_CSTS_H
#define CSTS_CSTS_H

#include <stdbool.h>

#include "base/err.h"
#include "base/slice.h"
#include "base/tick.h"
#include "sle/sle.h"

#define CSTS_OID_OCTETS 32 /* of an object identifier on the wire */
#define CSTS_OID_TEXT 128  /* its text with the NUL */
#define CSTS_VERSION 2     /* of a service over issue 2 of the framework */

/* An object identifier: the content octets of its encoding. */
struct csts_oid {
    uint8_t len;
    uint8_t octets[CSTS_OID_OCTETS];
};
/* "1.3.112.4.4.1"; false: it is none, or too long: *out is unchanged. */
bool csts_oid_parse(const char *text, struct csts_oid *out);
/* The text; false: the octets are none, `text` is "". */
bool csts_oid_text(const struct csts_oid *oid, char text[CSTS_OID_TEXT]);
bool csts_oid_same(const struct csts_oid *a, const struct csts_oid *b);
/* Adds arcs, such as "2.1.1"; false: they are none, or too many: *oid is unchanged. */
bool csts_oid_append(struct csts_oid *oid, const char *arcs);

/* Object identifiers of the framework: {iso identified-organization(3) 112 ccsds(4) css(4)} is
 * 1.3.112.4.4, under which csts is 1 and cross support resources are 2. */
#define CSTS_KNOWN_OIDS(X)                                                                         \
    X(ASSOCIATION_CONTROL, "1.3.112.4.4.1.1.3.1")                                                  \
    X(BIND_DIAGNOSTIC, "1.3.112.4.4.1.1.3.1.2.1")                                                  \
    X(INFORMATION_QUERY, "1.3.112.4.4.1.1.3.5")                                                    \
    X(NOTIFICATION, "1.3.112.4.4.1.1.3.6")                                                         \
    X(NOTIFICATION_START, "1.3.112.4.4.1.1.3.6.2.1")                                               \
    X(NOTIFICATION_START_DIAGNOSTIC, "1.3.112.4.4.1.1.3.6.2.2")                                    \
    X(CYCLIC_REPORT, "1.3.112.4.4.1.1.3.2.1.1")                                                    \
    X(CYCLIC_START, "1.3.112.4.4.1.1.3.2.1.1.2.1")                                                 \
    X(CYCLIC_START_DIAGNOSTIC, "1.3.112.4.4.1.1.3.2.1.1.2.2")                                      \
    X(CYCLIC_DATA, "1.3.112.4.4.1.1.3.2.1.1.2.3")                                                  \
    X(BUFFERED_DATA_DELIVERY, "1.3.112.4.4.1.1.3.3")                                               \
    X(DELIVERY_START, "1.3.112.4.4.1.1.3.3.2.1")                                                   \
    X(DELIVERY_START_DIAGNOSTIC, "1.3.112.4.4.1.1.3.3.2.2")                                        \
    X(DELIVERY_DISCARDED, "1.3.112.4.4.1.1.4.3.2.1")                                               \
    X(DELIVERY_OVERFLOW, "1.3.112.4.4.1.1.4.3.2.2")                                                \
    X(DELIVERY_END, "1.3.112.4.4.1.1.4.3.2.3")                                                     \
    X(DATA_PROCESSING, "1.3.112.4.4.1.1.3.4")                                                      \
    X(PROCESS_DATA, "1.3.112.4.4.1.1.3.4.2.1")                                                     \
    X(PROCESSING_NOTIFY, "1.3.112.4.4.1.1.3.4.2.2")                                                \
    X(BUFFERED_DATA_PROCESSING, "1.3.112.4.4.1.1.3.4.1.1")                                         \
    X(SEQUENCE_CONTROLLED, "1.3.112.4.4.1.1.3.4.1.2")                                              \
    X(SEQUENCE_START, "1.3.112.4.4.1.1.3.4.1.2.2.1")                                               \
    X(SEQUENCE_DATA, "1.3.112.4.4.1.1.3.4.1.2.2.2")                                                \
    X(SEQUENCE_POSITIVE, "1.3.112.4.4.1.1.3.4.1.2.2.3")                                            \
    X(SEQUENCE_DIAGNOSTIC, "1.3.112.4.4.1.1.3.4.1.2.2.4")                                          \
    X(SEQUENCE_NEGATIVE, "1.3.112.4.4.1.1.3.4.1.2.2.5")                                            \
    X(SEQUENCE_STATUS, "1.3.112.4.4.1.1.3.4.1.2.2.6")                                              \
    X(SEQUENCE_UNIT_ID, "1.3.112.4.4.1.1.4.6.1.1")                                                 \
    X(SEQUENCE_EXPIRED, "1.3.112.4.4.1.1.4.6.2.1")                                                 \
    X(SEQUENCE_LOCKED, "1.3.112.4.4.1.1.4.6.2.2")                                                  \
    X(SEQUENCE_RESET, "1.3.112.4.4.1.1.4.6.3.1")                                                   \
    X(DIRECTIVE_DIAGNOSTIC, "1.3.112.4.4.1.1.2.11.1")                                              \
    X(DIRECTIVE_FAILED, "1.3.112.4.4.1.1.2.12.1")                                                  \
    X(START_DIAGNOSTIC, "1.3.112.4.4.1.1.2.7.1")                                                   \
    X(GET_RESULT, "1.3.112.4.4.1.1.2.14.1")                                                        \
    X(GET_DIAGNOSTIC, "1.3.112.4.4.1.1.2.14.2")                                                    \
    X(MONITORED_DATA, "1.3.112.4.4.1.2.1")                                                         \
    X(ON_CHANGE_START, "1.3.112.4.4.1.2.1.2.1")                                                    \
    X(ON_CHANGE_CYCLIC_REPORT, "1.3.112.4.4.1.2.1.3.1")                                            \
    X(FORWARD_FRAME, "1.3.112.4.4.1.2.3")                                                          \
    X(PROCESSING_COMPLETED, "1.3.112.4.4.1.1.4.4.2.1")                                             \
    X(PRODUCTION_STATUS, "1.3.112.4.4.1.1.5.1.1.1")                                                \
    X(PRODUCTION_CHANGE, "1.3.112.4.4.1.1.5.2.1.1")
#define CSTS_OID_ENUM(name, text) CSTS_##name,
enum csts_known { CSTS_KNOWN_OIDS(CSTS_OID_ENUM) CSTS_KNOWN_COUNT };
#undef CSTS_OID_ENUM
struct csts_oid csts_known_oid(enum csts_known which);
/* Is it this one? */
bool csts_oid_is(const struct csts_oid *oid, enum csts_known which);

/* The octet of a PEER-ABORT: 921.1-B-2 annex F; those from 128 on are ISP1's (sle/sle.h). */
#define CSTS_ABORTS(X, P)                                                                          \
    X(P, ACCESS_DENIED, 40, "access denied")                                                       \
    X(P, UNEXPECTED_RESPONDER, 41, "unexpected responder id")                                      \
    X(P, OPERATIONAL, 42, "operational requirement")                                               \
    X(P, PROTOCOL_ERROR, 43, "protocol error")                                                     \
    X(P, COMMUNICATIONS, 44, "communications failure")                                             \
    X(P, ENCODING_ERROR, 45, "encoding error")                                                     \
    X(P, RETURN_TIMEOUT, 46, "response timeout")                                                   \
    X(P, END_OF_PERIOD, 47, "end of service provision period")                                     \
    X(P, UNSOLICITED_INVOKE_ID, 48, "unsolicited invoke id")                                       \
    X(P, DUPLICATE_INVOKE_ID, 49, "duplicate invoke id")                                           \
    X(P, INVALID_PROCEDURE, 50, "invalid procedure name")                                          \
    X(P, UNRECOGNIZED_TYPE, 51, "unrecognized type")                                               \
    X(P, FORWARD_BUFFER_TOO_LARGE, 70, "forward buffer too large")                                 \
    X(P, OTHER, 126, "other reason")
enum csts_abort { CSTS_ABORTS(SLE_NUMBERED, CSTS_ABORT_) };
const char *csts_abort_text(unsigned diagnostic); /* of any octet; static */

/* The service instance identifier of BIND. */
struct csts_instance_id {
    struct csts_oid spacecraft, facility, type;
    uint32_t number;
};
bool csts_instance_same(const struct csts_instance_id *a, const struct csts_instance_id *b);

#endif
