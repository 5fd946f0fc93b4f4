/* SPDX-License-Identifier: Apache-2.0 */
/* The table of adapters; a new adapter is its folder and a line here. Also: texts of outcomes and
 * reasons, calls of links to their node, and defaults of missing members. What can go wrong: a
 * number that is no reason, which is an adapter's error. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cla/cla.h"

/* The struct cla_ops of each adapter, in the order in which they are listed. */
#define ADAPTERS(X)                                                                                \
    X(ltp_link_ops)                                                                                \
    X(tcpcl_ops)                                                                                   \
    X(udpcl_ops)                                                                                   \
    X(streamcl_stcp_ops)                                                                           \
    X(streamcl_mtcp_ops)                                                                           \
    X(bibe_link_ops)

#define ADAPTER_DECLARE(ops) extern const struct cla_ops ops;
ADAPTERS(ADAPTER_DECLARE)
#undef ADAPTER_DECLARE

#define ADAPTER_ROW(ops) &(ops),
static const struct cla_ops *const table[] = {ADAPTERS(ADAPTER_ROW)};
#undef ADAPTER_ROW

const struct cla_ops *cla_at(size_t i)
{
    return i < sizeof table / sizeof *table ? table[i] : NULL;
}

const struct cla_ops *cla_find(const char *name)
{
    for (size_t i = 0; cla_at(i) != NULL; i++)
        if (strcmp(cla_at(i)->name, name) == 0)
            return cla_at(i);
    return NULL;
}

const char *cla_reason_text(enum cla_reason r)
{
#define REASON_TEXT(name, text) [CLA_REASON_##name] = text,
    static const char *const texts[CLA_REASON_COUNT] = {CLA_REASONS(REASON_TEXT)};
#undef REASON_TEXT
    assert((unsigned)r < CLA_REASON_COUNT);
    return texts[r];
}

const char *cla_tls_text(enum cla_tls_refusal r)
{
#define TLS_TEXT(name, text) [CLA_TLS_##name] = text,
    static const char *const texts[CLA_TLS_COUNT] = {CLA_TLS_REFUSALS(TLS_TEXT)};
#undef TLS_TEXT
    assert((unsigned)r < CLA_TLS_COUNT);
    return texts[r];
}

bool cla_outcome_is_good(enum cla_outcome o)
{
    assert((unsigned)o < CLA_OUTCOME_COUNT);
    return o == CLA_DELIVERED || o == CLA_HANDED_OVER;
}

void cla_init(struct cla *c, const struct cla_ops *ops, const struct cla_events *events)
{
    c->ops = ops;
    c->events = events;
    list_init(&c->node);
}

void cla_say_args(struct cla *c, int level, const char *format, va_list args)
{
    char text[512];
    if (c->events->say == NULL)
        return;
    vsnprintf(text, sizeof text, format, args);
    c->events->say(c->events->context, c, level, text);
}

void cla_say(struct cla *c, int level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    cla_say_args(c, level, format, args);
    va_end(args);
}

void cla_tell_link(struct cla *c, bool up)
{
    assert(c->closed == NULL);
    if (c->told && c->told_up == up)
        return;
    c->told = true;
    c->told_up = up;
    if (c->events->link != NULL)
        c->events->link(c->events->context, c, up);
}

void cla_tell_limits(struct cla *c)
{
    assert(c->closed == NULL && c->limits.window >= 1);
    if (c->events->limits != NULL)
        c->events->limits(c->events->context, c);
}

void cla_closing(struct cla *c, void (*closed)(void *context), void *context)
{
    assert(c->closed == NULL && closed != NULL);
    c->closed = closed;
    c->closed_context = context;
}

void cla_end(struct cla *c)
{
    void (*closed)(void *context) = c->closed;
    void *context = c->closed_context;
    assert(closed != NULL && list_empty(&c->node));
    free(c); /* the first member of the adapter's struct */
    closed(context);
}

/* ---- members that may be NULL ---- */

int cla_check(const struct cla_ops *ops, const void *config, const struct eid *node,
              const struct eid *peer, const char **key, char *why, size_t why_cap)
{
    const int rc = ops->check == NULL ? 0 : ops->check(config, key, why, why_cap);
    if (rc != 0 || ops->check_names == NULL || node == NULL)
        return rc;
    return ops->check_names(config, node, peer, key, why, why_cap);
}

