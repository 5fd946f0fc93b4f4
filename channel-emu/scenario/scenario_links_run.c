/* SPDX-License-Identifier: Apache-2.0 */
/* Times of hand-over and of transmitters are known when the clock begins, before the first frame.
 * What can go wrong: memory. */
#include "channel-emu/scenario/scenario_links_run.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/chan/chan_shared.h"

/* When what is inside the channels of `to` is lost by hand-overs of this link. */
static int place_cuts(struct links_run *r, const struct scenario_link *link,
                      const struct chan_handover *overs, size_t to)
{
    tick *cuts = malloc(link->over_count * sizeof *cuts);
    if (cuts == NULL)
        return HELIO_ENOMEM;
    size_t n = chan_hand_cuts(overs, link->over_count, (uint32_t)to, cuts);
    if (n == 0) {
        free(cuts);
        return 0;
    }
    assert(r->at[to].cuts == NULL); /* they are of one link only, or the file would be wrong */
    r->at[to].cuts = cuts;
    r->at[to].cut_count = n;
    return 0;
}

/* One link's hand-overs, and what they cut of the links that they name. */
static int place_overs(struct links_run *r, size_t index, tick origin)
{
    const struct scenario_link *link = &r->file->link[index];
    struct links_one *one = &r->at[index];
    one->overs = malloc(link->over_count * sizeof *one->overs);
    if (one->overs == NULL)
        return HELIO_ENOMEM;
    memcpy(one->overs, link->overs, link->over_count * sizeof *one->overs);
    for (size_t i = 0; i < link->over_count; i++)
        one->overs[i].at = tick_add(origin, one->overs[i].at);
    for (int dir = 0; dir < 2; dir++) {
        chan_hand_init(&one->directions[dir].hand, one->overs, link->over_count);
        one->directions[dir].via = calloc(r->file->count, sizeof *one->directions[dir].via);
        if (one->directions[dir].via == NULL)
            return HELIO_ENOMEM;
    }
    int rc = 0;
    for (size_t to = 0; to < r->file->count && rc == 0; to++)
        rc = place_cuts(r, link, one->overs, to);
    return rc;
}

static int make_line(struct links_run *r, size_t index, tick started, tick wall)
{
    struct links_line *line = &r->line[index];
    const struct scenario_shared *of = &r->file->shared[index];
    struct chan_shared_config k = scenario_links_shared(r->file, index, started, wall);
    line->name = of->name;
    line->member = calloc(of->members, sizeof *line->member);
    if (line->member == NULL)
        return HELIO_ENOMEM;
    for (size_t i = 0; i < r->file->count; i++) {
        for (int dir = 0; dir < 2; dir++) {
            if (r->file->link[i].shared[dir] != (int)index)
                continue;
            line->member[line->count++] = (struct links_member){.link = i, .dir = dir};
            r->at[i].directions[dir].line = line;
        }
    }
    assert(line->count == of->members);
    return chan_shared_new(&line->shared, &k);
}

int links_run_init(struct links_run *r, const struct scenario_links *file, tick started, tick wall)
{
    int rc = 0;
    *r = (struct links_run){.file = file};
    r->at = calloc(file->count, sizeof *r->at);
    r->line = calloc(file->shared_count + 1, sizeof *r->line);
    if (r->at == NULL || r->line == NULL)
        return HELIO_ENOMEM;
    for (size_t i = 0; i < file->count; i++)
        r->at[i].name = file->link[i].name;
    for (size_t i = 0; i < file->count && rc == 0; i++) {
        if (file->link[i].over_count > 0)
            rc = place_overs(r, i, scenario_links_origin(file, started, wall));
    }
    for (size_t i = 0; i < file->shared_count && rc == 0; i++)
        rc = make_line(r, i, started, wall);
    return rc;
}

void links_run_fini(struct links_run *r)
{
    for (size_t i = 0; r->at != NULL && i < r->file->count; i++) {
        free(r->at[i].overs);
        free(r->at[i].cuts);
        free(r->at[i].directions[0].via);
        free(r->at[i].directions[1].via);
    }
    for (size_t i = 0; r->line != NULL && i < r->file->shared_count; i++) {
        chan_shared_free(r->line[i].shared);
        free(r->line[i].member);
    }
    free(r->at);
    free(r->line);
    *r = (struct links_run){.file = NULL};
}

void links_run_fit(const struct links_run *r, size_t link, int dir, struct chan_config *config)
{
    const struct links_one *one = &r->at[link];
    config->cuts = one->cuts;
    config->cut_count = one->cut_count;
    if (one->directions[dir].line == NULL)
        return;
    config->shared = one->directions[dir].line->shared;
    config->queue_bytes = config->queue_time = 0; /* which is the transmitter's */
}

uint32_t links_run_enter(struct links_run *r, size_t link, int dir, tick at)
{
    assert(link < r->file->count);
    struct links_direction *w = &r->at[link].directions[dir];
    if (w->hand.count == 0)
        return (uint32_t)link;
    w->last = tick_max(w->last, at);
    uint32_t to = chan_hand_to(&w->hand, w->last);
    assert(to == CHAN_NOWHERE || to < r->file->count);
    if (to == CHAN_NOWHERE)
        w->gap++;
    else
        w->via[to].in++;
    return to;
}

void links_run_leave(struct links_run *r, size_t link, int dir, size_t over)
{
    assert(link < r->file->count && over < r->file->count);
    struct links_direction *w = &r->at[link].directions[dir];
    if (w->via != NULL)
        w->via[over].out++;
}
