/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The happy path: connect, one magic byte, welcome, configuration, answer; then ADUs are queued as
 * a copied head and a borrowed body and leave together in one gathered write, without the payload
 * being copied here. What can go wrong: no node at the path, a peer that speaks something else or
 * nothing, a refusal, and the node going away at any time; then the state is AAP2_FAILED.
 */
#include "node/aap2/aap2_client.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define STREAM_BUFFER (4 << 20)
#define READ_AHEAD 65536
#define PACKED_MAX 1024 /* of the message before an ADU: two EIDs and numbers */

struct queued {
    uint8_t head[PACKED_MAX + AAP2_HEAD_MAX];
    size_t head_len;
    struct slice body;
    size_t done; /* bytes written, of both */
};

struct aap2_client {
    struct world *world;
    struct stream *stream;
    struct alarm patience; /* for the node's next answer, until the connection is open */
    tick timeout;
    void (*ready)(void *context);
    void *context;
    enum aap2_state state;
    int error; /* of AAP2_FAILED */
    char why[AAP2_WHY_MAX];
    char path[108]; /* as it is reported; may be cut */
    char node[AAP2_EID_MAX];
    bool subscriber;
    uint64_t payload_max;
    char endpoint[104]; /* as it is reported; may be cut */
    uint8_t magic;
    bool greeted;      /* magic has come */
    bool reading;      /* of the stream */
    bool have;         /* arrival is the next one */
    bool busy, closed; /* in an event; to be freed after it */
    struct aap2_arrival arrival;
    struct aap2_reader reader;
    size_t first, len; /* of the queue, a ring */
    struct queued queue[AAP2_QUEUE];
};

static const char *failure_text(int rc)
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

#define CONTROL_END ".ctl"
#define CONTROL_PATIENCE (2 * TICK_S) /* by such a name it may be an application socket still */

static bool names_control(const char *path)
{
    size_t len = strlen(path), end = strlen(CONTROL_END);
    return len > end && strcmp(path + len - end, CONTROL_END) == 0;
}

/* Nobody greets us: a node that hangs, or its control socket, which waits for a question. */
static void tell_silence(struct aap2_client *c)
{
    bool control = names_control(c->path);
    if (control)
        snprintf(c->why, sizeof c->why,
                 "%s is the control socket; applications connect to %.*s (socket: in the node's "
                 "configuration)",
                 c->path, (int)(strlen(c->path) - strlen(CONTROL_END)), c->path);
    else
        snprintf(c->why, sizeof c->why,
                 "%s: nobody greets within %.3g s: the node hangs, or this is its control socket; "
                 "applications connect to socket: of its configuration",
                 c->path, (double)c->timeout / 1e9);
    c->error = control ? HELIO_EFORMAT : HELIO_EIO;
}

static void set_reading(struct aap2_client *c, bool on)
{
    if (c->reading == on)
        return;
    c->reading = on;
    stream_read(c->stream, on);
}

static void fail_client(struct aap2_client *c, int rc)
{
    const char *text = failure_text(rc);
    if (c->state == AAP2_FAILED)
        return;
    if (c->state == AAP2_GREETING)
        snprintf(c->why, sizeof c->why, "%s: %s", c->path, text);
    else if (c->state == AAP2_REGISTERING)
        snprintf(c->why, sizeof c->why, "registering %s: %s", c->endpoint, text);
    else
        snprintf(c->why, sizeof c->why, "%s", text);
    c->state = AAP2_FAILED;
    c->error = rc == HELIO_EAGAIN ? HELIO_EIO : rc;
    alarm_set(&c->patience, TICK_NEVER);
    set_reading(c, false);
}

/* ---- what is to be written ---- */

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

int aap2_client_send(struct aap2_client *c, const struct aap2_adu *adu)
{
    Aap2__BundleADU a = AAP2__BUNDLE_ADU__INIT;
    if (adu->head.len > AAP2_HEAD_MAX)
        return HELIO_EINVAL;
    a.dst_eid = text(adu->destination);
    a.payload_length = adu->head.len + adu->body.len;
    a.lifetime_ms = adu->lifetime_ms;
    a.crc_type = adu->crc_type;
    a.priority = adu->priority;
    a.ordinal = adu->ordinal;
    a.bundle_flags = adu->flags;
    if (adu->report_to != NULL)
        a.report_to_eid = text(adu->report_to);
    if (c->len == AAP2_QUEUE)
        return HELIO_EAGAIN;
    struct queued *q = queue_add(c);
    int n = aap2_pack_adu(&a, q->head, sizeof q->head - adu->head.len);
    if (n < 0) {
        c->len--;
        return HELIO_EINVAL;
    }
    q->head_len = (size_t)n;
    if (adu->head.len > 0)
        memcpy(q->head + q->head_len, adu->head.data, adu->head.len);
    q->head_len += adu->head.len;
    q->body = adu->body;
    return 0;
}

