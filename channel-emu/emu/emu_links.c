/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each link of the file is a relay of the loop; one that has no addresses is only a channel. Times
 * of hand-over and of transmitters are known when the common clock begins, before the first frame.
 * What can go wrong: an address that is not understood or taken, memory.
 */
#include "channel-emu/emu/emu_links.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/chan/chan_shared.h"
#include "os/clock.h"

static void resolve_one(const char *text, const char *link, const char *key, uint32_t line,
                        struct address *out, struct conf_errors *e)
{
    char why[256];
    if (*text != '\0' && address_resolve(text, out, why, sizeof why) < 0)
        conf_error(e, line, "links.%s.%s: \"%s\": %s", link, key, text, why);
}

static void resolve_link(const struct scenario_link *l, struct emu_relay_options *o,
                         struct conf_errors *e)
{
    resolve_one(l->listen, l->name, "listen", l->listen_line, &o->listen, e);
    resolve_one(l->to, l->name, "to", l->to_line, &o->to, e);
    resolve_one(l->return_from, l->name, "return_from", l->return_from_line, &o->return_from, e);
    resolve_one(l->return_to, l->name, "return_to", l->return_to_line, &o->return_to, e);
    o->has_return_from = *l->return_from != '\0';
    o->has_return_to = *l->return_to != '\0';
    if (e->total == 0 && *l->listen != '\0' && address_equal(&o->listen, &o->to))
        conf_error(e, l->to_line,
                   "links.%s.to: is the address of listen; frames would go round "
                   "for ever",
                   l->name);
}

static int read_file(struct emu_links *l, FILE *say)
{
    struct conf_errors *e = malloc(sizeof *e);
    if (e == NULL)
        return HELIO_ENOMEM;
    conf_errors_init(e, l->path);
    int rc = scenario_links_load(&l->file, l->path, e);
    l->ports = rc < 0 ? NULL : calloc(l->file.count, sizeof *l->ports);
    l->overs = rc < 0 ? NULL : calloc(l->file.count, sizeof *l->overs);
    l->cuts = rc < 0 ? NULL : calloc(l->file.count, sizeof *l->cuts);
    if (rc == 0 && (l->ports == NULL || l->overs == NULL || l->cuts == NULL))
        rc = HELIO_ENOMEM;
    for (size_t i = 0; i < l->file.count && rc == 0; i++) {
        l->ports[i].settings = l->run;
        l->ports[i].settings.scenario = l->file.link[i].scenario;
        resolve_link(&l->file.link[i], &l->ports[i], e);
    }
    rc = rc == 0 && e->total > 0 ? HELIO_EFORMAT : rc;
    for (size_t i = 0; i < e->len; i++)
        fprintf(say, "helio-emu: %s\n", e->text[i]);
    if (e->total > e->len)
        fprintf(say, "helio-emu: and %zu more errors\n", e->total - e->len);
    free(e);
    return rc;
}

/* One link's hand-overs, and what they cut of the links that they name. */
static int place_overs(struct emu_links *l, size_t index, tick origin)
{
    const struct scenario_link *link = &l->file.link[index];
    struct emu_relay *r = &l->loop.at[index];
    struct chan_handover *o = malloc(link->over_count * sizeof *o);
    if (o == NULL)
        return HELIO_ENOMEM;
    l->overs[index] = o;
    memcpy(o, link->overs, link->over_count * sizeof *o);
    for (size_t i = 0; i < link->over_count; i++)
        o[i].at = tick_add(origin, o[i].at);
    for (int dir = 0; dir < 2; dir++) {
        chan_hand_init(&r->hand[dir].list, o, link->over_count);
        r->hand[dir].via = calloc(l->loop.count, sizeof *r->hand[dir].via);
        if (r->hand[dir].via == NULL)
            return HELIO_ENOMEM;
    }
    for (size_t to = 0; to < l->loop.count; to++) {
        tick *cuts = malloc(link->over_count * sizeof *cuts);
        if (cuts == NULL)
            return HELIO_ENOMEM;
        size_t n = chan_hand_cuts(o, link->over_count, (uint32_t)to, cuts);
        if (n == 0) {
            free(cuts);
            continue;
        }
        l->cuts[to] = cuts; /* of one link only, or the file would be wrong */
        for (int dir = 0; dir < 2; dir++) {
            l->loop.at[to].link.way[dir].cuts = cuts;
            l->loop.at[to].link.way[dir].cut_count = n;
        }
    }
    return 0;
}

