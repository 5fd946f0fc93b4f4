/* SPDX-License-Identifier: Apache-2.0 */
/* Of the files frame*.c: the reading and writing of each kind. */
#ifndef FRAMES_FRAME_IMPL_H
#define FRAMES_FRAME_IMPL_H

#include "frames/frame.h"

/* Primary headers without what the format adds. */
enum { TM_HEADER = 6, AOS_HEADER = 6, USLP_HEADER = 7, TC_HEADER = 5 };
enum { FHEC_LEN = 2, OCF_LEN = 4, FECF_LEN = 2, MPDU_HEADER = 2 };
enum { VERSION_TM = 0, VERSION_AOS = 1, VERSION_TC = 0, VERSION_USLP = 12 };

static inline uint16_t get_16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t get_32(const uint8_t *p)
{
    return (uint32_t)get_16(p) << 16 | get_16(p + 2);
}

static inline void put_16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 8 & 0xff);
    p[1] = (uint8_t)(v & 0xff);
}

static inline void put_32(uint8_t *p, uint32_t v)
{
    put_16(p, v >> 16);
    put_16(p + 2, v);
}

/* Of the format's length already (TC: of any), `len` octets. */
enum frame_verdict tm_parse(const struct frame_format *f, const uint8_t *d, struct frame *out);
enum frame_verdict aos_parse(const struct frame_format *f, const uint8_t *d, struct frame *out);
enum frame_verdict uslp_parse(const struct frame_format *f, const uint8_t *d, struct frame *out);
enum frame_verdict tc_parse(const struct frame_format *f, const uint8_t *d, size_t len,
                            struct frame *out);

/* Takes OCF and zone from what is between `at` and the FECF. False when the OCF does not fit, or
 * nothing is left for the zone. */
bool frame_take_zone(const struct frame_format *f, const uint8_t *d, uint32_t at,
                     struct frame *out);

/* Whether the check value of `len` octets, its field included, is right. */
bool frame_is_sound(const struct frame_format *f, const uint8_t *d, size_t len);

void tm_write(const struct frame_format *f, const struct frame *frame, uint8_t *out);
void aos_write(const struct frame_format *f, const struct frame *frame, uint8_t *out);
void uslp_write(const struct frame_format *f, const struct frame *frame, uint8_t *out);

#endif
