/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two CFDP entities in virtual time, joined by a link with delay, rate, loss, duplicates,
 * reordering and outages. Each may be killed and continue from its journals. Files have made-up
 * contents: the octet at each offset follows from the file's name, so that large ones need no
 * memory.
 */
#ifndef TESTS_UNIT_CFDP_PAIR_H
#define TESTS_UNIT_CFDP_PAIR_H

#include <stdio.h>
#include <stdlib.h>

#include "base/ranges.h"
#include "base/rng.h"
#include "cfdp/engine.h"
#include "cfdp/tlv.h"
#include "tests/unit/suite.h"

enum {
    HOST_RESULTS = 256,
    HOST_JOURNALS = 64,
    HOST_PLACED = 64,
    HOST_TOLD = 4096,
    PDU_ROOM = 4096
};

struct host_journal {
    struct cfdp_id id;
    uint8_t *octets;
    size_t len, cap;
    bool used;
};
/* A transaction's file, at either end. */
struct host_file {
    uint32_t seed; /* of its contents */
    uint64_t size; /* of a source */
    bool source;
};
struct told {
    enum cfdp_notice_kind kind;
    struct cfdp_notice n;
};
struct host {
    struct cfdp *e;
    uint64_t id, next;
    struct cfdp_remote peer;
    uint64_t source_size; /* of every source file */
    uint32_t seed;        /* of what is sent to it */
    struct host_journal journals[HOST_JOURNALS];
    struct {
        char name[CFDP_NAME_MAX + 1];
        uint64_t size;
    } placed[HOST_PLACED];
    size_t placed_len, told_len, open;
    size_t acts, act_calls; /* filestore requests that were performed */
    uint64_t act_steps;
    uint64_t settled, settle_most; /* octets: the last ones, and of one call */
    bool settle_fails;
    struct told told[HOST_TOLD];
    uint64_t wrong; /* octets that were written with a wrong value */
    bool damages;   /* reads of partial files have a wrong octet */
    int refuses;    /* what open_source, place and write say */
    bool refuses_write, journal_fails;
    bool unreadable; /* reads of all files fail */
    unsigned act_status;
    tick free_at; /* its transmitter */
    uint64_t kills, rewrites;
    uint32_t transactions_max;
    uint8_t results[HOST_RESULTS][CFDP_RESULT_LEN];
    size_t results_len;
    size_t unconfirmed; /* with peer.confirms: until confirm_at */
    tick confirm_at;
};
struct flight {
    tick due;
    uint64_t order;
    size_t to, len;
    uint8_t octets[PDU_ROOM];
};
struct pair {
    struct host host[2];
    struct rng rng;
    tick now, delay, jitter;
    uint64_t rate; /* octets a second; 0: no limit */
    double loss, twice;
    tick gap_from, gap_until; /* an outage: all is lost */
    struct flight **flights;  /* a heap by due and order */
    size_t flights_len, flights_cap;
    uint64_t order, lost, sent, sent_data;
    bool checks;                            /* each engine's own checks after each step */
    void *(*resize)(void *old, size_t len); /* the link's memory */
    bool (*loses)(struct pair *p, size_t to, struct slice pdu); /* a test's own rule */
};

static inline uint8_t octet_at(uint32_t seed, uint64_t offset)
{
    return (uint8_t)((offset * 2654435761u + seed) >> 13);
}

/* ---- the files table ---- */

static inline int host_open_source(void *context, struct cfdp_id id, const char *name, bool listing,
                                   uint64_t *size, void **file)
{
    struct host *h = context;
    (void)id;
    if (h->refuses != 0 || strcmp(name, "missing") == 0)
        return h->refuses != 0 ? h->refuses : HELIO_ENOENT;
    struct host_file *f = calloc(1, sizeof *f);
    if (f == NULL)
        return HELIO_ENOMEM;
    *f =
        (struct host_file){.seed = h->seed, .size = listing ? 100 : h->source_size, .source = true};
    *size = f->size;
    *file = f;
    h->open++;
    return 0;
}

