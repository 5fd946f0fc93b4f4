/* SPDX-License-Identifier: Apache-2.0 */
/* What only FCLTU has: CLTUs, their fate, notifications. */
#include "sle/pdu_private.h"

void pdu_code_cltu(struct ber *b, const struct sle_dialect *d, struct sle_cltu *c)
{
    uint32_t quiet = !c->notify; /* 0 is "produce" */
    ber_u32(b, BER_INTEGER, &c->id, 0, UINT32_MAX);
    pdu_code_when(b, d, &c->earliest);
    pdu_code_when(b, d, &c->latest);
    ber_u32(b, BER_INTEGER, &c->delay_us, 0, UINT32_MAX);
    ber_u32(b, BER_INTEGER, &quiet, 0, 1);
    ber_octets(b, BER_OCTETS, &c->data, 1, SLE_FRAME_MAX);
    c->notify = quiet == 0;
}

static void code_last_processed(struct ber *b, const struct sle_dialect *d,
                                struct sle_last_processed *l)
{
    l->any = ber_choice(b, l->any ? 0xa1 : 0x80) == 0xa1;
    if (!l->any) {
        ber_null(b, 0x80);
        return;
    }
    struct ber_mark mark = ber_open(b, 0xa1);
    ber_u32(b, BER_INTEGER, &l->id, 0, UINT32_MAX);
    pdu_code_when(b, d, &l->start);
    CODE_ENUM(b, l->status, SLE_CLTU_NOT_STARTED);
    ber_close(b, mark);
}

static void code_last_ok(struct ber *b, const struct sle_dialect *d, struct sle_last_ok *l)
{
    l->any = ber_choice(b, l->any ? 0xa1 : 0x80) == 0xa1;
    if (!l->any) {
        ber_null(b, 0x80);
        return;
    }
    struct ber_mark mark = ber_open(b, 0xa1);
    ber_u32(b, BER_INTEGER, &l->id, 0, UINT32_MAX);
    pdu_code_time(b, d, &l->stop);
    ber_close(b, mark);
}

void pdu_code_async(struct ber *b, const struct sle_dialect *d, struct sle_async *a)
{
    uint32_t tag = ber_choice(b, 0x80 + (uint32_t)a->notification);
    if (tag < 0x80 || tag >= 0x80 + SLE_ASYNC_COUNT) {
        ber_fail(b);
        return;
    }
    a->notification = (enum sle_notification)(tag - 0x80);
    if (a->notification >= SLE_ASYNC_ACTIONS_DONE)
        ber_u32(b, tag, &a->invocation, 0, UINT32_MAX);
    else
        ber_null(b, tag);
    code_last_processed(b, d, &a->last_processed);
    code_last_ok(b, d, &a->last_ok);
    ber_u32(b, BER_INTEGER, &a->production, 0, SLE_UP_HALTED);
    CODE_ENUM(b, a->uplink, SLE_NOMINAL);
}

void pdu_code_cltu_status(struct ber *b, const struct sle_dialect *d, struct sle_status *s)
{
    code_last_processed(b, d, &s->last_processed);
    code_last_ok(b, d, &s->last_ok);
    ber_u32(b, BER_INTEGER, &s->production, 0, SLE_UP_HALTED);
    CODE_ENUM(b, s->uplink, SLE_NOMINAL);
    ber_u32(b, BER_INTEGER, &s->received, 0, UINT32_MAX);
    ber_u32(b, BER_INTEGER, &s->processed, 0, UINT32_MAX);
    ber_u32(b, BER_INTEGER, &s->radiated, 0, UINT32_MAX);
    ber_u32(b, BER_INTEGER, &s->buffer_available, 0, UINT32_MAX);
}
