/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any octets as an LMDB file: its pages are whole, or a reason says why not; rows that are given
 * lie within the file, and of a database whose pages are whole all rows are given.
 */
#include <assert.h>
#include <stdlib.h>

#include "store/store_lmdb_pages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct rows {
    const struct pages *p;
    uint64_t sum;
};

static int take_row(void *ctx, struct slice key, struct slice value)
{
    struct rows *r = ctx;
    for (size_t i = 0; i < key.len; i++)
        r->sum += key.data[i];
    for (size_t i = 0; i < value.len; i += 64)
        r->sum += value.data[i];
    if (value.len > 0)
        r->sum += value.data[value.len - 1];
    assert(value.data >= r->p->map && value.data + value.len <= r->p->map + r->p->bytes);
    return 0;
}

static void read_state(const uint8_t *file, size_t len, bool older)
{
    static const char *const tables[] = {"bundles", "heads2", "notes"};
    struct pages p;
    char why[100];
    if (pages_begin(&p, file, len, older, why, sizeof why) != 0)
        return;
    why[0] = '\0';
    const bool whole = pages_check(&p, true, why, sizeof why) == 0;
    assert(whole == (why[0] == '\0'));
    assert(!whole || pages_check(&p, false, why, sizeof why) == 0);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct rows r = {.p = &p};
        uint64_t lost = 0;
        (void)pages_each(&p, tables[i], take_row, &r, &lost);
        assert(!whole || lost == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    uint8_t *file = malloc(len + (len == 0)); /* reads behind it are seen */
    assert(file != NULL);
    if (len > 0)
        memcpy(file, data, len);
    read_state(file, len, false);
    read_state(file, len, true);
    free(file);
    return 0;
}
