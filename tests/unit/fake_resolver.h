/* SPDX-License-Identifier: Apache-2.0 */
/* A resolver for a virtual world, which has none: it answers what the test says, later. */
#ifndef TESTS_UNIT_FAKE_RESOLVER_H
#define TESTS_UNIT_FAKE_RESOLVER_H

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "os/net/lookup.h"
#include "tests/unit/suite.h"

struct fake_resolver {
    struct world_ops ops; /* the world's, but for look-ups */
    const struct world_ops *before;
    struct world *world;
    struct alarm alarm;
    struct lookup *asked; /* NULL: nobody asks now */
    const char *answer;   /* numeric addresses, a blank between; "": the name is not known */
    tick takes;
    bool refuses; /* no look-up can be begun */
    unsigned asks, forgotten;
};

static inline struct fake_resolver *fake_of(const struct world *w)
{
    return (struct fake_resolver *)(uintptr_t)w->ops; /* the first field */
}

static inline int fake_begin(struct world *w, struct lookup *l)
{
    struct fake_resolver *f = fake_of(w);
    ck_assert(l->own == NULL && f->asked == NULL && host_name_is_valid(l->host));
    if (f->refuses)
        return HELIO_ENOMEM;
    f->asks++;
    f->asked = l;
    l->own = f;
    alarm_set(&f->alarm, tick_add(world_now(w), f->takes));
    return 0;
}

static inline void fake_forget(struct world *w, struct lookup *l)
{
    struct fake_resolver *f = fake_of(w);
    ck_assert(f->asked == l && l->own == f);
    f->forgotten++;
    f->asked = NULL;
    l->own = NULL;
    alarm_set(&f->alarm, TICK_NEVER);
}

static inline void fake_answer(void *context)
{
    struct fake_resolver *f = context;
    struct lookup *l = f->asked;
    const char *at = f->answer;
    char word[64];
    ck_assert(l != NULL);
    l->len = 0;
    while (sscanf(at, "%63s", word) == 1) {
        struct address a;
        ck_assert_int_eq(address_of(word, l->port, &a), 0);
        if (l->family == AF_UNSPEC || l->family == a.sa.sa_family)
            lookup_add(l, &a);
        at = strstr(at, word) + strlen(word);
    }
    l->error = l->len > 0 ? NULL : "Name or service not known";
    f->asked = NULL;
    l->own = NULL;
    l->done(l);
}

static inline void fake_resolver_init(struct fake_resolver *f, struct world *w, const char *answer)
{
    *f = (struct fake_resolver){
        .ops = *w->ops, .before = w->ops, .world = w, .answer = answer, .takes = TICK_MS};
    f->ops.lookup = fake_begin;
    f->ops.lookup_forget = fake_forget;
    w->ops = &f->ops;
    alarm_init(&f->alarm, w, ALARM_LINK, fake_answer, f);
}

static inline void fake_resolver_fini(struct fake_resolver *f)
{
    ck_assert(f->asked == NULL);
    alarm_fini(&f->alarm);
    f->world->ops = f->before;
}

#endif