static int answer_message(struct aap2_client *c, Aap2__ResponseStatus status)
{
    Aap2__AAPResponse r = AAP2__AAPRESPONSE__INIT;
    uint8_t out[16];
    r.response_status = status;
    int n = aap2_pack_response(&r, out, sizeof out);
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
    return answer_message(c, success ? AAP2__RESPONSE_STATUS__RESPONSE_STATUS_SUCCESS
                                     : AAP2__RESPONSE_STATUS__RESPONSE_STATUS_ERROR);
}

/* What of the queue is not written yet; returns how many parts. */
static size_t gather_parts(const struct aap2_client *c, struct slice parts[2 * AAP2_QUEUE],
                           size_t *bytes)
{
    size_t n = 0;
    *bytes = 0;
    for (size_t i = 0; i < c->len; i++) {
        const struct queued *q = &c->queue[(c->first + i) % AAP2_QUEUE];
        if (q->done < q->head_len)
            parts[n++] = slice_of(q->head + q->done, q->head_len - q->done);
        size_t at = q->done < q->head_len ? 0 : q->done - q->head_len;
        if (at < q->body.len)
            parts[n++] = slice_of(q->body.data + at, q->body.len - at);
        *bytes += q->head_len + q->body.len - q->done;
    }
    return n;
}

static void drop_written(struct aap2_client *c, size_t n)
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
    assert(n == 0);
}

static_assert(2 * AAP2_QUEUE <= STREAM_PARTS_MAX, "the whole queue is one write");

int aap2_client_flush(struct aap2_client *c)
{
    struct slice parts[2 * AAP2_QUEUE];
    size_t want;
    if (c->state == AAP2_FAILED)
        return c->error;
    size_t n = gather_parts(c, parts, &want);
    if (n > 0)
        drop_written(c, stream_write(c->stream, parts, n));
    return 0;
}

bool aap2_client_queued(const struct aap2_client *c)
{
    return c->len > 0;
}

bool aap2_client_full(const struct aap2_client *c)
{
    return c->len == AAP2_QUEUE;
}

/* ---- what arrives ---- */

/* A bundle for whose payload there was no memory. */
static bool starves(const struct aap2_arrival *a)
{
    return a->message != NULL && a->message->msg_case == AAP2__AAPMESSAGE__MSG_ADU &&
           a->payload == NULL;
}

/* n bytes more were read: the next message, if it is whole, is the arrival. */
static void fetch_arrival(struct aap2_client *c, size_t n)
{
    struct aap2_arrival *a = &c->arrival;
    assert(!c->have);
    for (;; n = 0) {
        int rc = aap2_reader_fed(&c->reader, n, &a->message, &a->response, &a->payload);
        c->have = rc == 1 && !starves(a);
        if (rc < 0 || (rc == 1 && !c->have))
            fail_client(c, rc < 0 ? rc : HELIO_ENOMEM);
        if (rc == 1 && !c->have)
            aap2_arrival_fini(a);
        if (!c->have || a->message == NULL ||
            a->message->msg_case != AAP2__AAPMESSAGE__MSG_KEEPALIVE)
            return;
        c->have = false;
        aap2_arrival_fini(a);
        (void)answer_message(
            c, AAP2__RESPONSE_STATUS__RESPONSE_STATUS_ACK); /* a full queue is alive */
        (void)aap2_client_flush(c);
    }
}

static void take_welcome(struct aap2_client *c)
{
    const Aap2__AAPMessage *m = c->arrival.message;
    if (m == NULL || m->msg_case != AAP2__AAPMESSAGE__MSG_WELCOME ||
        strlen(m->welcome->node_id) >= sizeof c->node) {
        fail_client(c, HELIO_EFORMAT);
        return;
    }
    memcpy(c->node, m->welcome->node_id, strlen(m->welcome->node_id) + 1);
    c->state = AAP2_WELCOMED;
    alarm_set(&c->patience, TICK_NEVER);
}

