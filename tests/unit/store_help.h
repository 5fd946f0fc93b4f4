/* SPDX-License-Identifier: Apache-2.0 */
/* A directory of its own for each test of the store. */
#ifndef STORE_HELP_H
#define STORE_HELP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store_lmdb.h"
#include "tests/unit/suite.h"

struct place {
    char dir[64];
    struct store_options o;
};

static inline struct store *place_again(const struct place *p, const struct store_ops *ops)
{
    struct store *s;
    char why[256];
    int rc = ops->open(&s, &p->o, why, sizeof why);
    ck_assert_msg(rc == 0, "%s", why);
    return s;
}

static inline struct store *place_open_in(struct place *p, const char *parent,
                                          const struct store_ops *ops, uint64_t limit,
                                          enum store_durability durability)
{
    snprintf(p->dir, sizeof p->dir, "%s/helio_store_XXXXXX", parent);
    ck_assert_ptr_nonnull(mkdtemp(p->dir));
    p->o = (struct store_options){
        .path = p->dir, .limit_bytes = limit, .durability = durability, .marks_max = 4};
    return place_again(p, ops);
}

static inline struct store *place_open(struct place *p, const struct store_ops *ops, uint64_t limit,
                                       enum store_durability durability)
{
    return place_open_in(p, "/tmp", ops, limit, durability);
}

static inline void place_remove(struct place *p)
{
    DIR *d = opendir(p->dir);
    ck_assert_ptr_nonnull(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s", p->dir, e->d_name);
        unlink(path);
    }
    closedir(d);
    ck_assert_int_eq(rmdir(p->dir), 0);
}

static inline void place_done(struct place *p, struct store *s)
{
    s->ops->close(s);
    place_remove(p);
}

#endif
