/* SPDX-License-Identifier: Apache-2.0 */
/* Each datagram has a buffer of the maximum size and the set of received bytes. What can go wrong:
 * missing fragments, and overlapping ones: the bytes that arrived first stay. */
#include "tools/analyze/input/reassembly.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/ranges.h"

#define DATAGRAM_MAX 65535
#define PARTS_MAX 64

struct partial {
    bool used;
    uint64_t age;
    uint32_t id;
    struct watch_end from, to;
    struct ranges got;
    size_t whole; /* 0: its last part is not there yet */
    uint8_t *bytes;
};

struct reassembly {
    struct partial at[REASSEMBLY_MAX];
    uint64_t age, lost;
};

struct reassembly *reassembly_new(void)
{
    return calloc(1, sizeof(struct reassembly));
}

void reassembly_free(struct reassembly *r)
{
    for (size_t i = 0; r != NULL && i < REASSEMBLY_MAX; i++) {
        ranges_fini(&r->at[i].got);
        free(r->at[i].bytes);
    }
    free(r);
}

uint64_t reassembly_lost(const struct reassembly *r)
{
    uint64_t waiting = 0;
    for (size_t i = 0; i < REASSEMBLY_MAX; i++)
        waiting += r->at[i].used;
    assert(waiting <= REASSEMBLY_MAX);
    return r->lost + waiting;
}

static bool same_ip(const struct watch_end *a, const struct watch_end *b)
{
    return a->family == b->family && memcmp(a->ip, b->ip, sizeof a->ip) == 0;
}

/* The datagram's place: its own, a free one, or the oldest one's. */
static struct partial *find_place(struct reassembly *r, const struct packet *p)
{
    struct partial *best = &r->at[0];
    for (size_t i = 0; i < REASSEMBLY_MAX; i++) {
        struct partial *a = &r->at[i];
        if (a->used && a->id == p->id && same_ip(&a->from, &p->udp.from) &&
            same_ip(&a->to, &p->udp.to))
            return a;
        if (best->used && (!a->used || a->age < best->age))
            best = a;
    }
    r->lost += best->used;
    best->used = false;
    assert(!best->used && best >= r->at && best < r->at + REASSEMBLY_MAX);
    return best;
}

static int begin_partial(struct reassembly *r, struct partial *a, const struct packet *p)
{
    assert(!a->used);
    if (a->bytes == NULL)
        a->bytes = malloc(DATAGRAM_MAX);
    if (a->bytes == NULL)
        return HELIO_ENOMEM;
    memset(a->bytes, 0, DATAGRAM_MAX);
    ranges_clear(&a->got);
    a->used = true;
    a->age = r->age++;
    a->id = p->id;
    a->from = p->udp.from;
    a->to = p->udp.to;
    a->whole = 0;
    return 0;
}

int reassembly_add(struct reassembly *r, const struct packet *p, struct watch_datagram *out)
{
    size_t end = p->offset + p->udp.len;
    struct partial *a = find_place(r, p);
    if (end > DATAGRAM_MAX || p->udp.len == 0)
        return 0;
    if (!a->used && begin_partial(r, a, p) != 0)
        return HELIO_ENOMEM;
    assert(a->used && a->bytes != NULL && end <= DATAGRAM_MAX);
    assert(p->udp.have <= p->udp.len);
    if (!ranges_meets(&a->got, p->offset, end))
        memcpy(a->bytes + p->offset, p->udp.data, p->udp.have);
    int rc = ranges_add(&a->got, p->offset, end, PARTS_MAX);
    if (rc == HELIO_ENOMEM)
        return rc;
    a->whole = p->more ? a->whole : end;
    if (a->whole == 0 || !ranges_has(&a->got, 0, a->whole))
        return 0;
    assert(a->whole <= DATAGRAM_MAX);
    a->used = false;
    *out = p->udp;
    /* what was not captured of a later part is zero; only heads are read */
    return packet_udp(out, a->bytes, a->whole, a->whole) ? 1 : 0;
}
