/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contact plan of a node. The plan's times are dates; the agent's clock has another origin, and
 * the router knows the offset.
 *
 * At each time at which the plan changes for a link, drive_links passes the change to the link,
 * before the agent asks its router. So the end of a contact has these effects:
 *
 * 1. plan_link_at has transmit = false at once, and receive = false when the last signal of the
 *    neighbour's contact has arrived. pass_contact tells the adapter (cla_ops.contact).
 * 2. LTP: link_directions (cla/ltp/ltp_link_contact.c) calls ltp_link_directions. Without TRANSMIT
 *    ltp_output returns nothing. Without RECEIVE timers of expected answers are suspended (RFC 5326
 *    §6.1 to §6.6). Sessions stay open for the next contact. TCPCL sends SESS_TERM instead.
 * 3. The link reports that it is down (on_link, node/node_links.c). agent_link closes its queue.
 *    Queued bundles stay there, or move if the router has a better route; bundles in transmission
 *    stay with the link.
 * 4. After the last contact of all, has_ended waits for answers that may still arrive. Then
 *    empty_link takes back the bundles in transmission, which are routed again.
 *
 * What can go wrong: the file, each error of which is logged with its line; the node has no number;
 * the wall clock steps, which is logged.
 */
#include "node/plan/node_plan.h"

#include <stdlib.h>
#include <string.h>

#include "node/node_names.h"
#include "node/plan/plan_draft.h"
#include "node/plan/plan_link.h"
#include "os/input_file.h"

/* A step of the wall clock below this is its own drift against the reading of two clocks. */
#define STEP_LEAST TICK_MS

void node_plan_look(struct node_plan *p)
{
    const struct node *n = p->node;
    tick wall = world_wall(n->world), now = world_now(n->world);
    p->ahead = wall > now ? wall - now : 0;
    plan_router_ahead(p->router, p->ahead, now);
}

static int new_plan(const struct config *c, uint64_t seed, struct plan **out)
{
    struct plan_config config;
    plan_config_default(&config);
    config.seed = seed;
    /* SABR's 3 % are too few for segments of 1 kB in UDP, IP and Ethernet: the key has more. */
    config.overhead_ppm = (uint64_t)(c->routing.overhead * 1e6);
    config.margin = c->routing.margin;
    config.confidence_min = c->routing.confidence_min;
    return plan_new(out, &config);
}

/* A pipe would block the whole node until a writer opens it. */
static int read_draft(struct plan_draft *d, const char *path, struct conf_errors *e)
{
    char why[128];
    FILE *f = input_file_regular(path, why, sizeof why);
    if (f == NULL) {
        conf_error(e, 0, "cannot be read: %s", why);
        return HELIO_EFORMAT;
    }
    const int rc = plan_stream_read(d, f, plan_format_guess(path), e);
    fclose(f);
    return rc < 0 ? HELIO_EFORMAT : 0;
}

static int read_plan(const struct config *c, uint64_t seed, tick wall, const char *path,
                     struct conf_errors *notes, struct plan **out, bool *dated,
                     struct conf_errors *e)
{
    struct plan_draft d;
    plan_draft_init(&d, wall);
    d.notes = notes;
    *out = NULL;
    int rc = new_plan(c, seed, out);
    if (rc < 0)
        conf_error(e, 0, "%s", helio_strerror(rc));
    else
        rc = read_draft(&d, path, e);
    if (rc == 0 && plan_draft_build(&d, *out, e) < 0)
        rc = HELIO_EFORMAT;
    *dated = d.dated || d.start != wall;
    plan_draft_fini(&d);
    if (rc < 0) {
        plan_free(*out);
        *out = NULL;
    }
    return rc;
}

static int no_memory(struct conf_errors *e)
{
    conf_no_memory(e, 0);
    return HELIO_ENOMEM;
}

int node_plan_file_begin(struct node_plan_file *f, const struct node *n, struct conf_errors *e)
{
    *f =
        (struct node_plan_file){.config = n->config, .seed = n->seed, .wall = world_wall(n->world)};
    if (n->plan == NULL)
        return 0;
    f->path = strdup(n->plan->path);
    return f->path == NULL ? no_memory(e) : 0;
}