static void take_registered(struct aap2_client *c)
{
    const Aap2__AAPResponse *r = c->arrival.response;
    if (r->response_status == AAP2__RESPONSE_STATUS__RESPONSE_STATUS_SUCCESS) {
        c->state = AAP2_OPEN;
        alarm_set(&c->patience, TICK_NEVER);
        c->reader.responses = !c->subscriber;
        c->reader.payload_max = c->payload_max;
        c->reader.skips_long = true;
        return;
    }
    const bool taken = r->response_status == AAP2__RESPONSE_STATUS__RESPONSE_STATUS_UNAUTHORIZED &&
                       strcmp(r->text, AAP2_NOT_PERMITTED) != 0;
    fail_client(c, taken ? HELIO_EEXIST : HELIO_EINVAL);
    snprintf(c->why, sizeof c->why, "the node refuses to register %s: %.100s", c->endpoint,
             r->text[0] != '\0' ? r->text : "no reason given");
}

static void take_handshake(struct aap2_client *c)
{
    if (c->state == AAP2_GREETING)
        take_welcome(c);
    else
        take_registered(c);
    c->have = false;
    aap2_arrival_fini(&c->arrival);
    if (c->state == AAP2_OPEN)
        fetch_arrival(c, 0);
}

int aap2_client_next(struct aap2_client *c, struct aap2_arrival *out)
{
    if (!c->have && c->state == AAP2_OPEN)
        fetch_arrival(c, 0);
    if (c->have) {
        *out = c->arrival;
        c->arrival = (struct aap2_arrival){0};
        c->have = false;
        return 1;
    }
    if (c->state == AAP2_FAILED)
        return c->error;
    set_reading(c, true);
    return 0;
}

/* ---- events ---- */

static void free_client(struct aap2_client *c)
{
    aap2_arrival_fini(&c->arrival);
    aap2_reader_fini(&c->reader);
    free(c);
}

/* The caller hears of it, and may close the connection; what it does not take stops the reading. */
static void tell_ready(struct aap2_client *c)
{
    c->busy = true;
    c->ready(c->context);
    c->busy = false;
    if (c->closed)
        free_client(c);
    else if (c->have)
        set_reading(c, false);
}

static uint8_t *find_space(void *context, size_t *len)
{
    struct aap2_client *c = context;
    *len = 1;
    return c->greeted ? aap2_reader_space(&c->reader, len) : &c->magic;
}

static void on_fed(void *context, size_t len)
{
    struct aap2_client *c = context;
    enum aap2_state before = c->state;
    if (!c->greeted) {
        c->greeted = true;
        if (c->magic != AAP2_MAGIC)
            fail_client(c, HELIO_EFORMAT);
    } else {
        fetch_arrival(c, len);
        if (c->have && before == AAP2_WELCOMED)
            fail_client(c, HELIO_EFORMAT); /* we have not said anything yet */
        else if (c->have && before != AAP2_OPEN)
            take_handshake(c);
    }
    if (c->have || c->state != before)
        tell_ready(c);
}

static void on_writable(void *context)
{
    struct aap2_client *c = context;
    (void)aap2_client_flush(c);
    tell_ready(c);
}

static void on_ended(void *context, int error)
{
    struct aap2_client *c = context;
    fail_client(c, error == HELIO_ENOMEM ? HELIO_ENOMEM : HELIO_EIO);
    tell_ready(c);
}

static void on_patience(void *context)
{
    struct aap2_client *c = context;
    fail_client(c, HELIO_EAGAIN);
    if (!c->greeted)
        tell_silence(c);
    tell_ready(c);
}

static const struct stream_user user = {find_space, on_fed, on_writable, on_ended};

/* ---- opening ---- */

static int connect_stream(struct aap2_client *c, const char *path, char why[AAP2_WHY_MAX])
{
    struct stream_place to = {.path = path};
    int r = stream_connect(c->world, &c->stream, &to, &user, c);
    if (helio_errno(r) == ENAMETOOLONG)
        snprintf(why, AAP2_WHY_MAX, "the path of a socket has at most %d characters: %.100s…",
                 STREAM_PATH_MAX, path);
    else if (helio_errno(r) == EACCES || helio_errno(r) == EPERM)
        snprintf(
            why, AAP2_WHY_MAX,
            "%.120s: not permitted: it is for its owner and the members of its group, who need "
            "permission for its folder, too (ls -ld shows both)",
            path);
    else if (helio_errno(r) == ENOENT)
        snprintf(why, AAP2_WHY_MAX,
                 "no node answers at %.120s: no such socket; start heliod, or write the path that "
                 "its configuration has as socket",
                 path);
    else if (r < 0)
        snprintf(why, AAP2_WHY_MAX, "no node answers at %.120s: %s", path, helio_strerror(r));
    return r < 0 ? HELIO_EIO : 0;
}

