/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checks of a segment before it has any effect: the source address of its peer, if that is
 * checked; the peer's cookie and authentication (RFC 5327). The header extensions of a span are
 * encoded once. Sent segments get them with their header, and the authentication value last. A
 * received segment is checked before any other processing.
 *
 * What can go wrong: another source, or a missing or wrong extension; then the segment has a
 * verdict and no further effect.
 */
#include <assert.h>
#include <string.h>

#include "base/secret.h"
#include "ltp/engine.h"
#include "ltp/sdnv.h"

enum { TAG_AUTH = 0x00, TAG_COOKIE = 0x01 };

static uint8_t *put_extension(uint8_t *p, uint8_t tag, struct slice first, struct slice second)
{
    *p++ = tag;
    p = sdnv_put(p, first.len + second.len);
    memcpy(p, first.data, first.len);
    memcpy(p + first.len, second.data, second.len);
    return p + first.len + second.len;
}

bool ltp_auth_valid(const struct ltp_span *s)
{
    const struct ltp_auth *a = s->auth;
    if (s->cookie_len > LTP_COOKIE_MAX ||
        (s->cookie_len > 0 && s->segment_max < LTP_SEGMENT_COOKIE_MIN))
        return false;
    if (a == NULL)
        return true;
    return a->key_id_len <= LTP_KEY_ID_MAX && a->value_len > 0 &&
           a->value_len <= LTP_AUTH_VALUE_MAX &&
           s->segment_max >= LTP_SEGMENT_AUTH_MIN + (uint32_t)a->value_len;
}

bool ltp_auth_same(const struct ltp_span *a, const struct ltp_span *b)
{
    return a->auth == b->auth && a->cookie_len == b->cookie_len &&
           memcmp(a->cookie, b->cookie, a->cookie_len) == 0;
}

void ltp_auth_set(struct peer *p)
{
    const struct ltp_auth *a = p->span.auth;
    const struct slice none = slice_of("", 0);
    uint8_t *at = p->ext;
    p->ext_count = 0;
    p->tail_len = 0;
    if (a != NULL) {
        uint8_t suite = (uint8_t)a->suite;
        at = put_extension(at, TAG_AUTH, slice_of(&suite, 1), slice_of(a->key_id, a->key_id_len));
        p->ext_count++;
        p->tail_len = 1 + sdnv_len(a->value_len) + a->value_len;
    }
    if (p->span.cookie_len > 0) {
        at = put_extension(at, TAG_COOKIE, slice_of(p->span.cookie, p->span.cookie_len), none);
        p->ext_count++;
    }
    p->ext_len = (uint8_t)(at - p->ext);
    assert(p->ext_len <= sizeof p->ext);
}

void ltp_auth_dress(const struct peer *p, struct ltp_segment *s)
{
    s->header_count = p->ext_count;
    s->headers = slice_of(p->ext, p->ext_len);
    s->trailer_count = p->tail_len > 0;
}

void ltp_auth_seal(const struct peer *p, struct ltp_out *out)
{
    const struct ltp_auth *a = p->span.auth;
    assert(out->head_len + out->data.len + p->tail_len <= out->head_cap);
    memcpy(out->head + out->head_len, out->data.data == NULL ? out->head : out->data.data,
           out->data.len);
    uint8_t *at = out->head + out->head_len + out->data.len;
    *at++ = TAG_AUTH;
    at = sdnv_put(at, a->value_len);
    if (!a->sign(a->context, slice_of(out->head, (size_t)(at - out->head)), at))
        memset(at, 0, a->value_len);
    out->head_len = (uint32_t)(at - out->head) + a->value_len;
    out->data = slice_of(NULL, 0);
}

/* The peer of a segment: for a session of this engine the peer of the session, else the engine that
 * the segment names. */
static struct peer *find_owner(struct ltp *l, const struct ltp_segment *s)
{
    bool is_export = s->type == LTP_RS || s->type == LTP_CAS || s->type == LTP_CR;
    struct peer *p = is_export ? NULL : ltp_peer_find(l, s->id.originator);
    if (PORT_LIKELY(p != NULL))
        return p;
    struct session *open = is_export ? ltp_session_find(l, s->id, true) : NULL;
    if (open != NULL)
        return open->peer;
    struct closed *over = ltp_closed_find(l, s->id, is_export);
    if (over != NULL)
        return over->peer;
    return is_export ? ltp_peer_only(l) : NULL;
}

static bool right_source(const struct peer *p, struct slice source)
{
    const struct unconfigured *g = p->unconfigured;
    return g == NULL ? ltp_peer_source(p, source)
                     : slice_equal(source, slice_of(g->source, g->source_len));
}

static bool has_cookie(const struct peer *p, const struct ltp_segment *s)
{
    struct slice at = s->headers, want = slice_of(p->span.cookie, p->span.cookie_len);
    struct extension e;
    while (segment_extension(&at, &e)) {
        if (e.tag == TAG_COOKIE && secret_equal(want.data, want.len, e.value.data, e.value.len))
            return true;
    }
    return false;
}

/* §2.1: the value must be the segment's last extension, so that it covers all the others. */
static enum verdict check_value(const struct peer *p, const struct ltp_segment *s,
                                struct slice segment)
{
    const struct ltp_auth *a = p->span.auth;
    struct slice at = s->headers, tail = s->trailers;
    struct extension e, last = {.tag = 1};
    bool any = false, ours = false;
    while (segment_extension(&at, &e)) {
        if (e.tag != TAG_AUTH)
            continue;
        any = true;
        ours |= e.value.len == 1U + a->key_id_len && e.value.data[0] == (uint8_t)a->suite &&
                memcmp(e.value.data + 1, a->key_id, a->key_id_len) == 0;
    }
    while (segment_extension(&tail, &e)) {
        any |= e.tag == TAG_AUTH;
        last = e;
    }
    if (!any)
        return p->span.auth_mode == LTP_AUTH_REQUIRE ? VERDICT_AUTH_MISSING : VERDICT_OK;
    if (!ours || last.tag != TAG_AUTH || last.value.len == 0)
        return VERDICT_AUTH_BAD;
    assert(last.value.data + last.value.len == segment.data + segment.len);
    struct slice covered = slice_of(segment.data, segment.len - last.value.len);
    return a->verify(a->context, covered, last.value) ? VERDICT_OK : VERDICT_AUTH_BAD;
}

static enum verdict check_extensions(const struct peer *p, const struct ltp_segment *s,
                                     struct slice segment)
{
    if (p->span.cookie_len > 0 && !has_cookie(p, s))
        return VERDICT_BAD_COOKIE;
    return p->span.auth == NULL ? VERDICT_OK : check_value(p, s, segment);
}

enum verdict ltp_auth_check(struct ltp *l, const struct ltp_segment *s, struct slice segment,
                            struct slice source, struct peer **peer)
{
    struct peer *p = find_owner(l, s);
    bool unknown = p == NULL && segment_is_data(s) && ltp_unconfigured_may(l, s->id.originator);
    if (PORT_UNLIKELY(p != NULL && !right_source(p, source))) {
        *peer = p;
        l->refused_peer = p->span.peer;
        return VERDICT_WRONG_SOURCE;
    }
    if (!unknown && (p == NULL || p->ext_count == 0))
        return VERDICT_OK;
    *peer = p;
    p = unknown ? &l->unconfigured.model.peer : p;
    const enum verdict v = check_extensions(p, s, segment);
    if (PORT_UNLIKELY(v != VERDICT_OK))
        l->refused_peer = unknown ? s->id.originator : p->span.peer;
    return v;
}
