/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are a file of links or a list of errors. Of what is one, channels, transmitters and
 * hand-overs are made as a run makes them, and carry frames; the same bytes are a change of links,
 * or errors. */
#include <stdlib.h>
#include <string.h>

#include "channel-emu/chan/chan_shared.h"
#include "channel-emu/scenario/scenario_links.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { WAYS_MAX = 2 * SCENARIO_LINKS_MAX, FRAMES = 5 };
static const uint64_t wall = UINT64_C(1) << 60;

/* What hand-overs cut of a link; the caller frees it. */
static tick *cuts_of(const struct scenario_links *s, size_t to, size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct scenario_link *l = &s->link[i];
        tick *cuts = l->over_count == 0 ? NULL : malloc(l->over_count * sizeof *cuts);
        if (cuts != NULL)
            *n = chan_hand_cuts(l->overs, l->over_count, (uint32_t)to, cuts);
        if (*n > 0)
            return cuts;
        free(cuts);
    }
    return NULL;
}

static struct chan *make_way(const struct scenario_links *s, size_t i, int way,
                             struct chan_shared *const *lines, const tick *cuts, size_t cut_count)
{
    const struct scenario_link *l = &s->link[i];
    struct chan_config k = scenario_chan(&l->scenario, way, 1, wall);
    struct chan *c;
    if (l->shared[way] >= (int)s->shared_count)
        abort();
    if (l->shared[way] >= 0) {
        k.shared = lines[l->shared[way]];
        k.queue_bytes = k.queue_time = 0;
    }
    k.cuts = cuts;
    k.cut_count = cut_count;
    if (chan_new(&c, &k) < 0)
        abort();
    return c;
}

static void send_frames(struct chan *const *way, size_t count)
{
    static const uint8_t zeros[100];
    struct chan_out out;
    for (size_t n = 0; n < FRAMES * count; n++)
        chan_input(way[n % count], zeros, sizeof zeros, n, 1 + (n / count) * TICK_S);
    for (size_t i = 0; i < count; i++) {
        while (chan_output(way[i], 10 * TICK_S, &out) == 1)
            continue;
    }
    for (size_t i = 0; i < count; i++) {
        chan_end(way[i]);
        const struct chan_counters *n = chan_counters(way[i]);
        if (n->in + n->duplicated != n->out + chan_lost(n) || n->in != FRAMES)
            abort();
    }
}

/* As a run makes them, but for the sockets. */
static void make_links(const struct scenario_links *s)
{
    static struct chan *way[WAYS_MAX];
    static tick *cuts[SCENARIO_LINKS_MAX];
    struct chan_shared *lines[2 * SCENARIO_LINKS_MAX];
    if (s->count == 0 || s->shared_count > sizeof lines / sizeof *lines)
        abort();
    for (size_t i = 0; i < s->shared_count; i++) {
        struct chan_shared_config k = scenario_links_shared(s, i, 1, wall);
        if (chan_shared_new(&lines[i], &k) < 0)
            abort();
    }
    for (size_t i = 0; i < s->count; i++) {
        const struct scenario_link *l = &s->link[i];
        size_t n;
        if (!chan_hand_valid(l->overs, l->over_count, (uint32_t)s->count))
            abort();
        cuts[i] = cuts_of(s, i, &n);
        for (int dir = 0; dir < 2; dir++)
            way[2 * i + (size_t)dir] = make_way(s, i, dir, lines, cuts[i], n);
    }
    send_frames(way, 2 * s->count);
    for (size_t i = 0; i < 2 * s->count; i++) {
        chan_free(way[i]);
        free(i % 2 == 0 ? cuts[i / 2] : NULL);
    }
    for (size_t i = 0; i < s->shared_count; i++)
        chan_shared_free(lines[i]);
}

/* A file with a link and a transmitter, to which the bytes are a change. */
static void change_links(const uint8_t *data, size_t len, struct conf_errors *e)
{
    static const char file[] = "links: {a: {listen: x, to: y, forward: {rate: 1Mbit/s}}}\n"
                               "shared: {up: {of: [a.return], rate: 1Mbit/s}}";
    static struct scenario_links_change change[SCENARIO_LINKS_CHANGES_MAX];
    struct scenario_links s;
    conf_errors_init(e, "");
    if (scenario_links_read(&s, file, strlen(file), "", e) < 0)
        abort();
    int n = scenario_links_change_read(change, &s, (const char *)data, len, e);
    if ((n < 0) != (e->total > 0))
        abort();
    for (int i = 0; i < n; i++) {
        if ((change[i].link < 0) == (change[i].shared < 0) ||
            (change[i].shared >= 0 && change[i].rate_bps == 0))
            abort();
    }
    scenario_links_fini(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct scenario_links s;
    struct conf_errors *e = malloc(sizeof *e);
    if (e == NULL)
        abort();
    conf_errors_init(e, "fuzz.yaml");
    /* No such directory: files are never found. */
    int rc = scenario_links_read(&s, (const char *)data, len, "/nonexistent/", e);
    if ((rc == 0) != (e->total == 0))
        abort();
    if (rc == 0)
        make_links(&s);
    scenario_links_fini(&s);
    change_links(data, len, e);
    free(e);
    return 0;
}
