/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node for tests of programs that speak AAP 2.0: it carries ADUs between the endpoints of one
 * socket, keeps what was not answered, and misbehaves on demand. It runs in a process of its own.
 */
#ifndef TESTS_UNIT_FAKE_NODE_H
#define TESTS_UNIT_FAKE_NODE_H

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "node/aap2/aap2_wire.h"

#define FAKE_CONNS 16
#define FAKE_HELD 65536
#define FAKE_FORGER "ipn:1.666"

struct fake_options {
    unsigned crash_every;  /* after so many ADUs all connections close, the last one unanswered */
    unsigned drop_every;   /* every n-th payload of kind `drop_kind` disappears */
    unsigned damage_every; /* every n-th payload of kind 1 has a bit turned */
    unsigned refuse_every; /* every n-th payload of kind 1 is refused */
    unsigned repeat_every; /* every n-th ADU is delivered twice */
    unsigned forge_every;  /* every n-th ADU comes once more, with the source FAKE_FORGER */
    int drop_kind;
};

struct fake_adu {
    char src[64], dst[64];
    struct buf *payload;
    int conn; /* delivered there and not answered, or -1 */
};

struct fake_conn {
    int fd;
    bool subscriber, configured;
    char endpoint[64];
    struct aap2_reader reader;
};

struct fake_node {
    struct fake_options o;
    int listener;
    struct fake_conn conns[FAKE_CONNS];
    struct fake_adu held[FAKE_HELD]; /* in order */
    size_t len;
    unsigned adus, of_kind, data, asked;
};

/* Of the generator's payloads: 1 = data. */
static inline int fake_kind(struct buf *payload)
{
    return payload->len > 5 ? buf_data(payload)[5] : 0;
}

static inline void fake_write(int fd, const void *data, size_t n)
{
    const uint8_t *p = data;
    while (n > 0) {
        ssize_t got = send(fd, p, n, MSG_NOSIGNAL);
        if (got <= 0)
            return;
        p += got;
        n -= (size_t)got;
    }
}

static inline void fake_message(int fd, const ProtobufCMessage *m)
{
    uint8_t out[4096];
    int n = aap2_pack(m, out, sizeof out);
    if (n > 0)
        fake_write(fd, out, (size_t)n);
}

static inline void fake_respond(int fd, bool ok)
{
    Aap2__AAPResponse r = AAP2__AAPRESPONSE__INIT;
    r.response_status = ok ? AAP2__RESPONSE_STATUS__RESPONSE_STATUS_SUCCESS
                           : AAP2__RESPONSE_STATUS__RESPONSE_STATUS_ERROR;
    fake_message(fd, &r.base);
}

static inline void fake_accept(struct fake_node *n)
{
    int fd = accept(n->listener, NULL, NULL), i = 0;
    while (i < FAKE_CONNS && n->conns[i].fd >= 0)
        i++;
    if (fd < 0 || i == FAKE_CONNS)
        abort();
    struct fake_conn *c = &n->conns[i];
    *c = (struct fake_conn){.fd = fd};
    aap2_reader_init(&c->reader, false, 0, 0, 1 << 24);
    char name[] = "ipn:1.0";
    Aap2__Welcome w = AAP2__WELCOME__INIT;
    Aap2__AAPMessage m = AAP2__AAPMESSAGE__INIT;
    w.node_id = name;
    m.msg_case = AAP2__AAPMESSAGE__MSG_WELCOME;
    m.welcome = &w;
    uint8_t magic = AAP2_MAGIC;
    fake_write(fd, &magic, 1);
    fake_message(fd, &m.base);
}

static inline void fake_close(struct fake_node *n, int i)
{
    close(n->conns[i].fd);
    n->conns[i].fd = -1;
    aap2_reader_fini(&n->conns[i].reader);
    for (size_t k = 0; k < n->len; k++)
        if (n->held[k].conn == i)
            n->held[k].conn = -1;
}

/* Gives what is held to those who wait for it. */
static inline void fake_deliver(struct fake_node *n)
{
    for (size_t k = 0; k < n->len; k++) {
        struct fake_adu *a = &n->held[k];
        for (int i = 0; a->conn < 0 && i < FAKE_CONNS; i++) {
            struct fake_conn *c = &n->conns[i];
            if (c->fd < 0 || !c->configured || !c->subscriber || strcmp(c->endpoint, a->dst) != 0)
                continue;
            Aap2__BundleADU u = AAP2__BUNDLE_ADU__INIT;
            Aap2__AAPMessage m = AAP2__AAPMESSAGE__INIT;
            u.src_eid = a->src;
            u.dst_eid = a->dst;
            u.payload_length = a->payload->len;
            m.msg_case = AAP2__AAPMESSAGE__MSG_ADU;
            m.adu = &u;
            a->conn = i;
            fake_message(c->fd, &m.base);
            fake_write(c->fd, buf_data(a->payload), a->payload->len);
        }
    }
}