static int make_line(struct emu_links *l, size_t index, tick started, tick wall)
{
    struct emu_shared *line = &l->loop.shared[index];
    const struct scenario_shared *of = &l->file.shared[index];
    struct chan_shared_config k = scenario_links_shared(&l->file, index, started, wall);
    line->name = of->name;
    line->member = calloc(of->members, sizeof *line->member);
    if (line->member == NULL)
        return HELIO_ENOMEM;
    for (size_t i = 0; i < l->file.count; i++) {
        for (int dir = 0; dir < 2; dir++) {
            if (l->file.link[i].shared[dir] != (int)index)
                continue;
            line->member[line->count++] = (struct emu_member){&l->loop.at[i].link, dir};
            l->loop.at[i].link.way[dir].shared = line;
        }
    }
    return chan_shared_new(&line->line, &k);
}

/* On the common clock. */
static int place_all(struct emu_links *l)
{
    const struct emu_link *head = &l->loop.at[0].link;
    tick started = head->started + head->bias, wall = head->started + head->epoch;
    int rc = 0;
    for (size_t i = 0; i < l->file.count && rc == 0; i++) {
        if (l->file.link[i].over_count > 0)
            rc = place_overs(l, i, scenario_links_origin(&l->file, started, wall));
    }
    if (l->file.shared_count > 0 && rc == 0) {
        l->loop.shared = calloc(l->file.shared_count, sizeof *l->loop.shared);
        rc = l->loop.shared == NULL ? HELIO_ENOMEM : 0;
    }
    for (size_t i = 0; i < l->file.shared_count && rc == 0; i++) {
        l->loop.shared_count = i + 1;
        rc = make_line(l, i, started, wall);
    }
    return rc;
}

/* The file's start may lie before those of all directions. */
static void bias_head(struct emu_links *l)
{
    struct emu_link *head = &l->loop.at[0].link;
    tick bias = emu_link_bias(&l->file.origin, head->epoch);
    head->bias = bias != 0 ? bias : head->bias;
}

static void say_ready(const struct emu_links *l, FILE *say)
{
    char from[ADDRESS_TEXT_MAX], to[ADDRESS_TEXT_MAX];
    for (size_t i = 0; i < l->loop.count; i++) {
        const struct emu_relay *r = &l->loop.at[i];
        if (r->listen_fd >= 0)
            fprintf(say, "helio-emu: link %s %s to %s\n", r->name, address_write(&r->listen, from),
                    address_write(&l->ports[i].to, to));
    }
    fprintf(say, "helio-emu: %zu links, ready\n", l->loop.count);
    fflush(say);
}

int emu_links_init(struct emu_links *l, const char *path, const struct emu_settings *run, FILE *say)
{
    *l = (struct emu_links){.path = path, .run = *run, .loop = {.signal_fd = -1}};
    l->loop.control.fd = -1;
    int rc = read_file(l, say);
    rc = rc < 0 ? rc : emu_loop_init(&l->loop, &l->run, l->file.count, say);
    for (size_t i = 0; i < l->file.count && rc == 0; i++) {
        l->loop.count = i + 1;
        rc = emu_relay_init(&l->loop.at[i], &l->loop, i, l->file.link[i].name, &l->ports[i], say);
    }
    l->loop.face = (struct emu_face){emu_links_obey, l, emu_links_text, emu_links_line};
    if (rc < 0)
        return rc;
    bias_head(l);
    rc = emu_loop_begin(&l->loop, say);
    if (rc < 0)
        return rc;
    rc = place_all(l);
    if (rc < 0)
        fprintf(say, "helio-emu: %s\n", helio_strerror(rc));
    else
        say_ready(l, say);
    return rc;
}

void emu_links_fini(struct emu_links *l)
{
    emu_loop_fini(&l->loop);
    for (size_t i = 0; i < l->file.count; i++) {
        free(l->overs == NULL ? NULL : l->overs[i]);
        free(l->cuts == NULL ? NULL : l->cuts[i]);
    }
    free(l->overs);
    free(l->cuts);
    free(l->ports);
    scenario_links_fini(&l->file);
}