static inline int host_open_partial(void *context, struct cfdp_id id, void **file)
{
    struct host *h = context;
    (void)id;
    struct host_file *f = calloc(1, sizeof *f);
    if (f == NULL)
        return HELIO_ENOMEM;
    f->seed = h->seed;
    *file = f;
    h->open++;
    return 0;
}

static inline int64_t host_read(void *context, void *file, uint64_t offset, uint8_t *out,
                                size_t len)
{
    const struct host *h = context;
    const struct host_file *f = file;
    if (h->unreadable)
        return HELIO_EIO;
    if (f->source && offset + len > f->size)
        len = offset > f->size ? 0 : (size_t)(f->size - offset);
    for (size_t i = 0; i < len; i++)
        out[i] = octet_at(f->seed, offset + i);
    if (h->damages && !f->source && len > 0)
        out[0] ^= 1;
    return (int64_t)len;
}

static inline int host_write(void *context, void *file, uint64_t offset, struct slice octets)
{
    struct host *h = context;
    const struct host_file *f = file;
    if (h->refuses_write)
        return HELIO_ESPACE;
    for (size_t i = 0; i < octets.len; i++)
        h->wrong += octets.data[i] != octet_at(f->seed, offset + i);
    return 0;
}

static inline int host_settle(void *context, void *file, uint64_t offset, uint64_t len)
{
    struct host *h = context;
    (void)file;
    ck_assert(h->settle_fails || offset == h->settled || offset == 0);
    h->settled = offset + len;
    h->settle_most = len > h->settle_most ? len : h->settle_most;
    return h->settle_fails ? HELIO_EIO : 0;
}

static inline int host_place(void *context, struct cfdp_id id, void *file, const char *name,
                             uint64_t size)
{
    struct host *h = context;
    (void)id;
    (void)file;
    if (h->refuses != 0)
        return h->refuses;
    for (size_t i = 0; i < h->placed_len; i++)
        if (strcmp(h->placed[i].name, name) == 0)
            return 0;
    if (h->placed_len < HOST_PLACED) {
        snprintf(h->placed[h->placed_len].name, CFDP_NAME_MAX + 1, "%s", name);
        h->placed[h->placed_len++].size = size;
    }
    return 0;
}

static inline void host_close(void *context, struct cfdp_id id, void *file, bool discard)
{
    struct host *h = context;
    (void)id;
    (void)discard;
    h->open--;
    free(file);
}

/* In act_steps further calls. */
static inline unsigned host_act(void *context, struct cfdp_id id, struct cfdp_act *act)
{
    struct host *h = context;
    (void)id;
    h->act_calls++;
    if (act->state < h->act_steps) {
        act->state++;
        return CFDP_ACT_MORE;
    }
    h->acts++;
    return h->act_status;
}

static inline struct host_journal *host_find(struct host *h, struct cfdp_id id)
{
    for (size_t i = 0; i < HOST_JOURNALS; i++)
        if (h->journals[i].used && cfdp_id_same(h->journals[i].id, id))
            return &h->journals[i];
    for (size_t i = 0; i < HOST_JOURNALS; i++)
        if (!h->journals[i].used) {
            h->journals[i].used = true;
            h->journals[i].id = id;
            h->journals[i].len = 0;
            return &h->journals[i];
        }
    return NULL;
}

static inline int host_note(void *context, struct cfdp_id id, struct slice record)
{
    struct host *h = context;
    struct host_journal *j = h->journal_fails ? NULL : host_find(h, id);
    if (j == NULL)
        return HELIO_ESPACE;
    if (j->cap - j->len < record.len + 2) {
        const size_t cap = 2 * (j->cap + record.len + 2);
        uint8_t *bigger = realloc(j->octets, cap);
        if (bigger == NULL)
            return HELIO_ENOMEM;
        j->octets = bigger;
        j->cap = cap;
    }
    j->octets[j->len] = (uint8_t)(record.len >> 8);
    j->octets[j->len + 1] = (uint8_t)record.len;
    memcpy(j->octets + j->len + 2, record.data, record.len);
    j->len += record.len + 2;
    return 0;
}

