/* SPDX-License-Identifier: Apache-2.0 */
/*
 * At the end of each round of the loop the lines schedule octets, connections with octets in
 * transit are served, and the alarm is set to the next due time. What can go wrong: the address is
 * in use; too many connections, then a further one is reset; memory.
 */
#include "channel-emu/wan/wan_relay.h"

#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/wan/wan_pair.h"
#include "conf/json_number.h"
#include "os/clock.h"

static struct wan_pair *pair_of(struct list *n)
{
    return container_of(n, struct wan_pair, node);
}

static void on_accepted(void *context, struct stream *s)
{
    struct wan_relay *r = context;
    r->accepted++;
    if (r->open < r->settings->connections) {
        wan_pair_open(r, s);
        return;
    }
    if (r->refused++ == 0)
        fprintf(r->say,
                "helio-emu: more than %" PRIu64 " connections at once; the others are "
                "reset (connections)\n",
                r->settings->connections);
    stream_reset(s);
}

/* Real-time priority is held while it takes less than its share of a processor. */
static void judge_priority(struct wan_relay *r, tick now)
{
    if (!r->realtime || !priority_bound_over(&r->priority, now))
        return;
    if (priority_bound_judge(&r->priority, now, clock_cpu_thread()) &&
        priority_realtime(r->priority.held) < 0)
        r->realtime = false;
}

static void on_alarm(void *context)
{
    (void)context; /* the round's end does the rest */
}

static tick serve_pairs(struct wan_relay *r, tick now)
{
    list_for_each_safe (n, &r->busy)
        wan_pair_serve(pair_of(n), now);
    tick due = tick_min(wan_line_deadline(&r->line[0]), wan_line_deadline(&r->line[1]));
    list_for_each_safe (n, &r->busy) {
        tick next = wan_pair_deadline(pair_of(n));
        due = tick_min(due, next);
        if (next == TICK_NEVER && list_empty(&pair_of(n)->flow[0].node) &&
            list_empty(&pair_of(n)->flow[1].node)) {
            list_sub(n);
            list_add_tail(&r->idle, n);
        }
    }
    return due;
}

static bool end_round(void *context)
{
    struct wan_relay *r = context;
    tick now = world_now(r->world);
    for (int i = 0; i < 2; i++)
        wan_line_serve(&r->line[i], now);
    tick due = serve_pairs(r, now);
    if (due != alarm_due(&r->alarm))
        alarm_set(&r->alarm, due == 0 ? 1 : due);
    judge_priority(r, now);
    return false;
}

int wan_relay_open(struct wan_relay *r, struct wan_settings *s, struct world *w, FILE *say)
{
    char text[ADDRESS_TEXT_MAX];
    const struct stream_place at = {.address = &s->listen_at};
    *r = (struct wan_relay){.settings = s, .world = w, .say = say, .began = world_now(w)};
    list_init(&r->busy);
    list_init(&r->idle);
    wan_pool_init(&r->pool);
    r->memory_limit = wan_settings_memory(s);
    for (int i = 0; i < 2; i++)
        wan_line_init(&r->line[i], &s->directions[i], &r->pool, r->began);
    alarm_init(&r->alarm, w, ALARM_LINK, on_alarm, r);
    r->round = (struct round_end){.run = end_round, .context = r};
    world_attach(w, &r->round);
    r->realtime = s->realtime && priority_realtime(true) == 0;
    priority_bound_init(&r->priority, r->began, clock_cpu_thread());
    int rc = stream_listen(w, &r->listener, &at, on_accepted, r);
    if (rc < 0)
        fprintf(say, "helio-emu: listen %s: %s\n", address_write(&s->listen_at, text),
                helio_strerror(rc));
    return rc;
}

/* The round's end serves what may go on now. */
void wan_relay_change(struct wan_relay *r, struct wan_change *c)
{
    const tick now = world_now(r->world);
    wan_change_lay(c, r->settings);
    for (int i = 0; i < 2; i++) {
        wan_line_change(&r->line[i], now);
        if (c->stall[i] != TICK_NEVER)
            wan_line_stall(&r->line[i], tick_add(now, c->stall[i]), now);
    }
    const uint64_t memory = wan_settings_memory(r->settings);
    r->memory_limit = memory > r->memory_limit ? memory : r->memory_limit;
    r->changes++;
}

