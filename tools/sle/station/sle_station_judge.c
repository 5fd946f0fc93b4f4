/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a frame itself tells of its reception: its check value (frame error control field) says
 * whether it is good or erred, the counts of its virtual channel how many are missing before it.
 *
 * The header of an erred frame is not believed. But it was received: of the frames that a gap in
 * the counts announces, erred ones are not missing. Which channel an erred frame was of is not
 * known; the account is right for all channels together.
 *
 * What can go wrong: there are more channels than are followed: the counts of the others tell
 * nothing. Counts that go back (the spacecraft began anew) are one missing frame, as the standard
 * has it for an unknown number.
 */
#include <assert.h>
#include <stdlib.h>

#include "frames/fecf.h"
#include "tools/sle/station/sle_station.h"

enum { FOLLOWED_MAX = 1024, SLOTS = 2 * FOLLOWED_MAX, USLP_COUNT_AT = 7, AOS_BACK = 1 << 23 };

struct followed {
    uint32_t key; /* of its channel; 0: free */
    uint64_t next;
};

struct judge {
    struct followed slots[SLOTS];
    size_t len;
    uint64_t erred; /* frames that a later gap announces */
};

/* A virtual channel and the count of this frame in it, modulo `modulus`. */
struct counted {
    uint32_t key;
    uint64_t count, modulus;
};

static bool read_uslp(struct slice f, struct counted *out)
{
    const unsigned octets = f.len > USLP_COUNT_AT && (f.data[3] & 1) == 0 ? f.data[6] & 7u : 0;
    uint64_t count = 0;
    if (octets == 0 || f.len < USLP_COUNT_AT + octets)
        return false;
    for (unsigned k = 0; k < octets; k++)
        count = count << 8 | f.data[USLP_COUNT_AT + k];
    out->count = count;
    out->modulus = UINT64_C(1) << 8 * octets;
    /* Expedited frames have counts of their own (732.1-B 4.1.2.9). */
    out->key |= (f.data[6] & 0x80u) != 0 ? UINT32_C(1) << 31 : 0;
    return true;
}

/* False: it has none. */
static bool read_count(struct slice f, struct counted *out)
{
    struct sle_gvcid g;
    if (f.len < 6 || !sle_gvcid_of_frame(f, &g))
        return false;
    out->key = (uint32_t)(g.version + 1) << 24 | (uint32_t)g.scid << 8 | g.vcid;
    if (g.version == 0) {
        out->count = f.data[3];
        out->modulus = 256;
        return true;
    }
    if (g.version == 1) {
        out->count = (uint64_t)f.data[2] << 16 | (uint64_t)f.data[3] << 8 | f.data[4];
        out->modulus = 1 << 24;
        return true;
    }
    return read_uslp(f, out);
}

/* NULL: there are too many. */
static struct followed *find_followed(struct judge *j, uint32_t key)
{
    size_t at = key * UINT32_C(2654435761) % SLOTS;
    while (j->slots[at].key != 0 && j->slots[at].key != key)
        at = (at + 1) % SLOTS;
    struct followed *f = &j->slots[at];
    if (f->key == 0 && j->len == FOLLOWED_MAX)
        return NULL;
    return f;
}

static uint64_t count_gap(struct judge *j, const struct counted *c)
{
    struct followed *f = find_followed(j, c->key);
    if (f == NULL)
        return 0;
    const uint64_t gap = f->key == 0 ? 0 : (c->count + c->modulus - f->next) % c->modulus;
    j->len += f->key == 0;
    f->key = c->key;
    f->next = (c->count + 1) % c->modulus;
    if (c->modulus > 256 && gap >= c->modulus / 2)
        return 1;
    const uint64_t erred = gap < j->erred ? gap : j->erred;
    j->erred -= erred;
    return gap - erred;
}

static enum sle_quality check_value(const struct settings_source *c, struct slice f)
{
    if (c->fecf == 0)
        return SLE_GOOD;
    if (c->fecf != 2 || f.len <= 2)
        return c->fecf == 2 ? SLE_ERRED : SLE_UNDETERMINED;
    return fecf_crc(FECF_INIT, f.data, f.len) == 0 ? SLE_GOOD : SLE_ERRED;
}

int judge_open(struct source *x)
{
    if (x->config->kind == SOURCE_GENERATOR ||
        (!x->config->modem && !x->config->vc_counts && x->config->fecf == 0))
        return 0;
    x->judge = calloc(1, sizeof *x->judge);
    return x->judge == NULL ? HELIO_ENOMEM : 0;
}

void judge_end(struct source *x)
{
    free(x->judge);
    x->judge = NULL;
}

void judge_frame(struct source *x)
{
    struct judge *j = x->judge;
    struct counted c;
    assert(j != NULL);
    if (!x->quality_said)
        x->frame.quality = check_value(x->config, x->frame.data);
    x->erred += x->frame.quality == SLE_ERRED;
    if (x->missing_said)
        x->missing += (uint64_t)x->frame.continuity;
    if (!x->config->vc_counts || x->missing_said)
        return;
    if (x->frame.quality == SLE_ERRED) {
        j->erred++;
        return;
    }
    const uint64_t missing = read_count(x->frame.data, &c) ? count_gap(j, &c) : 0;
    x->missing += missing;
    x->frame.continuity = missing > CONTINUITY_MAX ? CONTINUITY_MAX : (int32_t)missing;
}
