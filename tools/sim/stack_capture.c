/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The captures of a channel, as the emulator's (emu_capture.h): datagrams that enter it, each at
 * the time at which its socket sent it, and those that leave it, at the time at which the next
 * socket has them. Frames of streams are no datagrams, and are not in them. What can go wrong: a
 * file cannot be made; one that could not be written whole is told at the end.
 */
#include <stdio.h>

#include "base/err.h"
#include "channel-emu/emu/emu_capture.h"
#include "tools/sim/stack.h"

static int open_capture(struct log_writer **out, const char *path, bool after, uint64_t run)
{
    if (*path == '\0')
        return 0;
    int rc = emu_capture_open(out, path, after, run, LOG_WAIT);
    if (rc < 0)
        fprintf(stderr, "helio-sim: %s: %s\n", path, helio_strerror(rc));
    return rc < 0 ? HELIO_EIO : 0;
}

int stack_capture_open(struct stack_channel *c, size_t number)
{
    const struct scenario *s = &c->options.settings.scenario;
    uint64_t run = STACK_START * TICK_S + number; /* the same bytes for the same options */
    int rc = open_capture(&c->capture[0], s->pcap_before, false, run);
    return rc == 0 ? open_capture(&c->capture[1], s->pcap_after, true, run) : rc;
}

void stack_capture_put(struct stack_channel *c, bool after, int dir, const struct address *from,
                       const struct address *to, struct slice frame)
{
    if (c->capture[after] == NULL)
        return;
    if (from->sa.sa_family != to->sa.sa_family) /* of a relay between IPv4 and IPv6 */
        *(after ? &from : &to) = after ? to : from;
    tick wall = STACK_START * TICK_S + c->stack->world.now;
    emu_capture_udp(c->capture[after], dir, wall, from, to, frame.data, frame.len);
}
