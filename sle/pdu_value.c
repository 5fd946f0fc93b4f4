/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of GET-PARAMETER. Each service has a CHOICE of its own, by the version; the shape of a
 * value is that of its parameter. Where versions differ in the shape, one form is written by the
 * version and all are read: peers are known that use the newest form in every version.
 */
#include <assert.h>

#include "sle/pdu_private.h"

enum { RAF = 1, RCF = 2, ROCF = 4, CLTU = 8, CLTU3 = 16 };

static const struct {
    uint16_t parameter;
    uint8_t service, tag, since; /* version */
} places[] = {
    {SLE_PAR_BUFFER_SIZE, RAF | RCF | ROCF, 0, 1},
    {SLE_PAR_DELIVERY_MODE, RAF | RCF | ROCF, 1, 1},
    {SLE_PAR_LATENCY_LIMIT, RAF | RCF | ROCF, 2, 1},
    {SLE_PAR_REPORTING_CYCLE, RAF, 3, 1},
    {SLE_PAR_REQUESTED_QUALITY, RAF, 4, 1},
    {SLE_PAR_RETURN_TIMEOUT, RAF, 5, 1},
    {SLE_PAR_PERMITTED_QUALITY, RAF, 6, 5},
    {SLE_PAR_MIN_REPORTING_CYCLE, RAF, 7, 5},
    {SLE_PAR_PERMITTED_GVCIDS, RCF | ROCF, 3, 1},
    {SLE_PAR_REPORTING_CYCLE, RCF, 4, 1},
    {SLE_PAR_REQUESTED_GVCID, RCF, 5, 1},
    {SLE_PAR_RETURN_TIMEOUT, RCF, 6, 1},
    {SLE_PAR_MIN_REPORTING_CYCLE, RCF, 7, 5},
    {SLE_PAR_PERMITTED_WORDS, ROCF, 4, 1},
    {SLE_PAR_PERMITTED_TC_VCIDS, ROCF, 5, 1},
    {SLE_PAR_PERMITTED_UPDATES, ROCF, 6, 1},
    {SLE_PAR_REPORTING_CYCLE, ROCF, 7, 1},
    {SLE_PAR_REQUESTED_GVCID, ROCF, 8, 1},
    {SLE_PAR_REQUESTED_WORD, ROCF, 9, 1},
    {SLE_PAR_REQUESTED_TC_VCID, ROCF, 10, 1},
    {SLE_PAR_REQUESTED_UPDATE, ROCF, 11, 1},
    {SLE_PAR_RETURN_TIMEOUT, ROCF, 12, 1},
    {SLE_PAR_MIN_REPORTING_CYCLE, ROCF, 13, 5}, /* 7 in the book, which is taken */
    {SLE_PAR_ACQUISITION_LENGTH, CLTU, 0, 4},
    {SLE_PAR_BIT_LOCK_REQUIRED, CLTU, 1, 4},
    {SLE_PAR_CLCW_GVCID, CLTU, 2, 4},
    {SLE_PAR_CLCW_CHANNEL, CLTU, 3, 4},
    {SLE_PAR_DELIVERY_MODE, CLTU, 4, 4},
    {SLE_PAR_EXPECTED_SLDU, CLTU, 5, 4},
    {SLE_PAR_EXPECTED_EVENT, CLTU, 6, 4},
    {SLE_PAR_MAXIMUM_SLDU, CLTU, 7, 4},
    {SLE_PAR_MINIMUM_DELAY, CLTU, 8, 4},
    {SLE_PAR_MODULATION_FREQUENCY, CLTU, 9, 4},
    {SLE_PAR_MODULATION_INDEX, CLTU, 10, 4},
    {SLE_PAR_NOTIFICATION_MODE, CLTU, 11, 4},
    {SLE_PAR_PLOP1_IDLE_LENGTH, CLTU, 12, 4},
    {SLE_PAR_PLOP_IN_EFFECT, CLTU, 13, 4},
    {SLE_PAR_PROTOCOL_ABORT_MODE, CLTU, 14, 4},
    {SLE_PAR_REPORTING_CYCLE, CLTU, 15, 4},
    {SLE_PAR_RETURN_TIMEOUT, CLTU, 16, 4},
    {SLE_PAR_RF_AVAILABLE_REQUIRED, CLTU, 17, 4},
    {SLE_PAR_SUBCARRIER_RATIO, CLTU, 18, 4},
    {SLE_PAR_MIN_REPORTING_CYCLE, CLTU, 19, 5},
    {SLE_PAR_BIT_LOCK_REQUIRED, CLTU3, 0, 1},
    {SLE_PAR_EXPECTED_SLDU, CLTU3, 1, 1},
    {SLE_PAR_EXPECTED_EVENT, CLTU3, 2, 1},
    {SLE_PAR_SUBCARRIER_RATIO, CLTU3, 3, 1},
    {SLE_PAR_DELIVERY_MODE, CLTU3, 4, 1},
    {SLE_PAR_MAXIMUM_SLDU, CLTU3, 5, 1},
    {SLE_PAR_MODULATION_FREQUENCY, CLTU3, 6, 1},
    {SLE_PAR_MODULATION_INDEX, CLTU3, 7, 1},
    {SLE_PAR_PLOP_IN_EFFECT, CLTU3, 8, 1},
    {SLE_PAR_REPORTING_CYCLE, CLTU3, 9, 1},
    {SLE_PAR_RETURN_TIMEOUT, CLTU3, 10, 1},
    {SLE_PAR_RF_AVAILABLE_REQUIRED, CLTU3, 11, 1},
};
enum { PLACES = sizeof places / sizeof places[0] };

