/* SPDX-License-Identifier: Apache-2.0 */
/* Two sequences repeat after 255 bits and so after 255 octets, too: one period is a table. The long
 * one is computed by words of 64 bits: the recurrence of bits is one of octets and of words, too,
 * because a square in GF(2) doubles the exponents. Nothing can go wrong. */
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

enum { LONG = 17, LONG_TAP = 14 };

/* The next words of the long sequence. */
struct long_words {
    uint64_t word[LONG];
    unsigned at;
};

/* The first 17 octets bit by bit, then by octets. */
static void init_words(struct long_words *l)
{
    uint8_t octets[8 * LONG] = {0};
    uint32_t state = 0x18e38; /* the lowest bit is the sequence's first */
    for (unsigned i = 0; i < 8 * LONG; i++) {
        octets[i / 8] |= (uint8_t)((state & 1) << (7 - i % 8));
        state = state >> 1 | ((state ^ state >> LONG_TAP) & 1) << (LONG - 1);
    }
    for (unsigned i = LONG; i < sizeof octets; i++)
        octets[i] = octets[i - LONG] ^ octets[i - LONG + LONG_TAP];
    memcpy(l->word, octets, sizeof octets);
    l->at = 0;
}

static uint64_t next_word(struct long_words *l)
{
    unsigned tap = l->at + LONG_TAP < LONG ? l->at + LONG_TAP : l->at + LONG_TAP - LONG;
    uint64_t word = l->word[l->at];
    l->word[l->at] ^= l->word[tap];
    l->at = l->at + 1 < LONG ? l->at + 1 : 0;
    return word;
}

static void add_long(const uint8_t *data, uint8_t *out, size_t len)
{
    struct long_words l;
    init_words(&l);
    for (size_t n; len > 0; data += n, out += n, len -= n) {
        uint64_t word = next_word(&l), octets = 0;
        n = len < sizeof word ? len : sizeof word;
        memcpy(&octets, data, n);
        octets ^= word;
        memcpy(out, &octets, n);
    }
}

void pn_apply(enum pn_sequence sequence, const void *data, void *out, size_t len)
{
    const uint8_t *from = data;
    uint8_t *to = out;
    if (sequence == PN_TM_LONG) {
        add_long(from, to, len);
        return;
    }
    const uint8_t *table = find_table(sequence);
    for (size_t n; len > 0; from += n, to += n, len -= n) {
        n = len < PERIOD ? len : PERIOD;
        add_period(table, from, to, n);
    }
}

void pn_fill(enum pn_sequence sequence, void *out, size_t len)
{
    uint8_t *to = out;
    if (sequence == PN_TM_LONG) {
        memset(to, 0, len);
        add_long(to, to, len);
        return;
    }
    const uint8_t *table = find_table(sequence);
    for (size_t n; len > 0; to += n, len -= n) {
        n = len < PERIOD ? len : PERIOD;
        memcpy(to, table, n);
    }
}
