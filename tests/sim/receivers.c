/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our sender and receivers of other implementations, over channels and block lengths. Every block
 * arrives (the user sends cancelled ones again). With what the link learns by itself, the receiver
 * cancels no more sessions than with plain recovery over the same seeds.
 *
 * usage: sim_receivers [--all] [--seeds A..B] [--only TEXT] [--json] | --price
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "channel-emu/trace/trace_file.h"
#include "tests/sim/model_world.h"

#define DELAY (5 * TICK_MS)
#define ROUND (2 * DELAY)
#define ION_RTO (250 * TICK_MS) /* its own timer is 2 s, and it answers nothing in between */
#define PROCESSING (4 * TICK_MS)

struct channel {
    const char *name;
    double loss;
    struct trace trace;
    const char *file;
    bool fast;
};

static struct channel channels[] = {{.name = "none", .fast = true},
                                    {.name = "A", .file = "A", .fast = true},
                                    {.name = "F", .file = "F"},
                                    {.name = "H", .file = "H", .fast = true},
                                    {.name = "iid 5 %", .loss = 0.05, .fast = true},
                                    {.name = "iid 20 %", .loss = 0.2}};

static const struct size {
    uint64_t bytes;
    size_t blocks;
    bool fast;
} sizes[] = {{50000, 300, true}, {500000, 60, true}, {5000000, 12, false}};

struct receiver {
    const char *name;
    struct model_traits traits;
    tick rto; /* that suits it */
    bool ours, fast;
};

/* What a cell came to, over all seeds. */
struct sum {
    uint64_t blocks, delivered, done, cancelled, cancelled_local, again, malformed, narrowed;
    uint64_t learnt[LTP_LEARNT_PLAIN + 1];
    bool wrong;
    double seconds;
};

struct options {
    bool all, json, price;
    uint64_t from, to;
    const char *only;
};

static void add_result(struct sum *s, const struct model_case *c, const struct model_result *r)
{
    s->blocks += c->blocks;
    s->delivered += r->delivered;
    s->done += r->done;
    s->cancelled += r->cancelled_remote;
    s->cancelled_local += r->cancelled_local;
    s->again += r->again;
    s->malformed += r->malformed;
    s->narrowed += r->narrowed;
    s->learnt[r->support.learnt]++;
    s->wrong |= r->wrong;
    s->seconds += (double)r->end / (double)TICK_S;
}

static struct sum play_cell(const struct receiver *to, const struct channel *ch,
                            const struct size *size, enum ltp_profile profile,
                            const struct options *o)
{
    struct sum sum = {0};
    struct model_case c = {
        .span = {.segment_max = 1024,
                 .export_sessions = 7,
                 .rto = to->rto,
                 .recovery = ltp_recovery_default,
                 .report_delay = PROCESSING,
                 .profile = profile},
        .model = to->ours ? NULL : &to->traits,
        .out = {.rate_bps = 500000000, .overhead = 42, .delay = DELAY, .loss = ch->loss},
        .back = {.delay = DELAY, .loss = ch->loss},
        .blocks = size->blocks,
        .block = size->bytes,
        .time_max = 3600 * TICK_S,
        .cancels_max = 100 * size->blocks};
    if (profile == LTP_PROFILE_PLAIN)
        c.span.recovery = ltp_recovery_plain;
    if (ch->trace.len > 0)
        c.out.trace = &ch->trace;
    for (c.seed = o->from; c.seed <= o->to; c.seed++) {
        struct model_result r;
        c.out.trace_offset = c.seed * 7 * TICK_S;
        model_play(&c, &r);
        add_result(&sum, &c, &r);
    }
    return sum;
}

static const char *name_learnt(const struct sum *s)
{
    size_t most = 0;
    for (size_t i = 1; i <= LTP_LEARNT_PLAIN; i++)
        most = s->learnt[i] > s->learnt[most] ? i : most;
    return ltp_learnt_name((enum ltp_learnt)most);
}

static void print_row(const struct options *o, const char *to, const char *ch, uint64_t bytes,
                      enum ltp_profile profile, const struct sum *s)
{
    const char *format =
        o->json ? "{\"receiver\": \"%s\", \"channel\": \"%s\", \"block\": %llu, \"profile\": "
                  "\"%s\", \"blocks\": %llu, \"done\": %llu, \"cancelled\": %llu, \"local\": %llu, "
                  "\"twice\": %llu, \"learnt\": \"%s\", \"seconds\": %.3f}\n"
                : "| %s | %s | %llu | %s | %llu | %llu | %llu | %llu | %llu | %s | %.2f |\n";
    printf(format, to, ch, (unsigned long long)bytes, ltp_profile_name(profile),
           (unsigned long long)s->blocks, (unsigned long long)s->done,
           (unsigned long long)s->cancelled, (unsigned long long)s->cancelled_local,
           (unsigned long long)s->again, name_learnt(s), s->seconds);
    fflush(stdout);
}

