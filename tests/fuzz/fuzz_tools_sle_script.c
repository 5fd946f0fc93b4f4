/* SPDX-License-Identifier: Apache-2.0 */
/* A script of helio-sle user. */
#include <assert.h>
#include <string.h>

#include "tools/sle/sle_script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct sle_start start = {.quality = SLE_ALL_FRAMES};
    struct script s;
    char why[256] = "";
    unsigned line;
    if (script_parse(&s, slice_of(data, len), &start, &line, why, sizeof why) != 0) {
        assert(*why != '\0' && s.steps == NULL && s.octets == NULL);
        return 0;
    }
    for (size_t i = 0; i < s.len; i++) {
        const struct script_step *p = &s.steps[i];
        assert(p->line >= 1 && (i == 0 || p->line > s.steps[i - 1].line));
        assert(p->octets_at + p->octets_len <= s.octets_len);
        assert(p->octets_len <= SLE_CLTU_MAX && p->within <= 86400 * TICK_S);
    }
    script_free(&s);
    return 0;
}
