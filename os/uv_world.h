/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel as a world: a libuv loop, CLOCK_MONOTONIC, a timer of nanoseconds for all alarms. */
#ifndef OS_UV_WORLD_H
#define OS_UV_WORLD_H

#include "os/world.h"

struct uv_loop_s;

/* 0, or HELIO_E*: what the kernel refused. */
int uv_world_open(struct world **out);

/* For what else has handles in the same loop. */
struct uv_loop_s *uv_world_loop(struct world *w);

/* From now on so many threads, 1 to WORK_THREADS_MAX, write what streams are given by
 * stream_write_beside. Once. 0, or HELIO_E*: then there are none. */
int uv_world_writers(struct world *w, unsigned threads);

/* Runs until uv_world_end was called and everything that was opened in the world has closed. */
void uv_world_run(struct world *w);

/* Stops the world: no work is done in other threads (pending work is reported as not done), and no
 * look-up is reported. Only handles that close remain, and alarms set to 0, which they may wait
 * for. Other alarms fire only if a handle takes so long to close. */
void uv_world_end(struct world *w);

/* After uv_world_run; NULL is allowed. 0, or HELIO_E* when a handle was left open, which is lost.
 */
int uv_world_free(struct world *w);

#endif