/* Chance differs once the segments do. A block that is cancelled is sent again and can be cancelled
 * again: its number of cancels is geometric, with the variance m (1 + m) of the mean m. Three
 * deviations of the difference are chance. */
static bool is_chance(uint64_t plain, uint64_t learning, uint64_t blocks)
{
    double p = (double)plain, l = (double)learning, n = (double)blocks;
    return l <= p + 3 * sqrt(p * (1 + p / n) + l * (1 + l / n));
}

static bool check_cell(const struct receiver *to, const struct channel *ch, const struct size *size,
                       const struct options *o)
{
    struct sum plain = play_cell(to, ch, size, LTP_PROFILE_PLAIN, o);
    print_row(o, to->name, ch->name, size->bytes, LTP_PROFILE_PLAIN, &plain);
    struct sum learning = play_cell(to, ch, size, LTP_PROFILE_AUTO, o);
    print_row(o, to->name, ch->name, size->bytes, LTP_PROFILE_AUTO, &learning);
    /* what plain cannot bring to its end, nothing need */
    bool possible = plain.done == plain.blocks;
    bool arrived = learning.done == learning.blocks && learning.delivered == learning.blocks;
    bool good = !plain.wrong && !learning.wrong && (arrived || !possible) &&
                is_chance(plain.cancelled, learning.cancelled, plain.blocks) &&
                is_chance(plain.cancelled_local + 1, learning.cancelled_local, plain.blocks);
    if (!good)
        fprintf(stderr, "FAILED: %s, %s, %llu bytes\n", to->name, ch->name,
                (unsigned long long)size->bytes);
    return good;
}

static void read_traces(void)
{
    char path[256], error[TRACE_FILE_ERROR_MAX];
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        if (channels[i].file == NULL)
            continue;
        snprintf(path, sizeof path, "%s/%s.htr", TRACES, channels[i].file);
        trace_init(&channels[i].trace, 100 * TICK_US);
        struct trace_about about;
        if (trace_file_read_about(&channels[i].trace, &about, path, 0, error) != 0) {
            fprintf(stderr, "%s: %s\n", path, error);
            exit(1);
        }
    }
}

/* --only names a part of "receiver, channel, bytes". */
static bool chosen(const struct options *o, const struct receiver *to, const struct channel *ch,
                   const struct size *size)
{
    char cell[200];
    snprintf(cell, sizeof cell, "%s, %s, %llu", to->name, ch->name,
             (unsigned long long)size->bytes);
    return o->only == NULL || strstr(cell, o->only) != NULL;
}

static bool check_all(const struct options *o)
{
    struct model_traits at_end = model_ion(10, ROUND), few = model_strict(ROUND);
    at_end.at_end = true;
    few.repeats_max = 5;
    const struct receiver receivers[] = {
        {"ION, limit 2", model_ion(2, ROUND), ION_RTO, false, true},
        {"ION, limit 3", model_ion(3, ROUND), ION_RTO, false, false},
        {"ION, limit 5", model_ion(5, ROUND), ION_RTO, false, false},
        {"ION, limit 10", model_ion(10, ROUND), ION_RTO, false, true},
        {"ION, limit 10, reports at the end", at_end, ION_RTO, false, false},
        {"HDTN", model_hdtn(ROUND, 20 * TICK_MS), 60 * TICK_MS, false, true},
        {"HDTN, none deferred", model_hdtn(ROUND, 0), 30 * TICK_MS, false, false},
        {"strict, 20 repetitions", model_strict(ROUND), 30 * TICK_MS, false, true},
        {"strict, 5 repetitions", few, 30 * TICK_MS, false, false},
        {"licklider", model_licklider(ROUND), 30 * TICK_MS, false, true},
        {"Heliograph", {0}, 30 * TICK_MS, true, true}};
    bool good = true;
    for (size_t i = 0; i < sizeof receivers / sizeof *receivers; i++) {
        for (size_t k = 0; k < sizeof channels / sizeof *channels; k++) {
            for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
                bool fast = receivers[i].fast && channels[k].fast && sizes[n].fast;
                if ((o->all || fast) && chosen(o, &receivers[i], &channels[k], &sizes[n]))
                    good &= check_cell(&receivers[i], &channels[k], &sizes[n], o);
            }
        }
    }
    return good;
}