static unsigned column(const struct sle_dialect *d)
{
    switch (d->service) {
    case SLE_RAF:
        return RAF;
    case SLE_RCF:
        return RCF;
    case SLE_ROCF:
        return ROCF;
    case SLE_FCLTU:
        return d->version <= 3 ? CLTU3 : CLTU;
    }
    return 0;
}

bool sle_parameter_exists(const struct sle_dialect *d, uint32_t parameter)
{
    unsigned c = column(d);
    for (size_t i = 0; i < PLACES; i++)
        if (places[i].parameter == parameter && (places[i].service & c) != 0 &&
            places[i].since <= d->version)
            return true;
    return false;
}

static uint32_t place_tag(const struct sle_dialect *d, uint32_t parameter)
{
    unsigned c = column(d);
    for (size_t i = 0; i < PLACES; i++)
        if (places[i].parameter == parameter && (places[i].service & c) != 0)
            return 0xa0u + places[i].tag;
    return 0;
}

/* One alternative is NULL, the other one a number. */
static void code_number_or_none(struct ber *b, struct sle_value *v, uint32_t number, uint32_t none)
{
    v->none = ber_choice(b, v->none ? none : number) == none;
    if (v->none)
        ber_null(b, none);
    else
        ber_u32(b, number, &v->number, 0, UINT32_MAX);
}

static void code_bits(struct ber *b, uint32_t tag, uint32_t *set, unsigned max)
{
    struct ber_mark mark = ber_open(b, tag);
    for (uint32_t i = 0; b->writing && i <= max; i++)
        if ((*set >> i & 1) != 0)
            ber_u32(b, BER_INTEGER, &i, 0, max);
    while (!b->writing && ber_more(b)) {
        uint32_t i = 0;
        ber_u32(b, BER_INTEGER, &i, 0, max);
        *set |= 1u << i;
    }
    ber_close(b, mark);
}

