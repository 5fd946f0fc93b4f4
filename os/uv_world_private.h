/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the kernel's table (os/world.h), a file each. */
#ifndef OS_UV_WORLD_PRIVATE_H
#define OS_UV_WORLD_PRIVATE_H

#include "os/uv_world.h"

/* Octets that a stream reads in this round of the loop: fewer, the more streams had more to read
 * than their share in the last one. Then: this one had more. */
size_t uv_world_read_share(const struct uv_loop_s *loop);
void uv_world_read_more(struct uv_loop_s *loop);

/* uv_port.c */
int uv_port_open(struct world *w, struct port **out, const struct address *local, bool segments);

/* uv_stream.c */
extern const struct stream_ops uv_stream_ops;

#endif
