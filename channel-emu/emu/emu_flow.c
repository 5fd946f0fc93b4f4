/* SPDX-License-Identifier: Apache-2.0 */
/* A small table, searched from the flow that was heard last: experiments have one peer, or a few.
 * When all places are taken, the flow that is silent the longest gives way. */
#include "channel-emu/emu/emu_flow.h"

#include <stddef.h>

struct emu_flow *emu_flow_find(struct emu_flows *f, const struct address *peer)
{
    if (f->latest != NULL && address_equal(&f->latest->peer.address, peer))
        return f->latest;
    for (unsigned i = 0; i < f->top; i++) {
        if (f->at[i].used && address_equal(&f->at[i].peer.address, peer))
            return &f->at[i];
    }
    return NULL;
}

struct emu_flow *emu_flow_of(struct emu_flows *f, uint64_t id)
{
    struct emu_flow *flow = &f->at[id % EMU_FLOWS_MAX];
    return flow->used && flow->id == id ? flow : NULL;
}

struct emu_flow *emu_flow_by_socket(struct emu_flows *f, int fd)
{
    struct emu_flow *found = NULL;
    for (unsigned i = 0; i < f->top; i++) {
        struct emu_flow *it = &f->at[i];
        if (it->used && it->fd == fd && (found == NULL || it->last_active > found->last_active))
            found = it;
    }
    return found;
}

struct emu_flow *emu_flow_place(struct emu_flows *f, bool *evicted)
{
    struct emu_flow *oldest = &f->at[0];
    *evicted = false;
    for (unsigned i = 0; i < EMU_FLOWS_MAX; i++) {
        if (!f->at[i].used)
            return &f->at[i];
        if (f->at[i].last_active < oldest->last_active)
            oldest = &f->at[i];
    }
    *evicted = true;
    return oldest;
}

void emu_flow_open(struct emu_flows *f, struct emu_flow *place, const struct address *peer, int fd,
                   tick now)
{
    unsigned index = (unsigned)(place - f->at);
    f->generation++;
    *place = (struct emu_flow){.id = f->generation * EMU_FLOWS_MAX + index,
                               .peer = {.address = *peer},
                               .fd = fd,
                               .last_active = now,
                               .used = true};
    f->top = f->top > index ? f->top : index + 1;
    f->latest = place;
}
