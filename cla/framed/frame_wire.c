/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of wires. */
#include "cla/framed/frame_wire.h"

#include <assert.h>

int frame_wire_open(struct world *world, struct frame_wire **out,
                    const struct frame_wire_config *config, const struct frame_wire_user *user,
                    void *context)
{
    static int (*const kinds[])(struct world *, struct frame_wire **,
                                const struct frame_wire_config *) = {
        frame_wire_udp, frame_wire_tcp, frame_wire_tcp, frame_wire_file, frame_wire_sle};
    assert((unsigned)config->kind < sizeof kinds / sizeof *kinds);
    int r = kinds[config->kind](world, out, config);
    if (r != 0)
        return r;
    (*out)->world = world;
    (*out)->user = user;
    (*out)->context = context;
    assert((*out)->ops != NULL);
    return 0;
}

size_t frame_wire_stream_room(const struct frame_wire_config *c)
{
    size_t least = 2 * frame_stream_unit(c->mode, c->length), usual = (size_t)256 * 1024;
    return least > usual ? least : usual;
}
