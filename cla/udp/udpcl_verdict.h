/* SPDX-License-Identifier: Apache-2.0 */
/* What a datagram is: one whole bundle, or a reason why it is none. Pure. */
#ifndef CLA_UDPCL_VERDICT_H
#define CLA_UDPCL_VERDICT_H

#include "base/slice.h"

#define UDPCL_VERDICTS(X)                                                                          \
    X(BUNDLE, "bundle")       /* one bundle, from its first byte to its last; what is in it, the   \
                                 agent says */                                                     \
    X(KEEPALIVE, "keepalive") /* four bytes of zero */                                             \
    X(MALFORMED, "malformed") /* not wholly one bundle */
#define UDPCL_VERDICT_ENUM(name, text) UDPCL_##name,
enum udpcl_verdict { UDPCL_VERDICTS(UDPCL_VERDICT_ENUM) UDPCL_VERDICT_COUNT };
#undef UDPCL_VERDICT_ENUM

enum udpcl_verdict udpcl_judge(struct slice datagram);
const char *udpcl_verdict_name(enum udpcl_verdict v); /* static */

#endif
