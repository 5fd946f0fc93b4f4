/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the kernel's table (os/world.h), a file each. */
#ifndef OS_UV_WORLD_PRIVATE_H
#define OS_UV_WORLD_PRIVATE_H

#include <sys/socket.h>

#include "os/uv_world.h"

/* Octets that a stream reads in this round of the loop: fewer, the more streams had more to read
 * than their share in the last one. Then: this one had more. */
size_t uv_world_read_share(const struct uv_loop_s *loop);
void uv_world_read_more(struct uv_loop_s *loop);

struct work_pool;

/* uv_world.c: threads that write; NULL: none */
struct work_pool *uv_world_write_pool(struct world *w);

/* uv_port.c */
int uv_port_open(struct world *w, struct port **out, const struct address *local, bool segments);

/* uv_stream.c */
struct uv_place {
    struct sockaddr_storage address;
    socklen_t len;
};
int uv_resolve_place(const struct stream_place *p, struct uv_place *out);
/* A descriptor, or HELIO_E*. */
int uv_open_socket(const struct uv_place *p);
/* Takes the descriptor; NULL: memory is out, and it is closed. */
struct stream *uv_stream_new(struct world *w, int fd, bool connecting);
extern const struct stream_ops uv_stream_ops;

/* uv_listener.c */
int uv_listener_open(struct world *w, struct stream_listener **out, const struct stream_place *at);
void uv_listener_close(struct stream_listener *base);

#endif
