/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each rule counts the segments of its kind on its link; the first rule whose turn has come
 * decides. A swapped segment waits without a due time and enters right after the next one of its
 * link.
 */
#include "tests/sim/fate.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct fate_late {
    struct fate_late *next;
    tick due; /* TICK_NEVER: after the next segment of the link */
    size_t link;
    size_t len;
    uint8_t data[];
};

void fate_init(struct fate *f, struct sim_world *w, struct trace_text *t)
{
    *f = (struct fate){.world = w, .trace = t};
}

void fate_fini(struct fate *f)
{
    while (f->late != NULL) {
        struct fate_late *next = f->late->next;
        free(f->late);
        f->late = next;
    }
}

uint16_t fate_kind(const char *name)
{
    static const struct {
        const char *name;
        uint16_t types;
    } kinds[] = {{"any", 0xffff},        {"data", 0x0011},   {"checkpoint", 0x000e},
                 {"red", 0x000f},        {"green", 0x00f0},  {"report", 0x0100},
                 {"report_ack", 0x0200}, {"cancel", 0x5000}, {"cancel_ack", 0xa000}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, name) == 0)
            return kinds[i].types;
    }
    return 0;
}

int fate_add(struct fate *f, const struct fate_rule *rule)
{
    if (f->len == sizeof f->rules / sizeof *f->rules)
        return HELIO_ESPACE;
    f->rules[f->len++] = *rule;
    return 0;
}

static void keep(struct fate *f, size_t link, const uint8_t *data, size_t len, tick due)
{
    struct fate_late *late = malloc(sizeof *late + len);
    if (late == NULL)
        abort();
    late->due = due;
    late->link = link;
    late->len = len;
    memcpy(late->data, data, len);
    struct fate_late **at = &f->late;
    while (*at != NULL && (*at)->due <= due)
        at = &(*at)->next;
    late->next = *at;
    *at = late;
}

static void release(struct fate *f, struct fate_late **at)
{
    struct fate_late *late = *at;
    *at = late->next;
    sim_enter(f->world, late->link, late->data, late->len);
    free(late);
}

static const struct fate_rule *decide(struct fate *f, size_t link, uint8_t first)
{
    const struct fate_rule *decided = NULL;
    for (size_t i = 0; i < f->len; i++) {
        struct fate_rule *r = &f->rules[i];
        if (r->link != link || (r->types >> (first & 15) & 1) == 0)
            continue;
        if (r->skip > 0) {
            r->skip--;
        } else if (decided == NULL && r->count > 0) {
            r->count -= r->count != UINT64_MAX;
            decided = r;
        }
    }
    return decided;
}

static void release_swapped(struct fate *f, size_t link)
{
    struct fate_late **at = &f->late;
    while (*at != NULL) {
        if ((*at)->link == link && (*at)->due == TICK_NEVER)
            release(f, at);
        else
            at = &(*at)->next;
    }
}

void fate_segment(void *context, size_t link, const uint8_t *data, size_t len)
{
    static const char *const words[] = {"dropped", "duplicated", "held", "swapped"};
    struct fate *f = context;
    const struct fate_rule *r = decide(f, link, data[0]);
    if (r == NULL) {
        sim_enter(f->world, link, data, len);
        release_swapped(f, link);
        return;
    }
    const struct sim_link *l = &f->world->links[link];
    trace_line(f->trace, "%zu->%zu %s", l->from + 1, l->to + 1, words[r->action]);
    if (r->action == FATE_DUP)
        sim_enter(f->world, link, data, len);
    if (r->action == FATE_SWAP)
        keep(f, link, data, len, TICK_NEVER);
    else if (r->action != FATE_DROP)
        keep(f, link, data, len, tick_add(f->world->now, r->delay));
}

tick fate_deadline(const struct fate *f)
{
    return f->late == NULL ? TICK_NEVER : f->late->due;
}

void fate_enter(struct fate *f)
{
    assert(f->late != NULL && f->late->due <= f->world->now);
    release(f, &f->late);
}
