/* SPDX-License-Identifier: Apache-2.0 */
/* The result of each association, and of all of them together. */
#include "tools/sle/user/sle_user_run.h"

#include <inttypes.h>

#include "conf/json_number.h"
#include "os/clock.h"

static double seconds_of(uint64_t from, uint64_t to)
{
    return (double)(to - from) / (double)TICK_S;
}

static json_t *delay_json(const struct measure *m)
{
    json_t *o = json_object();
    const struct hist *h = &m->delay;
    json_object_set_new(o, "mean", json_real(h->mean / 1e3));
    json_object_set_new(o, "sd", json_real(hist_sd(h) / 1e3));
    json_object_set_new(o, "min", json_real(h->count > 0 ? (double)h->min / 1e3 : 0));
    json_object_set_new(o, "p50", json_real((double)hist_quantile(h, 0.5) / 1e3));
    json_object_set_new(o, "p90", json_real((double)hist_quantile(h, 0.9) / 1e3));
    json_object_set_new(o, "p99", json_real((double)hist_quantile(h, 0.99) / 1e3));
    json_object_set_new(o, "p999", json_real((double)hist_quantile(h, 0.999) / 1e3));
    json_object_set_new(o, "max", json_real((double)h->max / 1e3));
    return o;
}

static void set_numbered(json_t *o, const struct measure *m)
{
    json_object_set_new(o, "missing", json_number(m->missing));
    json_object_set_new(o, "repeated", json_number(m->repeated));
    json_object_set_new(o, "wrong", json_number(m->wrong));
    json_object_set_new(o, "delay_us", delay_json(m));
    json_object_set_new(o, "jitter_us", json_real(m->jitter / 1e3));
}

/* From the first notification to the last one: what was behind the first. */
static double rate_of(const struct measure *m, uint64_t count)
{
    double s = seconds_of(m->first_ns, m->last_ns);
    double behind = m->frames > 0 ? 1 - 1 / (double)m->frames : 0;
    return s > 0 ? (double)count * behind / s : 0;
}

/* Of those that are made: how fast, and after which time each was reported as radiated. */
static void set_made(json_t *o, const struct measure *m)
{
    json_object_set_new(o, "octets", json_number(m->octets));
    json_object_set_new(o, "seconds", json_real(seconds_of(m->first_ns, m->last_ns)));
    json_object_set_new(o, "per_second", json_real(rate_of(m, m->frames)));
    json_object_set_new(o, "rate_bps", json_real(rate_of(m, m->octets * 8)));
    json_object_set_new(o, "notified_us", delay_json(m));
}

static json_t *live_json(const struct cltus *c)
{
    const struct live_counts n = live_counts(c);
    json_t *o = json_object();
    json_object_set_new(o, "received", json_number(n.received));
    json_object_set_new(o, "sent", json_number(n.sent));
    json_object_set_new(o, "accepted", json_number(n.accepted));
    json_object_set_new(o, "refused", json_number(n.refused));
    json_object_set_new(o, "radiated", json_number(n.radiated));
    json_object_set_new(o, "expired", json_number(n.expired));
    json_object_set_new(o, "discarded", json_number(n.discarded));
    json_object_set_new(o, "interrupted", json_number(n.interrupted));
    json_object_set_new(o, "other_notifications", json_number(n.other));
    json_object_set_new(o, "lost", json_number(n.lost));
    json_object_set_new(o, "dropped", json_number(n.dropped));
    json_object_set_new(o, "bad", json_number(n.bad));
    json_object_set_new(o, "foreign", json_number(n.foreign));
    return o;
}

static json_t *cltus_json(const struct association *a)
{
    const struct cltus *c = &a->cltus;
    json_t *o = json_object();
    if (c->list != NULL)
        json_object_set_new(o, "in_file", json_integer((json_int_t)c->len));
    json_object_set_new(o, "sent", json_number(c->sent));
    json_object_set_new(o, "accepted", json_number(c->accepted));
    json_object_set_new(o, "refused", json_number(c->refused));
    json_object_set_new(o, "radiated", json_number(c->radiated));
    json_object_set_new(o, "expired", json_number(c->expired));
    json_object_set_new(o, "discarded", json_number(c->discarded));
    json_object_set_new(o, "interrupted", json_number(c->interrupted));
    json_object_set_new(o, "other_notifications", json_number(c->other));
    if (c->sent_at != NULL)
        set_made(o, &a->measure);
    return o;
}

