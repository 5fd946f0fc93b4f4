/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups of the kernel's world (os/lookup.h), in threads of their own. */
#ifndef OS_UV_LOOKUP_H
#define OS_UV_LOOKUP_H

#include "os/lookup.h"

struct uv_loop_s;
struct uv_lookups;

/* For a loop's thread. 0 or HELIO_E*. */
int uv_lookups_open(struct uv_lookups **out, struct uv_loop_s *loop);
/* Nothing is told any more, and nobody waits for the resolver: a thread that does ends by itself.
 * The loop runs once more. NULL is allowed. */
void uv_lookups_close(struct uv_lookups *u);

/* As lookup_begin and lookup_forget. */
int uv_lookups_begin(struct uv_lookups *u, struct lookup *l);
void uv_lookups_forget(struct uv_lookups *u, struct lookup *l);

#endif
