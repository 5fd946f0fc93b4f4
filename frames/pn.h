/* SPDX-License-Identifier: Apache-2.0 */
/* The pseudo-randomisers of the synchronisation sublayers: a sequence of bits, which repeats, that
 * is added to a frame or codeblock. Adding it again takes it away. */
#ifndef FRAMES_PN_H
#define FRAMES_PN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pn_sequence {
    PN_TM,     /* x^8 + x^7 + x^5 + x^3 + 1 (CCSDS 131.0-B 10.4): TM, AOS and USLP frames */
    PN_TC,     /* x^8 + x^6 + x^4 + x^3 + x^2 + x + 1 (CCSDS 231.0-B 6.2): before BCH encoding */
    PN_TM_LONG /* x^17 + x^14 + 1 (131.0-B-5 10.4.1): TM, AOS and USLP frames, 131071 bits */
};

/* Adds the sequence, from its first bit on, to len octets from `data` into `out`, which may be
 * `data`. */
void pn_apply(enum pn_sequence sequence, const void *data, void *out, size_t len);

/* The sequence itself: the content of frames of only idle data. */
void pn_fill(enum pn_sequence sequence, void *out, size_t len);

#ifdef __cplusplus
}
#endif

#endif
