/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results of transactions that ended, for PDUs that arrive late: a ring for each remote entity. The
 * host keeps those of receivers as records of fixed length, and gives them back after a restart.
 * What can go wrong: the host cannot keep one (a late PDU begins the transaction anew), or a record
 * is damaged (it is left out).
 */
#include <assert.h>

#include "base/crc.h"
#include "cfdp/engine_private.h"

#define RESULT_MARK 'D'
enum { FLAG_UNACKNOWLEDGED = 1, FLAG_INCOMPLETE = 2, FLAG_ABOUT = 4 };

static void add_past(struct remote *r, const struct past *p)
{
    cfdp_past_forget(r, p->id);
    r->past[r->past_next] = *p;
    r->past_next = (r->past_next + 1) % PAST_MAX;
    r->past_len += r->past_len < PAST_MAX;
    assert(cfdp_past(r, p->id) != NULL);
}

static void keep_past(const struct cfdp *e, uint64_t remote, const struct past *p)
{
    uint8_t room[CFDP_RESULT_LEN];
    struct writer w = writer_of(room, sizeof room);
    writer_byte(&w, RESULT_MARK);
    writer_number(&w, remote, 8);
    writer_number(&w, p->id.source, 8);
    writer_number(&w, p->id.sequence, 8);
    writer_byte(&w,
                (uint8_t)((p->unacknowledged ? FLAG_UNACKNOWLEDGED : 0) |
                          (p->incomplete ? FLAG_INCOMPLETE : 0) | (p->has_about ? FLAG_ABOUT : 0)));
    writer_byte(&w, p->condition);
    writer_byte(&w, p->status);
    writer_number(&w, p->about, 4);
    writer_number(&w, p->sum, 4);
    writer_number(&w, p->size, 8);
    assert(!w.bad && writer_len(&w) == sizeof room);
    (void)e->config.files->remember(e->config.context, slice_of(room, sizeof room));
}

void cfdp_remember(struct cfdp_transaction *t)
{
    const struct past p = {.id = t->id,
                           .unacknowledged = t->head.unacknowledged,
                           .we_sent = t->is_sender,
                           .incomplete = t->incomplete,
                           .has_about = t->has_metadata,
                           .about = t->about,
                           .condition = (uint8_t)t->condition,
                           .status = (uint8_t)t->status,
                           .sum = t->sum_wanted,
                           .size = t->size};
    add_past(t->remote, &p);
    if (!t->is_sender)
        keep_past(t->e, t->remote->row.id, &p);
}

static void take_result(struct cfdp *e, struct slice record)
{
    struct reader in = reader_of(record.data, record.len);
    const bool marked = reader_byte(&in) == RESULT_MARK;
    struct remote *r = cfdp_find_remote(e, reader_number(&in, 8));
    struct past p = {.id.source = reader_number(&in, 8)};
    p.id.sequence = reader_number(&in, 8);
    const unsigned flags = reader_byte(&in);
    p.unacknowledged = (flags & FLAG_UNACKNOWLEDGED) != 0;
    p.incomplete = (flags & FLAG_INCOMPLETE) != 0;
    p.has_about = (flags & FLAG_ABOUT) != 0;
    p.condition = reader_byte(&in) & 15;
    p.status = reader_byte(&in) & 3;
    p.about = (uint32_t)reader_number(&in, 4);
    p.sum = (uint32_t)reader_number(&in, 4);
    p.size = reader_number(&in, 8);
    if (marked && !in.bad && r != NULL && p.id.source == r->row.id)
        add_past(r, &p);
}

void cfdp_remembered(struct cfdp *e, struct slice results)
{
    for (; results.len >= CFDP_RESULT_LEN;
         results = slice_of(results.data + CFDP_RESULT_LEN, results.len - CFDP_RESULT_LEN))
        take_result(e, slice_of(results.data, CFDP_RESULT_LEN));
}

const struct past *cfdp_past(const struct remote *r, struct cfdp_id id)
{
    for (size_t i = 0; i < r->past_len; i++)
        if (cfdp_id_same(r->past[i].id, id))
            return &r->past[i];
    return NULL;
}

void cfdp_past_forget(struct remote *r, struct cfdp_id id)
{
    static const struct cfdp_id nobody = {UINT64_MAX, UINT64_MAX};
    for (size_t i = 0; i < r->past_len; i++)
        if (cfdp_id_same(r->past[i].id, id))
            r->past[i] = (struct past){.id = nobody};
}

uint32_t cfdp_about(const struct cfdp_metadata *m)
{
    uint8_t size[8];
    struct writer w = writer_of(size, sizeof size);
    writer_number(&w, m->size, 8);
    uint32_t sum = crc32c(0, size, sizeof size);
    sum = crc32c(sum, m->source_name.data, m->source_name.len);
    sum = crc32c(sum, m->destination_name.data, m->destination_name.len);
    return crc32c(sum, m->options.data, m->options.len);
}
