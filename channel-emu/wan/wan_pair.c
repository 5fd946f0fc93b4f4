/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Octets are read to the place where they wait, and written from there when due. A side that reads
 * slowly fills its flow; then the other side is not read any more. What can go wrong: the other
 * side cannot be reached; then the calling side is reset at once. A side breaks; memory, which
 * breaks the connection.
 */
#include "channel-emu/wan/wan_pair.h"

#include <assert.h>
#include <stdlib.h>

#include "base/err.h"

#define PARTS_MAX 16

static void touch_pair(struct wan_pair *p)
{
    list_sub(&p->node);
    list_add_tail(&p->relay->busy, &p->node);
}

static tick pair_now(const struct wan_pair *p)
{
    return world_now(p->relay->world);
}

static void read_side(struct wan_side *s, bool on)
{
    if (s->stream == NULL || s->reading == on)
        return;
    s->reading = on;
    stream_read(s->stream, on);
}

void wan_pair_end(struct wan_pair *p)
{
    for (int i = 0; i < 2; i++) {
        if (p->side[i].stream != NULL)
            stream_reset(p->side[i].stream);
        p->side[i].stream = NULL;
        wan_flow_fini(&p->flow[i]);
    }
    list_sub(&p->node);
    p->relay->open--;
    free(p);
}

/* ---- events of streams ---- */

/* Is what this side sends lost, because the other one broke? */
static bool goes_nowhere(const struct wan_side *s)
{
    return s->pair->cut[1 - s->index] != TICK_NEVER;
}

static uint8_t *find_space(void *context, size_t *len)
{
    struct wan_side *s = context;
    *len = sizeof s->pair->relay->nowhere;
    return goes_nowhere(s) ? s->pair->relay->nowhere
                           : wan_flow_space(&s->pair->flow[s->index], len);
}

static void on_fed(void *context, size_t len)
{
    struct wan_side *s = context;
    struct wan_flow *f = &s->pair->flow[s->index];
    if (goes_nowhere(s)) {
        f->line->account.in_bytes += len;
        f->line->account.lost_bytes += len;
        return;
    }
    wan_flow_add(f, len, pair_now(s->pair));
    if (wan_flow_full(f))
        read_side(s, false);
    touch_pair(s->pair);
}

static void on_writable(void *context)
{
    struct wan_side *s = context;
    s->connected = true;
    s->blocked = false;
    s->free_since = pair_now(s->pair);
    touch_pair(s->pair);
}

/* The other side was never there. */
static void report_unreached(struct wan_pair *p, int error)
{
    char text[ADDRESS_TEXT_MAX];
    struct wan_relay *r = p->relay;
    if (r->unreached++ == 0)
        fprintf(r->say, "helio-emu: no connection to %s: %s; its caller is reset\n",
                address_write(&r->settings->to_at, text), helio_strerror(error));
    p->cut[1] = 0;
}

static void on_ended(void *context, int error)
{
    struct wan_side *s = context;
    struct wan_pair *p = s->pair;
    tick now = pair_now(p);
    stream_close(s->stream);
    s->stream = NULL;
    p->cut[s->index] = wan_line_arrival(p->flow[s->index].line, now);
    if (!s->connected)
        report_unreached(p, error);
    wan_flow_lose(&p->flow[1 - s->index]);
    p->flow[s->index].ending = true;
    p->flow[s->index].end = TICK_NEVER;
    read_side(&p->side[1 - s->index], true);
    touch_pair(p);
}

static void on_half(void *context)
{
    struct wan_side *s = context;
    s->reading = false;
    wan_flow_end(&s->pair->flow[s->index], pair_now(s->pair));
    touch_pair(s->pair);
}

static void on_urgent(void *context, uint8_t octet)
{
    struct wan_side *s = context;
    s->pair->urgent[s->index] = octet;
}

static const struct stream_user user = {find_space, on_fed, on_writable, on_ended};

/* ---- what is due ---- */

static void write_end(struct wan_pair *p, struct wan_side *to)
{
    int octet = p->urgent[1 - to->index];
    to->finished = true;
    if (octet < 0)
        (void)stream_finish(to->stream);
    else
        (void)stream_urgent(to->stream, (uint8_t)octet);
}

