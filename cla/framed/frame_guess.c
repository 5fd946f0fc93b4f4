/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognises frames of another format. A frame states neither its kind nor its length, but its
 * check value identifies it: that of a whole frame is 0. Units that bit errors can explain are no
 * evidence of a wrong configuration. Nothing can go wrong.
 */
#include "cla/framed/frame_guess.h"

#include <stdio.h>
#include <string.h>

#include "frames/fecf.h"

enum { FRAME_LEAST = 8 }; /* octets: a TC frame's header, one of data, the check value */

static bool begins_with(struct slice s, const uint8_t *start, size_t len)
{
    return s.len >= len && memcmp(s.data, start, len) == 0;
}

static bool has_check(struct slice unit)
{
    return unit.len >= FRAME_LEAST && fecf_crc(FECF_INIT, unit.data, unit.len) == 0;
}

/* A datagram that says another length than it has. With bit errors a TC frame says its own. */
static bool is_no_tc(const struct frame_misfit *m)
{
    const uint8_t *p = m->unit.data;
    return m->whole && m->verdict != FRAME_SPACECRAFT_VERDICT &&
           m->verdict != FRAME_CHANNEL_VERDICT &&
           (m->unit.len < FRAME_LEAST || m->unit.len != ((p[2] & 3U) << 8 | p[3]) + 1U);
}

const char *frame_guess(struct slice datagram)
{
    static const uint8_t marker[] = {0x1a, 0xcf, 0xfc, 0x1d}; /* 131.0-B 9.3 */
    static const uint8_t long_marker[] = {0x03, 0x47, 0x76, 0xc7, 0x27, 0x28, 0x95, 0xb0};
    static const uint8_t start[] = {0xeb, 0x90}; /* 231.0-B section 5 */
    if (begins_with(datagram, marker, sizeof marker) ||
        begins_with(datagram, long_marker, sizeof long_marker))
        return "CADUs";
    if (begins_with(datagram, start, sizeof start))
        return "CLTUs";
    return has_check(datagram) ? "CCSDS frames" : NULL;
}

bool frame_misfit_text(const struct frame_misfit *m, const struct frame_format *f, unsigned scid,
                       char why[FRAME_MISFIT_MAX])
{
    why[0] = '\0';
    if (f->kind == FRAME_TC && is_no_tc(m))
        snprintf(why, FRAME_MISFIT_MAX, "%zu octets that are no TC frame", m->unit.len);
    else if (m->verdict == FRAME_LENGTH_VERDICT && m->whole)
        snprintf(why, FRAME_MISFIT_MAX, "%zu octets, and a frame has %u", m->unit.len,
                 (unsigned)f->length);
    else if (m->verdict == FRAME_VERSION_VERDICT && has_check(m->unit))
        snprintf(why, FRAME_MISFIT_MAX, "a frame of another kind");
    else if (m->verdict == FRAME_SPACECRAFT_VERDICT && m->first)
        snprintf(why, FRAME_MISFIT_MAX, "a frame of spacecraft %u, and frames.scid is %u", m->scid,
                 scid);
    else if (m->verdict == FRAME_CHANNEL_VERDICT && m->first)
        snprintf(why, FRAME_MISFIT_MAX, "a frame of virtual channel %u, which no link reads",
                 m->vcid);
    return why[0] != '\0';
}
