/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of the transport mapping. The normal case: a header of eight octets, then a body of its
 * length. What can go wrong is reported as soon as the wrong octet has arrived: the rest of a
 * message that will be refused is not awaited.
 */
#include "sle/tml.h"

#include <assert.h>

static uint32_t get_u32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void put_u32(uint8_t *p, uint32_t v)
{
    for (unsigned i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (24 - 8 * i));
}

static enum sle_tml_verdict judge_header(const uint8_t *p, uint32_t length, uint32_t message_max)
{
    if (p[0] < SLE_TML_PDU || p[0] > SLE_TML_HEARTBEAT || p[1] != 0 || p[2] != 0 || p[3] != 0)
        return SLE_TML_BAD_TYPE;
    if (p[0] == SLE_TML_CONTEXT_MESSAGE && length != SLE_TML_CONTEXT - SLE_TML_HEADER)
        return SLE_TML_BAD_CONTEXT;
    if ((p[0] == SLE_TML_HEARTBEAT) != (length == 0))
        return SLE_TML_BAD_TYPE;
    return length > message_max ? SLE_TML_TOO_LONG : SLE_TML_OK;
}

enum sle_tml_verdict sle_tml_read(struct slice in, uint32_t message_max,
                                  struct sle_tml_message *out)
{
    out->total = 0;
    if (in.len > 0 && (in.data[0] < SLE_TML_PDU || in.data[0] > SLE_TML_HEARTBEAT))
        return SLE_TML_BAD_TYPE;
    if (in.len < SLE_TML_HEADER)
        return SLE_TML_MORE;
    uint32_t length = get_u32(in.data + 4);
    enum sle_tml_verdict verdict = judge_header(in.data, length, message_max);
    if (verdict != SLE_TML_OK)
        return verdict;
    out->type = (enum sle_tml_type)in.data[0];
    out->total = SLE_TML_HEADER + length;
    if (in.len < out->total)
        return SLE_TML_MORE;
    out->body = slice_of(in.data + SLE_TML_HEADER, length);
    if (out->type == SLE_TML_CONTEXT_MESSAGE) {
        const uint8_t *p = out->body.data;
        if (memcmp(p, "ISP1\0\0\0\1", 8) != 0)
            return SLE_TML_BAD_CONTEXT;
        out->heartbeat_s = (uint16_t)(p[8] << 8 | p[9]);
        out->dead_factor = (uint16_t)(p[10] << 8 | p[11]);
    }
    return SLE_TML_OK;
}

void sle_tml_write_header(enum sle_tml_type type, uint32_t length, uint8_t *out)
{
    assert((type == SLE_TML_HEARTBEAT) == (length == 0));
    put_u32(out, (uint32_t)type << 24);
    put_u32(out + 4, length);
}

void sle_tml_write_context(uint16_t heartbeat_s, uint16_t dead_factor, uint8_t *out)
{
    sle_tml_write_header(SLE_TML_CONTEXT_MESSAGE, SLE_TML_CONTEXT - SLE_TML_HEADER, out);
    memcpy(out + 8, "ISP1\0\0\0\1", 8);
    put_u32(out + 16, (uint32_t)heartbeat_s << 16 | dead_factor);
}