int node_plan_file_read(struct node_plan_file *f, const char *path, struct conf_errors *e)
{
    if (path == NULL && f->path == NULL) {
        conf_error(e, 0, "%s", NODE_PLAN_NONE);
        return HELIO_ENOENT;
    }
    char *own = path == NULL ? f->path : strdup(path);
    if (own == NULL)
        return no_memory(e);
    if (own != f->path)
        free(f->path);
    f->path = own;
    f->notes = malloc(sizeof *f->notes);
    if (f->notes != NULL)
        conf_errors_init(f->notes, f->path);
    return read_plan(f->config, f->seed, f->wall, f->path, f->notes, &f->plan, &f->dated, e);
}

void node_plan_file_free(struct node_plan_file *f)
{
    plan_free(f->plan);
    free(f->notes);
    free(f->path);
    *f = (struct node_plan_file){0};
}

void node_plan_tell_notes(struct node *n, const struct node_plan_file *f)
{
    const struct conf_errors *notes = f->notes;
    for (size_t i = 0; notes != NULL && i < notes->len; i++)
        say(&n->say, LEVEL_INFO, "plan: %s", notes->text[i]);
    if (notes != NULL && notes->total > notes->len)
        say(&n->say, LEVEL_INFO, "plan: %s: %zu more notes; helio-plan check shows them", f->path,
            notes->total - notes->len);
}

static int check_number(const struct config *c, uint64_t *number, struct conf_errors *e)
{
    if (plan_router_number(&c->node, number))
        return 0;
    conf_error(e, 0, "this node has no number; a plan needs an ipn name");
    return HELIO_EINVAL;
}

static bool is_plan_over(const struct plan *p, tick now)
{
    struct plan_cursor at = {0};
    uint64_t id;
    const struct plan_contact *c = plan_walk(p, &at, &id);
    const bool has_some = c != NULL;
    while (c != NULL && c->end <= now)
        c = plan_walk(p, &at, &id);
    return has_some && c == NULL;
}

int node_plan_check(const struct config *c, tick wall, bool *is_over, struct conf_errors *e)
{
    uint64_t number;
    struct plan *plan;
    bool dated;
    int rc = check_number(c, &number, e);
    if (rc == 0)
        rc = read_plan(c, 0, wall, c->plan, NULL, &plan, &dated, e);
    *is_over = rc == 0 && is_plan_over(plan, wall);
    if (rc == 0)
        plan_free(plan);
    return rc;
}

/* Takes a few of the link's bundles back, and sets the alarm for the rest. ops->cancel stops a
 * transmission; its outcome follows. A bundle whose transmission has not begun is placed again at
 * once. */
static void take_some_back(struct node_plan *p, struct node_link *l)
{
    uint64_t keys[PLAN_ROUTER_KEYS];
    size_t n = 0;
    const struct cla_ops *ops = l->cla != NULL ? l->cla->ops : NULL;
    l->gives_back = ops != NULL && ops->cancel != NULL &&
                    plan_router_walk(p->router, l->index, &l->back, keys, &n);
    for (size_t i = 0; i < n; i++)
        if (ops->cancel(l->cla, keys[i]) == HELIO_ENOENT) /* queued bundles stay there */
            agent_sent(p->node->agent, keys[i], false, node_now(p->node));
    if (l->gives_back)
        alarm_set(&p->back, 0);
}

static void on_back(void *context)
{
    struct node_plan *p = context;
    struct node *n = p->node;
    for (size_t i = 0; i < n->links_len && !n->stopping; i++) {
        if (n->links[i] != NULL && n->links[i]->gives_back)
            take_some_back(p, n->links[i]);
    }
    node_wake(n);
}

/* The last contact has ended: takes back the bundles that the link has in hand, so that they use
 * other routes. */
static void empty_link(struct node_plan *p, struct node_link *l)
{
    plan_router_walk_begin(p->router, &l->back);
    take_some_back(p, l);
}

static bool same_contact(const struct cla_contact *a, const struct cla_contact *b)
{
    return a->transmit == b->transmit && a->receive == b->receive && a->rate == b->rate &&
           a->round_trip == b->round_trip;
}

/* Passes the plan's contact to the adapter, if it has changed. NULL: the plan has no contacts for
 * the link any more. */
static void pass_contact(struct node_link *l, const struct cla_contact *c)
{
    if (c == NULL ? !l->planned : l->planned && same_contact(&l->contact, c))
        return;
    l->planned = c != NULL;
    if (c != NULL)
        l->contact = *c;
    l->cla->ops->contact(l->cla, c);
}

/* Has the link's last contact ended? Its last transmissions may still be answered while the
 * neighbour transmits: so it ends a round trip and PLAN_ROUTER_GRACE later. *due: when to check
 * again. True: it has ended now. */
