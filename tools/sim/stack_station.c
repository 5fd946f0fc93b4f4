/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ground station in virtual time: the provider of helio-sle by its configuration, whose modem and
 * uplink are ports and whose users' connections are streams of the virtual world. What can go wrong
 * is said with file and line; recordings have threads and disks, and are refused.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "tools/sim/stack.h"

static void say_errors(const struct conf_errors *e)
{
    for (size_t i = 0; i < e->len; i++)
        fprintf(stderr, "%s\n", e->text[i]);
    if (e->total > e->len)
        fprintf(stderr, "%s: and %zu more errors\n", e->file, e->total - e->len);
}

static int load_settings(struct stack_station *t)
{
    struct conf_errors *e = malloc(sizeof *e);
    if (e == NULL)
        return HELIO_ENOMEM;
    conf_errors_init(e, t->file);
    int rc = settings_load(&t->settings, t->file, e);
    say_errors(e);
    free(e);
    if (rc < 0)
        return HELIO_EFORMAT;
    for (size_t i = 0; i < t->settings.sources_len; i++)
        if (*t->settings.sources[i].record != '\0') {
            fprintf(stderr,
                    "%s: sources.record: nothing is recorded in virtual time; leave it out\n",
                    t->file);
            rc = HELIO_EFORMAT;
        }
    if (rc < 0)
        settings_free(&t->settings);
    return rc;
}

int stack_station_new(struct stack *s, const char *file)
{
    struct stack_station *t = calloc(1, sizeof *t);
    if (t == NULL)
        return HELIO_ENOMEM;
    t->stack = s;
    t->file = file;
    int rc = load_settings(t);
    if (rc < 0) {
        free(t);
        return rc;
    }
    s->stations[s->stations_len++] = t;
    return 0;
}

/* Behind all nodes, whose numbers owners have. */
size_t stack_station_owner(const struct stack_station *t)
{
    size_t i = 0;
    while (t->stack->stations[i] != t)
        i++;
    return t->stack->hosts_len + i;
}

int stack_station_open(struct stack_station *t)
{
    struct world *w = &t->stack->world.world;
    w->owner = stack_station_owner(t);
    t->station = station_open(w, &t->settings, LEVEL_WARNING);
    if (t->station == NULL)
        return HELIO_ENOMEM;
    if (station_is_open(t->station))
        return 0;
    fprintf(stderr, "%s: this station could not be opened\n", t->file);
    return HELIO_EFORMAT;
}

void stack_station_free(struct stack_station *t)
{
    if (t->station != NULL) {
        station_end(t->station);
        virtual_settle(&t->stack->world);
        virtual_fire_soon(&t->stack->world);
    }
    station_free(t->station);
    settings_free(&t->settings);
    free(t);
}
