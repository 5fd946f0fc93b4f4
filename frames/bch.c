/* SPDX-License-Identifier: Apache-2.0 */
/* The parity is a CRC of 7 bits, kept in the upper bits of an octet. A single error has its own
 * syndrome, which a table turns into its place. Two errors never look like one, since the
 * generator has the factor x + 1. */
#include "frames/bch.h"

#include <assert.h>
#include <string.h>

#include "frames/bch_tables.h"

#define PARITY 0xfe /* of the last octet; the rest is the filler bit */
#define NOWHERE 255

static_assert(BCH_CODEBLOCK == BCH_INFORMATION + 1, "an octet of parity");

static uint8_t divide_octets(const uint8_t information[BCH_INFORMATION])
{
    uint8_t r = 0;
    for (int i = 0; i < BCH_INFORMATION; i++)
        r = bch_table[r ^ information[i]];
    assert((r & ~PARITY) == 0);
    return r;
}

uint8_t bch_parity(const uint8_t information[BCH_INFORMATION])
{
    return (uint8_t)(~divide_octets(information) & PARITY);
}

enum bch_result bch_decode(const uint8_t codeblock[BCH_CODEBLOCK], enum bch_mode mode,
                           uint8_t information[BCH_INFORMATION])
{
    uint8_t last = codeblock[BCH_INFORMATION];
    uint8_t syndrome = divide_octets(codeblock) ^ (uint8_t)(~last & PARITY);
    uint8_t place = syndrome == 0 ? NOWHERE : bch_position[syndrome >> 1];
    if (syndrome != 0 && (mode == BCH_DETECT || (last & 1) != 0 || place == NOWHERE))
        return BCH_REJECTED;
    memcpy(information, codeblock, BCH_INFORMATION);
    if (syndrome == 0)
        return BCH_GOOD;
    assert(place < 8 * BCH_CODEBLOCK - 1);
    if (place < 8 * BCH_INFORMATION)
        information[place / 8] ^= (uint8_t)(0x80 >> (place % 8));
    assert(divide_octets(information) == (uint8_t)(~last & PARITY) || place >= 8 * BCH_INFORMATION);
    return BCH_CORRECTED;
}
