/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each entry is in two crowds with the same key: one of its place, and one of all places. What can
 * go wrong: memory for a new crowd.
 */
#include "base/crowd_room.h"

#include <assert.h>

#include "base/err.h"

static int open_room(struct crowd_room *r, uint64_t seed)
{
    if (r->places_len > 0)
        return 0;
    list_init(&r->places);
    return crowds_init(&r->all, seed);
}

int crowd_place_init(struct crowd_place *p, struct crowd_room *room, uint64_t seed,
                     void (*displaced)(struct crowd_entry *e))
{
    *p = (struct crowd_place){.room = room, .displaced = displaced};
    if (crowds_init(&p->crowds, seed) != 0)
        return HELIO_ENOMEM;
    if (open_room(room, seed) != 0) {
        crowds_fini(&p->crowds);
        return HELIO_ENOMEM;
    }
    list_add_tail(&room->places, &p->node);
    room->places_len++;
    return 0;
}

void crowd_place_fini(struct crowd_place *p)
{
    struct crowd_room *r = p->room;
    assert(r->places_len > 0);
    list_sub(&p->node);
    crowds_fini(&p->crowds);
    if (--r->places_len == 0)
        crowds_fini(&r->all);
}

/* Of all places together. */
static uint64_t room_max(const struct crowd_room *r)
{
    uint64_t most = 0;
    list_for_each (it, &r->places) {
        const uint64_t max = container_of(it, struct crowd_place, node)->max;
        most = max > most ? max : most;
    }
    return most + r->places_len;
}

static struct crowd_entry *find_surplus(const struct crowd_place *p, struct slice key,
                                        uint64_t key_max)
{
    struct crowd_member *here = NULL;
    if (crowds_size(&p->crowds, key) >= key_max)
        here = crowds_first(&p->crowds, key);
    else if (p->crowds.len >= p->max)
        here = crowds_largest(&p->crowds);
    if (here != NULL)
        return container_of(here, struct crowd_entry, here);
    if (p->room->all.len < room_max(p->room))
        return NULL;
    return container_of(crowds_largest(&p->room->all), struct crowd_entry, there);
}

void crowd_place_clear(struct crowd_place *p, struct slice key, uint64_t key_max, uint64_t max)
{
    assert(key_max >= 1 && max >= 1);
    p->max = max;
    struct crowd_entry *e = find_surplus(p, key, key_max);
    if (e == NULL)
        return;
    e->place->displaced(e);
}

int crowd_entry_add(struct crowd_place *p, struct crowd_entry *e, struct slice key)
{
    *e = (struct crowd_entry){.place = NULL};
    if (crowds_add(&p->crowds, &e->here, key) != 0)
        return HELIO_ENOMEM;
    if (crowds_add(&p->room->all, &e->there, key) != 0) {
        crowds_sub(&p->crowds, &e->here);
        return HELIO_ENOMEM;
    }
    e->place = p;
    return 0;
}

void crowd_entry_sub(struct crowd_entry *e)
{
    if (e->place == NULL)
        return;
    crowds_sub(&e->place->crowds, &e->here);
    crowds_sub(&e->place->room->all, &e->there);
    e->place = NULL;
}

void crowd_entry_active(struct crowd_entry *e)
{
    if (e->place == NULL)
        return;
    crowds_active(&e->place->crowds, &e->here);
    crowds_active(&e->place->room->all, &e->there);
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void crowd_place_check(const struct crowd_place *p)
{
    const struct crowd_room *r = p->room;
    size_t members = 0, places = 0;
    list_for_each (it, &r->places) {
        members += container_of(it, struct crowd_place, node)->crowds.len;
        places++;
    }
    assert(places == r->places_len && members == r->all.len);
    crowds_check(&p->crowds);
    crowds_check(&r->all);
}
