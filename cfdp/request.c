/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of the user (3.5): put, suspend, resume, cancel, prompt and report. What can go wrong:
 * no such remote entity or transaction, names that are too long, limits, a file that cannot be
 * read.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "cfdp/engine_private.h"

static uint8_t max_len(uint8_t a, uint8_t b)
{
    return a > b ? a : b;
}

static void fill_head(struct cfdp_transaction *t, bool unacknowledged)
{
    const struct cfdp_config *c = &t->e->config;
    const uint8_t least = max_len(cfdp_number_len(c->id), cfdp_number_len(t->remote->row.id));
    t->head = (struct cfdp_head){.unacknowledged = unacknowledged,
                                 .crc = t->remote->row.crc,
                                 .large = t->size > UINT32_MAX,
                                 .id_len = c->id_len == 0 ? least : c->id_len,
                                 .sequence_len = c->sequence_len,
                                 .source = c->id,
                                 .sequence = t->id.sequence,
                                 .destination = t->remote->row.id};
}

bool cfdp_take_options(struct cfdp_transaction *t)
{
    struct slice rest = slice_of(t->options, t->options_len);
    struct cfdp_tlv tlv;
    unsigned condition, handler;
    while (cfdp_tlv_next(&rest, &tlv)) {
        if (tlv.type != CFDP_TLV_HANDLER)
            continue;
        if (!cfdp_override_parse(tlv.value, &condition, &handler))
            return false;
        t->handlers[condition & 15] = (uint8_t)handler;
    }
    return rest.len == 0;
}

static bool set_text(char out[CFDP_NAME_MAX + 1], const char *text)
{
    return text == NULL || cfdp_copy_name(out, slice_of(text, strlen(text)));
}

static int fill_put(struct cfdp_transaction *t, const struct cfdp_put *p)
{
    if (!set_text(t->source_name, p->source_name) ||
        !set_text(t->destination_name, p->destination_name))
        return HELIO_EINVAL;
    t->options = malloc(p->options.len == 0 ? 1 : p->options.len);
    if (t->options == NULL)
        return HELIO_ENOMEM;
    if (p->options.len > 0)
        memcpy(t->options, p->options.data, p->options.len);
    t->options_len = p->options.len;
    return cfdp_take_options(t) ? 0 : HELIO_EINVAL;
}

/* The Metadata PDU fits in pdu_max, and the responses to its requests in what is kept of them. */
static bool does_fit(const struct cfdp_transaction *t)
{
    struct slice rest = slice_of(t->options, t->options_len);
    size_t responses = 0;
    struct cfdp_request q;
    struct cfdp_tlv tlv;
    while (cfdp_tlv_next(&rest, &tlv))
        if (tlv.type == CFDP_TLV_REQUEST && cfdp_request_parse(tlv.value, &q))
            responses += cfdp_response_len(&q) > 0 ? cfdp_response_len(&q) : SIZE_MAX / 8;
    if (responses > CFDP_RESPONSES_MAX)
        return false;
    const size_t names = strlen(t->source_name) + strlen(t->destination_name) + 2;
    return CFDP_HEAD_MAX + 2 + 2 + 8 + names + t->options_len <= t->remote->row.pdu_max;
}

static int begin_put(struct cfdp_transaction *t, const struct cfdp_put *p)
{
    const struct cfdp_config *c = &t->e->config;
    const unsigned class_ = p->class_ == 0 ? t->remote->row.class_ : p->class_;
    int rc = fill_put(t, p);
    if (rc == 0 && !does_fit(t))
        rc = HELIO_EINVAL;
    if (rc == 0 && t->source_name[0] != '\0')
        rc = c->files->open_source(c->context, t->id, t->source_name, t->listing, &t->size,
                                   &t->file);
    if (rc != 0)
        return rc;
    fill_head(t, class_ == CFDP_CLASS_1);
    t->closure =
        class_ == CFDP_CLASS_1 && (p->closure == 0 ? t->remote->row.closure : p->closure == 1);
    t->checksum = t->remote->row.checksum;
    return c->files->reserve(c->context, t->e->next);
}

static void drop_new(struct cfdp_transaction *t)
{
    if (t->file != NULL)
        t->e->config.files->close(t->e->config.context, t->id, t->file, true);
    t->file = NULL;
    cfdp_transaction_free(t);
}

struct asker {
    bool theirs, listing;
    const struct cfdp_id *origin;
};

static int put_file(struct cfdp *e, const struct cfdp_put *put, const struct asker *a, tick now,
                    struct cfdp_id *id)
{
    struct remote *r = cfdp_find_remote(e, put->destination);
    if (r == NULL)
        return HELIO_ENOENT;
    if (put->options.len > CFDP_OPTIONS_MAX || put->class_ > CFDP_CLASS_2)
        return HELIO_EINVAL;
    *id = (struct cfdp_id){e->config.id, e->next};
    if (cfdp_number_len(e->next) > e->config.sequence_len)
        return HELIO_EAGAIN; /* all numbers are used */
    struct cfdp_transaction *t = cfdp_transaction_new(e, r, *id, true, a->theirs);
    if (t == NULL)
        return HELIO_EAGAIN;
    e->next++;
    t->listing = a->listing;
    t->has_origin = a->origin != NULL;
    if (a->origin != NULL)
        t->origin = *a->origin;
    const int rc = begin_put(t, put);
    if (rc != 0) {
        drop_new(t);
        return rc;
    }
    t->kept = true;
    cfdp_emit(t, CFDP_TOLD_STARTED);
    cfdp_note_begun(t);
    cfdp_sender_begin(t, now);
    const bool failed = t->phase == CFDP_ENDED;
    cfdp_release(t);
    return failed ? HELIO_EIO : 0;
}

