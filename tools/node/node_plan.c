/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan's times are dates; the agent's count from another origin. So all of it is moved by what
 * the wall clock is ahead when it is read. At each beginning and end of one of this node's contacts
 * the links are told, before the agent asks its router. What can go wrong: the file, each error of
 * which is said with its line; the node has no number.
 */
#include "tools/node/node_plan.h"

#include <stdlib.h>

#include "tools/node/plan_link.h"
#include "tools/node/plan_router.h"
#include "tools/plan/plan_draft.h"

#define OVERHEAD_PPM 70000

struct node_plan {
    struct node *node;
    struct plan *plan;
    struct plan_router *router;
    struct alarm edge;
    bool running; /* the alarm is there */
};

/* By so much earlier; what begins before 0 begins there. False: it has ended by then. */
static bool move_times(tick *start, tick *end, tick by)
{
    *start = *start > by ? *start - by : 0;
    *end = *end == TICK_NEVER ? TICK_NEVER : *end > by ? *end - by : 0;
    return *end > 0;
}

static void move_draft(struct plan_draft *d, tick by)
{
    size_t kept = 0;
    for (size_t i = 0; i < d->contacts_len; i++) {
        d->contacts[kept] = d->contacts[i];
        kept += move_times(&d->contacts[kept].is.start, &d->contacts[kept].is.end, by);
    }
    d->contacts_len = kept;
    kept = 0;
    for (size_t i = 0; i < d->ranges_len; i++) {
        d->ranges[kept] = d->ranges[i];
        kept += move_times(&d->ranges[kept].is.start, &d->ranges[kept].is.end, by);
    }
    d->ranges_len = kept;
}

static int read_plan(struct node *n, struct plan *p)
{
    const char *path = n->config->plan;
    tick wall = world_wall(n->world), now = world_now(n->world);
    struct plan_draft d;
    struct conf_errors *e = malloc(sizeof *e);
    if (e == NULL)
        return HELIO_ENOMEM;
    conf_errors_init(e, path);
    plan_draft_init(&d, wall);
    int rc = plan_file_read(&d, path, plan_format_guess(path), e);
    if (rc == 0) {
        move_draft(&d, wall > now ? wall - now : 0);
        rc = plan_draft_build(&d, p, e);
    }
    for (size_t i = 0; i < e->len; i++)
        say(&n->say, LEVEL_ERROR, "plan: %s", e->text[i]);
    plan_draft_fini(&d);
    free(e);
    return rc < 0 ? HELIO_EFORMAT : 0;
}

/* The last contact is over: what it could not finish is not left on the link, but goes another way.
 */
static void give_up_link(struct node_plan *p, struct node_link *l)
{
    struct plan_router_totals t;
    plan_router_totals(p->router, &t);
    size_t max = t.booked;
    uint64_t *keys = max == 0 ? NULL : calloc(max, sizeof *keys);
    size_t n = keys == NULL ? 0 : plan_router_keys(p->router, l->index, keys, max);
    for (size_t i = 0; i < n && l->cla->ops->cancel != NULL; i++)
        (void)l->cla->ops->cancel(l->cla, keys[i]); /* not begun: it is in the agent's queue */
    free(keys);
}

static bool same_contact(const struct cla_contact *a, const struct cla_contact *b)
{
    return a->transmit == b->transmit && a->receive == b->receive && a->rate == b->rate &&
           a->round_trip == b->round_trip;
}

/* The plan's word, when it is another one. NULL: it has none any more. */
static void tell_contact(struct node_link *l, const struct cla_contact *c)
{
    const struct cla_ops *ops = l->cla->ops;
    if (c == NULL ? !l->planned : l->planned && same_contact(&l->contact, c))
        return;
    bool up = c == NULL || c->transmit, was = !l->planned || l->contact.transmit;
    l->planned = c != NULL;
    if (c != NULL)
        l->contact = *c;
    if (ops->contact != NULL)
        ops->contact(l->cla, c);
    else if (up != was)
        ops->set_link(l->cla, up);
}

/* Is the link done with? What was sent last may still be answered while the neighbour transmits:
 * for a round trip and some time more. *due: when to look again. */
static bool is_over(struct node_link *l, const struct plan_link *is, tick now, tick *due)
{
    if (!is->over || !is->receive)
        l->heard_since = TICK_NEVER;
    else if (l->heard_since == TICK_NEVER)
        l->heard_since = now;
    bool before = l->given_up;
    tick wait = is->round_trip == TICK_NEVER ? 0 : is->round_trip;
    tick last = tick_add(l->heard_since, tick_add(wait, PLAN_ROUTER_GRACE));
    l->given_up = is->over && (before || is->silent || now >= last);
    if (is->over && !l->given_up)
        *due = tick_min(*due, last);
    return l->given_up && !before;
}