static void code_tc_vcid_set(struct ber *b, struct sle_value *v)
{
    v->none = ber_choice(b, v->none ? 0x80 : 0xa1) == 0x80;
    if (v->none) {
        ber_null(b, 0x80);
        return;
    }
    struct ber_mark mark = ber_open(b, 0xa1);
    for (uint32_t i = 0; b->writing && i < 64; i++)
        if ((v->tc_vcids >> i & 1) != 0)
            ber_u32(b, BER_INTEGER, &i, 0, 63);
    while (!b->writing && ber_more(b)) {
        uint32_t i = 0;
        ber_u32(b, BER_INTEGER, &i, 0, 63);
        v->tc_vcids |= UINT64_C(1) << i;
    }
    ber_close(b, mark);
}

/* Up to version 4 a CHOICE with "undefined" around it. */
static void code_requested_tc_vcid(struct ber *b, const struct sle_dialect *d, struct sle_value *v)
{
    if (d->version >= 5) {
        pdu_code_tc_vcid(b, &v->tc_vcid);
        return;
    }
    v->none = ber_choice(b, v->none ? 0x81 : 0xa0) == 0x81;
    if (v->none) {
        ber_null(b, 0x81);
        return;
    }
    struct ber_mark mark = ber_open(b, 0xa0);
    pdu_code_tc_vcid(b, &v->tc_vcid);
    ber_close(b, mark);
}

/* GvcId itself, or CHOICE { [0] GvcId, [1] NULL }. */
static void code_gvcid_or_none(struct ber *b, struct sle_value *v, bool choice)
{
    uint32_t tag = ber_choice(b, v->none ? 0x81 : choice ? 0xa0 : BER_SEQUENCE);
    v->none = tag == 0x81;
    if (v->none)
        ber_null(b, tag);
    else
        pdu_code_gvcid(b, tag == 0xa0 ? 0xa0 : BER_SEQUENCE, &v->gvcid);
}

static void code_channel(struct ber *b, const struct sle_dialect *d, struct sle_value *v)
{
    uint32_t tag = ber_choice(b, v->none ? 0x81 : d->version >= 5 ? 0x80 : BER_VISIBLE);
    v->none = tag == 0x81;
    if (v->none)
        ber_null(b, tag);
    else
        ber_text(b, tag == 0x80 ? 0x80 : BER_VISIBLE, v->text, 1, sizeof v->text, true);
}

static bool same_master(struct sle_gvcid a, struct sle_gvcid b)
{
    return a.scid == b.scid && a.version == b.version;
}

/* One MasterChannelComposition for those of a master that come one behind the other. */
static size_t write_master(struct ber *b, const struct sle_value *v, size_t i)
{
    struct sle_gvcid first = v->gvcids[i];
    struct ber_mark mark = ber_open(b, BER_SEQUENCE);
    pdu_code_master(b, &first);
    if (first.vcid == SLE_MASTER) {
        ber_null(b, 0x80);
        i++;
    } else {
        struct ber_mark list = ber_open(b, 0xa1);
        for (; i < v->gvcid_count && same_master(first, v->gvcids[i]) &&
               v->gvcids[i].vcid != SLE_MASTER;
             i++) {
            uint32_t vcid = v->gvcids[i].vcid;
            ber_u32(b, BER_INTEGER, &vcid, 0, 63);
        }
        ber_close(b, list);
    }
    ber_close(b, mark);
    return i;
}

static void code_gvcid_set(struct ber *b, const struct sle_dialect *d, struct sle_value *v)
{
    uint32_t set = ber_choice(b, d->version >= 5 ? BER_SET : BER_SEQUENCE);
    struct ber_mark mark = ber_open(b, set == BER_SET ? BER_SET : BER_SEQUENCE);
    for (size_t i = 0; b->writing && i < v->gvcid_count;)
        i = write_master(b, v, i);
    if (!b->writing && !b->bad) {
        struct sle_gvcid g;
        v->gvcid_set = reader_take(&b->r, reader_left(&b->r));
        struct sle_gvcids it = {.rest = v->gvcid_set};
        while (sle_gvcids_next(&it, &g))
            v->gvcid_count++;
        if (it.bad)
            ber_fail(b);
    }
    ber_close(b, mark);
}

