/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounds of turns by bytes ("surplus round robin"): a party with credit sends. A bundle longer than
 * the credit makes a debt, which the following rounds pay. So each step costs a constant time for
 * TURN_BYTES of bundles, and a party that floods the queue, under however many names of sources,
 * has one turn in a round like all others.
 *
 * A neighbour without a link is unconfigured and has gone, or is not configured any more. Anyone
 * may come under any number of such names, and leave a bundle under each. So these neighbours share
 * one turn. They are judged when a bundle of theirs enters, and when the next bundle is chosen. One
 * that returns has its own turn again when it brings a bundle. From the first one that has gone on,
 * a new neighbour pays for its first bundle in advance. Else names that come, and go with a debt
 * when their bundle was taken, would have their bundles for one turn each.
 *
 * Where places are few (bundles that a link has in hand), a party with more than its part of them
 * waits for parties with less: otherwise small bundles would use all places for few bytes, and
 * leave the link idle. A link with enough octets is not idle: there turns by bytes are enough, and
 * with equal places long bundles would have most of its time. Without memory for a turn a bundle
 * waits among those without a party.
 *
 * A source that is proven (agent_quota.c) has its own turn from then on, and may have older bundles
 * in the turn of the unproven ones. Its own turn waits for these, so that the bundles of one source
 * stay in order.
 */
#include "bp/agent/forwarding/agent_turn.h"

#include <assert.h>
#include <stdlib.h>

#include "bp/agent/agent_impl.h"

#define TURN_BYTES (8 << 10)
/* What a bundle costs beside its bytes: small ones make work, too. A node works as long for a short
 * one as for some 4 kB of a long one. */
#define TURN_BUNDLE 4096
/* steps of a search for the position of a returned bundle; beyond: not in order */
#define RETURN_STEPS 1024

static void init_turn(struct turn *x, struct turns *of, struct turn *party, uint64_t id)
{
    *x = (struct turn){.of = of, .party = party, .id = id, .credit = TURN_BYTES};
    list_init(&x->node);
    list_init(&x->ring);
}

void turns_init(struct turns *t)
{
    list_init(&t->ring);
    list_init(&t->away);
    t->common = NULL;
    init_turn(&t->plain, t, NULL, 0);
    init_turn(&t->plain_source, t, &t->plain, 0);
    t->recent = NULL;
    t->waiting = t->octets = t->judged = 0;
    t->visited = t->in_advance = false;
}

static struct list *ring_of(struct turns *t, const struct turn *x)
{
    return x->party == NULL ? &t->ring : &x->party->ring;
}

static bool is_own(const struct turns *t, const struct turn *x)
{
    return x == &t->plain || x == &t->plain_source;
}

static uint64_t key_of(const struct agent *a, const struct turns *t, const struct turn *party,
                       uint64_t id)
{
    const uint64_t at = (uint64_t)(uintptr_t)(party != NULL ? (const void *)party : t);
    return hash_mix(a->config.seed, id, at);
}

static int64_t cost_of(const struct forwarding *f)
{
    return (int64_t)f->bundle->bytes + TURN_BUNDLE;
}

/* fee: what a new one pays in advance. */
static struct turn *get_turn(struct agent *a, struct turns *t, struct turn *party, uint64_t id,
                             int64_t fee)
{
    const uint64_t key = key_of(a, t, party, id);
    for (struct hash_node *n = hash_find(&a->turns, key); n != NULL; n = hash_next(n)) {
        struct turn *x = container_of(n, struct turn, by_key);
        if (x->of == t && x->party == party && x->id == id && x != t->common)
            return x;
    }
    struct turn *x = malloc(sizeof *x);
    if (x == NULL)
        return NULL;
    init_turn(x, t, party, id);
    x->credit -= fee;
    hash_add(&a->turns, &x->by_key, key);
    list_add_tail(ring_of(t, x), &x->node);
    return x;
}

/* A copy has the accounts of its bundle, a joined bundle those of its first fragment. */
static const struct holder *holder_of(const struct forwarding *f)
{
    return forwarding_is_whole(f) ? &f->reassembly->holder : &f->bundle->holder;
}

uint64_t turns_party(const struct forwarding *f)
{
    const struct holder *h = holder_of(f);
    return h->user != NULL ? h->user->by_id.hash : h->peer->by_id.hash;
}

bool turns_gone(const struct forwarding *f)
{
    const struct holder *h = holder_of(f);
    return h->user == NULL && h->peer->links == 0;
}

static bool is_gone(const struct agent *a, const struct turn *party)
{
    if (!party->neighbour)
        return false;
    const struct account *peer = account_find(&a->peers, party->id);
    return peer == NULL || peer->links == 0;
}