void wan_relay_close(struct wan_relay *r)
{
    if (r->listener != NULL)
        stream_unlisten(r->listener);
    for (struct list *n; (n = list_first(&r->busy)) != NULL;)
        wan_pair_end(pair_of(n));
    for (struct list *n; (n = list_first(&r->idle)) != NULL;)
        wan_pair_end(pair_of(n));
    alarm_fini(&r->alarm);
    world_detach(&r->round);
    wan_pool_fini(&r->pool);
}

/* ---- the account ---- */

static const char *const names[] = {"forward", "return"};

static double in_us(tick t)
{
    return (double)t / 1e3;
}

static json_t *direction_json(const struct wan_relay *r, int i)
{
    const struct wan_line *l = &r->line[i];
    const struct wan_account *a = &l->account;
    json_t *o = json_object();
    json_put_number(o, "in_bytes", a->in_bytes);
    json_put_number(o, "out_bytes", a->out_bytes);
    json_put_number(o, "lost_bytes", a->lost_bytes);
    json_put_number(o, "queued_bytes", a->queued_bytes);
    json_put_number(o, "queued_most_bytes", a->queued_most);
    json_put_number(o, "limit_bytes", l->limit_bytes);
    json_put_number(o, "rate_bps", l->config->rate_bps);
    json_object_set_new(o, "delay_us", json_real(in_us(l->config->delay)));
    json_object_set_new(o, "stalled", json_boolean(wan_line_stands(l, world_now(r->world))));
    json_object_set_new(o, "late_p50_us", json_real(in_us(emu_late_quantile(&l->late, 0.5))));
    json_object_set_new(o, "late_p99_us", json_real(in_us(emu_late_quantile(&l->late, 0.99))));
    json_object_set_new(o, "late_max_us", json_real(in_us(l->late.max)));
    return o;
}

json_t *wan_relay_json(const struct wan_relay *r)
{
    json_t *o = json_object();
    json_put_text(o, "command", "stream");
    json_put_number(o, "connections", r->accepted);
    json_put_number(o, "open", r->open);
    json_put_number(o, "open_most", r->open_most);
    json_put_number(o, "refused", r->refused);
    json_put_number(o, "unreached", r->unreached);
    json_object_set_new(o, "duration_s", json_real((double)(world_now(r->world) - r->began) / 1e9));
    json_object_set_new(o, "cpu_s", json_real((double)clock_cpu_process() / 1e9));
    json_put_number(o, "memory_bytes", r->pool.chunks * WAN_CHUNK_BYTES);
    json_put_number(o, "memory_most_bytes", r->pool.chunks_most * WAN_CHUNK_BYTES);
    json_put_number(o, "memory_limit_bytes", r->memory_limit);
    json_put_number(o, "changes", r->changes);
    for (int i = 0; i < 2; i++)
        json_object_set_new(o, names[i], direction_json(r, i));
    return o;
}

void wan_relay_text(const struct wan_relay *r, FILE *out)
{
    fprintf(out, "helio-emu: %" PRIu64 " connections, %" PRIu64 " open, %" PRIu64 " refused\n",
            r->accepted, r->open, r->refused);
    for (int i = 0; i < 2; i++) {
        const struct wan_line *l = &r->line[i];
        fprintf(out,
                "%s: %" PRIu64 " octets in, %" PRIu64 " out, %" PRIu64 " lost, %" PRIu64
                " under way; late by p50 %.0f us, p99 %.0f us, at most %.0f us\n",
                names[i], l->account.in_bytes, l->account.out_bytes, l->account.lost_bytes,
                l->account.queued_bytes, in_us(emu_late_quantile(&l->late, 0.5)),
                in_us(emu_late_quantile(&l->late, 0.99)), in_us(l->late.max));
    }
    fflush(out);
}