static inline int host_rewrite(void *context, struct cfdp_id id, struct slice records)
{
    struct host *h = context;
    struct host_journal *j = host_find(h, id);
    if (j == NULL || records.len > j->cap)
        return HELIO_ESPACE;
    memcpy(j->octets, records.data, records.len);
    j->len = records.len;
    h->rewrites++;
    return 0;
}

static inline void host_forget(void *context, struct cfdp_id id)
{
    struct host *h = context;
    for (size_t i = 0; i < HOST_JOURNALS; i++)
        if (h->journals[i].used && cfdp_id_same(h->journals[i].id, id))
            h->journals[i].used = false;
}

static inline int host_remember(void *context, struct slice result)
{
    struct host *h = context;
    ck_assert_uint_eq(result.len, CFDP_RESULT_LEN);
    if (h->results_len == HOST_RESULTS)
        return HELIO_ESPACE;
    memcpy(h->results[h->results_len++], result.data, result.len);
    return 0;
}

static inline int host_reserve(void *context, uint64_t next)
{
    struct host *h = context;
    h->next = next;
    return 0;
}

static const struct cfdp_files host_files = {
    host_open_source, host_open_partial, host_read,   host_write, host_settle,
    host_place,       host_close,        host_act,    host_note,  host_rewrite,
    host_forget,      host_remember,     host_reserve};

/* ---- hosts ---- */

static inline void host_start(struct host *h)
{
    const struct cfdp_config c = {.id = h->id,
                                  .sequence = h->next,
                                  .transactions_max = h->transactions_max,
                                  .seed = 7,
                                  .files = &host_files,
                                  .context = h};
    h->e = cfdp_new(&c);
    ck_assert_ptr_nonnull(h->e);
    ck_assert_int_eq(cfdp_remote_set(h->e, &h->peer), 0);
}

static inline size_t host_journals(const struct host *h)
{
    size_t n = 0;
    for (size_t i = 0; i < HOST_JOURNALS; i++)
        n += h->journals[i].used;
    return n;
}

/* As kill -9 and a new start. */
static inline void host_kill(struct pair *p, struct host *h)
{
    cfdp_free(h->e);
    ck_assert_uint_eq(h->open, 0);
    host_start(h);
    cfdp_remembered(h->e, slice_of((const uint8_t *)h->results, h->results_len * CFDP_RESULT_LEN));
    h->unconfirmed = 0;
    h->kills++;
    for (size_t i = 0; i < HOST_JOURNALS; i++) {
        struct host_journal *j = &h->journals[i];
        if (j->used)
            ck_assert_int_eq(cfdp_restore(h->e, j->id, slice_of(j->octets, j->len), p->now), 0);
    }
    cfdp_check(h->e);
}

static inline void pair_init(struct pair *p, uint64_t seed)
{
    *p = (struct pair){.delay = 100 * TICK_MS, .checks = true, .resize = realloc};
    rng_init(&p->rng, seed);
    for (size_t i = 0; i < 2; i++) {
        struct host *h = &p->host[i];
        h->id = i + 1;
        h->seed = 5;
        h->source_size = 10000;
        h->peer = (struct cfdp_remote){.id = 2 - i,
                                       .permissions = CFDP_MAY_PUT | CFDP_MAY_GET | CFDP_MAY_LIST |
                                                      CFDP_MAY_CHANGE};
    }
}

static inline void pair_start(struct pair *p)
{
    host_start(&p->host[0]);
    host_start(&p->host[1]);
}

