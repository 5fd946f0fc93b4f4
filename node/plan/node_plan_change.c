/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of the contact plan of a running node. A change is checked first, and is then applied as
 * a whole: links follow, and all waiting bundles are placed again. Bundles in transmission over a
 * contact that is cut are taken back from the link and placed again, too. What can go wrong: the
 * text or file, overlaps, an unknown contact; then the plan is unchanged.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "node/plan/node_plan.h"
#include "node/plan/plan_draft.h"
#include "os/work_pool.h"

/* NULL: an error, which was reported. */
static struct node_plan *find_plan(const struct node *n, struct conf_errors *e)
{
    if (n->plan == NULL)
        conf_error(e, 0, "%s", NODE_PLAN_NONE);
    return n->plan;
}

static tick plan_now(const struct node_plan *p)
{
    return tick_add(world_now(p->node->world), p->ahead);
}

/* Is there a contact from this node that would be cut: it is in force and the other plan has none
 * then? */
static bool is_cut(const struct node_plan *p, const struct plan *other, uint64_t to)
{
    uint64_t node = plan_router_node(p->router);
    tick now = plan_now(p);
    const struct plan_contact *was = plan_get(p->plan, plan_at(p->plan, node, to, now));
    const struct plan_contact *is = plan_get(other, plan_at(other, node, to, now));
    return was != NULL && was->start <= now && (is == NULL || is->start > now);
}

/* Links whose contact ends with this change give back what they have. */
static void give_up_cut(struct node_plan *p, const struct plan *other)
{
    struct node *n = p->node;
    uint64_t to;
    for (size_t i = 0; i < n->links_len; i++) {
        if (n->links[i] != NULL && plan_router_number(&n->links[i]->config->peer, &to) &&
            is_cut(p, other, to))
            node_plan_give_up(p, to);
    }
}

/* ---- a plan that is no more ---- */

/* One of 100,000 contacts takes 8 ms to free, and more while the machine is busy. */
struct old_plan {
    struct work work;
    struct plan *plan;
};

static void free_plan(struct work *w)
{
    struct old_plan *old = container_of(w, struct old_plan, work);
    plan_free(old->plan);
    old->plan = NULL;
}

static void end_old(struct work *w)
{
    free_plan(w); /* at the node's end it was not begun */
    free(container_of(w, struct old_plan, work));
}

static void free_beside(struct node *n, struct plan *plan)
{
    struct old_plan *old = calloc(1, sizeof *old);
    if (old == NULL) {
        plan_free(plan);
        return;
    }
    old->plan = plan;
    old->work = (struct work){.run = free_plan, .done = end_old};
    if (!world_work(n->world, &old->work))
        end_old(&old->work);
}

/* ---- changes ---- */

static void replace_plan(struct node_plan *p, struct node_plan_file *f)
{
    struct node *n = p->node;
    struct plan *old = p->plan;
    node_plan_look(p);
    give_up_cut(p, f->plan);
    plan_router_replace(p->router, f->plan, world_now(n->world));
    p->plan = f->plan;
    p->dated = f->dated;
    free(p->path);
    p->path = f->path;
    f->plan = NULL;
    f->path = NULL;
    free_beside(n, old);
}

int node_plan_file_use(struct node_plan_file *f, struct node *n, struct conf_errors *e)
{
    struct node_plan *p = n->plan;
    assert(f->plan != NULL && f->path != NULL);
    node_plan_tell_notes(n, f);
    if (p == NULL)
        return node_plan_begin(n, f, e);
    replace_plan(p, f);
    p->reloads++;
    say(&n->say, LEVEL_INFO, "plan: %s is in force", p->path);
    node_plan_changed(p);
    return 0;
}

static int check_past(const struct plan_draft *d, tick now, struct conf_errors *e)
{
    char end[PLAN_TIME_CAP];
    for (size_t i = 0; i < d->contacts_len; i++) {
        const struct plan_contact *c = &d->contacts[i].is;
        if (c->end > now)
            continue;
        conf_error(e, 0, "contact %" PRIu64 " to %" PRIu64 ": it has ended, at %s", c->from, c->to,
                   plan_date_text(c->end, false, end));
        return -1;
    }
    return 0;
}