static struct slice unread(const struct ber *b)
{
    return slice_of(b->r.p, reader_left(&b->r));
}

/* Opens the next master: itself to *out (true), or its list. */
static bool open_master(struct sle_gvcids *it, struct sle_gvcid *out)
{
    struct ber b = ber_reader(it->rest);
    struct ber_mark mark = ber_open(&b, BER_SEQUENCE);
    pdu_code_master(&b, &it->master);
    it->master.vcid = SLE_MASTER;
    bool whole = ber_choice(&b, 0) == 0x80;
    if (whole)
        ber_null(&b, 0x80);
    else
        ber_octets(&b, 0xa1, &it->list, 0, SIZE_MAX);
    ber_close(&b, mark);
    it->bad = b.bad;
    it->rest = unread(&b);
    *out = it->master;
    return whole && !it->bad;
}

bool sle_gvcids_next(struct sle_gvcids *it, struct sle_gvcid *out)
{
    while (!it->bad && (it->list.len > 0 || it->rest.len > 0)) {
        if (it->list.len > 0) {
            struct ber b = ber_reader(it->list);
            *out = it->master;
            CODE_ENUM(&b, out->vcid, 63);
            it->bad = b.bad;
            it->list = unread(&b);
            return !it->bad;
        }
        if (open_master(it, out))
            return true;
    }
    return false;
}

static void code_value(struct ber *b, const struct sle_dialect *d, struct sle_value *v)
{
    switch (v->parameter) {
    case SLE_PAR_LATENCY_LIMIT:
        code_number_or_none(b, v, 0x80, 0x81);
        break;
    case SLE_PAR_REPORTING_CYCLE:
        code_number_or_none(b, v, 0x81, 0x80);
        break;
    case SLE_PAR_PERMITTED_QUALITY:
        code_bits(b, BER_SET, &v->set, 2);
        break;
    case SLE_PAR_PERMITTED_WORDS:
        code_bits(b, BER_SEQUENCE, &v->set, 2);
        break;
    case SLE_PAR_PERMITTED_UPDATES:
        code_bits(b, BER_SEQUENCE, &v->set, 1);
        break;
    case SLE_PAR_PERMITTED_TC_VCIDS:
        code_tc_vcid_set(b, v);
        break;
    case SLE_PAR_REQUESTED_TC_VCID:
        code_requested_tc_vcid(b, d, v);
        break;
    case SLE_PAR_PERMITTED_GVCIDS:
        code_gvcid_set(b, d, v);
        break;
    case SLE_PAR_REQUESTED_GVCID: /* RCF has the CHOICE from version 5 on, ROCF up to version 4 */
        code_gvcid_or_none(b, v, (d->service == SLE_RCF) == (d->version >= 5));
        break;
    case SLE_PAR_CLCW_GVCID:
        code_gvcid_or_none(b, v, d->version >= 5);
        break;
    case SLE_PAR_CLCW_CHANNEL:
        code_channel(b, d, v);
        break;
    default:
        ber_u32(b, BER_INTEGER, &v->number, 0, UINT32_MAX);
    }
}

/* The tag and the name inside must agree. */
void pdu_code_value(struct ber *b, const struct sle_dialect *d, struct sle_value *v)
{
    assert(!b->writing || sle_parameter_exists(d, v->parameter));
    uint32_t tag = ber_choice(b, place_tag(d, v->parameter));
    if (tag == 0) {
        ber_fail(b);
        return;
    }
    struct ber_mark mark = ber_open(b, tag);
    ber_u32(b, BER_INTEGER, &v->parameter, 0, UINT16_MAX);
    if (!b->bad && place_tag(d, v->parameter) != tag)
        ber_fail(b);
    code_value(b, d, v);
    ber_close(b, mark);
}