/* A path that loses a third of the time at first, so that the sender learns, and nothing then. */
static void add_losses(struct trace *t, tick delay)
{
    struct rng rng;
    rng_init(&rng, delay);
    trace_init(t, delay / 10);
    for (int i = 0; i < 500; i++) {
        if (trace_add(t, rng_chance(&rng, 0.33), 1 + rng_below(&rng, 3)) < 0)
            abort();
    }
}

static bool check_price(const char *name, const struct model_case *of, tick delay, bool learns)
{
    struct model_case c = *of;
    struct trace t;
    struct model_result r;
    add_losses(&t, delay);
    c.out.delay = c.back.delay = delay;
    c.span.rto = 2 * delay + 20 * TICK_MS;
    c.span.segment_max = 1024;
    c.span.export_sessions = 7;
    c.span.recovery = ltp_recovery_default;
    c.out.rate_bps = 500000000;
    c.block = 20000;
    c.blocks = 1;
    c.time_max = TICK_NEVER;
    c.cancels_max = 1000;
    c.seed = 1;
    if (learns) {
        c.blocks = 2000;
        c.out.trace = &t;
        c.out.trace_no_loop = true;
        c.measure_from = t.steps * t.step + 8 * c.span.rto;
    }
    model_play(&c, &r);
    trace_fini(&t);
    uint64_t blocks = c.measure_from == 0 ? r.done : r.done_later;
    uint64_t reports = c.measure_from == 0 ? r.reports : r.reports_later;
    /* blocks in transit at the beginning are reported on in the measured time, or before */
    uint64_t open = learns ? 2 * c.span.export_sessions : 0;
    bool good = r.done == c.blocks && blocks > 0 && reports <= 3 * (blocks + open);
    printf("| %s | %s | %s | %.3f | %llu | %llu | %.2f | %s |\n", name,
           ltp_profile_name(c.span.profile), learns ? "learnt under losses" : "first session",
           (double)delay / (double)TICK_S, (unsigned long long)blocks, (unsigned long long)reports,
           (double)reports / (double)blocks, good ? ltp_learnt_name(r.support.learnt) : "FAILED");
    return good;
}

static bool check_prices(void)
{
    static const tick delays[] = {TICK_MS,        5 * TICK_MS, 30 * TICK_MS, 120 * TICK_MS,
                                  1300 * TICK_MS, 60 * TICK_S, 1200 * TICK_S};
    bool good = true;
    printf("| receiver | profile | when | delay (s) | blocks | reports | reports a block | learnt "
           "|\n|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof delays / sizeof *delays; i++) {
        tick d = delays[i];
        struct model_traits models[] = {model_ion(10, 2 * d), model_hdtn(2 * d, 0),
                                        model_strict(2 * d), model_licklider(2 * d)};
        models[3].rto -=
            4 * TICK_S - 20 * TICK_MS; /* or the time of losses lasts into the measured one */
        for (size_t k = 0; k < sizeof models / sizeof *models; k++)
            good &= check_price(
                models[k].name,
                &(struct model_case){.model = &models[k], .span = {.profile = LTP_PROFILE_AUTO}}, d,
                true);
        static const enum ltp_profile profiles[] = {LTP_PROFILE_HELIOGRAPH, LTP_PROFILE_AUTO};
        for (size_t k = 0; k < 2; k++) {
            struct model_case c = {.span = {.profile = profiles[k]}};
            good &= check_price("Heliograph", &c, d, true);
            good &= check_price("Heliograph", &c, d, false);
            c.theirs = &ltp_recovery_plain;
            good &= check_price("Heliograph, plain", &c, d, true);
            good &= check_price("Heliograph, plain", &c, d, false);
        }
    }
    return good;
}

int main(int argc, char **argv)
{
    struct options o = {.from = 1, .to = 1};
    for (int i = 1; i < argc; i++) {
        unsigned long long from, to;
        if (strcmp(argv[i], "--all") == 0)
            o.all = true;
        else if (strcmp(argv[i], "--json") == 0)
            o.json = true;
        else if (strcmp(argv[i], "--price") == 0)
            o.price = true;
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            o.only = argv[++i];
        else if (strcmp(argv[i], "--seeds") == 0 && i + 1 < argc &&
                 sscanf(argv[i + 1], "%llu..%llu", &from, &to) == 2) {
            o.from = from;
            o.to = to;
            i++;
        } else {
            fprintf(stderr, "usage: %s [--all] [--seeds A..B] [--only TEXT] [--json] | --price\n",
                    argv[0]);
            return 2;
        }
    }
    if (o.price)
        return check_prices() ? 0 : 1;
    read_traces();
    if (!o.json)
        printf(
            "| receiver | channel | block | recovery | blocks | done | cancelled by it | by us | "
            "arrived twice | learnt | seconds |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
    bool good = check_all(&o);
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
        trace_fini(&channels[i].trace);
    return good ? 0 : 1;
}