int node_plan_add(struct node *n, const char *text, size_t len, struct conf_errors *e)
{
    struct node_plan *p = find_plan(n, e);
    struct plan_draft d;
    if (p == NULL)
        return HELIO_ENOENT;
    tick now = plan_now(p);
    plan_draft_init(&d, now);
    int rc = plan_yaml_read(&d, text, len, e);
    if (rc == 0)
        rc = check_past(&d, now, e);
    if (rc == 0)
        rc = plan_draft_add(&d, p->plan, now, e);
    size_t more = d.contacts_len + d.ranges_len;
    plan_draft_fini(&d);
    if (rc < 0)
        return HELIO_EINVAL;
    p->changes += more;
    node_plan_changed(p);
    return 0;
}

/* A time as the plan's; false: an error, which was reported. */
static bool read_time(const struct node_plan *p, const char *text, tick *out, struct conf_errors *e)
{
    tick t;
    if (plan_date(text, out) == 0)
        return true;
    if (units_duration(text, &t) != 0) {
        conf_error(e, 0,
                   "\"%.64s\" is no time; write a duration from now such as 10s, or a date such as "
                   "2026-11-22T12:00:00Z",
                   text);
        return false;
    }
    *out = tick_add(plan_now(p), t);
    return true;
}

static void tell_absent(const char *what, uint64_t from, uint64_t to, tick at, tick next,
                        struct conf_errors *e)
{
    char a[PLAN_TIME_CAP], b[PLAN_TIME_CAP];
    if (next == TICK_NEVER)
        conf_error(e, 0, "there is no %s %" PRIu64 " to %" PRIu64 " at %s, nor later", what, from,
                   to, plan_date_text(at, false, a));
    else
        conf_error(e, 0,
                   "there is no %s %" PRIu64 " to %" PRIu64 " at %s; the next one begins at %s",
                   what, from, to, plan_date_text(at, false, a), plan_date_text(next, false, b));
}

int node_plan_remove_contact(struct node *n, uint64_t from, uint64_t to, const char *at,
                             struct conf_errors *e)
{
    struct node_plan *p = find_plan(n, e);
    tick t;
    if (p == NULL || !read_time(p, at, &t, e))
        return HELIO_EINVAL;
    uint64_t id = plan_at(p->plan, from, to, t);
    const struct plan_contact *c = plan_get(p->plan, id);
    if (c == NULL || c->start > t) {
        tell_absent("contact", from, to, t, c == NULL ? TICK_NEVER : c->start, e);
        return HELIO_ENOENT;
    }
    tick now = plan_now(p);
    bool cut = from == plan_router_node(p->router) && c->start <= now && now < c->end;
    int rc = plan_remove(p->plan, id);
    assert(rc == 0);
    if (cut)
        node_plan_give_up(p, to);
    p->changes++;
    node_plan_changed(p);
    return rc;
}

int node_plan_remove_range(struct node *n, uint64_t from, uint64_t to, const char *at,
                           struct conf_errors *e)
{
    struct node_plan *p = find_plan(n, e);
    struct plan_range r;
    tick t;
    if (p == NULL || !read_time(p, at, &t, e))
        return HELIO_EINVAL;
    bool known = plan_range_at(p->plan, from, to, t, &r) == 0;
    if (!known || r.start > t) {
        tell_absent("range", from, to, t, known ? r.start : TICK_NEVER, e);
        return HELIO_ENOENT;
    }
    if (plan_remove_range(p->plan, from, to, r.start) < 0) {
        conf_error(e, 0,
                   "the light time from %" PRIu64 " to %" PRIu64
                   " is that of the range the other way; remove that one",
                   from, to);
        return HELIO_ENOENT;
    }
    p->changes++;
    node_plan_changed(p);
    return 0;
}
