/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The account of several links: that of each, what each got of a transmitter that it shares, which
 * way a link went that was handed over; and one verdict, the worst of all. Nothing can fail but
 * memory, which leaves fields away.
 */
#include <inttypes.h>
#include <string.h>

#include "channel-emu/chan/chan_shared.h"
#include "channel-emu/emu/emu_links.h"
#include "os/clock.h"

static const char *const ways[] = {"forward", "return"};

static int worst_grade(const struct emu_loop *loop)
{
    int worst = EMU_FAITHFUL;
    for (size_t i = 0; i < loop->count; i++) {
        int grade = emu_report_grade(&loop->at[i].link);
        worst = grade < worst ? grade : worst;
    }
    return worst;
}

static struct chan_part part_of(const struct emu_member *m)
{
    const struct chan *c = m->link->way[m->dir].chan;
    return c == NULL ? (struct chan_part){.frames = 0} : chan_part(c);
}

static uint64_t bytes_of(const struct emu_shared *line)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < line->count; i++)
        sum += part_of(&line->member[i]).bytes;
    return sum;
}

/* Of the members that sent anything. */
static double fairness_of(const struct emu_shared *line)
{
    uint64_t bytes[2 * SCENARIO_LINKS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < line->count; i++) {
        if (line->member[i].link->way[line->member[i].dir].chan != NULL)
            bytes[n++] = part_of(&line->member[i]).bytes;
    }
    return chan_shared_fairness(bytes, n);
}

static const struct emu_relay *relay_of(const struct emu_loop *loop, const struct emu_link *link)
{
    size_t i = 0;
    while (&loop->at[i].link != link)
        i++;
    return &loop->at[i];
}

static json_t *json_member(const struct emu_loop *loop, const struct emu_shared *line, size_t i)
{
    char name[SCENARIO_NAME_MAX + 16];
    const struct emu_member *m = &line->member[i];
    struct chan_part p = part_of(m);
    uint64_t all = bytes_of(line);
    snprintf(name, sizeof name, "%.32s.%s", relay_of(loop, m->link)->name, ways[m->dir]);
    return json_pack("{s:s, s:I, s:I, s:f, s:f, s:f}", "of", name, "frames", (json_int_t)p.frames,
                     "bytes", (json_int_t)p.bytes, "share",
                     all == 0 ? 0 : (double)p.bytes / (double)all, "wait_mean_us",
                     p.frames == 0 ? 0 : (double)p.waited / 1e3 / (double)p.frames, "wait_max_us",
                     (double)p.waited_max / 1e3);
}

static json_t *json_shared(const struct emu_links *l)
{
    json_t *o = json_object();
    for (size_t i = 0; i < l->loop.shared_count; i++) {
        const struct emu_shared *line = &l->loop.shared[i];
        json_t *members = json_array();
        for (size_t k = 0; k < line->count; k++)
            json_array_append_new(members, json_member(&l->loop, line, k));
        json_object_set_new(o, line->name,
                            json_pack("{s:I, s:I, s:f, s:o}", "rate_bps",
                                      (json_int_t)l->file.shared[i].way.rate_bps, "bytes",
                                      (json_int_t)bytes_of(line), "fairness", fairness_of(line),
                                      "members", members));
    }
    return o;
}

/* How many of the hand-overs have come. */
static size_t moves_of(const struct emu_relay *r)
{
    const struct chan_hand *h = &r->hand[0].list;
    tick now = clock_now() + r->link.bias;
    size_t n = 0;
    while (n < h->count && h->list[n].at <= now)
        n++;
    return n;
}

static json_t *json_hand(const struct emu_loop *loop, const struct emu_relay *r, int dir)
{
    json_t *via = json_object();
    uint64_t in = 0, out = 0;
    for (size_t i = 0; i < loop->count; i++) {
        struct emu_via v = r->hand[dir].via[i];
        if (v.in == 0)
            continue;
        in += v.in;
        out += v.out;
        json_object_set_new(
            via, loop->at[i].name,
            json_pack("{s:I, s:I}", "in", (json_int_t)v.in, "out", (json_int_t)v.out));
    }
    const uint64_t gap = r->link.way[dir].gap, all = in + gap;
    return json_pack("{s:I, s:I, s:I, s:o}", "in", (json_int_t)all, "out", (json_int_t)out, "gap",
                     (json_int_t)gap, "via", via);
}

static json_t *json_link(const struct emu_loop *loop, const struct emu_relay *r)
{
    json_t *o = emu_report_link(&r->link);
    if (r->hand[0].list.count == 0)
        return o;
    json_object_set_new(o, "handover",
                        json_pack("{s:I, s:I, s:o, s:o}", "planned",
                                  (json_int_t)r->hand[0].list.count, "done",
                                  (json_int_t)moves_of(r), "forward", json_hand(loop, r, 0),
                                  "return", json_hand(loop, r, 1)));
    return o;
}

