/* SPDX-License-Identifier: Apache-2.0 */
/* A key file: a key that keeps the promises of its header, or a reason without a part of the
 * secret. */
#include <stdlib.h>
#include <string.h>

#include "bp/codec/security_key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
    for (size_t i = 0; i < k->certificates_len; i++)
        require(k->certificates[i].at + k->certificates[i].len <= k->der_len);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char why[200] = "";
    struct security_key k, none;
    memset(&none, 0, sizeof none);
    if (size > SECURITY_KEY_FILE)
        return 0;
    char *text = malloc(size + 1); /* of its own: reads behind it are found */
    require(text != NULL);
    memcpy(text, data, size);
    if (security_key_parse(text, size, &k, why, sizeof why) == 0) {
        check_key(&k);
        check_ring(&k);
    } else {
        require(why[0] != '\0' && strlen(why) < sizeof why);
        require(memcmp(&k, &none, sizeof k) == 0);
    }
    free(text);
    return 0;
}