static bool has_ended(struct node_link *l, const struct plan_link *is, tick now, tick *due)
{
    if (!is->last_ended || !is->receive)
        l->heard_since = TICK_NEVER;
    else if (l->heard_since == TICK_NEVER)
        l->heard_since = now;
    bool before = l->given_up;
    tick wait = is->round_trip == TICK_NEVER ? 0 : is->round_trip;
    tick last = tick_add(l->heard_since, tick_add(wait, PLAN_ROUTER_GRACE));
    l->given_up = is->last_ended && (before || is->silent || now >= last);
    if (is->last_ended && !l->given_up)
        *due = tick_min(*due, last);
    return l->given_up && !before;
}

/* Applies the plan to a link. Returns when to call it again. */
static tick drive_link(struct node_plan *p, struct node_link *l, tick now)
{
    struct plan_link is;
    uint64_t neighbour;
    if (!plan_router_number(&l->config->peer, &neighbour))
        return TICK_NEVER;
    plan_link_at(p->plan, plan_router_node(p->router), neighbour, tick_add(now, p->ahead), &is);
    if (!is.known) {
        pass_contact(l, NULL);
        return TICK_NEVER;
    }
    tick due = is.until == TICK_NEVER ? TICK_NEVER : is.until - p->ahead;
    if (has_ended(l, &is, now, &due))
        empty_link(p, l);
    const struct cla_contact c = {.transmit = is.transmit,
                                  .receive = is.receive,
                                  .rate = is.rate,
                                  .round_trip = is.round_trip};
    l->contact_next = is.next == TICK_NEVER ? TICK_NEVER : is.next - p->ahead;
    pass_contact(l, &c);
    return due;
}

/* Logs once, and again after a change with new contacts, that no link of this node has a contact,
 * now or later. This may be so from the start. */
static void log_all_ended(struct node_plan *p)
{
    const struct node *n = p->node;
    bool planned = false, some = false;
    for (size_t i = 0; i < n->links_len; i++) {
        const struct node_link *l = n->links[i];
        if (l == NULL || l->cla == NULL || !l->planned)
            continue;
        planned = true;
        some = some || l->contact.transmit || l->contact.receive || l->contact_next != TICK_NEVER;
    }
    if (planned && !some && !p->told_over)
        say(&p->node->say, LEVEL_WARNING,
            "plan: %s: all contacts of this node are in the past%s: bundles for its neighbours are "
            "refused or wait; load another plan (helioctl plan reload)",
            p->path, p->dated ? "; its dates are UTC" : "");
    p->told_over = planned && !some;
}

/* Applies the plan to all links, and sets the alarm for its next change. */
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
    log_all_ended(p);
    alarm_set(&p->edge, next);
    node_wake(n);
}

bool node_plan_meets(const struct node_plan *p, uint64_t neighbour)
{
    const uint64_t own = plan_router_node(p->router);
    return plan_meets(p->plan, own, neighbour) || plan_meets(p->plan, neighbour, own);
}

int node_plan_link(struct node_link *l)
{
    struct node_plan *p = l->node->plan;
    uint64_t neighbour;
    if (p == NULL || !plan_router_number(&l->config->peer, &neighbour))
        return 0;
    int rc = plan_router_link(p->router, l->index, neighbour);
    if (rc < 0 || !node_plan_meets(p, neighbour))
        return rc; /* an unconfigured peer must not cost more */
    alarm_set(&p->edge, world_now(l->node->world));
    agent_reroute(l->node->agent);
    return 0;
}

void node_plan_unlink(struct node_link *l)
{
    if (l->node->plan != NULL)
        plan_router_unlink(l->node->plan->router, l->index);
}

void node_plan_give_up(struct node_plan *p, uint64_t neighbour)
{
    struct node *n = p->node;
    uint64_t to;
    for (size_t i = 0; i < n->links_len; i++) {
        struct node_link *l = n->links[i];
        if (l != NULL && l->cla != NULL && plan_router_number(&l->config->peer, &to) &&
            to == neighbour)
            empty_link(p, l);
    }
}

void node_plan_changed(struct node_plan *p)
{
    struct node *n = p->node;
    plan_router_changed(p->router, world_now(n->world));
    drive_links(p);
    node_names_changed(n);
    agent_reroute(n->agent);
    agent_expire(n->agent, node_now(n));
    node_wake(n);
}