/* All reasons, each with its link. */
static json_t *join_reasons(const json_t *links)
{
    json_t *all = json_array();
    const char *name;
    json_t *link, *reason;
    json_object_foreach((json_t *)(uintptr_t)links, name, link)
    {
        size_t i;
        json_array_foreach(json_object_get(link, "not_faithful"), i, reason)
            json_array_append_new(all, json_sprintf("%s: %s", name, json_string_value(reason)));
    }
    return all;
}

static json_t *json_links(const struct emu_loop *loop)
{
    json_t *links = json_object();
    for (size_t i = 0; i < loop->count; i++)
        json_object_set_new(links, loop->at[i].name, json_link(loop, &loop->at[i]));
    return links;
}

void emu_links_json(const struct emu_links *l, FILE *to)
{
    int worst = worst_grade(&l->loop);
    json_t *links = json_links(&l->loop);
    json_t *o =
        json_pack("{s:s, s:b, s:s, s:o}", "command", "links", "faithful", worst == EMU_FAITHFUL,
                  "grade", emu_report_grade_name(worst), "not_faithful", join_reasons(links));
    json_object_update_new(o, emu_report_run(&l->loop.at[0].link));
    json_object_set_new(o, "links", links);
    json_object_set_new(o, "shared", json_shared(l));
    json_dumpf(o, to, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    fputc('\n', to);
    json_decref(o);
}

static void text_shared(const struct emu_loop *loop, const struct emu_shared *line, FILE *to)
{
    uint64_t all = bytes_of(line);
    fprintf(to, "shared %s: %" PRIu64 " bytes on the air, fairness %.3f;", line->name, all,
            fairness_of(line));
    for (size_t i = 0; i < line->count; i++) {
        const struct emu_member *m = &line->member[i];
        struct chan_part p = part_of(m);
        fprintf(to, " %s.%s %.1f %% (waited %.1f ms at most)", relay_of(loop, m->link)->name,
                ways[m->dir], all == 0 ? 0 : 100 * (double)p.bytes / (double)all,
                (double)p.waited_max / 1e6);
    }
    fputc('\n', to);
}

static void text_hand(const struct emu_loop *loop, const struct emu_relay *r, FILE *to)
{
    fprintf(to, "         handed over, %zu of %zu times;", moves_of(r), r->hand[0].list.count);
    for (int dir = 0; dir < 2; dir++) {
        fprintf(to, " %s: in the gap %" PRIu64, ways[dir], r->link.way[dir].gap);
        for (size_t i = 0; i < loop->count; i++) {
            struct emu_via v = r->hand[dir].via[i];
            if (v.in > 0)
                fprintf(to, ", by %s %" PRIu64 " in, %" PRIu64 " out", loop->at[i].name, v.in,
                        v.out);
        }
        fputs(dir == 0 ? ";" : "\n", to);
    }
}

void emu_links_text(const struct emu_loop *loop, FILE *to)
{
    int worst = worst_grade(loop);
    for (size_t i = 0; i < loop->count; i++) {
        fprintf(to, "link %s\n", loop->at[i].name);
        emu_report_text(&loop->at[i].link, to);
        if (loop->at[i].hand[0].list.count > 0)
            text_hand(loop, &loop->at[i], to);
    }
    for (size_t i = 0; i < loop->shared_count; i++)
        text_shared(loop, &loop->shared[i], to);
    if (worst == EMU_FAITHFUL)
        fprintf(to, "all links: faithful\n");
    else
        fprintf(to, "all links: NOT FAITHFUL: %s\n", emu_report_grade_name(worst));
    fflush(to);
}

void emu_links_line(const struct emu_loop *loop, FILE *to)
{
    for (size_t i = 0; i < loop->count; i++) {
        fprintf(to, "%s ", loop->at[i].name);
        emu_report_line(&loop->at[i].link, to);
    }
}

bool emu_links_whole(const struct emu_links *l)
{
    bool whole = true;
    for (size_t i = 0; i < l->loop.count; i++)
        whole = whole && emu_report_whole(&l->loop.at[i].link);
    return whole;
}

json_t *emu_links_status(const struct emu_links *l, const char *name)
{
    int link = name == NULL ? -1 : scenario_links_find(&l->file, name);
    if (name != NULL && link < 0)
        return NULL;
    if (link >= 0)
        return json_link(&l->loop, &l->loop.at[link]);
    json_t *links = json_object();
    for (size_t i = 0; i < l->loop.count; i++)
        json_object_set_new(links, l->loop.at[i].name, emu_report_status(&l->loop.at[i].link));
    return json_pack("{s:s, s:o, s:o}", "grade", emu_report_grade_name(worst_grade(&l->loop)),
                     "links", links, "shared", json_shared(l));
}