static json_t *events_json(const struct association *a)
{
    json_t *all = json_array();
    for (size_t k = 0; a->events.list != NULL && k < a->user->options->events_len; k++) {
        const struct user_event *u = &a->user->options->events[k];
        const struct thrown_event *t = &a->events.list[k];
        bool thrown = k < a->events.next || (k == a->events.next && a->events.under_way);
        json_t *o = json_object();
        json_object_set_new(o, "event", json_integer(u->id));
        json_object_set_new(o, "qualifier", json_string(u->qualifier));
        json_object_set_new(o, "answer", json_string(thrown ? events_words(t) : "not thrown"));
        if (thrown) {
            json_object_set_new(o, "invocation", json_number(t->invocation));
            const char *how =
                t->outcome < 0 ? "" : sle_notification_text((enum sle_notification)t->outcome);
            json_object_set_new(o, "actions", json_string(how));
        }
        json_array_append_new(all, o);
    }
    return all;
}

static const char *lock_word(enum sle_lock lock)
{
    static const char *const words[] = {"yes", "no", "not in use", "unknown"};
    return words[lock];
}

static json_t *told_json(const struct association *a)
{
    static const char *const kinds[] = {"loss of frame synchronisation", "production",
                                        "excessive data backlog", "end of data"};
    static const char *const productions[] = {"running", "interrupted", "halted"};
    json_t *all = json_array();
    for (size_t k = 0; k < a->syncs && k < USER_TOLD_MAX; k++) {
        const struct told *t = &a->told[k];
        json_t *o = json_object();
        json_object_set_new(o, "after", json_number(t->after));
        json_object_set_new(o, "what", json_string(kinds[t->sync.kind]));
        if (t->sync.kind == SLE_SYNC_PRODUCTION && t->sync.production <= SLE_HALTED)
            json_object_set_new(o, "production", json_string(productions[t->sync.production]));
        if (t->sync.kind == SLE_SYNC_LOSS) {
            json_object_set_new(o, "time", json_number(sle_time_unix(t->sync.time)));
            json_object_set_new(o, "carrier", json_string(lock_word(t->sync.locks.carrier)));
            json_object_set_new(o, "subcarrier", json_string(lock_word(t->sync.locks.subcarrier)));
            json_object_set_new(o, "symbol", json_string(lock_word(t->sync.locks.symbol)));
        }
        json_array_append_new(all, o);
    }
    return all;
}

static json_t *association_json(const struct association *a)
{
    const struct measure *m = &a->measure;
    json_t *o = json_object();
    double s = seconds_of(m->first_ns, m->last_ns);
    json_object_set_new(o, "id", json_string(a->id));
    json_object_set_new(o, "in_order", json_boolean(!a->failed));
    if (*a->end != '\0')
        json_object_set_new(o, "end", json_string(a->end));
    if (a->service == SLE_FCLTU) {
        json_object_set_new(o, "cltus",
                            a->cltus.live != NULL ? live_json(&a->cltus) : cltus_json(a));
        json_object_set_new(o, "reconnects", json_number(a->reconnects));
        json_object_set_new(o, "events", events_json(a));
        return o;
    }
    json_object_set_new(o, "frames", json_number(m->frames));
    json_object_set_new(o, "octets", json_number(m->octets));
    json_object_set_new(o, "seconds", json_real(s));
    json_object_set_new(o, "rate_bps", json_real(s > 0 ? (double)m->octets * 8 / s : 0));
    json_object_set_new(o, "backlogs", json_number(a->backlogs));
    json_object_set_new(o, "notifications", json_number(a->syncs));
    json_object_set_new(o, "notified", told_json(a));
    json_object_set_new(o, "end_of_data", json_boolean(a->ended_data));
    json_object_set_new(o, "reconnects", json_number(a->reconnects));
    json_object_set_new(o, "reports", json_number(a->reports));
    json_object_set_new(o, "parameters", json_number(a->parameters));
    if (a->user->options->numbered)
        set_numbered(o, m);
    return o;
}

