/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the adapter "bibe" share: the node as it answers where a test does not care,
 * and segments of encapsulated bundles. */
#ifndef TESTS_UNIT_CLA_BIBE_HELP_H
#define TESTS_UNIT_CLA_BIBE_HELP_H

#include <string.h>

#include "base/rng.h"
#include "cla/bibe/bibe_link.h"
#include "sim/virtual.h"
#include "tests/unit/suite.h"

static inline struct eid parsed(const char *text)
{
    struct eid e;
    ck_assert_int_eq(eid_parse(text, &e), 0);
    return e;
}

/* cla_self.submit of a node that has no room. */
static inline enum cla_reason submit_nothing(void *context, const struct cla_parcel *p,
                                             uint32_t token, struct cla_stamp *out)
{
    (void)out;
    (void)context;
    (void)p;
    (void)token;
    return CLA_REASON_BUSY;
}

/* cla_self.listen of a node where the endpoint is free. */
static inline int listen_there(void *context, const struct eid *endpoint, uint32_t window)
{
    (void)context;
    (void)endpoint;
    (void)window;
    return 0;
}

static inline void note_closed(void *context)
{
    *(bool *)context = true;
}

/* Until nothing is due any more. */
static inline void settle(struct virtual_world *v)
{
    for (tick due; (due = virtual_due(v)) != TICK_NEVER;) {
        virtual_advance(v, due);
        virtual_fire(v);
        virtual_settle(v);
    }
}

/* A segment of a transfer: `len` octets of `content` from `offset` on. */
static inline struct bibe_payload part_of(const char *content, uint64_t transfer, uint64_t total,
                                          uint64_t offset, size_t len)
{
    return (struct bibe_payload){.segment = true,
                                 .transfer = transfer,
                                 .total = total,
                                 .offset = offset,
                                 .data = slice_of(content + offset, len)};
}

static inline struct cla *open_bibe(const struct cla_env *env, const struct bibe_config *k)
{
    struct cla *link = NULL;
    char why[200];
    ck_assert_int_eq(cla_find("bibe")->open(&link, env, k, why, sizeof why), 0);
    return link;
}

#endif