static inline void pair_fini(struct pair *p)
{
    for (size_t i = 0; i < 2; i++) {
        cfdp_free(p->host[i].e);
        for (size_t k = 0; k < HOST_JOURNALS; k++)
            free(p->host[i].journals[k].octets);
        ck_assert_uint_eq(p->host[i].open, 0);
    }
    for (size_t i = 0; i < p->flights_len; i++)
        free(p->flights[i]);
    free(p->flights);
}

/* ---- the link ---- */

static inline bool is_sooner(const struct flight *a, const struct flight *b)
{
    return a->due < b->due || (a->due == b->due && a->order < b->order);
}

static inline void sink_flight(struct pair *p, size_t i)
{
    struct flight **f = p->flights;
    for (size_t least = i;; i = least) {
        for (size_t k = 2 * i + 1; k <= 2 * i + 2; k++)
            if (k < p->flights_len && is_sooner(f[k], f[least]))
                least = k;
        if (least == i)
            return;
        struct flight *swap = f[i];
        f[i] = f[least];
        f[least] = swap;
    }
}

static inline void fly(struct pair *p, size_t to, struct slice pdu, tick due)
{
    if (p->flights_len == p->flights_cap) {
        p->flights_cap = p->flights_cap == 0 ? 64 : 2 * p->flights_cap;
        p->flights = p->resize(p->flights, p->flights_cap * sizeof(struct flight *));
        ck_assert_ptr_nonnull(p->flights);
    }
    struct flight *f = p->resize(NULL, sizeof *f);
    ck_assert_ptr_nonnull(f);
    f->due = due + (p->jitter > 0 ? rng_below(&p->rng, p->jitter) : 0);
    f->order = p->order++;
    f->to = to;
    f->len = pdu.len;
    memcpy(f->octets, pdu.data, pdu.len);
    size_t i = p->flights_len++;
    for (; i > 0 && is_sooner(f, p->flights[(i - 1) / 2]); i = (i - 1) / 2)
        p->flights[i] = p->flights[(i - 1) / 2];
    p->flights[i] = f;
}

static inline bool is_lost(struct pair *p, size_t to, struct slice pdu)
{
    return (p->now >= p->gap_from && p->now < p->gap_until) || rng_chance(&p->rng, p->loss) ||
           (p->loses != NULL && p->loses(p, to, pdu));
}

/* One PDU of this host, if its transmitter is free. */
static inline bool transmit(struct pair *p, size_t from)
{
    uint8_t out[PDU_ROOM];
    struct host *h = &p->host[from];
    if (h->free_at > p->now)
        return false;
    const size_t n = cfdp_output(h->e, p->host[1 - from].id, out, sizeof out, p->now);
    if (n == 0)
        return false;
    const struct slice pdu = slice_of(out, n);
    h->free_at = p->now + (p->rate == 0 ? 0 : n * TICK_S / p->rate);
    if (h->peer.confirms && h->unconfirmed++ == 0)
        h->confirm_at = p->now + p->delay;
    p->sent++;
    p->sent_data += (out[0] & 0x10) != 0;
    if (is_lost(p, 1 - from, pdu)) {
        p->lost++;
        return true;
    }
    fly(p, 1 - from, pdu, h->free_at + p->delay);
    if (rng_chance(&p->rng, p->twice))
        fly(p, 1 - from, pdu, h->free_at + 2 * p->delay);
    return true;
}

static inline void deliver(struct pair *p)
{
    struct flight *f = p->flights[0];
    p->flights[0] = p->flights[--p->flights_len];
    sink_flight(p, 0);
    (void)cfdp_input(p->host[f->to].e, p->host[1 - f->to].id, slice_of(f->octets, f->len), p->now);
    free(f);
}

static inline void drain_notices(struct host *h)
{
    struct cfdp_notice n;
    while (cfdp_poll(h->e, &n))
        if (h->told_len < HOST_TOLD)
            h->told[h->told_len++] = (struct told){n.kind, n};
}

