/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A byte stream between two programs: a UNIX socket or TCP in the kernel's world (uv_stream.c), two
 * pipes in memory in the virtual world. No call blocks. A write accepts as much as there is room
 * for. Received bytes are read directly to the user's memory. The user's functions are called from
 * the world's loop, never within a call into the stream. The user must always call stream_close; no
 * call follows it.
 */
#ifndef OS_STREAM_H
#define OS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "os/work_pool.h"

struct address;
struct buf;
struct world;

#define STREAM_PARTS_MAX 128 /* of one write */
#define STREAM_PATH_MAX 107  /* characters of a UNIX socket's path */

#define STREAM_MODE 0660 /* of a UNIX socket's file, unless its listener says otherwise */

/* Where a stream begins: a UNIX socket by its path, or, when path is NULL, TCP by a numeric
 * address. */
struct stream_place {
    const char *path;
    const struct address *address;
    /* For a listener's path: the permissions for connecting clients, independent of the umask. */
    unsigned mode;  /* permissions of the file; 0: STREAM_MODE */
    bool has_group; /* the file is this group's, of which the process is a member; */
    unsigned group; /* else the process's own */
};

/* The process at the other end of a UNIX socket when it connected. */
struct stream_peer {
    unsigned pid, uid, gid;
};

/* The functions of a stream's user; all four are required. Each may close the stream. */
struct stream_user {
    /* Returns memory for the next bytes, *len >= 1 of them at most. `fed` follows at once, unless
     * nothing arrived. NULL: no memory, and the stream ends. */
    uint8_t *(*space)(void *context, size_t *len);
    void (*fed)(void *context, size_t len); /* so many bytes lie there now, >= 1 */
    /* After a write that accepted only a part: there is room again. For stream_connect the first
     * call means that the stream is connected. */
    void (*writable)(void *context);
    /* The stream has ended in both directions. 0: the peer ended it; HELIO_E*: an error, also of a
     * failed connection attempt. Called once. */
    void (*ended)(void *context, int error);
};

struct stream {
    const struct stream_ops *ops;
    const struct stream_user *user;
    void *context;
    void (*urgent)(void *context, uint8_t octet); /* stream_on_urgent */
    void (*half)(void *context);                  /* stream_on_half */
};

struct stream_listener {
    const struct stream_ops *ops;
    /* Each new connection: the callee takes it with stream_use, or closes it. */
    void (*accepted)(void *context, struct stream *s);
    void *context;
};

/*
 * A large write by another thread, while the loop serves other streams. The object and the data
 * must stay valid until `written` is called, stream_settle has returned, or the stream is closed.
 * The thread reads `parts` and writes to the socket, nothing else. Before that it calls `prepare`,
 * which may write the last octets of the parts.
 */
struct stream_beside {
    const struct slice *parts;
    size_t parts_len; /* 1 to STREAM_PARTS_MAX */
    void (*prepare)(struct stream_beside *b);
    /* Called in the loop: the number of accepted octets, whose memory may be reused. If these are
     * not all, `writable` of the stream follows. */
    void (*written)(struct stream_beside *b, size_t octets);
    /* The stream's: */
    struct work work;
    struct stream *stream;
    int fd, error;
    size_t got;
};

/* Of a world. */
struct stream_ops {
    int (*listen)(struct world *w, struct stream_listener **out, const struct stream_place *at);
    void (*unlisten)(struct stream_listener *l);
    int (*connect)(struct world *w, struct stream **out, const struct stream_place *to);
    void (*read)(struct stream *s, bool on);
    size_t (*write)(struct stream *s, const struct slice *parts, size_t parts_len);
    /* Optional: as `write`, and may keep owners[i] (NULL: none) instead of a copy of parts[i]. */
    size_t (*write_kept)(struct stream *s, const struct slice *parts, struct buf *const *owners,
                         size_t parts_len);
    /* Optional, all or none. */
    bool (*write_beside)(struct stream *s, struct stream_beside *b);
    unsigned (*waiting)(const struct stream *s);
    size_t (*settle)(struct stream *s);
    void (*buffers)(struct stream *s, uint32_t bytes);
    int (*congestion)(struct stream *s, const char *name);     /* NULL: there is no such thing */
    uint64_t (*unheard)(const struct stream *s);               /* NULL: not known */
    bool (*peer)(const struct stream *s, struct address *out); /* NULL: not known */
    bool (*user_of)(const struct stream *s, struct stream_peer *out); /* NULL: not known */
    bool (*member)(const struct stream *s, unsigned group);           /* NULL: no */
    int (*urgent)(struct stream *s, uint8_t octet); /* NULL: there is no such thing */
    int (*finish)(struct stream *s);                /* NULL: there is no such thing */
    void (*reset)(struct stream *s);                /* NULL: as close */
    void (*close)(struct stream *s);
};

/* Sets the user; it must exist as long as the stream. */
static inline void stream_use(struct stream *s, const struct stream_user *user, void *context)
{
    s->user = user;
    s->context = context;
}

/* Optional: `urgent` gets the octet of TCP's urgent data when it arrives, before earlier data, and
 * even if reading is off. The octet is not among the bytes of the stream. */