void node_plan_tick(struct node *n)
{
    struct node_plan *p = n->plan;
    if (p == NULL || !p->dated || n->stopping)
        return;
    tick wall = world_wall(n->world), now = world_now(n->world), before = p->ahead;
    tick ahead = wall > now ? wall - now : 0;
    tick step = ahead > before ? ahead - before : before - ahead;
    if (step < STEP_LEAST)
        return;
    say(&n->say, LEVEL_WARNING,
        "plan: the wall clock has gone %s by %.3f s: contacts begin and end so much %s",
        ahead > before ? "forward" : "back", (double)step / 1e9,
        ahead > before ? "earlier" : "later");
    p->steps++;
    node_plan_look(p);
    node_plan_changed(p);
}

/* Links that were up before there was a plan: the agent reports changes only. */
static void tell_up_links(const struct node *n, const struct router *router, tick now)
{
    static const struct router_link up = {.used = true, .up = true};
    for (size_t i = 0; i < n->links_len; i++)
        if (n->links[i] != NULL && n->links[i]->up)
            (void)router->ops->changed(router->state, n->links[i]->index, &up, now);
}

static int begin_router(struct node *n, struct node_plan *p, uint64_t number)
{
    struct router other = node_router(n);
    tick now = world_now(n->world);
    int rc = plan_router_new(&p->router, p->plan, number, &other, now);
    if (rc < 0)
        return rc;
    uint64_t excluded[CONFIG_EXCLUDE_MAX];
    _Static_assert(CONFIG_EXCLUDE_MAX <= PLAN_ROUTER_EXCLUDED, "the router takes all of them");
    size_t len = config_numbers(n->config->routing.exclude, excluded, CONFIG_EXCLUDE_MAX);
    plan_router_rules(p->router, n->config->routing.unreachable == UNREACHABLE_KEEP, excluded,
                      len == SIZE_MAX ? 0 : len);
    node_plan_look(p);
    alarm_init(&p->edge, n->world, ALARM_LINK, drive_links, p);
    alarm_init(&p->back, n->world, ALARM_LINK, on_back, p);
    p->running = true;
    n->plan = p;
    for (size_t i = 0; i < n->links_len && rc == 0; i++)
        rc = n->links[i] == NULL ? 0 : node_plan_link(n->links[i]);
    struct router router = plan_router(p->router);
    tell_up_links(n, &router, now);
    agent_router(n->agent, &router);
    node_names_changed(n);
    drive_links(p);
    return rc;
}

int node_plan_begin(struct node *n, struct node_plan_file *f, struct conf_errors *e)
{
    uint64_t number;
    if (check_number(n->config, &number, e) < 0)
        return HELIO_EINVAL;
    struct node_plan *p = calloc(1, sizeof *p);
    if (p == NULL)
        return no_memory(e);
    p->node = n;
    p->plan = f->plan;
    p->path = f->path;
    p->dated = f->dated;
    const int rc = begin_router(n, p, number);
    if (rc < 0)
        conf_error(e, 0, "%s", helio_strerror(rc));
    if (n->plan == p) {
        f->plan = NULL;
        f->path = NULL;
    } else {
        free(p);
    }
    return rc;
}

int node_plan_open(struct node *n)
{
    const char *path = n->config->plan;
    if (*path == '\0')
        return 0;
    struct conf_errors *e = malloc(sizeof *e);
    if (e == NULL) {
        say(&n->say, LEVEL_ERROR, "plan: out of memory");
        return HELIO_ENOMEM;
    }
    struct node_plan_file f;
    conf_errors_init(e, path);
    int rc = node_plan_file_begin(&f, n, e);
    if (rc == 0)
        rc = node_plan_file_read(&f, path, e);
    if (rc == 0)
        rc = node_plan_file_use(&f, n, e);
    node_plan_file_free(&f);
    if (rc < 0 && e->len == 0)
        say(&n->say, LEVEL_ERROR, "plan: %s: %s", path, helio_strerror(rc));
    n->misconfigured = rc < 0 && rc != HELIO_ENOMEM && e->len > 0 && !e->no_memory;
    if (rc == 0 && !n->plan->dated)
        say(&n->say, LEVEL_INFO, "plan: %s has no dates: its times count from now", path);
    for (size_t i = 0; i < e->len; i++)
        say(&n->say, LEVEL_ERROR, "plan: %s", e->text[i]);
    free(e);
    return rc;
}

void node_plan_rest(struct node *n)
{
    if (n->plan == NULL || !n->plan->running)
        return;
    alarm_fini(&n->plan->edge);
    alarm_fini(&n->plan->back);
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
    free(p->path);
    free(p);
    n->plan = NULL;
}
