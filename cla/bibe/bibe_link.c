/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The adapter "bibe": a link whose transport is bundles of its own node (draft-ietf-dtn-bibe-00).
 * For an encapsulated bundle the whole tunnel is one hop. The functions of cla_ops; their work is
 * done in the link's next turn. What can go wrong at open: the local endpoint is in use; memory.
 */
#include "cla/bibe/bibe_link.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static struct bibe_link *link_of(struct cla *c)
{
    return container_of(c, struct bibe_link, cla);
}

extern const struct cla_ops bibe_link_ops;

static void take_turn(void *context)
{
    struct bibe_link *l = context;
    if (l->cla.closed != NULL) {
        alarm_fini(&l->alarm);
        cla_end(&l->cla);
        return;
    }
    cla_tell_link(&l->cla, l->up);
    bibe_send_turn(l);
    tick next = bibe_take_turn(l);
    next = tick_min(next, bibe_custody_turn(l));
    next = tick_min(next, bibe_tell(l));
    alarm_set(&l->alarm, tick_min(next, bibe_joins_deadline(&l->joins)));
}

/* One bundle of maximum length always has room. */
static uint64_t bytes_max(const struct bibe_link *l)
{
    const uint64_t memory = l->config->memory, longest = l->env.bundle_max;
    return memory > longest ? memory : longest;
}

static int prepare_link(struct bibe_link *l, const struct cla_env *env, const struct bibe_config *k)
{
    l->env = *env;
    cla_init(&l->cla, &bibe_link_ops, &l->env.events);
    l->cla.limits.window = (uint32_t)k->window;
    l->config = k;
    l->allowed = l->up = k->state == BIBE_UP;
    l->heard = l->round_trip = TICK_NEVER;
    return k->custody == BIBE_CUSTODY_ON ? bibe_custody_open(l) : 0;
}

static int open_bibe(struct cla **out, const struct cla_env *env, const void *config, char *why,
                     size_t why_cap)
{
    const struct bibe_config *k = config;
    if (env->self.submit == NULL) {
        snprintf(why, why_cap, "this program cannot send bundles of its own");
        return HELIO_EINVAL;
    }
    struct bibe_link *l = calloc(1, sizeof *l);
    int rc = l == NULL ? HELIO_ENOMEM : prepare_link(l, env, k);
    if (rc == 0)
        rc = env->self.listen(env->self.context, &k->local, (uint32_t)k->window);
    if (rc < 0) {
        snprintf(why, why_cap, "local: %s",
                 rc == HELIO_EEXIST ? "another link or the echo has this endpoint; write another"
                                    : helio_strerror(rc));
        if (l != NULL)
            custody_free(l->custody);
        free(l);
        return rc;
    }
    list_init(&l->sending);
    list_init(&l->arrivals);
    bibe_joins_init(&l->joins, k->transfers, bytes_max(l), env->bundle_max);
    /* §4.3: transfer numbers must differ from those of an earlier run, whose segments may still be
     * in transit. Clocks may differ between two runs, so the first number is random: of 2^64
     * numbers two are hardly ever near each other. */
    l->next_transfer = world_random(env->world);
    alarm_init(&l->alarm, env->world, ALARM_LINK, take_turn, l);
    bibe_kick(l);
    *out = &l->cla;
    return 0;
}

static const char *const live[] = {"lifetime",
                                   "segment",
                                   "window",
                                   "transfers",
                                   "memory",
                                   "hold",
                                   "nesting",
                                   "any_source",
                                   "custody.timer",
                                   "custody.signal_after",
                                   "custody.signal_count",
                                   NULL};

static int set_bibe(struct cla *c, const void *config, void *files, char *why, size_t why_cap)
{
    (void)files;
    struct bibe_link *l = link_of(c);
    const struct bibe_config *k = config;
    (void)why;
    (void)why_cap;
    l->config = k;
    if (l->custody == NULL)
        c->limits.window = (uint32_t)k->window;
    else
        bibe_custody_times(l);
    l->joins.len_max = k->transfers > l->joins.len ? k->transfers : l->joins.len;
    l->joins.bytes_max = bytes_max(l) > l->joins.bytes ? bytes_max(l) : l->joins.bytes;
    return 0;
}

/* Up is what operator and plan both say. */
static void set_up(struct bibe_link *l)
{
    l->up = l->allowed && (!l->planned || l->contact);
    bibe_kick(l);
}

static void set_state(struct cla *c, bool up)
{
    struct bibe_link *l = link_of(c);
    l->allowed = up;
    set_up(l);
}

/* Rate and light time are those of the links that transmit the encapsulating bundles. */
static void set_contact(struct cla *c, const struct cla_contact *contact)
{
    struct bibe_link *l = link_of(c);
    l->planned = contact != NULL;
    l->contact = contact != NULL && contact->transmit;
    if (l->custody != NULL) { /* a signal that cannot arrive is not late */
        l->round_trip = contact != NULL ? contact->round_trip : TICK_NEVER;
        custody_open(l->custody, contact == NULL || contact->receive, world_now(l->env.world));
        bibe_custody_times(l);
    }
    set_up(l);
}

static void close_bibe(struct cla *c, void (*closed)(void *context), void *context)
{
    struct bibe_link *l = link_of(c);
    bibe_send_forget(l);
    bibe_take_forget(l);
    custody_free(l->custody);
    l->custody = NULL;
    cla_closing(c, closed, context);
    bibe_kick(l);
}

const struct cla_ops bibe_link_ops = {
    .name = "bibe",
    .options = bibe_options,
    .config_size = sizeof(struct bibe_config),
    .check = bibe_check,
    .check_names = bibe_check_names,
    .conflict = bibe_conflict,
    .tunnel = bibe_tunnel,
    .open = open_bibe,
    .send = bibe_send,
    .cancel = bibe_cancel,
    .live = live,
    .set = set_bibe,
    .confirm = bibe_confirm,
    .submitted = bibe_submitted,
    .delivered = bibe_delivered,
    .check_self = bibe_check_self,
    .status = bibe_status,
    .gauges = bibe_gauges,
    .set_link = set_state,
    .contact = set_contact,
    .close = close_bibe,
};
