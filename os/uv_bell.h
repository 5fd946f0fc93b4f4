/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bell that another thread rings to wake a libuv loop.
 *
 * Not uv_async_t: its handler spins until the thread that rang has left the call. A loop with
 * real-time priority takes that thread's processor in the midst of the call, and then spins until
 * the kernel takes pity on normal threads, a second later.
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

/* In the loop's thread, when nobody rings any more; the loop runs once more to free it. NULL is
 * allowed. */
void uv_bell_close(struct uv_bell *b);

#endif
