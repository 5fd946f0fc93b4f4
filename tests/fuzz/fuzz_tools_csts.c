/* SPDX-License-Identifier: Apache-2.0 */
/* helio-csts: tables of figures (first octet even), values as a monitor reads them (odd). What a
 * table has is encoded, and read again. */
#include <assert.h>

#include "tools/csts/csts_figures.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    char why[128], room[64];
    uint8_t octets[FIGURE_TEXT_MAX + 100];
    struct figures f;
    if (len < 1)
        return 0;
    const struct slice in = slice_of(data + 1, len - 1);
    if ((data[0] & 1) != 0) {
        json_decref(figure_decode(in));
        return 0;
    }
    if (!figures_parse(in, &f, why, sizeof why))
        return 0;
    for (size_t i = 0; i < f.len; i++) {
        const char *text = figure_text(&f.all[i], in, room, sizeof room);
        const size_t n = figure_encode(f.all[i].type, text, octets, sizeof octets);
        if (n > 0)
            json_decref(figure_decode(slice_of(octets, n)));
        assert(n > 0 || text[0] == '\0' || f.all[i].value[0] == 'm');
    }
    figures_free(&f);
    return 0;
}