/* The common turn, in the ring. false: no memory. */
static bool enter_common(struct agent *a, struct turns *t)
{
    struct turn *x = t->common;
    if (x == NULL) {
        x = malloc(sizeof *x);
        if (x == NULL)
            return false;
        init_turn(x, t, NULL, 0);
        hash_add(&a->turns, &x->by_key, key_of(a, t, NULL, 0));
        t->common = x;
    }
    if (list_empty(&x->node))
        list_add_tail(&t->ring, &x->node);
    return true;
}

static void leave_away(struct turns *t, struct turn *party)
{
    struct turn *common = t->common;
    list_sub(&party->node);
    party->away = false;
    list_add_tail(&t->ring, &party->node);
    if (common == NULL)
        return;
    assert(common->waiting >= party->waiting && common->places >= party->places);
    common->waiting -= party->waiting;
    common->places -= party->places;
}

/* Into the common turn of all that have gone. Without memory for it the next choice tries again. */
static void enter_away(struct agent *a, struct turns *t, struct turn *party)
{
    if (!enter_common(a, t)) {
        t->judged = a->peer_changes - 1;
        return;
    }
    list_sub(&party->node);
    party->away = t->in_advance = true;
    list_add_tail(&t->away, &party->node);
    t->common->waiting += party->waiting;
    t->common->places += party->places;
}

/* A party that gets a bundle: into the common turn, or out of it. */
static void judge_party(struct agent *a, struct turns *t, struct turn *party, bool gone)
{
    if (party->away && (!gone || !enter_common(a, t)))
        leave_away(t, party);
    if (gone && !party->away)
        enter_away(a, t, party);
}

static struct turn *find_turn(struct agent *a, struct turns *t, const struct forwarding *f)
{
    const struct holder *h = holder_of(f);
    if (h->source != NULL && h->peer != NULL) {
        const uint64_t party_id = turns_party(f), id = h->source->by_id.hash;
        struct turn *source = t->recent;
        if (source == NULL || source->id != id || source->party->id != party_id) {
            const int64_t fee = t->in_advance && h->user == NULL ? cost_of(f) : 0;
            struct turn *party = get_turn(a, t, NULL, party_id, fee);
            source = party == NULL ? NULL : get_turn(a, t, party, id, 0);
        }
        if (source != NULL) {
            struct turn *party = source->party;
            party->neighbour = h->user == NULL;
            judge_party(a, t, party, party->neighbour && h->peer->links == 0);
            t->recent = source;
            source->after = h->source->after;
            if (h->source->unproven)
                source->party->unproven = source;
            return source;
        }
    }
    if (list_empty(&t->plain.node))
        list_add_tail(&t->ring, &t->plain.node);
    if (list_empty(&t->plain_source.node))
        list_add_tail(&t->plain.ring, &t->plain_source.node);
    return &t->plain_source;
}

static void free_turn(struct agent *a, struct turns *t, struct turn *x)
{
    assert(x->waiting == 0 && x->places == 0);
    while (x->party == NULL && !list_empty(&x->ring))
        free_turn(a, t, container_of(list_first(&x->ring), struct turn, node));
    assert(list_empty(&x->ring));
    list_sub(&x->node);
    if (x->party != NULL && x->party->unproven == x)
        x->party->unproven = NULL;
    x->credit = TURN_BYTES;
    t->recent = t->recent == x ? NULL : t->recent;
    t->common = t->common == x ? NULL : t->common;
    if (is_own(t, x))
        return;
    hash_sub(&a->turns, &x->by_key);
    free(x);
}

static void free_parties(struct agent *a, struct turns *t, struct list *ring)
{
    list_for_each_safe (l, ring) {
        struct turn *x = container_of(l, struct turn, node);
        x->credit = TURN_BYTES;
        while (!list_empty(&x->ring))
            free_turn(a, t, container_of(list_first(&x->ring), struct turn, node));
        if (x->places == 0)
            free_turn(a, t, x);
    }
}

/* The last bundle of a party that has gone is done: nobody would pay its debt. */
static void forget_party(struct agent *a, struct turns *t, struct turn *party)
{
    if (party->waiting == 0 && party->places == 0 && (party->away || is_gone(a, party)))
        free_turn(a, t, party);
}

/* Those of `away` stay there until they bring a bundle: there may be thousands. */
static void judge_parties(struct agent *a, struct turns *t)
{
    if (t->judged == a->peer_changes)
        return;
    t->judged = a->peer_changes;
    list_for_each_safe (it, &t->ring) {
        struct turn *party = container_of(it, struct turn, node);
        if (!is_gone(a, party))
            continue;
        enter_away(a, t, party);
        forget_party(a, t, party);
    }
}

