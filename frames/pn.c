/* SPDX-License-Identifier: Apache-2.0 */
/* The sequences repeat after 255 bits and so after 255 octets, too: one period is a table. Nothing
 * can go wrong. */
#include "frames/pn.h"

#include <assert.h>
#include <string.h>

#include "frames/pn_tables.h"

enum { PERIOD = 255 };
static_assert(sizeof pn_tm_table == PERIOD && sizeof pn_tc_table == PERIOD, "one period each");

static const uint8_t *find_table(enum pn_sequence sequence)
{
    assert(sequence == PN_TM || sequence == PN_TC);
    return sequence == PN_TM ? pn_tm_table : pn_tc_table;
}

/* At most a period; a word at a time. */
static void add_period(const uint8_t *table, const uint8_t *data, uint8_t *out, size_t len)
{
    size_t i = 0;
    assert(len <= PERIOD);
    for (; i + 8 <= len; i += 8) {
        uint64_t a, b;
        memcpy(&a, data + i, sizeof a);
        memcpy(&b, table + i, sizeof b);
        a ^= b;
        memcpy(out + i, &a, sizeof a);
    }
    for (; i < len; i++)
        out[i] = data[i] ^ table[i];
}

void pn_apply(enum pn_sequence sequence, const void *data, void *out, size_t len)
{
    const uint8_t *table = find_table(sequence), *from = data;
    uint8_t *to = out;
    for (size_t n; len > 0; from += n, to += n, len -= n) {
        n = len < PERIOD ? len : PERIOD;
        add_period(table, from, to, n);
    }
}

void pn_fill(enum pn_sequence sequence, void *out, size_t len)
{
    const uint8_t *table = find_table(sequence);
    uint8_t *to = out;
    for (size_t n; len > 0; to += n, len -= n) {
        n = len < PERIOD ? len : PERIOD;
        memcpy(to, table, n);
    }
}