json_t *result_json(const struct user *u)
{
    json_t *o = json_object(), *all = json_array();
    uint64_t frames = 0, octets = 0, first = UINT64_MAX, last = 0;
    for (size_t i = 0; i < u->len; i++) {
        const struct measure *m = &u->all[i].measure;
        json_array_append_new(all, association_json(&u->all[i]));
        frames += m->frames;
        octets += m->octets;
        if (m->frames > 0 && m->first_ns < first)
            first = m->first_ns;
        last = m->last_ns > last ? m->last_ns : last;
    }
    double s = last > first ? seconds_of(first, last) : 0;
    json_object_set_new(o, "frames", json_number(frames));
    json_object_set_new(o, "octets", json_number(octets));
    json_object_set_new(o, "seconds", json_real(s));
    json_object_set_new(o, "rate_bps", json_real(s > 0 ? (double)octets * 8 / s : 0));
    double window = u->stopped > u->measured ? seconds_of(u->measured, u->stopped) : 0;
    json_object_set_new(o, "measured_s", json_real(window));
    json_object_set_new(o, "measured_bps",
                        json_real(window > 0 ? (double)u->counted * 8 / window : 0));
    json_object_set_new(o, "cpu_s", json_real((double)clock_cpu_process() / (double)TICK_S));
    json_object_set_new(o, "udp_sent", json_number(u->udp_sent));
    json_object_set_new(o, "udp_failed", json_number(u->udp_failed));
    json_object_set_new(o, "associations", all);
    return o;
}

static void print_numbered(const struct measure *m)
{
    printf("  %" PRIu64 " missing, %" PRIu64 " repeated, %" PRIu64 " wrong\n", m->missing,
           m->repeated, m->wrong);
    if (m->delay.count > 0)
        printf("  delay %.1f us (median), %.1f (99 %%), %.1f (most); jitter %.1f us\n",
               (double)hist_quantile(&m->delay, 0.5) / 1e3,
               (double)hist_quantile(&m->delay, 0.99) / 1e3, (double)m->delay.max / 1e3,
               m->jitter / 1e3);
}

static void print_events(const struct association *a)
{
    for (size_t k = 0; k < a->events.next; k++) {
        const struct user_event *u = &a->user->options->events[k];
        const struct thrown_event *t = &a->events.list[k];
        printf("  event %u (%s), invocation %" PRIu32 ": %s%s%s\n", u->id, u->qualifier,
               t->invocation, events_words(t), t->outcome < 0 ? "" : ", ",
               t->outcome < 0 ? "" : sle_notification_text((enum sle_notification)t->outcome));
    }
}

static void print_live(const struct cltus *c)
{
    const struct live_counts n = live_counts(c);
    printf("  %" PRIu64 " datagrams: %" PRIu64 " accepted, %" PRIu64 " refused, %" PRIu64
           " radiated\n",
           n.received, n.accepted, n.refused, n.radiated);
    if (n.dropped + n.lost + n.bad + n.foreign + n.expired + n.discarded > 0)
        printf("  %" PRIu64 " dropped, %" PRIu64 " lost, %" PRIu64 " bad, %" PRIu64
               " of other hosts, %" PRIu64 " expired, %" PRIu64 " discarded\n",
               n.dropped, n.lost, n.bad, n.foreign, n.expired, n.discarded);
}

static void print_association(const struct association *a)
{
    const struct measure *m = &a->measure;
    const struct cltus *c = &a->cltus;
    double s = seconds_of(m->first_ns, m->last_ns);
    printf("%s: %s%s\n", a->id, a->failed ? "not in order: " : "in order", a->end);
    if (a->service == SLE_FCLTU) {
        print_events(a);
        if (c->live != NULL) {
            print_live(c);
            return;
        }
        printf("  %zu CLTUs: %" PRIu64 " accepted, %" PRIu64 " refused, %" PRIu64 " radiated\n",
               c->len, c->accepted, c->refused, c->radiated);
        if (c->expired > 0)
            printf("  %" PRIu64 " expired\n", c->expired);
        if (c->discarded > 0)
            printf("  %" PRIu64
                   " discarded since production was interrupted, or one before them expired\n",
                   c->discarded);
        return;
    }
    printf("  %" PRIu64 " frames, %" PRIu64 " octets, %.3f s, %.3f Mbit/s%s\n", m->frames,
           m->octets, s, s > 0 ? (double)m->octets * 8 / s / 1e6 : 0,
           a->ended_data ? ", end of data" : "");
    if (a->backlogs > 0)
        printf("  %" PRIu64 " backlogs discarded by the provider\n", a->backlogs);
    if (a->user->options->numbered)
        print_numbered(m);
}

void result_print(const struct user *u)
{
    if (!u->options->json) {
        for (size_t i = 0; i < u->len; i++)
            print_association(&u->all[i]);
        return;
    }
    json_t *o = result_json(u);
    json_dumpf(o, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(o);
}
