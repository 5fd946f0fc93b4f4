/* SPDX-License-Identifier: Apache-2.0 */
/* The code of telecommand codeblocks: BCH (63,56), g(x) = x^7 + x^6 + x^2 + 1, its 7 parity bits
 * complemented, then a filler bit of 0 (CCSDS 231.0-B 3.3). */
#ifndef FRAMES_BCH_H
#define FRAMES_BCH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BCH_INFORMATION 7 /* octets */
#define BCH_CODEBLOCK 8

enum bch_mode {
    BCH_CORRECT, /* single error correction: two errors are detected */
    BCH_DETECT,  /* triple error detection */
};

/* What became of a code block. */
enum bch_result { BCH_GOOD, BCH_CORRECTED, BCH_REJECTED };

/* The eighth octet of a codeblock: parity and filler. */
uint8_t bch_parity(const uint8_t information[BCH_INFORMATION]);

/*
 * Checks a codeblock and writes its information octets, corrected if need be; nothing when it is
 * rejected. A filler bit of 1 forbids correction: the tail sequence has one, so that an error in
 * it does not hide it.
 */
enum bch_result bch_decode(const uint8_t codeblock[BCH_CODEBLOCK], enum bch_mode mode,
                           uint8_t information[BCH_INFORMATION]);

#ifdef __cplusplus
}
#endif

#endif