static inline bool every(unsigned count, unsigned n)
{
    return n > 0 && count % n == 0;
}

static inline void fake_hold(struct fake_node *n, const struct fake_conn *c, const char *dst,
                             struct buf *payload)
{
    int kind = fake_kind(payload);
    if (kind == n->o.drop_kind && every(++n->of_kind, n->o.drop_every)) {
        buf_drop(payload);
        return;
    }
    if (kind == 1 && every(++n->data, n->o.damage_every))
        buf_data(payload)[payload->len - 1] ^= 1;
    bool forged = every(n->adus, n->o.forge_every);
    int copies = forged || every(n->adus, n->o.repeat_every) ? 2 : 1;
    for (int i = 0; i < copies; i++) {
        if (n->len == FAKE_HELD)
            abort();
        struct fake_adu *a = &n->held[n->len++];
        *a = (struct fake_adu){.payload = i == 0 ? payload : buf_keep(payload), .conn = -1};
        memcpy(a->src, c->endpoint, sizeof a->src);
        if (i == 1 && forged)
            memcpy(a->src, FAKE_FORGER, sizeof FAKE_FORGER);
        snprintf(a->dst, sizeof a->dst, "%s", dst);
    }
}

/* False when the node "crashes" at this message. */
static inline bool fake_message_in(struct fake_node *n, int i, const Aap2__AAPMessage *m,
                                   struct buf *payload)
{
    struct fake_conn *c = &n->conns[i];
    if (m->msg_case == AAP2__AAPMESSAGE__MSG_CONFIG) {
        c->configured = true;
        c->subscriber = m->config->is_subscriber;
        snprintf(c->endpoint, sizeof c->endpoint, "%s", m->config->endpoint_id);
        c->reader.responses = c->subscriber;
        fake_respond(c->fd, true);
    } else if (m->msg_case == AAP2__AAPMESSAGE__MSG_ADU) {
        n->adus++;
        bool refuse = fake_kind(payload) == 1 && every(++n->asked, n->o.refuse_every);
        if (refuse)
            buf_drop(payload);
        else
            fake_hold(n, c, m->adu->dst_eid, payload);
        if (every(n->adus, n->o.crash_every))
            return false;
        fake_respond(c->fd, !refuse);
    }
    return true;
}

/* The oldest delivery to connection i is answered. */
static inline void fake_answered(struct fake_node *n, int i)
{
    for (size_t k = 0; k < n->len; k++) {
        if (n->held[k].conn != i)
            continue;
        buf_drop(n->held[k].payload);
        memmove(&n->held[k], &n->held[k + 1], (n->len - k - 1) * sizeof n->held[0]);
        n->len--;
        return;
    }
}

static inline bool fake_read(struct fake_node *n, int i)
{
    struct fake_conn *c = &n->conns[i];
    size_t room;
    uint8_t *p = aap2_reader_space(&c->reader, &room);
    ssize_t got = p != NULL ? read(c->fd, p, room) : -1;
    if (got <= 0) {
        fake_close(n, i);
        return true;
    }
    Aap2__AAPMessage *m;
    Aap2__AAPResponse *r;
    struct buf *payload;
    size_t fed = (size_t)got;
    bool alive = true;
    while (alive && aap2_reader_fed(&c->reader, fed, &m, &r, &payload) == 1) {
        fed = 0;
        if (m != NULL)
            alive = fake_message_in(n, i, m, payload);
        else
            fake_answered(n, i);
        if (m != NULL)
            aap2_message_free(m);
        if (r != NULL)
            aap2_response_free(r);
    }
    return alive;
}

/* Opens the listening socket (before the process is forked, so that nobody comes too early). */
static inline int fake_listen(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
    unlink(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) != 0 || listen(fd, 16) != 0)
        abort();
    return fd;
}

/* Serves until it is killed. */
static inline void fake_run(int listener, struct fake_options o)
{
    struct fake_node *n = calloc(1, sizeof *n);
    n->o = o;
    n->listener = listener;
    for (int i = 0; i < FAKE_CONNS; i++)
        n->conns[i].fd = -1;
    for (;;) {
        struct pollfd p[FAKE_CONNS + 1];
        for (int i = 0; i < FAKE_CONNS; i++)
            p[i] = (struct pollfd){.fd = n->conns[i].fd, .events = POLLIN};
        p[FAKE_CONNS] = (struct pollfd){.fd = listener, .events = POLLIN};
        if (poll(p, FAKE_CONNS + 1, -1) < 0)
            abort();
        bool alive = true;
        for (int i = 0; alive && i < FAKE_CONNS; i++)
            if (p[i].revents != 0)
                alive = fake_read(n, i);
        for (int i = 0; !alive && i < FAKE_CONNS; i++)
            if (n->conns[i].fd >= 0)
                fake_close(n, i);
        if ((p[FAKE_CONNS].revents & POLLIN) != 0)
            fake_accept(n);
        fake_deliver(n);
    }
}

#endif