/* No bundle waits: debts are dropped. */
static void free_all(struct agent *a, struct turns *t)
{
    t->in_advance = false;
    free_parties(a, t, &t->away);
    free_parties(a, t, &t->ring);
}

/* To its party as well, and to the common turn where the party shares that. */
static void give_credit(struct turn *x, int64_t bytes)
{
    x->credit += bytes;
    x->party->credit += bytes;
    if (x->party->away)
        x->of->common->credit += bytes;
}

static void count_in(struct turns *t, struct turn *x, struct forwarding *f)
{
    f->turn = x;
    x->waiting++;
    x->party->waiting++;
    if (x->party->away)
        t->common->waiting++;
    t->waiting++;
}

void turns_add(struct agent *a, struct turns *t, struct forwarding *f)
{
    assert(f->turn == NULL && list_empty(&f->node));
    struct turn *x = find_turn(a, t, f);
    list_add_tail(&x->ring, &f->node);
    count_in(t, x, f);
}

/* Had the one at n its turn, and that before f? */
static bool is_older(const struct turn *x, const struct list *n, const struct forwarding *f)
{
    const struct forwarding *other = container_of(n, struct forwarding, node);
    return n != &x->ring && other->rank > 0 && other->rank < f->rank;
}

/* Searches from the latest returned bundle, because most return in order, rising or falling. */
static void enter_ring(struct turn *x, struct forwarding *f)
{
    /* f is inserted after it */
    struct list *at = x->returned == NULL ? &x->ring : &x->returned->node;
    int steps = RETURN_STEPS;
    while (at != &x->ring && !is_older(x, at, f) && steps-- > 0)
        at = at->prev;
    while (is_older(x, at->next, f) && steps-- > 0)
        at = at->next;
    list_add_head(at, &f->node);
    x->returned = f;
}

void turns_return(struct agent *a, struct turns *t, struct forwarding *f, bool pays)
{
    assert(f->turn == NULL && list_empty(&f->node) && f->rank > 0);
    struct turn *x = find_turn(a, t, f);
    enter_ring(x, f);
    count_in(t, x, f);
    if (pays)
        return;
    give_credit(x, cost_of(f));
}

bool turns_older(struct agent *a, struct turns *t, const struct forwarding *f)
{
    if (t->waiting == 0)
        return false;
    const struct turn *x = find_turn(a, t, f);
    return is_older(x, x->ring.next, f);
}

void turns_sub(struct agent *a, struct turns *t, struct forwarding *f)
{
    struct turn *x = f->turn;
    assert(x != NULL && x->waiting > 0 && x->party->waiting > 0 && t->waiting > 0);
    struct turn *party = x->party;
    if (x->returned == f) {
        struct list *before = f->node.prev;
        x->returned = before == &x->ring ? NULL : container_of(before, struct forwarding, node);
    }
    list_sub(&f->node);
    f->turn = NULL;
    x->waiting--;
    party->waiting--;
    if (party->away)
        t->common->waiting--;
    t->waiting--;
    if (t->visited)
        return;
    if (t->waiting == 0)
        free_all(a, t);
    else
        forget_party(a, t, party);
}

/* For a party: how many places it may have while others wait. UINT64_MAX: any. */
static uint64_t part_of(const struct turns *t, uint64_t places, uint64_t octets)
{
    uint64_t waiting = 0;
    if (places == 0 || t->ring.next == t->ring.prev || (octets > 0 && t->octets >= octets))
        return UINT64_MAX;
    list_for_each (l, &t->ring)
        waiting += container_of(l, struct turn, node)->waiting > 0;
    const uint64_t part = waiting == 0 ? 0 : (places + waiting - 1) / waiting;
    list_for_each (l, &t->ring) {
        const struct turn *x = container_of(l, struct turn, node);
        if (x->waiting > 0 && x->places < part)
            return part;
    }
    return UINT64_MAX;
}

/* Do bundles that the source brought before it had this turn wait in that of the unproven ones? */
static bool has_older(const struct turn *x)
{
    const struct turn *u = x->party == NULL ? NULL : x->party->unproven;
    if (x->after == 0 || u == NULL || u == x || u->waiting == 0)
        return false;
    return container_of(list_first(&u->ring), struct forwarding, node)->key < x->after;
}

