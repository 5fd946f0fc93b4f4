/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring of keys: which key serves an operation, and initialization vectors, of which none is made
 * twice. What can go wrong: no key is valid for the peer at the time; its uses are exhausted.
 */
#include "bp/codec/security/security_key_private.h"

bool security_key_mark(const struct security_key *k, const struct crypto *crypto, uint64_t *out)
{
    static const char text[] = "helio key mark";
    uint8_t mac[CRYPTO_MAC_MAX];
    const struct slice label = slice_of(text, sizeof text - 1);
    const struct slice uri = slice_of(k->uri, strlen(k->uri));
    const struct slice secret = slice_of(k->secret, k->secret_len);
    const struct slice der = slice_of(k->der, k->der_len);
    const struct slice *open = uri.len > 0 ? &uri : der.len > 0 ? &der : NULL;
    if (!crypto->mac(crypto->self, 256, open != NULL ? label : secret, open != NULL ? open : &label,
                     1, mac))
        return false;
    memcpy(out, mac, sizeof *out);
    return true;
}

uint32_t security_sender_of(const struct eid *node)
{
    if (node->scheme == EID_IPN && node->allocator == 0 && node->node <= UINT32_MAX)
        return (uint32_t)node->node;
    char text[EID_TEXT_MAX];
    uint32_t hash = 2166136261u; /* FNV-1a */
    const size_t len = eid_text(node, text);
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (uint8_t)text[i]) * 16777619u;
    return hash;
}

/* Has it the part that a source, or the other end, needs? */
static bool has_part(const struct security_key *k, bool source)
{
    const enum key_form form = security_algorithm_form(k->algorithm);
    if (form == FORM_SECRET || form == FORM_BOTH)
        return true;
    if (form == FORM_ANCHORS)
        return !source;
    return source == (form == FORM_SIGNER) ? k->private_key.len > 0
                                           : k->public_key.len > 0 || k->certificates_len > 0;
}

bool security_key_serves(const struct security_key *k, const struct security_want *w)
{
    const enum security_key_use other = w->source ? SECURITY_USE_ACCEPTOR : SECURITY_USE_SOURCE;
    return strcmp(k->id, w->id) == 0 && k->use != other && k->use != SECURITY_USE_NONE &&
           (security_algorithm_services(k->algorithm) & security_service_of(w->type, w->cose)) !=
               0 &&
           has_part(k, w->source);
}

static bool is_usable(const struct security_key *k, const struct security_want *w)
{
    return security_key_serves(k, w) &&
           (k->peers.len == 0 || eid_patterns_match(&k->peers, w->peer)) &&
           w->dtn_ms >= k->from_ms &&
           (k->until_ms == UINT64_MAX || (w->dtn_ms > 0 && w->dtn_ms < k->until_ms));
}

/* Would a source encrypt to its own pair? A private key serves it as well, since its public part is
 * known; but another end of the same id cannot read that. */
static bool is_own(const struct security_key *k, const struct security_want *w)
{
    return w->source && k->private_key.len > 0 &&
           security_algorithm_form(k->algorithm) == FORM_RECIPIENT;
}

/* Is x preferred to y? For equal times the order in the ring decides. */
static bool is_preferred(const struct security_key *x, const struct security_key *y,
                         const struct security_want *w)
{
    if (is_own(x, w) != is_own(y, w))
        return is_own(y, w);
    return x->from_ms != y->from_ms ? x->from_ms > y->from_ms : x < y;
}

struct security_key *security_ring_find(struct security_ring *ring, const struct security_want *w,
                                        size_t i)
{
    struct security_key *last = NULL;
    for (size_t n = 0; n <= i && n < SECURITY_KEY_TRIES; n++) {
        struct security_key *best = NULL;
        for (size_t k = 0; k < ring->len; k++) {
            struct security_key *one = &ring->at[k];
            if ((last == NULL || is_preferred(last, one, w)) &&
                (best == NULL || is_preferred(one, best, w)) && one != last && is_usable(one, w))
                best = one;
        }
        if (best == NULL)
            return NULL;
        last = best;
    }
    return i < SECURITY_KEY_TRIES ? last : NULL;
}

bool security_ring_has(const struct security_ring *ring, const char *id)
{
    for (size_t i = 0; i < ring->len; i++) {
        if (strcmp(ring->at[i].id, id) == 0)
            return true;
    }
    return false;
}

bool security_ring_iv(struct security_ring *ring, struct security_key *k, uint8_t iv[SECURITY_IV])
{
    if (k->uses >= k->uses_max)
        return false;
    if (ring->iv_next >= ring->iv_end &&
        (ring->reserve == NULL || !ring->reserve(ring->self, ring) ||
         ring->iv_next >= ring->iv_end))
        return false;
    if (k->uses >= k->uses_max) /* the reservation counts ahead */
        return false;
    const uint64_t n = ring->iv_next++;
    k->uses++;
    for (unsigned i = 0; i < 4; i++)
        iv[i] = (uint8_t)(ring->sender >> (24 - 8 * i));
    for (unsigned i = 0; i < 8; i++)
        iv[4 + i] = (uint8_t)(n >> (56 - 8 * i));
    return true;
}
