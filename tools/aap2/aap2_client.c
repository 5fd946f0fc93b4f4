/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The happy path: connect, one magic byte, welcome, configuration, answer; then ADUs are queued as
 * a copied head and a borrowed body and leave together in one system call, without the payload
 * being copied here. What can go wrong: no node at the path, a peer that speaks something else, a
 * refusal, and the node going away at any time, which every call after that tells as HELIO_EIO.
 */
#include "tools/aap2/aap2_client.h"
#include "os/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET_BUFFER (4 << 20)
#define PACKED_MAX 1024 /* of the message before an ADU: two EIDs and numbers */

struct queued {
    uint8_t head[PACKED_MAX + AAP2_HEAD_MAX];
    size_t head_len;
    struct slice body;
    size_t done; /* bytes written, of both */
};

struct aap2_client {
    int fd;
    bool gone;
    char node[AAP2_EID_MAX];
    struct aap2_reader reader;
    size_t first, len; /* of the queue, a ring */
    struct queued queue[AAP2_QUEUE];
};

static int64_t now_ms(void)
{
    return (int64_t)(clock_now() / TICK_MS);
}

static int connect_to(const char *path, char why[AAP2_WHY_MAX])
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        snprintf(why, AAP2_WHY_MAX, "the path of a socket has at most %zu characters: %.100s…",
                 sizeof address.sun_path - 1, path);
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        snprintf(why, AAP2_WHY_MAX, "no node answers at %.120s: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    int size = SOCKET_BUFFER;
    /* as far as the kernel allows: the limits are not ours to complain about on a local socket */
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size) != 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    return fd;
}

/* Waits for the next arrival. */
static int wait_next(struct aap2_client *c, struct aap2_arrival *a, int timeout_ms)
{
    int64_t until = now_ms() + timeout_ms;
    for (;;) {
        int rc = aap2_client_flush(c);
        rc = rc == 0 ? aap2_client_next(c, a) : rc;
        if (rc != 0)
            return rc < 0 ? rc : 0;
        int64_t left = until - now_ms();
        if (left <= 0)
            return HELIO_EAGAIN;
        short events = (short)(POLLIN | (aap2_client_queued(c) ? POLLOUT : 0));
        struct pollfd p = {.fd = c->fd, .events = events};
        if (poll(&p, 1, (int)left) < 0 && errno != EINTR)
            return HELIO_EIO;
    }
}

static int wait_magic(struct aap2_client *c, int timeout_ms)
{
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    uint8_t byte = 0;
    if (poll(&p, 1, timeout_ms) <= 0)
        return HELIO_EAGAIN;
    if (read(c->fd, &byte, 1) != 1)
        return HELIO_EIO;
    return byte == AAP2_MAGIC ? 0 : HELIO_EFORMAT;
}

static const char *failure(int rc)
{
    switch (rc) {
    case HELIO_EAGAIN:
        return "the node does not answer in time";
    case HELIO_EIO:
        return "the node closed the connection";
    case HELIO_EFORMAT:
        return "what answers there does not speak AAP 2.0";
    default:
        return helio_strerror(rc);
    }
}

static int welcome(struct aap2_client *c, int timeout_ms)
{
    struct aap2_arrival a = {0};
    int rc = wait_magic(c, timeout_ms);
    if (rc == 0)
        rc = wait_next(c, &a, timeout_ms);
    if (rc != 0)
        return rc == HELIO_EAGAIN ? HELIO_EIO : rc;
    if (a.message == NULL || a.message->msg_case != AAP2__AAPMESSAGE__MSG_WELCOME ||
        strlen(a.message->welcome->node_id) >= sizeof c->node)
        rc = HELIO_EFORMAT;
    else
        memcpy(c->node, a.message->welcome->node_id, strlen(a.message->welcome->node_id) + 1);
    aap2_arrival_fini(&a);
    return rc;
}

int aap2_client_open(struct aap2_client **out, const char *path, int timeout_ms,
                     char why[AAP2_WHY_MAX])
{
    int fd = connect_to(path, why);
    if (fd < 0)
        return HELIO_EIO;
    struct aap2_client *c = calloc(1, sizeof *c);
    if (c == NULL) {
        close(fd);
        snprintf(why, AAP2_WHY_MAX, "%s", helio_strerror(HELIO_ENOMEM));
        return HELIO_ENOMEM;
    }
    c->fd = fd;
    aap2_reader_init(&c->reader, false, 0, 0, 0);
    int rc = welcome(c, timeout_ms);
    if (rc != 0) {
        snprintf(why, AAP2_WHY_MAX, "%.120s: %s", path, failure(rc));
        aap2_client_close(c);
        return rc;
    }
    *out = c;
    return 0;
}

