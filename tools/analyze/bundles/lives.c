/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stay begins with `accepted`, `restored` or `assembled` and ends with `ended` (or `refused`, by
 * the store). Each row ends one part of it and begins the next, so the parts add up to the whole.
 * What can go wrong: missing rows. Then the order of the others is wrong, and the parts are
 * unknown; a part with both of its rows stays known. A node that was killed leaves a stay open. The
 * stay continues when the node restores the bundle, or has no end.
 */
#include "tools/analyze/bundles/lives.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/port.h"

#define SEED UINT64_C(0x6c69766573)

struct name {
    struct hash_node node;
    size_t len;
    char text[];
};

int lives_init(struct lives *l)
{
    *l = (struct lives){.first_row = TICK_NEVER, .last_row = TICK_NEVER};
    if (hash_init(&l->open, SEED) < 0)
        return HELIO_ENOMEM;
    if (hash_init(&l->sessions, SEED) < 0)
        goto open;
    if (hash_init(&l->names, SEED) < 0)
        goto sessions;
    return 0;
sessions:
    hash_fini(&l->sessions);
open:
    hash_fini(&l->open);
    return HELIO_ENOMEM;
}

void lives_fini(struct lives *l)
{
    struct hash_node *n;
    while ((n = hash_walk(&l->names, NULL)) != NULL) {
        hash_sub(&l->names, n);
        free(container_of(n, struct name, node));
    }
    for (size_t i = 0; i < l->len; i++)
        free(l->stays[i]);
    free(l->stays);
    hash_fini(&l->names);
    hash_fini(&l->sessions);
    hash_fini(&l->open);
}

/* Equal texts are one pointer. False: no memory. */
static bool intern(struct lives *l, struct bundle_text t, const char **out)
{
    *out = NULL;
    if (t.len == 0)
        return true;
    uint64_t hash = hash_bytes(SEED, t.at, t.len);
    for (struct hash_node *n = hash_find(&l->names, hash); n != NULL; n = hash_next(n)) {
        struct name *found = container_of(n, struct name, node);
        if (found->len == t.len && memcmp(found->text, t.at, t.len) == 0) {
            *out = found->text;
            return true;
        }
    }
    struct name *made = malloc(sizeof *made + t.len + 1);
    if (made == NULL)
        return false;
    made->len = t.len;
    memcpy(made->text, t.at, t.len);
    made->text[t.len] = '\0';
    hash_add(&l->names, &made->node, hash);
    *out = made->text;
    return true;
}

static uint64_t key_hash(const char *node, uint64_t key)
{
    return hash_mix(SEED, (uint64_t)(uintptr_t)node, key);
}

static struct stay *find_open(const struct lives *l, const char *node, uint64_t key)
{
    struct hash_node *n = hash_find(&l->open, key_hash(node, key));
    for (; n != NULL; n = hash_next(n)) {
        struct stay *s = container_of(n, struct stay, by_key);
        if (s->key == key && s->node == node)
            return s;
    }
    return NULL;
}

static void leave_session(struct lives *l, struct stay *s)
{
    if (s->in_session)
        hash_sub(&l->sessions, &s->by_session);
    s->in_session = false;
}

/* The stay has no more rows; rows of its session may still follow. */
static void shut(struct lives *l, struct stay *s)
{
    if (s->open)
        hash_sub(&l->open, &s->by_key);
    s->open = false;
}

