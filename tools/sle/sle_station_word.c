/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operational control field of a frame, for ROCF: its last four octets before the frame error
 * control field. Whether AOS frames have one is managed, as the source's configuration says; TM
 * frames (132.0-B 4.1.2.4) and USLP frames (732.1-B 4.1) say so themselves, truncated ones of USLP
 * have none.
 */
#include <string.h>

#include "tools/sle/sle_station.h"

enum { VERSION_TM = 0, TM_HEAD = 6, TM_OCF = 0x01 };
enum { VERSION_USLP = 12, USLP_HEAD = 7, OCF = 4 };
enum { USLP_TRUNCATED = 0x01, USLP_OCF = 0x08, USLP_COUNT = 0x07 };

/* With its frame count and an octet of data field. */
static bool uslp_has_word(struct slice f, size_t behind)
{
    if (f.len < USLP_HEAD || (f.data[3] & USLP_TRUNCATED) != 0 || (f.data[6] & USLP_OCF) == 0)
        return false;
    return f.len > USLP_HEAD + (size_t)(f.data[6] & USLP_COUNT) + OCF + behind;
}

/* The flag is the last bit of the first two octets; an octet of data field is there at least. */
static bool tm_has_word(struct slice f, size_t behind)
{
    return f.len > TM_HEAD + OCF + behind && (f.data[1] & TM_OCF) != 0;
}

static bool has_word(struct slice f, size_t behind)
{
    if (f.len < OCF + behind || f.len == 0)
        return false;
    if (f.data[0] >> 4 == VERSION_USLP)
        return uslp_has_word(f, behind);
    return f.data[0] >> 6 != VERSION_TM || tm_has_word(f, behind);
}

void station_word(const struct settings_source *c, struct sle_frame *frame)
{
    struct slice f = frame->data;
    size_t behind = (size_t)c->fecf;
    frame->has_ocf = c->control_words && has_word(f, behind);
    if (frame->has_ocf)
        memcpy(frame->ocf, f.data + f.len - behind - OCF, OCF);
}
