/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong is the user's: a frame that is too short or too long for its kind, numbers that
 * do not fit its fields. */
#include "cla/frame_keys.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"

void frame_keys_config(const struct frame_keys *k, struct frame_port_config *out)
{
    static const enum frame_kind kinds[] = {FRAME_AOS, FRAME_TM, FRAME_USLP, FRAME_AOS};
    assert(k->kind >= FRAMES_OFF && k->kind <= FRAMES_AOS);
    *out = (struct frame_port_config){
        .pack = {.format = {.kind = kinds[k->kind], .length = (uint32_t)k->length, .fecf = 2},
                 .scid = (uint16_t)k->scid,
                 .vcid = (uint8_t)k->vcid,
                 .idle = PACKET_ENCAP},
        .protocol = PACKET_LTP,
        .fill = k->fill};
    if (k->kind == FRAMES_USLP)
        out->pack.format.count_len = 3;
}

int frame_keys_check(const struct frame_keys *k, const char **key, char *why, size_t why_cap)
{
    struct frame_port_config c;
    if (k->kind == FRAMES_OFF)
        return 0;
    frame_keys_config(k, &c);
    const char *problem = mpdu_pack_problem(&c.pack);
    if (problem == NULL)
        return 0;
    *key = frame_format_problem(&c.pack.format) != NULL ? "frame_length" : "frames";
    snprintf(why, why_cap, "%s", problem);
    assert(why[0] != '\0');
    return HELIO_EINVAL;
}
