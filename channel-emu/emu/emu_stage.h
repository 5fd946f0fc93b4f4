/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of several sockets that share a transmitter, in order of arrival: sockets are read one
 * after another, so an earlier frame may be read later.
 */
#ifndef CHANNEL_EMU_EMU_STAGE_H
#define CHANNEL_EMU_EMU_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tick.h"

struct emu_staged {
    tick arrival;
    uint64_t order; /* of those that arrived at one time */
    uint64_t tag;
    size_t at; /* in the bytes */
    uint32_t len;
    uint16_t link;
    uint8_t dir, ecn;
};

/* Zeroed, it is empty. */
struct emu_stage {
    struct emu_staged *frame;
    size_t count, cap;
    uint8_t *bytes;
    size_t used, room;
    uint64_t order;
};

void emu_stage_fini(struct emu_stage *s);

/* Copies the bytes; `f` says the rest but for `order` and `at`. 0 or HELIO_ENOMEM. */
int emu_stage_put(struct emu_stage *s, const struct emu_staged *f, const uint8_t *data);

/* Sorts what is there; the number of frames that arrived until then, which are the first ones. */
size_t emu_stage_sort(struct emu_stage *s, tick until);
/* Takes the first n away. */
void emu_stage_drop(struct emu_stage *s, size_t n);

#endif