int cla_conflict(const struct cla_ops *ops, const struct cla_named *config,
                 const struct cla_named *other, const char **key, char *why, size_t why_cap)
{
    return ops->conflict == NULL ? 0 : ops->conflict(config, other, key, why, why_cap);
}

bool cla_warn(const struct cla_ops *ops, const void *config, const struct eid *node, int64_t now,
              const char **key, char *why, size_t why_cap)
{
    return ops->warn != NULL && ops->warn(config, node, now, key, why, why_cap);
}

bool cla_proves(const struct cla_ops *ops, const void *config)
{
    return ops->proves != NULL && ops->proves(config);
}

const char *cla_needs(const struct cla_ops *ops, const char *key)
{
    return ops->needs == NULL ? NULL : ops->needs(key);
}

struct cla_addresses cla_addresses(const struct cla_ops *ops, const void *config)
{
    struct cla_addresses a = {.socket = CLA_SOCKET_NONE};
    if (ops->addresses != NULL)
        ops->addresses(config, &a);
    return a;
}

bool cla_tunnel(const struct cla_ops *ops, const void *config, struct cla_tunnel *out)
{
    if (ops->tunnel != NULL)
        ops->tunnel(config, out);
    return ops->tunnel != NULL;
}

int cla_read(const struct cla_ops *ops, const void *config, void **out, const char **key, char *why,
             size_t why_cap)
{
    assert((ops->read == NULL) == (ops->forget == NULL));
    *out = NULL;
    return ops->read == NULL ? 0 : ops->read(config, out, key, why, why_cap);
}

void cla_forget(const struct cla_ops *ops, void *files)
{
    if (files != NULL)
        ops->forget(files);
}

int cla_set(struct cla *c, const void *config, void *files, char *why, size_t why_cap)
{
    return c->ops->set == NULL ? 0 : c->ops->set(c, config, files, why, why_cap);
}

int cla_renew(struct cla *c, bool *changed, char *why, size_t why_cap)
{
    *changed = false;
    return c->ops->renew == NULL ? 0 : c->ops->renew(c, changed, why, why_cap);
}

int cla_cancel(struct cla *c, uint64_t key)
{
    return c->ops->cancel == NULL ? 0 : c->ops->cancel(c, key);
}

bool cla_reaches(const struct cla *c, const struct eid *destination)
{
    return c->ops->reaches != NULL && c->ops->reaches(c, destination);
}

bool cla_at_remote(const struct cla *c, const uint8_t *host)
{
    return c->ops->at_remote != NULL && c->ops->at_remote(c, host);
}

bool cla_judge(struct cla *c)
{
    return c->ops->judge != NULL && c->ops->judge(c);
}

bool cla_charge(struct cla *c, tick took, tick fair, tick now)
{
    if (c->ops->charge != NULL)
        c->ops->charge(c, took, fair, now);
    return c->ops->charge != NULL;
}

void cla_submitted(struct cla *c, uint32_t token, bool ok)
{
    if (c->ops->submitted != NULL)
        c->ops->submitted(c, token, ok);
}

bool cla_delivered(struct cla *c, const struct cla_delivery *d)
{
    if (c->ops->delivered != NULL)
        c->ops->delivered(c, d);
    return c->ops->delivered != NULL;
}

int cla_cancel_session(struct cla *c, uint64_t originator, uint64_t number)
{
    return c->ops->cancel_session == NULL ? HELIO_EINVAL
                                          : c->ops->cancel_session(c, originator, number);
}

void cla_status(struct cla *c, struct json_t *object)
{
    if (c != NULL && c->ops->status != NULL)
        c->ops->status(c, object);
}

struct cla_gauges cla_gauges(const struct cla *c)
{
    struct cla_gauges g = {.heard = TICK_NEVER, .asked = TICK_NEVER};
    if (c != NULL && c->ops->gauges != NULL)
        c->ops->gauges(c, &g);
    return g;
}

void cla_check_self(const struct cla *c)
{
    if (c->ops->check_self != NULL)
        c->ops->check_self(c);
}
