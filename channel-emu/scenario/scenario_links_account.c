/* SPDX-License-Identifier: Apache-2.0 */
/* The account of shared transmitters and hand-over: the use of each direction, and the link that a
 * handed-over link used. Nothing can fail but memory, which omits fields. */
#include <inttypes.h>

#include "channel-emu/chan/chan_shared.h"
#include "channel-emu/scenario/scenario_links_run.h"

static const char *const directions[] = {"forward", "return"};

static const struct chan *chan_of(const struct links_run *r, const struct links_member *m)
{
    return r->at[m->link].directions[m->dir].chan;
}

static struct chan_part part_of(const struct links_run *r, const struct links_member *m)
{
    const struct chan *c = chan_of(r, m);
    return c == NULL ? (struct chan_part){.frames = 0} : chan_part(c);
}

static uint64_t bytes_of(const struct links_run *r, const struct links_line *line)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < line->count; i++)
        sum += part_of(r, &line->member[i]).bytes;
    return sum;
}

/* Of the members that sent anything. */
static double fairness_of(const struct links_run *r, const struct links_line *line)
{
    uint64_t bytes[2 * SCENARIO_LINKS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < line->count; i++) {
        if (chan_of(r, &line->member[i]) != NULL)
            bytes[n++] = part_of(r, &line->member[i]).bytes;
    }
    return chan_shared_fairness(bytes, n);
}

static json_t *json_member(const struct links_run *r, const struct links_line *line, size_t i)
{
    char name[SCENARIO_NAME_MAX + 16];
    const struct links_member *m = &line->member[i];
    struct chan_part p = part_of(r, m);
    uint64_t all = bytes_of(r, line);
    snprintf(name, sizeof name, "%.32s.%s", r->at[m->link].name, directions[m->dir]);
    return json_pack("{s:s, s:I, s:I, s:f, s:f, s:f}", "of", name, "frames", (json_int_t)p.frames,
                     "bytes", (json_int_t)p.bytes, "share",
                     all == 0 ? 0 : (double)p.bytes / (double)all, "wait_mean_us",
                     p.frames == 0 ? 0 : (double)p.waited / 1e3 / (double)p.frames, "wait_max_us",
                     (double)p.waited_max / 1e3);
}

json_t *links_run_shared(const struct links_run *r)
{
    json_t *o = json_object();
    for (size_t i = 0; i < r->file->shared_count; i++) {
        const struct links_line *line = &r->line[i];
        json_t *members = json_array();
        for (size_t k = 0; k < line->count; k++)
            json_array_append_new(members, json_member(r, line, k));
        json_object_set_new(o, line->name,
                            json_pack("{s:I, s:I, s:f, s:o}", "rate_bps",
                                      (json_int_t)r->file->shared[i].direction.rate_bps, "bytes",
                                      (json_int_t)bytes_of(r, line), "fairness",
                                      fairness_of(r, line), "members", members));
    }
    return o;
}

/* How many of the hand-overs have come. */
static size_t moves_of(const struct chan_hand *h, tick now)
{
    size_t n = 0;
    while (n < h->count && h->list[n].at <= now)
        n++;
    return n;
}

static json_t *json_direction(const struct links_run *r, const struct links_direction *w)
{
    json_t *via = json_object();
    uint64_t in = 0, out = 0;
    for (size_t i = 0; i < r->file->count; i++) {
        struct links_via v = w->via[i];
        if (v.in == 0)
            continue;
        in += v.in;
        out += v.out;
        json_object_set_new(
            via, r->at[i].name,
            json_pack("{s:I, s:I}", "in", (json_int_t)v.in, "out", (json_int_t)v.out));
    }
    const uint64_t all = in + w->gap;
    return json_pack("{s:I, s:I, s:I, s:o}", "in", (json_int_t)all, "out", (json_int_t)out, "gap",
                     (json_int_t)w->gap, "via", via);
}

json_t *links_run_handover(const struct links_run *r, size_t link, tick now)
{
    const struct links_one *one = &r->at[link];
    const struct chan_hand *h = &one->directions[0].hand;
    if (h->count == 0)
        return NULL;
    return json_pack("{s:I, s:I, s:o, s:o}", "planned", (json_int_t)h->count, "done",
                     (json_int_t)moves_of(h, now), "forward",
                     json_direction(r, &one->directions[0]), "return",
                     json_direction(r, &one->directions[1]));
}

void links_run_say_shared(const struct links_run *r, size_t line, FILE *to)
{
    const struct links_line *of = &r->line[line];
    uint64_t all = bytes_of(r, of);
    fprintf(to, "shared %s: %" PRIu64 " bytes on the air, fairness %.3f;", of->name, all,
            fairness_of(r, of));
    for (size_t i = 0; i < of->count; i++) {
        const struct links_member *m = &of->member[i];
        struct chan_part p = part_of(r, m);
        fprintf(to, " %s.%s %.1f %% (waited %.1f ms at most)", r->at[m->link].name,
                directions[m->dir], all == 0 ? 0 : 100 * (double)p.bytes / (double)all,
                (double)p.waited_max / 1e6);
    }
    fputc('\n', to);
}

void links_run_say_handover(const struct links_run *r, size_t link, tick now, FILE *to)
{
    const struct links_one *one = &r->at[link];
    const struct chan_hand *h = &one->directions[0].hand;
    if (h->count == 0)
        return;
    fprintf(to, "         handed over, %zu of %zu times;", moves_of(h, now), h->count);
    for (int dir = 0; dir < 2; dir++) {
        fprintf(to, " %s: in the gap %" PRIu64, directions[dir], one->directions[dir].gap);
        for (size_t i = 0; i < r->file->count; i++) {
            struct links_via v = one->directions[dir].via[i];
            if (v.in > 0)
                fprintf(to, ", by %s %" PRIu64 " in, %" PRIu64 " out", r->at[i].name, v.in, v.out);
        }
        fputs(dir == 0 ? ";" : "\n", to);
    }
}