int cfdp_put(struct cfdp *e, const struct cfdp_put *put, tick now, struct cfdp_id *id)
{
    const struct asker ours = {.origin = NULL};
    return put_file(e, put, &ours, now, id);
}

int cfdp_put_for(struct cfdp *e, const struct cfdp_put *put, bool listing,
                 const struct cfdp_id *origin, tick now)
{
    const struct asker peer = {.theirs = true, .listing = listing, .origin = origin};
    struct cfdp_id id;
    return put_file(e, put, &peer, now, &id);
}

void cfdp_suspend_it(struct cfdp_transaction *t, tick now)
{
    if (t->phase == CFDP_ENDED || (t->paused & PAUSED_BY_USER))
        return;
    cfdp_pause(t, PAUSED_BY_USER, now);
    cfdp_emit(t, CFDP_TOLD_SUSPENDED);
    cfdp_note_paused(t);
}

int cfdp_suspend(struct cfdp *e, struct cfdp_id id, tick now)
{
    struct cfdp_transaction *t = cfdp_find(e, id);
    if (t == NULL)
        return HELIO_ENOENT;
    if (t->phase == CFDP_ENDED || (t->paused & PAUSED_BY_USER))
        return HELIO_EINVAL;
    cfdp_suspend_it(t, now);
    cfdp_release(t);
    return 0;
}

int cfdp_resume(struct cfdp *e, struct cfdp_id id, tick now)
{
    struct cfdp_transaction *t = cfdp_find(e, id);
    if (t == NULL)
        return HELIO_ENOENT;
    if (!(t->paused & PAUSED_BY_USER))
        return HELIO_EINVAL;
    cfdp_unpause(t, PAUSED_BY_USER, now);
    cfdp_emit(t, CFDP_TOLD_RESUMED);
    cfdp_note_paused(t);
    cfdp_release(t);
    return 0;
}

int cfdp_cancel(struct cfdp *e, struct cfdp_id id, tick now)
{
    struct cfdp_transaction *t = cfdp_find(e, id);
    if (t == NULL)
        return HELIO_ENOENT;
    if (t->phase >= CFDP_PERFORMING || t->condition != CFDP_NO_ERROR)
        return HELIO_EINVAL;
    cfdp_unpause(t, PAUSED_BY_USER, now); /* 4.11.2.1: a suspended one, too */
    if (t->is_sender)
        cfdp_sender_cancel(t, CFDP_CANCEL, now);
    else
        cfdp_receiver_cancel(t, CFDP_CANCEL, now);
    cfdp_release(t);
    return 0;
}

int cfdp_prompt(struct cfdp *e, struct cfdp_id id, bool keep_alive, tick now)
{
    struct cfdp_transaction *t = cfdp_find(e, id);
    (void)now;
    if (t == NULL)
        return HELIO_ENOENT;
    if (!t->is_sender || t->phase == CFDP_ENDED || t->head.unacknowledged)
        return HELIO_EINVAL;
    t->want |= keep_alive ? WANT_PROMPT_KEEP_ALIVE : WANT_PROMPT_NAK;
    cfdp_wake(t);
    return 0;
}

/* ---- report ---- */

const char *cfdp_phase_text(enum cfdp_phase phase)
{
    static const char *const texts[] = {
        "sending",    "EOF sent", "awaiting Finished",   "receiving",
        "completing", "checking", "performing requests", "finishing",
        "ended"};
    return phase <= CFDP_ENDED ? texts[phase] : "unknown";
}

void cfdp_status_of(const struct cfdp_transaction *t, struct cfdp_status *out)
{
    *out = (struct cfdp_status){
        .id = t->id,
        .remote = t->remote->row.id,
        .is_sender = t->is_sender,
        .suspended = (t->paused & PAUSED_BY_USER) != 0,
        .frozen = (t->paused & PAUSED_BY_LINK) != 0,
        .class_ = t->head.unacknowledged ? CFDP_CLASS_1 : CFDP_CLASS_2,
        .phase = t->phase,
        .condition = t->condition,
        .size = t->size,
        .progress = t->is_sender ? t->sent : t->held,
        .source_name = t->source_name,
        .destination_name = t->destination_name,
    };
}

bool cfdp_report(const struct cfdp *e, struct cfdp_id id, struct cfdp_status *out)
{
    const struct cfdp_transaction *t = cfdp_find(e, id);
    if (t != NULL)
        cfdp_status_of(t, out);
    return t != NULL;
}

const struct cfdp_transaction *cfdp_walk(const struct cfdp *e, const struct cfdp_transaction *t)
{
    const struct list *next = t == NULL ? e->order.next : t->order.next;
    return next == &e->order ? NULL : container_of(next, struct cfdp_transaction, order);
}