/* Returns until when this holds. */
static tick drive_link(struct node_plan *p, struct node_link *l, tick now)
{
    struct plan_link is;
    uint64_t neighbour;
    if (!plan_router_number(&l->config->peer, &neighbour))
        return TICK_NEVER;
    plan_link_at(p->plan, plan_router_node(p->router), neighbour, now, &is);
    if (!is.known) {
        tell_contact(l, NULL);
        return TICK_NEVER;
    }
    tick due = is.until;
    if (is_over(l, &is, now, &due))
        give_up_link(p, l);
    const struct cla_contact c = {.transmit = is.transmit,
                                  .receive = is.receive,
                                  .rate = is.rate,
                                  .round_trip = is.round_trip};
    tell_contact(l, &c);
    return due;
}

/* Links are as the plan says, and the next time that it says something. */
static void drive_links(void *context)
{
    struct node_plan *p = context;
    struct node *n = p->node;
    tick now = world_now(n->world), next = TICK_NEVER;
    if (n->stopping)
        return;
    for (size_t i = 0; i < n->links_len; i++) {
        if (n->links[i] != NULL && n->links[i]->cla != NULL)
            next = tick_min(next, drive_link(p, n->links[i], now));
    }
    alarm_set(&p->edge, next);
    node_wake(n);
}

int node_plan_link(struct node_link *l)
{
    struct node_plan *p = l->node->plan;
    uint64_t neighbour;
    if (p == NULL || !plan_router_number(&l->config->peer, &neighbour))
        return 0;
    int rc = plan_router_link(p->router, l->index, neighbour);
    if (rc == 0)
        alarm_set(&p->edge, world_now(l->node->world));
    return rc;
}

void node_plan_unlink(struct node_link *l)
{
    if (l->node->plan != NULL)
        plan_router_unlink(l->node->plan->router, l->index);
}

static int begin_plan(struct node *n, struct node_plan *p, uint64_t number)
{
    struct router other = node_router(n);
    int rc = read_plan(n, p->plan);
    rc = rc < 0 ? rc : plan_router_new(&p->router, p->plan, number, &other, world_now(n->world));
    if (rc < 0)
        return rc;
    alarm_init(&p->edge, n->world, ALARM_LINK, drive_links, p);
    p->running = true;
    n->plan = p;
    for (size_t i = 0; i < n->links_len && rc == 0; i++)
        rc = n->links[i] == NULL ? 0 : node_plan_link(n->links[i]);
    struct router router = plan_router(p->router);
    agent_router(n->agent, &router);
    drive_links(p);
    return rc;
}

int node_plan_open(struct node *n)
{
    struct plan_config config;
    uint64_t number;
    if (*n->config->plan == '\0')
        return 0;
    if (!plan_router_number(&n->config->node, &number)) {
        say(&n->say, LEVEL_ERROR, "plan: this node has no number; a plan needs an ipn name");
        return HELIO_EINVAL;
    }
    plan_config_default(&config);
    config.seed = n->seed;
    /* SABR's 3 % are too few for segments of 1 kB in UDP, IP and Ethernet. */
    config.overhead_ppm = OVERHEAD_PPM;
    struct node_plan *p = calloc(1, sizeof *p);
    int rc = p == NULL ? HELIO_ENOMEM : plan_new(&p->plan, &config);
    if (rc == 0) {
        p->node = n;
        rc = begin_plan(n, p, number);
    }
    if (rc < 0)
        say(&n->say, LEVEL_ERROR, "plan: %s: %s", n->config->plan, helio_strerror(rc));
    if (rc < 0 && p != NULL && n->plan == NULL) {
        plan_free(p->plan);
        free(p);
    }
    return rc;
}

void node_plan_rest(struct node *n)
{
    if (n->plan != NULL && n->plan->running)
        alarm_fini(&n->plan->edge);
    if (n->plan != NULL)
        n->plan->running = false;
}

void node_plan_close(struct node *n)
{
    struct node_plan *p = n->plan;
    if (p == NULL)
        return;
    node_plan_rest(n);
    plan_router_free(p->router);
    plan_free(p->plan);
    free(p);
    n->plan = NULL;
}
