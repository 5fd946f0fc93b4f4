/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte streams in memory, for a world in virtual time (os/stream.h). What is written at one end can
 * be read at the other a fixed time later; what is not read yet fills the stream, and a write takes
 * no more than there is room for.
 *
 * An alarm of rank ALARM_STREAM does one thing at a time, in the order of time and then of making:
 * a piece that was written arrives, there is room again, somebody connects, an end has closed. What
 * goes to the end that accepts (the server's) takes no time, what goes to the other one `delay`;
 * only the latter has more room when stream_buffers asks for it.
 */
#ifndef TOOLS_PIPES_H
#define TOOLS_PIPES_H

#include "os/world.h"

/* Room of a stream that nobody asked more for, as on Linux. */
#define PIPE_BYTES 212992

struct pipes {
    struct world *world;
    struct list listeners, ends;
    struct alarm alarm;
    tick delay;
    uint64_t made; /* events, for their order */
    struct pipe_end *busy;
};

extern const struct stream_ops pipe_ops; /* of worlds whose `pipes` is set */

/* w->pipes is p from now on. */
void pipes_init(struct pipes *p, struct world *w, tick delay);
/* All ends are closed, and all listeners. */
void pipes_fini(struct pipes *p);

/* Does the first thing that is due now; false: there is none. For a world that wants some of it
 * before other alarms. */
bool pipes_step(struct pipes *p);

/* Does somebody listen there? A path, or an address. */
bool pipes_reach(const struct pipes *p, const struct stream_place *to);

/* Its own invariants, asserted. */
void pipes_check(const struct pipes *p);

#endif
