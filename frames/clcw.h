/* SPDX-License-Identifier: Apache-2.0 */
/* The communications link control word, type 1 of what an operational control field holds (CCSDS
 * 232.0-B 4.2). */
#ifndef FRAMES_CLCW_H
#define FRAMES_CLCW_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct clcw {
    uint8_t status;  /* 3 bits, the mission's own */
    uint8_t cop;     /* 2 bits: 1 is COP-1 */
    uint8_t vcid;    /* 6 bits */
    bool no_rf;      /* no radio frequency available */
    bool no_bitlock; /* no bit lock */
    bool lockout, wait, retransmit;
    uint8_t farm_b;       /* 2 bits: type-B frames accepted, modulo 4 */
    uint8_t report_value; /* the next type-A frame's number */
};

/* Bits beyond a field's width must be 0. */
uint32_t clcw_encode(const struct clcw *c);

/* False when the word is no CLCW of version 1: type-2 reports, other versions. */
bool clcw_decode(uint32_t word, struct clcw *c);

#ifdef __cplusplus
}
#endif

#endif
