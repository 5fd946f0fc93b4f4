/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filestore requests (4.9) of a transaction that was received, one after the other. The normal
 * case: the host first says that it can perform a request, which the journal keeps, and then
 * performs it, in parts if it is long. After a restart the request of the journal goes on: no
 * earlier one is performed again. What can go wrong: a request fails, then the following ones are
 * not performed; its response would not fit; the journal fails.
 */
#include <assert.h>

#include "cfdp/engine_private.h"

/* Request number `index` of the metadata. False: there is none. */
static bool find_request(const struct cfdp_transaction *t, size_t index, struct cfdp_request *out)
{
    struct slice rest = slice_of(t->options, t->options_len);
    struct cfdp_tlv tlv;
    while (cfdp_tlv_next(&rest, &tlv))
        if (tlv.type == CFDP_TLV_REQUEST && cfdp_request_parse(tlv.value, out) && index-- == 0)
            return true;
    return false;
}

/* 4.9.6: after a failure the others are not performed. */
static bool has_stopped(const struct cfdp_transaction *t)
{
    struct slice rest = slice_of(t->responses, t->responses_len);
    struct cfdp_response r;
    struct cfdp_tlv tlv;
    while (cfdp_tlv_next(&rest, &tlv))
        if (!cfdp_response_parse(tlv.value, &r) || r.status != 0)
            return true;
    return t->condition != CFDP_NO_ERROR || !(t->remote->row.permissions & CFDP_MAY_CHANGE);
}

static void keep_response(struct cfdp_transaction *t, const struct cfdp_request *q, unsigned status)
{
    const struct cfdp_response r = {
        .action = q->action, .first = q->first, .second = q->second, .status = status};
    struct writer w =
        writer_of(t->responses + t->responses_len, sizeof t->responses - t->responses_len);
    cfdp_response_write(&w, &r);
    assert(!w.bad && writer_len(&w) == cfdp_response_len(q));
    t->responses_len += writer_len(&w);
    t->requests_done++;
    t->act_state = 0;
}

/* False: it goes on in another call. */
static bool perform_request(struct cfdp_transaction *t, const struct cfdp_request *q)
{
    const struct cfdp_config *c = &t->e->config;
    char first[CFDP_NAME_MAX + 1] = "", second[CFDP_NAME_MAX + 1] = "";
    unsigned status = CFDP_NOT_PERFORMED;
    struct cfdp_act a = {.action = q->action,
                         .first = first,
                         .second = second,
                         .file_max = t->remote->row.file_max,
                         .state = t->act_state};
    if (!has_stopped(t) && cfdp_copy_name(first, q->first) && cfdp_copy_name(second, q->second))
        status = c->files->act(c->context, t->id, &a);
    if (status != CFDP_ACT_MORE) {
        keep_response(t, q, status & 15);
        return true;
    }
    if (a.state != t->act_state) {
        t->act_state = a.state;
        cfdp_note_request(t);
    }
    return false;
}

void cfdp_perform(struct cfdp_transaction *t, tick now)
{
    struct cfdp_request q;
    assert(t->phase == CFDP_PERFORMING && !t->is_sender && !t->reported);
    while (find_request(t, t->requests_done, &q)) {
        const size_t len = cfdp_response_len(&q);
        if (len == 0 || len > sizeof t->responses - t->responses_len)
            break; /* nothing is done that cannot be reported */
        if (!perform_request(t, &q)) {
            t->at.work = t->phase == CFDP_ENDED ? TICK_NEVER : now;
            cfdp_schedule(t);
            return;
        }
    }
    cfdp_tell_result(t, now);
}
