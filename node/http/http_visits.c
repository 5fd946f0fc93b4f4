/* SPDX-License-Identifier: Apache-2.0 */
/* Each change iterates twice over the connections, of which there are some 64. Nothing can go
 * wrong. */
#include "node/http/http_visits.h"

#include <assert.h>
#include <string.h>

void http_visits_init(struct http_visits *v)
{
    list_init(&v->all);
    v->len = 0;
}

static bool is_same(const struct http_visit *a, const struct http_visit *b)
{
    return a->from_len == b->from_len && memcmp(a->from, b->from, a->from_len) == 0;
}

/* How many its address holds, itself included; each of them knows it. */
static void count_same(const struct http_visits *v, const struct http_visit *one)
{
    size_t count = 0;
    for (int told = 0; told < 2; told++)
        list_for_each (l, &v->all) {
            struct http_visit *c = container_of(l, struct http_visit, node);
            if (c->over || !is_same(c, one))
                continue;
            count += !told;
            c->same = count;
        }
}

void http_visits_add(struct http_visits *v, struct http_visit *c, int fd,
                     const struct address *from, tick now)
{
    struct slice prefix = address_prefix(from, c->from);
    c->from_len = prefix.len;
    c->fd = fd;
    c->due = now + HTTP_FIRST_REQUEST;
    c->over = false;
    list_add_tail(&v->all, &c->node);
    v->len++;
    count_same(v, c);
}

void http_visits_sub(struct http_visits *v, struct http_visit *c)
{
    list_sub(&c->node);
    assert(c->over || v->len > 0);
    v->len -= !c->over;
    if (!c->over)
        count_same(v, c);
}

static void step(struct http_visits *v, struct http_visit *c, tick due)
{
    c->due = due;
    list_sub(&c->node);
    list_add_tail(&v->all, &c->node);
}

void http_visits_asked(struct http_visits *v, struct http_visit *c, tick now)
{
    step(v, c, now + HTTP_ANSWER);
}

void http_visits_answered(struct http_visits *v, struct http_visit *c, tick now)
{
    step(v, c, now + HTTP_NEXT_REQUEST);
}

/* Of the address with most connections, the one whose last step is the oldest: a client sends its
 * request soon after it connects. */
static struct http_visit *find_least(const struct http_visits *v, size_t *most)
{
    struct http_visit *found = NULL;
    *most = 0;
    list_for_each (l, &v->all) {
        struct http_visit *c = container_of(l, struct http_visit, node);
        if (c->over || c->same <= *most)
            continue;
        found = c;
        *most = c->same;
    }
    return found;
}

static struct http_visit *find_late(const struct http_visits *v, tick now)
{
    list_for_each (l, &v->all) {
        struct http_visit *c = container_of(l, struct http_visit, node);
        if (!c->over && c->due <= now)
            return c;
    }
    return NULL;
}

struct http_visit *http_visits_drop(struct http_visits *v, tick now)
{
    size_t most;
    struct http_visit *c = find_least(v, &most);
    const bool enough = v->len <= HTTP_VISITS_MAX && most <= HTTP_VISITS_OF_ONE;
    if (enough)
        c = find_late(v, now);
    if (c == NULL)
        return NULL;
    assert(v->len > 0);
    v->cut += !enough;
    c->over = true;
    v->len--;
    count_same(v, c);
    return c;
}
