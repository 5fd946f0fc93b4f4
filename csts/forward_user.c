/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forward Frame at the user: START, frames one by one or in forward buffers, STOP. The returns and
 * notifications come as those of other procedures do (user.c). Each element of a forward buffer has
 * credentials of its own, all with the same octets.
 */
#include <assert.h>
#include <stdlib.h>

#include "csts/forward_private.h"

enum { ELEMENT_ROOM = 512 }; /* octets of a PROCESS-DATA beyond its frame */

static struct csts_procedure prime(void)
{
    return (struct csts_procedure){.type = csts_known_oid(CSTS_BUFFERED_DATA_PROCESSING),
                                   .role = CSTS_PRIME};
}

int csts_start_forward(struct csts_link *l, tick now)
{
    struct csts_pdu p = {.kind = CSTS_PDU_START, .procedure = prime()};
    const int e = assoc_invoke(l, &p, CSTS_PDU_START_RETURN, now);
    if (e >= 0)
        l->forward_id = (uint32_t)e;
    return e;
}

int csts_stop_forward(struct csts_link *l, tick now)
{
    struct csts_pdu p = {.kind = CSTS_PDU_STOP, .procedure = prime()};
    const int e = assoc_invoke(l, &p, CSTS_PDU_STOP_RETURN, now);
    if (e >= 0)
        l->forwards = false;
    return e;
}

static struct csts_pdu unit_pdu(struct csts_link *l, const struct csts_unit *u, uint8_t *ext,
                                size_t room)
{
    struct csts_pdu p = {
        .kind = CSTS_PDU_PROCESS_DATA, .invoke_id = l->next_id++ & INT32_MAX, .procedure = prime()};
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
    if (!l->isp.initiator || l->state != CSTS_BOUND || !l->forwards)
        return HELIO_ESTOPPED;
    if (count == 0 || room_of(units, count) > l->csts->isp.config.tml.message_max)
        return HELIO_EINVAL;
    if (count > 1)
        return send_buffer(l, units, count, now);
    struct csts_pdu p = unit_pdu(l, units, ext, sizeof ext);
    return assoc_send(l, &p, now);
}
