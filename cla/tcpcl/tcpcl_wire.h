/* SPDX-License-Identifier: Apache-2.0 */
/* What TCPCLv4 looks like on the wire (RFC 9174): code points, sizes, integers. Pure. */
#ifndef CLA_TCPCL_WIRE_H
#define CLA_TCPCL_WIRE_H

#include <stdint.h>

#include "base/cursor.h"

#define TCPCL_PORT 4556 /* §4.1 */
#define TCPCL_VERSION 4 /* §4.2 */
#define TCPCL_CONTACT_LEN 6u
#define TCPCL_CAN_TLS 0x01u

/* Messages (§4.5). */
#define TCPCL_MESSAGES(X)                                                                          \
    X(XFER_SEGMENT, 1, "segment")                                                                  \
    X(XFER_ACK, 2, "ack")                                                                          \
    X(XFER_REFUSE, 3, "refuse")                                                                    \
    X(KEEPALIVE, 4, "keepalive")                                                                   \
    X(SESS_TERM, 5, "term")                                                                        \
    X(MSG_REJECT, 6, "reject")                                                                     \
    X(SESS_INIT, 7, "init")
#define TCPCL_MESSAGE_ENUM(name, code, text) TCPCL_##name = (code),
enum tcpcl_message { TCPCL_MESSAGES(TCPCL_MESSAGE_ENUM) TCPCL_MESSAGE_COUNT };
#undef TCPCL_MESSAGE_ENUM

/* Flags of XFER_SEGMENT and XFER_ACK (§5.2.2), of SESS_TERM (§6.1), of extension items (§4.8,
 * §5.2.5). */
#define TCPCL_END 0x01u
#define TCPCL_START 0x02u
#define TCPCL_REPLY 0x01u
#define TCPCL_CRITICAL 0x01u

#define TCPCL_ITEM_TRANSFER_LENGTH 0x0001u /* §5.2.5.1 */
#define TCPCL_TRANSFER_LENGTH_LEN 8u
#define TCPCL_ITEM_HEAD_LEN 5u

/* Reasons of XFER_REFUSE (§5.2.4). */
#define TCPCL_REFUSALS(X)                                                                          \
    X(UNKNOWN, 0, "unknown")                                                                       \
    X(COMPLETED, 1, "completed")                                                                   \
    X(NO_RESOURCES, 2, "no resources")                                                             \
    X(RETRANSMIT, 3, "retransmit")                                                                 \
    X(NOT_ACCEPTABLE, 4, "not acceptable")                                                         \
    X(EXTENSION_FAILURE, 5, "extension failure")                                                   \
    X(SESSION_TERMINATING, 6, "session terminating")
#define TCPCL_REFUSAL_ENUM(name, code, text) TCPCL_REFUSE_##name = (code),
enum tcpcl_refusal { TCPCL_REFUSALS(TCPCL_REFUSAL_ENUM) TCPCL_REFUSAL_COUNT };
#undef TCPCL_REFUSAL_ENUM

/* Reasons of MSG_REJECT (§5.1.2). */
#define TCPCL_REJECTIONS(X)                                                                        \
    X(TYPE_UNKNOWN, 1, "message type unknown")                                                     \
    X(UNSUPPORTED, 2, "message unsupported")                                                       \
    X(UNEXPECTED, 3, "message unexpected")
#define TCPCL_REJECTION_ENUM(name, code, text) TCPCL_REJECT_##name = (code),
enum tcpcl_rejection { TCPCL_REJECTIONS(TCPCL_REJECTION_ENUM) TCPCL_REJECTION_COUNT };
#undef TCPCL_REJECTION_ENUM

/* Reasons of SESS_TERM (§6.1). */
#define TCPCL_TERMS(X)                                                                             \
    X(UNKNOWN, 0, "unknown")                                                                       \
    X(IDLE_TIMEOUT, 1, "idle timeout")                                                             \
    X(VERSION_MISMATCH, 2, "version mismatch")                                                     \
    X(BUSY, 3, "busy")                                                                             \
    X(CONTACT_FAILURE, 4, "contact failure")                                                       \
    X(RESOURCE_EXHAUSTION, 5, "resource exhaustion")
#define TCPCL_TERM_ENUM(name, code, text) TCPCL_TERM_##name = (code),
enum tcpcl_term { TCPCL_TERMS(TCPCL_TERM_ENUM) TCPCL_TERM_COUNT };
#undef TCPCL_TERM_ENUM

/* Static texts; codes that are in no table: "unknown" for reasons, NULL for messages. */
const char *tcpcl_message_text(unsigned code);
const char *tcpcl_refusal_text(unsigned code);
const char *tcpcl_rejection_text(unsigned code);
const char *tcpcl_term_text(unsigned code);

/* Network byte order (§2.1), `bytes` of them, 1 to 8. */
static inline uint64_t tcpcl_get(const uint8_t *p, int bytes)
{
    return number_at(p, bytes);
}

static inline void tcpcl_put(struct writer *w, uint64_t v, int bytes)
{
    writer_number(w, v, bytes);
}

#endif
