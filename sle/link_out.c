/* SPDX-License-Identifier: Apache-2.0 */
/* PDUs into the link's queue, and what a host asks of that queue (sle/isp1_out.c). */
#include <assert.h>

#include "sle/engine_private.h"

size_t link_credentials_len(const struct sle_link *l, enum sle_pdu_kind kind)
{
    return isp1_credentials_len(&l->isp, kind == SLE_PDU_BIND || kind == SLE_PDU_BIND_RETURN);
}

int link_send(struct sle_link *l, const struct sle_pdu *pdu, tick now)
{
    static const uint8_t zeros[SLE_CREDENTIALS_MAX];
    struct sle_pdu stamped = *pdu;
    assert(l->state != SLE_ENDED);
    size_t room = SLE_TML_HEADER + sle_pdu_room(pdu), at = 0;
    struct out *o = out_new(room);
    if (o == NULL || !out_reserve(o, room)) {
        out_free(o);
        isp1_end(&l->isp, SLE_END_MEMORY, SLE_STREAM_RESET, SLE_ABORT_UNKNOWN, now);
        return HELIO_ENOMEM;
    }
    stamped.credentials = slice_of(zeros, link_credentials_len(l, pdu->kind));
    size_t n = sle_pdu_write(&l->dialect_out, &stamped, out_place(o) + SLE_TML_HEADER,
                             room - SLE_TML_HEADER, &at);
    assert(n > 0);
    sle_tml_write_header(SLE_TML_PDU, (uint32_t)n, out_place(o));
    if (at > 0)
        o->stamps[o->stamp_count++] = out_place(o) + SLE_TML_HEADER + at;
    out_add(o, SLE_TML_HEADER + n);
    isp1_enqueue(&l->isp, o);
    COUNT(l, pdus_out, 1);
    if (pdu->diag != SLE_OK)
        COUNT(l, returns_negative, 1);
    return HELIO_OK;
}

size_t sle_link_output(struct sle_link *l, struct slice *parts, size_t max, tick now)
{
    return isp1_output(&l->isp, parts, max, now);
}

size_t sle_link_lend(struct sle_link *l, struct slice *parts, size_t max, struct sle_lent *lent,
                     tick now)
{
    return isp1_lend(&l->isp, parts, max, lent, now);
}

void sle_link_wrote(struct sle_link *l, size_t octets, tick now)
{
    isp1_wrote(&l->isp, octets, now);
}

size_t sle_link_backlog(const struct sle_link *l)
{
    return l->isp.queue_octets;
}