int aap2_client_open(struct aap2_client **out, struct world *w, const char *path, tick timeout,
                     void (*ready)(void *context), void *context, char why[AAP2_WHY_MAX])
{
    struct aap2_client *c = calloc(1, sizeof *c);
    if (c == NULL) {
        snprintf(why, AAP2_WHY_MAX, "%s", helio_strerror(HELIO_ENOMEM));
        return HELIO_ENOMEM;
    }
    c->world = w;
    c->timeout = names_control(path) ? tick_min(timeout, CONTROL_PATIENCE) : timeout;
    c->ready = ready;
    c->context = context;
    snprintf(c->path, sizeof c->path, "%s", path);
    int rc = connect_stream(c, path, why);
    if (rc != 0) {
        free(c);
        return rc;
    }
    aap2_reader_init(&c->reader, false, 0, 0, 0);
    c->reader.piece_max = READ_AHEAD;
    alarm_init(&c->patience, w, ALARM_APP, on_patience, c);
    alarm_set(&c->patience, tick_add(world_now(w), c->timeout));
    stream_buffers(c->stream, STREAM_BUFFER);
    set_reading(c, true);
    *out = c;
    return 0;
}

void aap2_client_register(struct aap2_client *c, const struct aap2_registration *r)
{
    Aap2__ConnectionConfig config = AAP2__CONNECTION_CONFIG__INIT;
    Aap2__AAPMessage m = AAP2__AAPMESSAGE__INIT;
    assert(c->state == AAP2_WELCOMED);
    config.is_subscriber = r->subscriber;
    config.secret = text(r->secret);
    config.endpoint_id = text(r->endpoint);
    config.window = r->window;
    m.msg_case = AAP2__AAPMESSAGE__MSG_CONFIG;
    m.config = &config;
    c->state = AAP2_REGISTERING;
    c->subscriber = r->subscriber;
    c->payload_max = r->payload_max;
    snprintf(c->endpoint, sizeof c->endpoint, "%s", r->endpoint);
    c->reader.responses = true;
    alarm_set(&c->patience, tick_add(world_now(c->world), c->timeout));
    int rc = queue_message(c, &m.base);
    if (rc != 0)
        fail_client(c, rc);
    else
        (void)aap2_client_flush(c);
}

void aap2_client_close(struct aap2_client *c)
{
    if (c == NULL)
        return;
    assert(!c->closed);
    alarm_fini(&c->patience);
    stream_close(c->stream);
    c->closed = true;
    if (!c->busy)
        free_client(c);
}

enum aap2_state aap2_client_state(const struct aap2_client *c)
{
    return c->state;
}

int aap2_client_error(const struct aap2_client *c)
{
    return c->error;
}

const char *aap2_client_why(const struct aap2_client *c)
{
    return c->why;
}

const char *aap2_client_node(const struct aap2_client *c)
{
    return c->node;
}

void aap2_arrival_fini(struct aap2_arrival *a)
{
    aap2_message_free(a->message);
    aap2_response_free(a->response);
    buf_drop(a->payload);
    *a = (struct aap2_arrival){0};
}

/* This asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void aap2_client_check(const struct aap2_client *c)
{
    if (c == NULL)
        return;
    assert(!c->closed && c->first < AAP2_QUEUE && c->len <= AAP2_QUEUE);
    assert((c->error < 0) == (c->state == AAP2_FAILED));
    for (size_t i = 0; i < c->len; i++) {
        const struct queued *q = &c->queue[(c->first + i) % AAP2_QUEUE];
        assert(q->head_len <= sizeof q->head && q->done < q->head_len + q->body.len);
        assert(i == 0 || q->done == 0);
    }
    assert(!c->have || (c->arrival.response != NULL) != (c->arrival.message != NULL));
    bool waits = c->state == AAP2_GREETING || c->state == AAP2_REGISTERING;
    assert(waits == (alarm_due(&c->patience) != TICK_NEVER));
}

int aap2_endpoint(const char *node, const char *service, char out[AAP2_EID_MAX])
{
    size_t len = strlen(node);
    if (strncmp(node, "ipn:", 4) == 0) {
        const char *dot = strrchr(node, '.');
        if (dot == NULL)
            return HELIO_EINVAL;
        len = (size_t)(dot + 1 - node);
    } else if (strncmp(node, "dtn://", 6) != 0) {
        return HELIO_EINVAL;
    }
    if (len + strlen(service) + 2 > AAP2_EID_MAX)
        return HELIO_EINVAL;
    memcpy(out, node, len);
    if (node[0] == 'd' && out[len - 1] != '/')
        out[len++] = '/';
    memcpy(out + len, service, strlen(service) + 1);
    return 0;
}