static inline void stream_on_urgent(struct stream *s, void (*urgent)(void *context, uint8_t octet))
{
    s->urgent = urgent;
}

/* Optional, for streams with stream_finish: `half` is called once when the peer has ended its
 * direction and all of it was read. The other direction continues; `ended` is then called only for
 * an error. Without `half` the peer's end ends the stream. */
static inline void stream_on_half(struct stream *s, void (*half)(void *context))
{
    s->half = half;
}

/* Bytes are read only while this is on (back-pressure); off at first. The peer's end of the stream
 * is detected only then, or while a write waits for room. */
static inline void stream_read(struct stream *s, bool on)
{
    s->ops->read(s, on);
}

/* Writes at most STREAM_PARTS_MAX parts in sequence. Returns the number of accepted bytes, whose
 * memory may be reused. If these are not all, `writable` follows. Without parts it writes nothing,
 * and `writable` follows when the stream is connected and has room. */
static inline size_t stream_write(struct stream *s, const struct slice *parts, size_t parts_len)
{
    return s->ops->write(s, parts, parts_len);
}

/* The same for parts in immutable buffers: owners[i] is the buffer of parts[i], or NULL. A stream
 * in memory keeps a reference instead of a copy. */
static inline size_t stream_write_kept(struct stream *s, const struct slice *parts,
                                       struct buf *const *owners, size_t parts_len)
{
    return s->ops->write_kept != NULL ? s->ops->write_kept(s, parts, owners, parts_len)
                                      : s->ops->write(s, parts, parts_len);
}

/* Lets another thread write this; nothing else may be written until it has finished. False: there
 * are no threads, or the stream has no room now; use stream_write. */
static inline bool stream_write_beside(struct stream *s, struct stream_beside *b)
{
    return s->ops->write_beside != NULL && s->ops->write_beside(s, b);
}

/* Such writes of all streams that no thread has begun. */
static inline unsigned stream_waiting(const struct stream *s)
{
    return s->ops->waiting != NULL ? s->ops->waiting(s) : 0;
}

/* Waits for that thread, which does not block. Octets that were taken; `written` is not called any
 * more, `prepare` was called in any case. 0 also when nothing was being written. Before
 * stream_urgent and stream_finish; stream_close does it by itself. */
static inline size_t stream_settle(struct stream *s)
{
    return s->ops->settle != NULL ? s->ops->settle(s) : 0;
}

/* Requests buffers for so many bytes in flight, within the system's limits. */
static inline void stream_buffers(struct stream *s, uint32_t bytes)
{
    s->ops->buffers(s, bytes);
}

/* TCP's congestion control, by the system's name ("cubic"). 0, or HELIO_E* (not to be had here, not
 * permitted, no TCP): then it stays as it is. A world without one has nothing to do. */
static inline int stream_congestion(struct stream *s, const char *name)
{
    return s->ops->congestion != NULL ? s->ops->congestion(s, name) : 0;
}

/* Octets that were written and that the peer's system has not acknowledged yet; 0: none, or that is
 * not known. */
static inline uint64_t stream_unheard(const struct stream *s)
{
    return s->ops->unheard != NULL ? s->ops->unheard(s) : 0;
}

/* The peer's address; false: unknown, or the stream has no addresses. */
static inline bool stream_peer(const struct stream *s, struct address *out)
{
    return s->ops->peer != NULL && s->ops->peer(s, out);
}

/* The process at the other end of a UNIX socket; false: it is not known, or it is none. */
static inline bool stream_user_of(const struct stream *s, struct stream_peer *out)
{
    return s->ops->user_of != NULL && s->ops->user_of(s, out);
}

/* Is that process a member of the group (a supplementary one, too)? */
static inline bool stream_is_member(const struct stream *s, unsigned group)
{
    return s->ops->member != NULL && s->ops->member(s, group);
}

/* Sends the octet as TCP's urgent data and ends the stream's writing: nothing is written any more.
 * 0; HELIO_EINVAL: this stream has no urgent data; HELIO_E*. */
static inline int stream_urgent(struct stream *s, uint8_t octet)
{
    return s->ops->urgent != NULL ? s->ops->urgent(s, octet) : HELIO_EINVAL;
}

/* Ends this direction of the stream: the peer reads all written data, then the end. Reading
 * continues. Returns 0; HELIO_EINVAL: not supported by this stream; HELIO_E*. */
static inline int stream_finish(struct stream *s)
{
    return s->ops->finish != NULL ? s->ops->finish(s) : HELIO_EINVAL;
}

static inline void stream_close(struct stream *s)
{
    s->ops->close(s);
}

/* Closes it so that the peer sees that this is no orderly end; what was not sent yet is dropped. */
static inline void stream_reset(struct stream *s)
{
    if (s->ops->reset != NULL)
        s->ops->reset(s);
    else
        s->ops->close(s);
}

/* Ends the listener at once; its streams live on. */
static inline void stream_unlisten(struct stream_listener *l)
{
    l->ops->unlisten(l);
}

#endif