void aap2_client_close(struct aap2_client *c)
{
    if (c == NULL)
        return;
    aap2_reader_fini(&c->reader);
    close(c->fd);
    free(c);
}

const char *aap2_client_node(const struct aap2_client *c)
{
    return c->node;
}

static struct queued *queue_last(struct aap2_client *c)
{
    return &c->queue[(c->first + c->len - 1) % AAP2_QUEUE];
}

/* A new element at the queue's end, which is not full. */
static struct queued *queue_add(struct aap2_client *c)
{
    c->len++;
    struct queued *q = queue_last(c);
    q->head_len = 0;
    q->done = 0;
    q->body = slice_of(NULL, 0);
    return q;
}

static int queue_message(struct aap2_client *c, const ProtobufCMessage *m)
{
    if (c->len == AAP2_QUEUE)
        return HELIO_EAGAIN;
    struct queued *q = queue_add(c);
    int n = aap2_pack(m, q->head, sizeof q->head);
    if (n < 0) {
        c->len--;
        return HELIO_EINVAL;
    }
    q->head_len = (size_t)n;
    return 0;
}

/* protobuf-c's strings are not const, though packing does not write to them. */
static char *text(const char *s)
{
    union {
        const char *in;
        char *out;
    } u = {.in = s != NULL ? s : ""};
    return u.out;
}

int aap2_client_register(struct aap2_client *c, const struct aap2_registration *r, int timeout_ms,
                         char why[AAP2_WHY_MAX])
{
    Aap2__ConnectionConfig config = AAP2__CONNECTION_CONFIG__INIT;
    Aap2__AAPMessage m = AAP2__AAPMESSAGE__INIT;
    config.is_subscriber = r->subscriber;
    config.secret = text(r->secret);
    config.endpoint_id = text(r->endpoint);
    config.window = r->window;
    m.msg_case = AAP2__AAPMESSAGE__MSG_CONFIG;
    m.config = &config;
    int rc = queue_message(c, &m.base);
    struct aap2_arrival a = {0};
    c->reader.responses = true;
    if (rc == 0)
        rc = wait_next(c, &a, timeout_ms);
    if (rc != 0) {
        snprintf(why, AAP2_WHY_MAX, "registering %.100s: %s", r->endpoint, failure(rc));
        return rc == HELIO_EAGAIN ? HELIO_EIO : rc;
    }
    if (a.response->response_status != AAP2__RESPONSE_STATUS__RESPONSE_STATUS_SUCCESS) {
        snprintf(why, AAP2_WHY_MAX, "the node refuses to register %.100s: %.100s", r->endpoint,
                 a.response->text[0] != '\0' ? a.response->text : "no reason given");
        rc = HELIO_EINVAL;
        if (a.response->response_status == AAP2__RESPONSE_STATUS__RESPONSE_STATUS_UNAUTHORIZED)
            rc = HELIO_EEXIST;
    }
    aap2_arrival_fini(&a);
    c->reader.responses = !r->subscriber;
    c->reader.payload_max = r->payload_max;
    return rc;
}

int aap2_client_send(struct aap2_client *c, const struct aap2_adu *adu)
{
    Aap2__BundleADU a = AAP2__BUNDLE_ADU__INIT;
    Aap2__AAPMessage m = AAP2__AAPMESSAGE__INIT;
    if (adu->head.len > AAP2_HEAD_MAX)
        return HELIO_EINVAL;
    a.dst_eid = text(adu->destination);
    a.payload_length = adu->head.len + adu->body.len;
    a.lifetime_ms = adu->lifetime_ms;
    a.crc_type = adu->crc_type;
    m.msg_case = AAP2__AAPMESSAGE__MSG_ADU;
    m.adu = &a;
    int rc = queue_message(c, &m.base);
    if (rc != 0)
        return rc;
    struct queued *q = queue_last(c);
    if (q->head_len + adu->head.len > sizeof q->head) {
        c->len--;
        return HELIO_EINVAL;
    }
    if (adu->head.len > 0)
        memcpy(q->head + q->head_len, adu->head.data, adu->head.len);
    q->head_len += adu->head.len;
    q->body = adu->body;
    return 0;
}