static struct stay *make_stay(struct lives *l, const struct bundle_row *r, const char *node)
{
    assert(l->len <= l->cap);
    if (l->len == l->cap) {
        size_t cap = l->cap == 0 ? 256 : 2 * l->cap;
        struct stay **grown = realloc(l->stays, cap * sizeof *grown);
        if (grown == NULL)
            return NULL;
        l->stays = grown;
        l->cap = cap;
    }
    struct stay *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    *s = (struct stay){
        .node = node,
        .key = r->key.value,
        .created_ms = r->created_ms.value,
        .sequence = r->sequence.value,
        .fragment = r->fragment_offset.known,
        .fragment_offset = r->fragment_offset.value,
        .adu_length = r->adu_length.value,
        .bytes = r->bytes,
        .payload = r->payload,
        .from = r->from,
        .begun = TICK_NEVER,
        .ended = TICK_NEVER,
        .sent_first = TICK_NEVER,
        .sent = TICK_NEVER,
        .delivered = TICK_NEVER,
        .since = r->now,
        .carried = TICK_NEVER,
        .session_wait = TICK_NEVER,
        .session_time = TICK_NEVER,
        .total = TICK_NEVER,
        .open = true,
    };
    if (!intern(l, r->source, &s->source) || !intern(l, r->destination, &s->destination)) {
        free(s);
        return NULL;
    }
    l->stays[l->len++] = s;
    hash_add(&l->open, &s->by_key, key_hash(node, s->key));
    return s;
}

/* From one part to the next one at this time. `from`: the parts in which that can happen. */
static void move_on(struct stay *s, tick now, unsigned from, enum life_part to)
{
    assert(s != NULL);
    if ((from & (1u << s->part)) == 0 || now < s->since)
        s->gap = true;
    else
        s->spent[s->part] += now - s->since;
    s->part = to;
    s->since = now;
}

#define IN(part) (1u << LIFE_##part)
#define GIVEN (IN(LINK) | IN(SESSION))

static void take_session(struct lives *l, struct stay *s, const struct bundle_row *r)
{
    leave_session(l, s);
    s->has_session = true;
    s->session_known = s->cycles_known = false;
    s->session_wait = s->session_time = TICK_NEVER;
    s->originator = r->originator.value;
    s->session = r->session.value;
    s->carried = r->now;
    s->in_session = true;
    hash_add(&l->sessions, &s->by_session, hash_mix(SEED, s->originator, s->session));
}

static int take_end(struct lives *l, struct stay *s, const struct bundle_row *r)
{
    const bool refused = r->kind == BUNDLE_REFUSED;
    const struct bundle_text store = {.at = "not_stored", .len = 10};
    /* A bundle may end in any state; the last part ends with it. */
    move_on(s, r->now, ~0u, s->part);
    s->ended = r->now;
    shut(l, s);
    return intern(l, refused ? store : r->reason, &s->end) ? 0 : HELIO_ENOMEM;
}

/* A row within a stay. 0 or HELIO_ENOMEM. */
static int take_step(struct lives *l, struct stay *s, const struct bundle_row *r)
{
    switch (r->kind) {
    case BUNDLE_STORED:
        move_on(s, r->now, IN(STORE), LIFE_QUEUE);
        return 0;
    case BUNDLE_WAITING:
        move_on(s, r->now, IN(QUEUE) | IN(APART), LIFE_APART);
        return 0;
    case BUNDLE_QUEUED:
        move_on(s, r->now, IN(QUEUE) | IN(APART), LIFE_QUEUE);
        return 0;
    case BUNDLE_SENT:
        move_on(s, r->now, IN(QUEUE), LIFE_LINK);
        s->sent = r->now;
        if (s->sent_first == TICK_NEVER)
            s->sent_first = r->now;
        s->failed_before = s->spent[LIFE_LINK] + s->spent[LIFE_SESSION];
        s->tries++;
        return intern(l, r->link, &s->link_out) && intern(l, r->peer, &s->peer_out) ? 0
                                                                                    : HELIO_ENOMEM;
    case BUNDLE_CARRIED:
        move_on(s, r->now, IN(LINK), LIFE_SESSION);
        take_session(l, s, r);
        return 0;
    case BUNDLE_FRAGMENTED:   /* the rest waits for its turn */
    case BUNDLE_ACKNOWLEDGED: /* `ended` follows at the same time */
        move_on(s, r->now, GIVEN, LIFE_QUEUE);
        return 0;
    case BUNDLE_FAILED:
        move_on(s, r->now, GIVEN | IN(QUEUE), LIFE_QUEUE);
        s->failed++;
        return 0;
    case BUNDLE_LOST:
        move_on(s, r->now, GIVEN, LIFE_QUEUE);
        s->lost++;
        return 0;
    case BUNDLE_HANDED:
        move_on(s, r->now, IN(QUEUE), LIFE_APPLICATION);
        return 0;
    case BUNDLE_DELIVERED: /* the node's own records are not handed to anybody */
        move_on(s, r->now, IN(APPLICATION) | IN(QUEUE), LIFE_QUEUE);
        s->delivered = r->now;
        return 0;
    case BUNDLE_DECLINED:
        move_on(s, r->now, IN(APPLICATION), LIFE_QUEUE);
        return 0;
    case BUNDLE_ENDED:
    case BUNDLE_REFUSED:
        return take_end(l, s, r);
    default:
        return 0;
    }
}