static void write_ready(struct wan_flow *f, struct wan_side *to, uint64_t ready)
{
    struct slice parts[PARTS_MAX];
    while (ready > 0 && !to->blocked) {
        size_t want = 0, n = wan_flow_parts(f, ready, parts, PARTS_MAX);
        for (size_t i = 0; i < n; i++)
            want += parts[i].len;
        size_t got = stream_write(to->stream, parts, n);
        wan_flow_take(f, got);
        ready -= got;
        to->blocked = got < want;
    }
}

static void serve_flow(struct wan_pair *p, int i, tick now)
{
    struct wan_flow *f = &p->flow[i];
    struct wan_side *from = &p->side[i], *to = &p->side[1 - i];
    uint64_t ready = wan_flow_ready(f, now, to->free_since);
    if (to->stream != NULL && to->connected && !to->finished) {
        write_ready(f, to, ready);
        if (wan_flow_over(f, now))
            write_end(p, to);
    }
    if (from->stream != NULL && !from->reading && wan_flow_roomy(f))
        read_side(from, true);
}

static bool is_over(const struct wan_pair *p, tick now)
{
    for (int i = 0; i < 2; i++)
        if (p->cut[i] <= now || (p->side[i].stream == NULL && p->side[1 - i].stream == NULL))
            return true;
    return false;
}

/* Both ends were passed on: what the kernel has it delivers. */
static void close_both(struct wan_pair *p)
{
    for (int i = 0; i < 2; i++) {
        stream_close(p->side[i].stream);
        p->side[i].stream = NULL;
    }
    wan_pair_end(p);
}

void wan_pair_serve(struct wan_pair *p, tick now)
{
    if (is_over(p, now)) {
        wan_pair_end(p);
        return;
    }
    for (int i = 0; i < 2; i++)
        serve_flow(p, i, now);
    if (p->side[0].finished && p->side[1].finished && p->side[0].stream != NULL &&
        p->side[1].stream != NULL)
        close_both(p);
}

static bool is_held(const struct wan_pair *p, int i)
{
    const struct wan_side *to = &p->side[1 - i];
    return to->stream == NULL || !to->connected || to->blocked || to->finished;
}

tick wan_pair_deadline(const struct wan_pair *p)
{
    tick due = tick_min(p->cut[0], p->cut[1]);
    for (int i = 0; i < 2; i++)
        if (!is_held(p, i))
            due = tick_min(due, wan_flow_deadline(&p->flow[i]));
    return due;
}

/* ---- a new one ---- */

static void use_stream(struct wan_side *s, struct stream *stream)
{
    s->stream = stream;
    stream_use(stream, &user, s);
    stream_on_half(stream, on_half);
    stream_on_urgent(stream, on_urgent);
}

static struct wan_pair *pair_new(struct wan_relay *r)
{
    struct wan_pair *p = calloc(1, sizeof *p);
    if (p == NULL)
        return NULL;
    p->relay = r;
    list_init(&p->node);
    for (int i = 0; i < 2; i++) {
        p->side[i] = (struct wan_side){.pair = p, .index = i};
        p->cut[i] = TICK_NEVER;
        p->urgent[i] = -1;
    }
    if (wan_flow_init(&p->flow[0], &r->line[0]) == 0 &&
        wan_flow_init(&p->flow[1], &r->line[1]) == 0)
        return p;
    free(p->flow[0].marks);
    free(p);
    return NULL;
}

void wan_pair_open(struct wan_relay *r, struct stream *s)
{
    struct stream *other;
    struct wan_pair *p = pair_new(r);
    if (p == NULL) {
        stream_reset(s);
        r->refused++;
        return;
    }
    r->open++;
    r->open_most = r->open > r->open_most ? r->open : r->open_most;
    use_stream(&p->side[0], s);
    p->side[0].connected = true;
    touch_pair(p);
    int rc = stream_connect(r->world, &other,
                            &(struct stream_place){.address = &r->settings->to_at}, &user, NULL);
    if (rc < 0) {
        report_unreached(p, rc);
        return;
    }
    use_stream(&p->side[1], other);
    (void)stream_write(other, NULL, 0); /* its callback reports the connection */
    read_side(&p->side[0], true);
    read_side(&p->side[1], true);
}
