/* SPDX-License-Identifier: Apache-2.0 */
/* START and STATUS-REPORT, which each service has its own way; SYNC-NOTIFY of the return services.
 */
#include <assert.h>

#include "sle/pdu_private.h"

static void code_control_word(struct ber *b, struct sle_start *s)
{
    static const uint32_t words[] = {0x80, 0xa1, 0x82};
    assert(!b->writing || s->word <= SLE_NOT_CLCW);
    uint32_t tag = ber_choice(b, words[b->writing ? s->word : 0]);
    s->word = tag == 0xa1 ? SLE_CLCW : tag == 0x82 ? SLE_NOT_CLCW : SLE_ALL_WORDS;
    if (tag != 0xa1) {
        s->tc_vcid = SLE_TC_VC_NONE;
        ber_null(b, words[s->word]);
        return;
    }
    struct ber_mark mark = ber_open(b, tag);
    pdu_code_tc_vcid(b, &s->tc_vcid);
    ber_close(b, mark);
}

void pdu_code_start(struct ber *b, const struct sle_dialect *d, struct sle_start *s)
{
    if (d->service == SLE_FCLTU) {
        ber_u32(b, BER_INTEGER, &s->first_cltu, 0, UINT32_MAX);
        return;
    }
    pdu_code_when(b, d, &s->start);
    pdu_code_when(b, d, &s->stop);
    if (d->service == SLE_RAF)
        CODE_ENUM(b, s->quality, SLE_ALL_FRAMES);
    else
        pdu_code_gvcid(b, BER_SEQUENCE, &s->gvcid);
    if (d->service == SLE_ROCF) {
        code_control_word(b, s);
        CODE_ENUM(b, s->update, SLE_CHANGE_BASED);
    }
}

void pdu_code_start_return(struct ber *b, const struct sle_dialect *d, struct sle_pdu *p)
{
    if (d->service != SLE_FCLTU) {
        if (pdu_code_result(b, &p->diag, POSITIVE_NULL))
            ber_null(b, POSITIVE_NULL);
        return;
    }
    if (!pdu_code_result(b, &p->diag, POSITIVE_OPEN))
        return;
    struct ber_mark mark = ber_open(b, POSITIVE_OPEN);
    pdu_code_time(b, d, &p->u.start_return.radiation_start);
    pdu_code_when(b, d, &p->u.start_return.radiation_stop);
    ber_close(b, mark);
}

void pdu_code_status(struct ber *b, const struct sle_dialect *d, struct sle_status *s)
{
    if (d->service == SLE_RAF)
        ber_u32(b, BER_INTEGER, &s->good, 0, UINT32_MAX);
    if (d->service == SLE_ROCF)
        ber_u32(b, BER_INTEGER, &s->processed, 0, UINT32_MAX);
    ber_u32(b, BER_INTEGER, &s->delivered, 0, UINT32_MAX);
    CODE_ENUM(b, s->locks.frame, SLE_LOCK_UNKNOWN);
    CODE_ENUM(b, s->locks.symbol, SLE_LOCK_UNKNOWN);
    CODE_ENUM(b, s->locks.subcarrier, SLE_LOCK_UNKNOWN);
    CODE_ENUM(b, s->locks.carrier, SLE_LOCK_UNKNOWN);
    ber_u32(b, BER_INTEGER, &s->production, 0, SLE_HALTED);
}

static void code_loss(struct ber *b, const struct sle_dialect *d, struct sle_sync *s)
{
    struct ber_mark mark = ber_open(b, 0xa0);
    pdu_code_time(b, d, &s->time);
    CODE_ENUM(b, s->locks.carrier, SLE_LOCK_UNKNOWN);
    CODE_ENUM(b, s->locks.subcarrier, SLE_LOCK_UNKNOWN);
    CODE_ENUM(b, s->locks.symbol, SLE_LOCK_UNKNOWN);
    ber_close(b, mark);
}

void pdu_code_sync(struct ber *b, const struct sle_dialect *d, struct sle_sync *s)
{
    static const uint32_t kinds[] = {0xa0, 0x81, 0x82, 0x83};
    uint32_t tag = ber_choice(b, kinds[b->writing ? s->kind : 0]);
    switch (tag) {
    case 0xa0:
        s->kind = SLE_SYNC_LOSS;
        code_loss(b, d, s);
        break;
    case 0x81:
        s->kind = SLE_SYNC_PRODUCTION;
        ber_u32(b, tag, &s->production, 0, SLE_HALTED);
        break;
    case 0x82:
        s->kind = SLE_SYNC_BACKLOG;
        ber_null(b, tag);
        break;
    case 0x83:
        s->kind = SLE_SYNC_END;
        ber_null(b, tag);
        break;
    default:
        ber_fail(b);
    }
}