/* The node has restarted; the logs do not show how long it did not run. */
static void take_restart(struct stay *s, tick now)
{
    s->restarts++;
    s->gap = true;
    s->part = LIFE_QUEUE;
    s->since = now;
}

static int begin_stay(struct lives *l, const struct bundle_row *r, const char *node)
{
    struct stay *s = find_open(l, node, r->key.value);
    bool same =
        s != NULL && s->created_ms == r->created_ms.value && s->sequence == r->sequence.value;
    if (same && r->kind == BUNDLE_RESTORED) {
        take_restart(s, r->now);
        return 0;
    }
    if (s != NULL)
        shut(l, s); /* of a run of the node that ended with it */
    s = make_stay(l, r, node);
    if (s == NULL)
        return HELIO_ENOMEM;
    s->whole = r->kind == BUNDLE_ASSEMBLED;
    s->part = r->kind == BUNDLE_ACCEPTED ? LIFE_STORE : LIFE_QUEUE;
    if (r->kind == BUNDLE_RESTORED) /* the logs do not show when it arrived here */
        take_restart(s, r->now);
    else
        s->begun = r->now;
    if (r->kind != BUNDLE_ACCEPTED)
        return 0;
    return intern(l, r->link, &s->link_in) && intern(l, r->peer, &s->peer_in) ? 0 : HELIO_ENOMEM;
}

int lives_row(struct lives *l, const struct bundle_row *r)
{
    const char *node;
    l->rows++;
    l->first_row = tick_min(l->first_row, r->now);
    l->last_row = r->now;
    l->refused += r->kind == BUNDLE_REFUSED;
    l->consumed += r->kind == BUNDLE_CONSUMED;
    if (!r->key.known)
        return 0;
    if (!intern(l, r->node, &node))
        return HELIO_ENOMEM;
    if (r->kind == BUNDLE_ACCEPTED || r->kind == BUNDLE_RESTORED || r->kind == BUNDLE_ASSEMBLED)
        return begin_stay(l, r, node);
    struct stay *s = find_open(l, node, r->key.value);
    if (s == NULL) { /* its beginning is not there: what is seen of it counts all the same */
        l->strange++;
        s = make_stay(l, r, node);
        if (s == NULL)
            return HELIO_ENOMEM;
        s->gap = true;
    }
    return take_step(l, s, r);
}

void lives_session(struct lives *l, const struct analyze_session *a)
{
    struct hash_node *next, *n = hash_find(&l->sessions, hash_mix(SEED, a->originator, a->number));
    for (; n != NULL; n = next) {
        struct stay *s = container_of(n, struct stay, by_session);
        next = hash_next(n);
        if (s->originator != a->originator || s->session != a->number)
            continue;
        leave_session(l, s);
        s->session_known = true;
        if (!a->sender_log || a->opened == TICK_NEVER) /* the receiver's are others */
            continue;
        if (a->first_tx != TICK_NEVER && a->first_tx >= s->carried) {
            s->session_wait = a->first_tx - s->carried;
            s->session_radiation = analyze_radiation(a);
            s->session_clean = !a->lossy && a->rounds.most == 0;
        }
        if (a->outcome == OUTCOME_DONE && a->first_tx != TICK_NEVER)
            s->session_time = analyze_duration(a);
        s->cycles_known = a->sender_closed;
        s->cycles = a->rounds.most;
    }
}

