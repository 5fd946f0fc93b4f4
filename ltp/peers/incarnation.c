/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claims of a receiver, separate for each of its incarnations. An incarnation is one run of the
 * receiver: after a restart, or after it dropped a session without a message, a retransmission
 * opens the session again. Then it claims only the retransmitted data. Claims of both incarnations
 * together would complete a block that neither incarnation has.
 *
 * A report belongs to an incarnation by two properties. Its serial number is near: RFC 5326 §3.2.2
 * lets serial numbers begin at random and then count by one. And within one incarnation claimed
 * data never becomes missing.
 *
 * What can go wrong: a new incarnation begins with serial numbers near the former ones, or
 * continues them. Then it is detected by missing claims, by other content with the same serial
 * number, or by an answer to a checkpoint that was sent after a later report.
 */
#include <assert.h>

#include "base/crc.h"
#include "ltp/engine.h"

static uint64_t first_serial(const struct incarnation *f)
{
    return f->heard.at[0].lo;
}

/* Reports answer checkpoints, so few checkpoints have few reports; some are lost. */
static uint64_t apart_at_most(const struct export_session *e)
{
    uint64_t asked = 4 * (e->cp_last + 1 - e->cp_first);
    return LIFE_NEAR + (asked < LIFE_NEAR_MORE ? asked : LIFE_NEAR_MORE);
}

/* How many reports can an answer have on so many bytes, when claims do not fit one? */
static uint64_t parts_of(const struct export_session *e, uint64_t bytes)
{
    return 2 * bytes / e->s.peer->span.segment_max;
}

/* The reports between that one and this, all of them lost, or still to come. */
static uint64_t parts_between(const struct export_session *e, const struct incarnation *f,
                              const struct heard_when *w, const struct ltp_segment *s)
{
    bool later = s->rpt_serial > w->serial;
    if (w->cp == s->cp_serial && later)
        return s->lower >= w->upper ? parts_of(e, s->lower - w->upper) : 0;
    if (w->cp == s->cp_serial)
        return s->upper <= w->lower ? parts_of(e, w->lower - s->upper) : 0;
    return f->split ? parts_of(e, e->next < e->red_len ? e->next : e->red_len) : 0;
}

static uint32_t kept_of(const struct incarnation *f)
{
    return f->noted < LIFE_WHEN ? f->noted : LIFE_WHEN;
}

static bool serial_is_near(const struct export_session *e, const struct incarnation *f,
                           const struct ltp_segment *s)
{
    uint64_t apart = apart_at_most(e), low = first_serial(f), serial = s->rpt_serial;
    if (serial >= low - (low < apart ? low : apart) &&
        (serial <= f->last || serial - f->last <= apart))
        return true;
    for (uint32_t i = 0; i < kept_of(f); i++) {
        const struct heard_when *w = &f->when[i];
        uint64_t far = serial > w->serial ? serial - w->serial : w->serial - serial;
        if (far <= apart + parts_between(e, f, w, s))
            return true;
    }
    return false;
}

/* Two reports with one serial number have the same content, unless they come from two incarnations.
 */
static uint32_t digest_of(const struct ltp_segment *s)
{
    uint64_t scope[3] = {s->lower, s->upper, s->cp_serial};
    return crc32c(crc32c(0, scope, sizeof scope), s->claims.data, s->claims.len);
}

/* Does the report claim everything in its scope that this incarnation has claimed before? */
static bool claims_still_hold(const struct incarnation *f, const struct ltp_segment *s)
{
    struct slice at = s->claims;
    struct range claim;
    uint64_t had = ranges_bytes_in(&f->claimed, s->lower, s->upper), has = 0;
    while (has < had && segment_claim(s, &at, &claim))
        has += ranges_bytes_in(&f->claimed, claim.lo, claim.hi);
    return has == had;
}

/* A report on a checkpoint that we sent only after we had heard a later report cannot be. */
static bool order_holds(const struct incarnation *f, const struct ltp_segment *s)
{
    for (uint32_t i = 0; i < kept_of(f); i++) {
        if (f->when[i].serial > s->rpt_serial && s->cp_serial > f->when[i].cp_last)
            return false;
    }
    return true;
}

