/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wakes a libuv loop from another thread. uv_async_t is not used: its handler spins until the
 * waking thread has left the call. A loop with real-time priority can preempt that thread within
 * the call, and then spins until the kernel schedules normal threads, a second later.
 */
#ifndef OS_UV_BELL_H
#define OS_UV_BELL_H

struct uv_bell;
struct uv_loop_s;

/* `rung` is called in the loop, once for all rings since its last call. 0, or HELIO_E*. */
int uv_bell_open(struct uv_bell **out, struct uv_loop_s *loop, void (*rung)(void *context),
                 void *context);

/* From any thread; never blocks. */
void uv_bell_ring(struct uv_bell *b);

/* Call it in the loop's thread, after the last ring; the loop must run once more to free it. NULL
 * is allowed. */
void uv_bell_close(struct uv_bell *b);

#endif