bool stay_is_whole(const struct stay *s)
{
    return s->begun != TICK_NEVER && s->ended != TICK_NEVER && s->ended >= s->begun;
}

bool stay_is_known(const struct stay *s)
{
    return stay_is_whole(s) && !s->gap;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_bundle(const struct stay *x, const struct stay *y)
{
    int by = strcmp(x->source, y->source);
    by = by != 0 ? by : compare_numbers(x->created_ms, y->created_ms);
    by = by != 0 ? by : compare_numbers(x->sequence, y->sequence);
    by = by != 0 ? by : compare_numbers(x->fragment, y->fragment);
    by = by != 0 ? by : compare_numbers(x->fragment_offset, y->fragment_offset);
    return by != 0 ? by : compare_numbers(x->adu_length, y->adu_length);
}

/* What is nearest to its beginning. */
static tick first_seen(const struct stay *s)
{
    return s->begun != TICK_NEVER ? s->begun : s->since;
}

static int compare_stays(const void *a, const void *b)
{
    const struct stay *x = *(struct stay *const *)a, *y = *(struct stay *const *)b;
    int by = compare_bundle(x, y);
    by = by != 0 ? by : compare_numbers(first_seen(x), first_seen(y));
    by = by != 0 ? by : strcmp(x->node, y->node);
    return by != 0 ? by : compare_numbers(x->key, y->key);
}

/* The next hop of the bundle: the node at the other end of the link, after it was sent. Both ends
 * must have logged it, and no row of its stay here may be missing: an attempt that is not in the
 * log could be the one that arrived there. */
static struct stay *find_next(const struct stay *s, struct stay **of, size_t n)
{
    if (!stay_is_known(s) || s->peer_out == NULL || s->sent == TICK_NEVER)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        struct stay *t = of[i];
        if (t != s && t->node == s->peer_out && t->peer_in == s->node && t->begun != TICK_NEVER &&
            t->begun >= s->sent)
            return t;
    }
    return NULL;
}

/* A try that failed here may have arrived there, and so may several: each is one node further. */
static void number_copies(const struct stay *s, struct stay **of, size_t n)
{
    assert(s->hop > 0);
    if (!stay_is_known(s) || s->tries < 2 || s->peer_out == NULL)
        return;
    for (size_t i = 0; i < n; i++) {
        struct stay *t = of[i];
        if (t->hop == 0 && t->node == s->peer_out && t->peer_in == s->node &&
            t->begun != TICK_NEVER && t->begun >= s->sent_first && t->begun <= s->ended)
            t->hop = s->hop + 1;
    }
}

/* The stays of one bundle, in the order in which they began. */
static void join_stays(struct stay **s, size_t n)
{
    const struct stay *source = NULL;
    for (size_t i = 0; i < n && source == NULL; i++)
        if (s[i]->begun != TICK_NEVER && s[i]->from != BUNDLE_FROM_LINK && !s[i]->whole)
            source = s[i];
    for (size_t i = 0; i < n; i++) {
        struct stay *next = find_next(s[i], s, n);
        if (source != NULL && s[i] == source)
            s[i]->hop = 1;
        s[i]->next = next;
        if (next != NULL && s[i]->hop > 0 && next->hop == 0)
            next->hop = s[i]->hop + 1;
        if (s[i]->hop > 0)
            number_copies(s[i], s, n);
        if (source != NULL && s[i]->delivered != TICK_NEVER && s[i]->delivered >= source->begun)
            s[i]->total = s[i]->delivered - source->begun;
    }
}

void lives_end(struct lives *l)
{
    if (l->len > 0)
        qsort(l->stays, l->len, sizeof *l->stays, compare_stays);
    for (size_t i = 0, n; i < l->len; i += n) {
        for (n = 1; i + n < l->len && compare_bundle(l->stays[i], l->stays[i + n]) == 0;)
            n++;
        join_stays(l->stays + i, n);
    }
    delays_divide(l);
}
