/* SPDX-License-Identifier: Apache-2.0 */
/* Bits to fields and back. What can go wrong: a word that is something else. */
#include "frames/clcw.h"

#include <assert.h>

enum { AT_STATUS = 26, AT_COP = 24, AT_VCID = 18, AT_FARM_B = 9 };
enum { BIT_RF = 15, BIT_BITLOCK = 14, BIT_LOCKOUT = 13, BIT_WAIT = 12, BIT_RETRANSMIT = 11 };
static_assert(AT_VCID - BIT_RF == 3, "two spare bits between them");

uint32_t clcw_encode(const struct clcw *c)
{
    assert(c->status < 8 && c->cop < 4 && c->vcid < 64 && c->farm_b < 4);
    return (uint32_t)c->status << AT_STATUS | (uint32_t)c->cop << AT_COP |
           (uint32_t)c->vcid << AT_VCID | (uint32_t)c->no_rf << BIT_RF |
           (uint32_t)c->no_bitlock << BIT_BITLOCK | (uint32_t)c->lockout << BIT_LOCKOUT |
           (uint32_t)c->wait << BIT_WAIT | (uint32_t)c->retransmit << BIT_RETRANSMIT |
           (uint32_t)c->farm_b << AT_FARM_B | c->report_value;
}

static bool test_bit(uint32_t word, unsigned bit)
{
    return (word >> bit & 1) != 0;
}

bool clcw_decode(uint32_t word, struct clcw *c)
{
    if (word >> 29 != 0) /* control word type and version */
        return false;
    c->status = (uint8_t)(word >> AT_STATUS & 7);
    c->cop = (uint8_t)(word >> AT_COP & 3);
    c->vcid = (uint8_t)(word >> AT_VCID & 63);
    c->no_rf = test_bit(word, BIT_RF);
    c->no_bitlock = test_bit(word, BIT_BITLOCK);
    c->lockout = test_bit(word, BIT_LOCKOUT);
    c->wait = test_bit(word, BIT_WAIT);
    c->retransmit = test_bit(word, BIT_RETRANSMIT);
    c->farm_b = (uint8_t)(word >> AT_FARM_B & 3);
    c->report_value = (uint8_t)(word & 0xff);
    return true;
}
