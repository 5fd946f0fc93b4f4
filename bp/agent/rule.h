/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An operator's rule about bundles: all of its conditions must match. The owner of the list of
 * rules defines the effect: a queue's priority, or how a link sends the bundle.
 */
#ifndef BP_RULE_H
#define BP_RULE_H

#include "bp/codec/qos.h"

#ifdef __cplusplus
extern "C" {
#endif

enum rule_flag {
    RULE_FLAG_ANY,
    RULE_FLAG_ADMIN,
    RULE_FLAG_FRAGMENT,
    RULE_FLAG_NO_FRAGMENT,
    RULE_FLAG_ACK,
    RULE_FLAG_REPORT, /* any status report */
    RULE_FLAGS
};
#define RULE_FLAG_WORDS "any|admin|fragment|no_fragment|ack|report" /* in this order */

#define RULE_PRIORITY_ANY 0 /* else an enum bundle_priority and 1 */
#define RULE_PRIORITY_WORDS "any|bulk|normal|expedited"

struct rule {
    struct eid_patterns to, from;
    uint64_t service;  /* ipn, of the destination; 0: any */
    uint64_t size_min; /* bytes */
    uint64_t size_max; /* 0: any */
    int flag;          /* enum rule_flag */
    int priority;
};

struct rule_subject {
    const struct eid *to, *from;
    uint64_t bytes, flags; /* of the encoded bundle; enum bundle_flag */
    enum bundle_priority priority;
};

struct rule rule_any(void); /* matches every bundle */
/* Does the rule match this bundle or its payload? */
bool rule_fits(const struct rule *r, const struct rule_subject *s);

#ifdef __cplusplus
}
#endif

#endif