static inline tick next_time(struct pair *p)
{
    tick next = p->flights_len > 0 ? p->flights[0]->due : TICK_NEVER;
    for (size_t i = 0; i < 2; i++) {
        next = tick_min(next, cfdp_deadline(p->host[i].e));
        if (p->host[i].unconfirmed > 0)
            next = tick_min(next, tick_max(p->host[i].confirm_at, p->now));
        if (cfdp_has_output(p->host[i].e, p->host[1 - i].id))
            next = tick_min(next, tick_max(p->host[i].free_at, p->now));
    }
    return next;
}

static inline bool confirm(struct pair *p, size_t at)
{
    struct host *h = &p->host[at];
    if (h->unconfirmed == 0 || h->confirm_at > p->now)
        return false;
    for (; h->unconfirmed > 0; h->unconfirmed--)
        cfdp_confirm(h->e, p->host[1 - at].id, !rng_chance(&p->rng, p->loss / 10), p->now);
    return true;
}

/* All that is due now. */
static inline void step(struct pair *p)
{
    bool more = true;
    while (more) {
        more = false;
        while (p->flights_len > 0 && p->flights[0]->due <= p->now)
            deliver(p);
        for (size_t i = 0; i < 2; i++) {
            while (cfdp_expire(p->host[i].e, p->now))
                more = true;
            drain_notices(&p->host[i]);
            more = confirm(p, i) || more;
            while (transmit(p, i))
                more = true;
            if (p->checks)
                cfdp_check(p->host[i].e);
        }
    }
}

static inline void run_until(struct pair *p, tick until)
{
    for (;;) {
        step(p);
        const tick next = next_time(p);
        if (next > until) {
            p->now = until;
            return;
        }
        p->now = tick_max(next, p->now);
    }
}

static inline bool is_idle(const struct pair *p)
{
    return cfdp_walk(p->host[0].e, NULL) == NULL && cfdp_walk(p->host[1].e, NULL) == NULL;
}

/* Until no transaction is left. False: some are, at `until`. */
static inline bool run_to_end(struct pair *p, tick until)
{
    for (;;) {
        step(p);
        const tick next = next_time(p);
        if (is_idle(p) && p->flights_len == 0)
            return true;
        if (next > until)
            return false;
        p->now = tick_max(next, p->now);
    }
}

/* ---- requests and results ---- */

static inline struct cfdp_id put_file(struct pair *p, size_t from, const char *to, unsigned class_)
{
    const struct cfdp_put put = {.destination = p->host[1 - from].id,
                                 .source_name = "source",
                                 .destination_name = to,
                                 .class_ = class_};
    struct cfdp_id id;
    ck_assert_int_eq(cfdp_put(p->host[from].e, &put, p->now, &id), 0);
    return id;
}

/* The notice of this kind about the transaction; NULL: there was none. */
static inline const struct cfdp_notice *notice_of(const struct host *h, struct cfdp_id id,
                                                  enum cfdp_notice_kind kind)
{
    for (size_t i = 0; i < h->told_len; i++)
        if (h->told[i].kind == kind && cfdp_id_same(h->told[i].n.id, id))
            return &h->told[i].n;
    return NULL;
}

static inline size_t count_notices(const struct host *h, struct cfdp_id id,
                                   enum cfdp_notice_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < h->told_len; i++)
        n += h->told[i].kind == kind && cfdp_id_same(h->told[i].n.id, id);
    return n;
}

/* Both ends say that it finished with this condition. */
static inline void assert_finished(const struct pair *p, struct cfdp_id id,
                                   enum cfdp_condition condition)
{
    for (size_t i = 0; i < 2; i++) {
        const struct cfdp_notice *n = notice_of(&p->host[i], id, CFDP_TOLD_FINISHED);
        ck_assert_msg(n != NULL, "entity %zu", i + 1);
        ck_assert_msg(n->condition == condition, "entity %zu: %s", i + 1,
                      cfdp_condition_text(n->condition));
    }
}

#endif
