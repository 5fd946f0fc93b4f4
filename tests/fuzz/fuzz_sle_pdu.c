/* SPDX-License-Identifier: Apache-2.0 */
/* Each PDU of each service, version and speaker: the first octet chooses. What can be read can be
 * written, and what is written is read as the same octets. */
#include <assert.h>

#include "sle/pdu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void walk_buffer(const struct sle_dialect *d, struct slice rest)
{
    struct slice all = rest;
    struct sle_item it;
    while (rest.len > 0 && sle_buffer_next(d, &rest, &it) == SLE_PDU_OK) {
        assert(it.is_sync || (it.data.len >= 1 && it.data.data >= all.data &&
                              it.data.data + it.data.len <= all.data + all.len));
        assert(it.is_sync ||
               (it.continuity >= -1 && it.continuity <= 16777215 && it.antenna.len >= 1));
        assert(rest.data + rest.len == all.data + all.len);
    }
}

/* A set that was read, as one to be written. */
static size_t copy_set(struct sle_value *v, struct sle_gvcid *out, size_t room)
{
    struct sle_gvcids it = {.rest = v->gvcid_set};
    size_t n = 0;
    struct sle_gvcid g;
    while (sle_gvcids_next(&it, &g))
        if (n < room)
            out[n++] = g;
    assert(!it.bad);
    return n;
}

static void write_again(const struct sle_dialect *d, struct sle_pdu *p)
{
    static uint8_t once[1 << 18], twice[1 << 18];
    static struct sle_gvcid set[SLE_GVCIDS_MAX];
    struct sle_pdu q;
    if (p->kind == SLE_PDU_BIND &&
        sle_siid_parse(p->u.bind.instance.text, &p->u.bind.instance, NULL, NULL) != HELIO_OK)
        return; /* read, but none of ours */
    if (p->kind == SLE_PDU_GET_RETURN && p->diag == SLE_OK) {
        p->u.value.gvcid_count = copy_set(&p->u.value, set, SLE_GVCIDS_MAX);
        p->u.value.gvcids = set;
    }
    size_t n = sle_pdu_write(d, p, once, sizeof once, NULL);
    assert(n > 0 && n <= sle_pdu_room(p) && sle_pdu_read(d, slice_of(once, n), &q) == SLE_PDU_OK &&
           q.kind == p->kind);
    if (q.kind == SLE_PDU_GET_RETURN && q.diag == SLE_OK)
        q.u.value.gvcids = set;
    assert(sle_pdu_write(d, &q, twice, sizeof twice, NULL) == n && memcmp(once, twice, n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const enum sle_service services[] = {SLE_RAF, SLE_RCF, SLE_ROCF, SLE_FCLTU};
    if (len < 1)
        return 0;
    struct sle_dialect d = {.service = services[data[0] & 3],
                            .speaker = (data[0] & 4) != 0 ? SLE_FROM_PROVIDER : SLE_FROM_USER,
                            .version = (uint8_t)(2 + (data[0] >> 3 & 3)),
                            .any_bind = (data[0] & 0x20) != 0};
    struct sle_pdu p;
    if (sle_pdu_read(&d, slice_of(data + 1, len - 1), &p) != SLE_PDU_OK)
        return 0;
    if (p.kind == SLE_PDU_BUFFER)
        walk_buffer(&d, p.u.buffer);
    else if (!d.any_bind)
        write_again(&d, &p);
    return 0;
}