static bool report_fits(const struct export_session *e, const struct incarnation *f,
                        const struct ltp_segment *s)
{
    if (!serial_is_near(e, f, s))
        return false;
    if (s->rpt_serial > f->last)
        return claims_still_hold(f, s);
    if (s->rpt_serial == f->last)
        return digest_of(s) == f->digest;
    return order_holds(f, s);
}

struct incarnation *ltp_incarnation_of(struct export_session *e, const struct ltp_segment *s)
{
    for (uint32_t i = 0; i < e->incarnations; i++) {
        if (report_fits(e, &e->incarnation[i], s))
            return &e->incarnation[i];
    }
    return NULL;
}

bool ltp_incarnation_heard(const struct incarnation *f, uint64_t rpt_serial)
{
    return ranges_has(&f->heard, rpt_serial, rpt_serial + 1);
}

/* The incarnation that answers the latest checkpoints is the present one. */
bool ltp_incarnation_leads(const struct export_session *e, const struct incarnation *f,
                           const struct ltp_segment *s)
{
    return e->incarnations == 0 || f == &e->incarnation[0] || s->cp_serial == 0 ||
           s->cp_serial >= e->incarnation[0].latest_cp;
}

int ltp_incarnation_note(struct incarnation *f, const struct export_session *e,
                         const struct ltp_segment *s)
{
    int rc = ranges_add(&f->heard, s->rpt_serial, s->rpt_serial + 1, REPORTS_MAX);
    if (rc < 0)
        return rc;
    if (s->rpt_serial >= f->last) {
        f->last = s->rpt_serial;
        f->digest = digest_of(s);
    }
    for (uint32_t i = 0; i < kept_of(f); i++)
        f->split |= f->when[i].cp == s->cp_serial;
    f->when[f->noted++ % LIFE_WHEN] =
        (struct heard_when){s->rpt_serial, e->cp_last, s->cp_serial, s->lower, s->upper};
    if (s->cp_serial > f->latest_cp)
        f->latest_cp = s->cp_serial;
    return 0;
}

void ltp_incarnation_fini(struct incarnation *f)
{
    ranges_fini(&f->claimed);
    ranges_fini(&f->heard);
}

static void move_to_front(struct export_session *e, uint32_t from)
{
    struct incarnation moved = e->incarnation[from];
    memmove(&e->incarnation[1], &e->incarnation[0], from * sizeof e->incarnation[0]);
    e->incarnation[0] = moved;
}

void ltp_incarnation_add(struct export_session *e, const struct incarnation *fresh, bool leads)
{
    assert(fresh->heard.len > 0);
    if (e->incarnations == INCARNATIONS_MAX)
        ltp_incarnation_fini(&e->incarnation[--e->incarnations]);
    e->incarnation[e->incarnations++] = *fresh;
    if (leads)
        move_to_front(e, e->incarnations - 1);
}

void ltp_incarnation_lead(struct export_session *e, const struct incarnation *f)
{
    assert(f >= e->incarnation && f < e->incarnation + e->incarnations);
    move_to_front(e, (uint32_t)(f - e->incarnation));
}

bool ltp_incarnation_whole(const struct export_session *e)
{
    for (uint32_t i = 0; i < e->incarnations; i++) {
        if (ranges_has(&e->incarnation[i].claimed, 0, e->red_len))
            return true;
    }
    return e->red_len == 0;
}

size_t ltp_incarnation_memory(const struct export_session *e)
{
    size_t n = 0;
    for (uint32_t i = 0; i < e->incarnations; i++)
        n += e->incarnation[i].claimed.cap + e->incarnation[i].heard.cap;
    return n * sizeof(struct range);
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void ltp_incarnation_check(const struct export_session *e, uint64_t sent)
{
    assert(e->incarnations <= INCARNATIONS_MAX);
    for (uint32_t i = 0; i < e->incarnations; i++) {
        const struct incarnation *f = &e->incarnation[i];
        ranges_check(&f->claimed);
        ranges_check(&f->heard);
        assert(f->heard.len > 0 && f->heard.at[f->heard.len - 1].hi == f->last + 1);
        assert(f->claimed.len == 0 || f->claimed.at[f->claimed.len - 1].hi <= sent);
        assert(f->noted > 0 && f->latest_cp <= e->cp_last);
    }
}