/* Finds the next turn with fewer than `part` places and without older bundles in another turn. */
static struct turn *turn_of(struct agent *a, struct turns *t, struct list *ring, uint64_t part)
{
    for (;;) {
        struct turn *x = container_of(list_first(ring), struct turn, node);
        if (x->waiting > 0 && x->credit > 0 && x->places < part && !has_older(x))
            return x;
        if (x->waiting == 0 && x->credit >= 0 && x->places == 0) {
            free_turn(a, t, x);
            continue;
        }
        if (x->credit <= 0)
            x->credit += TURN_BYTES;
        list_sub(&x->node);
        list_add_tail(ring, &x->node);
    }
}

struct forwarding *turns_first(struct agent *a, struct turns *t, uint64_t places, uint64_t octets)
{
    if (t->waiting == 0)
        return NULL;
    judge_parties(a, t);
    struct turn *party = turn_of(a, t, &t->ring, part_of(t, places, octets));
    if (party == t->common)
        party = turn_of(a, t, &t->away, UINT64_MAX);
    struct turn *source = turn_of(a, t, &party->ring, UINT64_MAX);
    return container_of(list_first(&source->ring), struct forwarding, node);
}

void turns_take_place(struct agent *a, struct turns *t, struct forwarding *f)
{
    assert(f->place == NULL);
    f->place = f->turn->party;
    f->place->places++;
    if (f->place->away)
        t->common->places++;
    t->octets += f->bundle->bytes;
    turns_take(a, t, f);
}

void turns_leave(struct agent *a, struct forwarding *f)
{
    struct turn *x = f->place;
    if (x == NULL)
        return;
    struct turns *t = x->of;
    assert(x->places > 0 && t->octets >= f->bundle->bytes);
    f->place = NULL;
    t->octets -= f->bundle->bytes;
    if (x->away)
        t->common->places--;
    if (--x->places > 0 || t->visited)
        return;
    if (t->waiting > 0) {
        forget_party(a, t, x);
        return;
    }
    free_turn(a, t, x);
    if (t->common != NULL && t->common->places == 0)
        free_turn(a, t, t->common);
}

void turns_take(struct agent *a, struct turns *t, struct forwarding *f)
{
    struct turn *x = f->turn;
    give_credit(x, -cost_of(f));
    turns_sub(a, t, f);
}

void turns_each(struct turns *t, void (*fn)(struct agent *a, struct list *l), struct agent *a)
{
    assert(!t->visited);
    t->visited = true; /* fn reads its list after it took out the last bundle */
    const struct list *rings[] = {&t->ring, &t->away};
    for (size_t i = 0; i < 2; i++)
        list_for_each (p, rings[i])
            list_for_each (s, &container_of(p, struct turn, node)->ring)
                fn(a, &container_of(s, struct turn, node)->ring);
    t->visited = false;
    if (t->waiting == 0)
        free_all(a, t);
}

void turns_free(struct agent *a)
{
    struct hash_node *n;
    while ((n = hash_walk(&a->turns, NULL)) != NULL) {
        hash_sub(&a->turns, n);
        free(container_of(n, struct turn, by_key));
    }
    hash_fini(&a->turns);
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

static uint64_t check_source(const struct turn *source, const struct turn *party)
{
    uint64_t n = 0;
    list_for_each (it, &source->ring) {
        assert(container_of(it, struct forwarding, node)->turn == source);
        n++;
    }
    assert(party->unproven != source || source->after == 0);
    assert(source->party == party && n == source->waiting);
    return n;
}

struct turns_sum {
    uint64_t waiting, places;
};

static struct turns_sum check_parties(const struct agent *a, const struct turns *t,
                                      const struct list *ring)
{
    struct turns_sum all = {0};
    list_for_each (p, ring) {
        const struct turn *party = container_of(p, struct turn, node);
        uint64_t sum = 0;
        assert(party->party == NULL && party->of == t && party->away == (ring == &t->away));
        assert(party->away || t->judged != a->peer_changes || !is_gone(a, party));
        list_for_each (s, &party->ring)
            sum += check_source(container_of(s, struct turn, node), party);
        assert(sum == party->waiting || party == t->common);
        all.waiting += party->waiting;
        all.places += party->places;
    }
    return all;
}

void turns_check(const struct agent *a, const struct turns *t)
{
    const struct turns_sum away = check_parties(a, t, &t->away);
    const struct turns_sum all = check_parties(a, t, &t->ring);
    const struct turn *common = t->common;
    assert(common != NULL || away.waiting + away.places == 0);
    assert(common == NULL || (away.waiting == common->waiting && away.places == common->places));
    assert(common == NULL || (list_empty(&common->ring) && !list_empty(&common->node)));
    assert(all.waiting == t->waiting &&
           (all.waiting + all.places > 0 || (list_empty(&t->ring) && list_empty(&t->away))));
}
