/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our sender toward receivers as others make them, over channels and block lengths: every block
 * arrives (the user sends again what was cancelled), and with what the link learns by itself the
 * receiver cancels no more sessions than plain recovery makes it cancel over the same seeds.
 *
 * usage: sim_receivers [--all] [--seeds A..B] [--only TEXT] [--json]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel-emu/trace_file.h"
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
    bool all, json;
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
    s->learnt[r->bearing.learnt]++;
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

/* Chance differs once the segments do: where plain has some, three deviations more are chance. */
static bool excuses(const struct sum *plain, const struct sum *learning)
{
    double allowed = (double)plain->cancelled + 3 * sqrt((double)plain->cancelled);
    return (double)learning->cancelled <= allowed;
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
                excuses(&plain, &learning) && learning.cancelled_local <= plain.cancelled_local;
    if (!good)
        fprintf(stderr, "FAILED: %s, %s, %llu bytes\n", to->name, ch->name,
                (unsigned long long)size->bytes);
    return good;
}

static void read_traces(void)
{
    char path[256], error[256];
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        if (channels[i].file == NULL)
            continue;
        snprintf(path, sizeof path, "%s/%s.htr", TRACES, channels[i].file);
        trace_init(&channels[i].trace, 100 * TICK_US);
        if (trace_file_read(&channels[i].trace, path, 0, error) != 0) {
            fprintf(stderr, "%s: %s\n", path, error);
            exit(1);
        }
    }
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
        if (o->only != NULL && strstr(receivers[i].name, o->only) == NULL)
            continue;
        for (size_t k = 0; k < sizeof channels / sizeof *channels; k++) {
            for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
                bool fast = receivers[i].fast && channels[k].fast && sizes[n].fast;
                if (o->all || fast)
                    good &= check_cell(&receivers[i], &channels[k], &sizes[n], o);
            }
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
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            o.only = argv[++i];
        else if (strcmp(argv[i], "--seeds") == 0 && i + 1 < argc &&
                 sscanf(argv[i + 1], "%llu..%llu", &from, &to) == 2) {
            o.from = from;
            o.to = to;
            i++;
        } else {
            fprintf(stderr, "usage: %s [--all] [--seeds A..B] [--only TEXT] [--json]\n", argv[0]);
            return 2;
        }
    }
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
