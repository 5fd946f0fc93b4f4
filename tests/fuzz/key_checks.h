/* SPDX-License-Identifier: Apache-2.0 */
/* What a parsed key promises (bp/codec/security/security_key.h). */
#ifndef TESTS_FUZZ_KEY_CHECKS_H
#define TESTS_FUZZ_KEY_CHECKS_H

#include <stdlib.h>
#include <string.h>

#include "bp/codec/security/security_key.h"

static void require(bool ok)
{
    if (!ok)
        abort();
}

static void check_key(const struct security_key *k)
{
    require(security_key_id_valid(k->id) && k->algorithm < SECURITY_KEY_ALGORITHMS);
    require(k->secret_len <= SECURITY_KEY_MAX && k->der_len <= SECURITY_KEY_DER);
    require(k->secret_len >= 16 || k->der_len > 0 || k->uri[0] != '\0');
    require(k->private_key.at + k->private_key.len <= k->der_len);
    require(k->public_key.at + k->public_key.len <= k->der_len);
    require(k->certificates_len <= COSE_CHAIN_MAX && k->kid_len <= sizeof k->kid);
    require(k->static_kid_len <= sizeof k->static_kid && k->base_iv_len <= SECURITY_IV);
    for (size_t i = 0; i < k->certificates_len; i++)
        require(k->certificates[i].at + k->certificates[i].len <= k->der_len);
    require(k->revoked_len <= COSE_CHAIN_MAX);
    for (size_t i = 0; i < k->revoked_len; i++)
        require(k->revoked[i].at + k->revoked[i].len <= k->der_len);
    require(k->from_ms < k->until_ms && k->uses == 0);
    require(k->uses_max >= 1 && k->uses_max <= SECURITY_USES_MAX);
    require(k->peers.len <= EID_PATTERNS_MAX);
}

/* What a rule finds in a ring of this key alone. */
static void check_ring(const struct security_key *k)
{
    static struct security_ring ring;
    const struct eid peer = eid_ipn(0, 2, 1);
    ring.at[0] = *k;
    ring.len = 1;
    require(security_ring_has(&ring, k->id));
    for (unsigned i = 0; i < 8; i++) {
        const struct security_want want = {.id = k->id,
                                           .type = i & 1 ? SECURITY_BIB : SECURITY_BCB,
                                           .cose = (i & 2) != 0,
                                           .source = (i & 4) != 0,
                                           .peer = &peer,
                                           .dtn_ms = k->from_ms};
        const struct security_key *found = security_ring_find(&ring, &want, 0);
        struct security_cose_key cose;
        require(found == NULL || found == &ring.at[0]);
        require(security_ring_find(&ring, &want, 1) == NULL);
        (void)security_key_cose(k, &cose);
    }
}

/* The outcome of a parser: a key, or a reason and nothing of the key. */
static void check_outcome(int err, const struct security_key *k, const char *why, size_t cap)
{
    static const struct security_key none;
    if (err == 0) {
        check_key(k);
        check_ring(k);
    } else {
        require(why[0] != '\0' && strlen(why) < cap);
        require(memcmp(k, &none, sizeof *k) == 0);
    }
}

#endif
