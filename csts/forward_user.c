/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forward Frame at the user: START, frames one by one or in forward buffers, STOP. The returns and
 * notifications come as those of other procedures do (user.c). Each element of a forward buffer has
 * credentials of its own, all with the same octets.
 */
#include <assert.h>
#include <stdlib.h>

#include "csts/forward_private.h"
#include "csts/pdu_private.h"

enum { ELEMENT_ROOM = 512 }; /* octets of a PROCESS-DATA beyond its frame */

static int start(struct csts_link *l, bool sequenced, struct csts_extended extension, tick now)
{
    struct csts_pdu p = {.kind = CSTS_PDU_START,
                         .procedure = assoc_forward_prime(sequenced),
                         .extension = extension};
    const int e = assoc_invoke(l, &p, CSTS_PDU_START_RETURN, now);
    if (e >= 0) {
        l->forward_id = (uint32_t)e;
        l->sequenced = sequenced;
    }
    return e;
}

int csts_start_forward(struct csts_link *l, tick now)
{
    return start(l, false, (struct csts_extended){0}, now);
}

int csts_start_sequence(struct csts_link *l, uint32_t first, tick now)
{
    uint8_t octets[32];
    const struct csts_extended e = {
        true,
        {csts_known_oid(CSTS_SEQUENCE_START),
         slice_of(octets, csts_unit_id_write(first, octets, sizeof octets))}};
    return start(l, true, e, now);
}

int csts_stop_forward(struct csts_link *l, tick now)
{
    struct csts_pdu p = {.kind = CSTS_PDU_STOP, .procedure = assoc_forward_prime(l->sequenced)};
    const int e = assoc_invoke(l, &p, CSTS_PDU_STOP_RETURN, now);
    if (e >= 0)
        l->forwards = false;
    return e;
}

static struct csts_pdu unit_pdu(struct csts_link *l, const struct csts_unit *u, uint8_t *ext,
                                size_t room)
{
    struct csts_pdu p = {.kind = CSTS_PDU_PROCESS_DATA,
                         .invoke_id = l->next_id++ & INT32_MAX,
                         .procedure = assoc_forward_prime(false)};
    p.extension.used = true;
    p.extension.pdv.oid = csts_known_oid(CSTS_PROCESS_DATA);
    p.extension.pdv.data = slice_of(ext, csts_process_ext_write(u->report, ext, room));
    p.u.process.id = u->id;
    p.u.process.data.opaque = u->data;
    return p;
}

static size_t room_of(const struct csts_unit *units, size_t count)
{
    size_t room = 0;
    for (size_t i = 0; i < count; i++)
        room += units[i].data.len + ELEMENT_ROOM;
    return room;
}

static int send_buffer(struct csts_link *l, const struct csts_unit *units, size_t count, tick now)
{
    static const uint8_t blank[52];
    const size_t room = room_of(units, count);
    uint8_t *octets = malloc(room), ext[64];
    size_t at = 0;
    if (octets == NULL)
        return HELIO_ENOMEM;
    for (size_t i = 0; i < count; i++) {
        struct csts_pdu p = unit_pdu(l, &units[i], ext, sizeof ext);
        p.credentials = slice_of(blank, isp1_credentials_len(&l->isp, false));
        const size_t n = csts_element_write(&p, CSTS_PDU_FORWARD_BUFFER, octets + at, room - at);
        assert(n > 0);
        at += n;
    }
    struct csts_pdu p = {.kind = CSTS_PDU_FORWARD_BUFFER, .u.buffer = slice_of(octets, at)};
    const int e = assoc_send(l, &p, now);
    free(octets);
    return e;
}

int csts_send_frames(struct csts_link *l, const struct csts_unit *units, size_t count, tick now)
{
    uint8_t ext[64];
    if (!l->isp.initiator || l->state != CSTS_BOUND || !l->forwards || l->sequenced)
        return HELIO_ESTOPPED;
    if (count == 0 || room_of(units, count) > l->csts->isp.config.tml.message_max)
        return HELIO_EINVAL;
    if (count > 1)
        return send_buffer(l, units, count, now);
    struct csts_pdu p = unit_pdu(l, units, ext, sizeof ext);
    return assoc_send(l, &p, now);
}

int csts_send_unit(struct csts_link *l, const struct csts_unit *u, const struct csts_window *w,
                   tick now)
{
    uint8_t ext[160];
    if (!l->forwards || !l->sequenced)
        return HELIO_ESTOPPED;
    if (room_of(u, 1) > l->csts->isp.config.tml.message_max)
        return HELIO_EINVAL;
    struct csts_pdu p = {.kind = CSTS_PDU_PROCESS_DATA, .procedure = assoc_forward_prime(true)};
    p.extension.used = true;
    p.extension.pdv.oid = csts_known_oid(CSTS_PROCESS_DATA);
    p.extension.pdv.data = slice_of(ext, csts_sequence_ext_write(u->report, w, ext, sizeof ext));
    p.u.process.id = u->id;
    p.u.process.data.opaque = u->data;
    return assoc_invoke(l, &p, CSTS_PDU_PROCESS_DATA_RETURN, now);
}

int csts_reset(struct csts_link *l, uint32_t next, tick now)
{
    uint8_t octets[8];
    struct ber b = ber_writer(octets, sizeof octets);
    struct csts_pdu p = {.kind = CSTS_PDU_EXECUTE_DIRECTIVE,
                         .procedure = assoc_forward_prime(true)};
    if (!l->forwards || !l->sequenced)
        return HELIO_ESTOPPED;
    if (l->awaited_count + 1 >= CSTS_AWAITED_MAX) /* the acknowledgement, and the return */
        return HELIO_EAGAIN;
    ber_u32(&b, BER_INTEGER, &next, 0, UINT32_MAX);
    p.u.directive = (struct csts_directive){
        .id = csts_known_oid(CSTS_SEQUENCE_RESET),
        .kind = CSTS_QUALIFIER_VALUE,
        .pdv = {csts_known_oid(CSTS_SEQUENCE_UNIT_ID), slice_of(octets, written_of(&b))}};
    const int e = assoc_invoke(l, &p, CSTS_PDU_DIRECTIVE_ACKNOWLEDGE, now);
    if (e >= 0)
        assoc_await(l, CSTS_PDU_DIRECTIVE_RETURN, (uint32_t)e, now);
    return e;
}
