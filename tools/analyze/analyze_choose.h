/* SPDX-License-Identifier: Apache-2.0 */
/* Which sessions are worth a look at each of their segments: of each flow the slowest, those that
 * lost most checkpoints, those that repeated most, those that failed, and ordinary ones. */
#ifndef TOOLS_ANALYZE_CHOOSE_H
#define TOOLS_ANALYZE_CHOOSE_H

#include "tools/analyze/analyze.h"

#define CHOOSE_KINDS 6
#define CHOOSE_KEEP 3 /* at most, of a kind */

struct analyze_name {
    uint64_t originator, number;
};

struct choose_place {
    double score;
    struct analyze_name name;
};

struct analyze_choose {
    struct {
        size_t len[CHOOSE_KINDS];
        struct choose_place best[CHOOSE_KINDS][CHOOSE_KEEP]; /* greatest score first */
    } flows[ANALYZE_FLOWS_MAX];
};

void analyze_choose_add(struct analyze_choose *c, size_t flow, const struct analyze_session *s,
                        const struct analyze_flow *of);

/* Up to `max` names, none twice, the best of each kind first; flows in the order of `flows`
 * (indices). Returns how many. */
size_t analyze_choose_names(const struct analyze_choose *c, const size_t *flows, size_t flows_len,
                            struct analyze_name *out, size_t max);

#endif