static int answer(struct aap2_client *c, Aap2__ResponseStatus status)
{
    Aap2__AAPResponse r = AAP2__AAPRESPONSE__INIT;
    uint8_t out[16];
    r.response_status = status;
    int n = aap2_pack(&r.base, out, sizeof out);
    struct queued *q = c->len > 0 ? queue_last(c) : NULL;
    if (q == NULL || q->body.len > 0 || q->head_len + (size_t)n > sizeof q->head) {
        if (c->len == AAP2_QUEUE)
            return HELIO_EAGAIN;
        q = queue_add(c);
    }
    memcpy(q->head + q->head_len, out, (size_t)n);
    q->head_len += (size_t)n;
    return 0;
}

int aap2_client_answer(struct aap2_client *c, bool success)
{
    return answer(c, success ? AAP2__RESPONSE_STATUS__RESPONSE_STATUS_SUCCESS
                             : AAP2__RESPONSE_STATUS__RESPONSE_STATUS_ERROR);
}

/* What of the queue is not written yet. */
static int gather(struct aap2_client *c, struct iovec iov[2 * AAP2_QUEUE])
{
    int n = 0;
    for (size_t i = 0; i < c->len; i++) {
        struct queued *q = &c->queue[(c->first + i) % AAP2_QUEUE];
        if (q->done < q->head_len)
            iov[n++] =
                (struct iovec){.iov_base = q->head + q->done, .iov_len = q->head_len - q->done};
        size_t at = q->done < q->head_len ? 0 : q->done - q->head_len;
        union {
            const uint8_t *in;
            void *out;
        } body = {.in = q->body.data};
        if (at < q->body.len)
            iov[n++] =
                (struct iovec){.iov_base = (uint8_t *)body.out + at, .iov_len = q->body.len - at};
    }
    return n;
}

static void written(struct aap2_client *c, size_t n)
{
    while (c->len > 0) {
        struct queued *q = &c->queue[c->first];
        size_t left = q->head_len + q->body.len - q->done;
        if (n < left) {
            q->done += n;
            return;
        }
        n -= left;
        c->first = (c->first + 1) % AAP2_QUEUE;
        c->len--;
    }
}

int aap2_client_flush(struct aap2_client *c)
{
    struct iovec iov[2 * AAP2_QUEUE];
    while (c->len > 0 && !c->gone) {
        int n = gather(c, iov);
        struct msghdr m = {.msg_iov = iov, .msg_iovlen = (size_t)n};
        ssize_t got = sendmsg(c->fd, &m, MSG_NOSIGNAL);
        /* ENOBUFS: the kernel is short of memory for a moment, nothing is wrong with the connection
         */
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS))
            return 0;
        if (got < 0 && errno != EINTR)
            c->gone = true;
        if (got > 0)
            written(c, (size_t)got);
    }
    return c->gone ? HELIO_EIO : 0;
}

bool aap2_client_queued(const struct aap2_client *c)
{
    return c->len > 0;
}

bool aap2_client_full(const struct aap2_client *c)
{
    return c->len == AAP2_QUEUE;
}

int aap2_client_fd(const struct aap2_client *c)
{
    return c->fd;
}

static int read_some(struct aap2_client *c, size_t *n)
{
    size_t room;
    uint8_t *p = aap2_reader_space(&c->reader, &room);
    if (p == NULL)
        return HELIO_ENOMEM;
    ssize_t got = read(c->fd, p, room);
    *n = got > 0 ? (size_t)got : 0;
    if (got > 0)
        return 1;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return 0;
    c->gone = true;
    return HELIO_EIO;
}

int aap2_client_next(struct aap2_client *c, struct aap2_arrival *out)
{
    size_t n = 0;
    for (;;) {
        int rc = aap2_reader_fed(&c->reader, n, &out->message, &out->response, &out->payload);
        n = 0;
        if (rc == 1 && out->message != NULL &&
            out->message->msg_case == AAP2__AAPMESSAGE__MSG_KEEPALIVE) {
            aap2_arrival_fini(out);
            (void)answer(c, AAP2__RESPONSE_STATUS__RESPONSE_STATUS_ACK); /* a full queue is alive */
            continue;
        }
        if (rc != 0)
            return rc;
        rc = c->gone ? HELIO_EIO : read_some(c, &n);
        if (rc <= 0)
            return rc;
    }
}

void aap2_arrival_fini(struct aap2_arrival *a)
{
    if (a->message != NULL)
        aap2__aapmessage__free_unpacked(a->message, NULL);
    if (a->response != NULL)
        aap2__aapresponse__free_unpacked(a->response, NULL);
    buf_drop(a->payload);
    *a = (struct aap2_arrival){0};
}
