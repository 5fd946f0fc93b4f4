/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal of a transaction: records of one octet of kind and its fields, in the order of
 * events; the host keeps each behind its length. What can go wrong: the host cannot write (the
 * transaction is abandoned: a restart would not know of it), or a journal that was damaged.
 */
#include <assert.h>
#include <stdlib.h>

#include "cfdp/engine_private.h"

enum record {
    RECORD_BEGUN = 'B', /* role, remote entity, header; of a sender all of its put */
    RECORD_METADATA = 'M',
    RECORD_RANGE = 'R',
    RECORD_EOF = 'E',
    RECORD_PROGRESS = 'P',
    RECORD_PHASE = 'F',
    RECORD_REQUEST = 'Q', /* a filestore request has begun; the result before it */
    RECORD_PAUSED = 'S'
};

/* Of a receiver: they count in the space of its peer. */
static void count_octets(struct cfdp_transaction *t, uint64_t logged)
{
    assert(!t->is_sender && t->remote->logged >= t->logged);
    t->remote->logged += logged - t->logged;
    t->logged = logged;
}

#define FAULT_AT_PEER 0x80 /* with the file status of a phase */

static void keep_record(struct cfdp_transaction *t, const struct writer *w)
{
    const struct cfdp_config *c = &t->e->config;
    assert(!w->bad);
    if (t->phase == CFDP_ENDED || !t->kept)
        return;
    if (c->files->journal(c->context, t->id, slice_of(w->start, writer_len(w))) != 0)
        cfdp_abandon(t, CFDP_FILESTORE);
    else if (!t->is_sender)
        count_octets(t, t->logged + writer_len(w) + 2);
}

static void write_text(struct writer *w, const char *text)
{
    cfdp_lv_write(w, slice_of(text, strlen(text)));
}

static void write_content(struct writer *w, const struct cfdp_transaction *t)
{
    writer_byte(w, t->closure);
    writer_byte(w, (uint8_t)t->checksum);
    writer_number(w, t->size, 8);
    write_text(w, t->source_name);
    write_text(w, t->destination_name);
    writer_number(w, t->options_len, 2);
    writer_bytes(w, t->options, t->options_len);
}

static void write_begun(struct writer *w, const struct cfdp_transaction *t)
{
    writer_byte(w, RECORD_BEGUN);
    writer_byte(w, t->is_sender);
    writer_byte(w, t->theirs);
    writer_number(w, t->remote->row.id, 8);
    writer_byte(w, (uint8_t)(t->head.unacknowledged | t->head.crc << 1 | t->head.large << 2 |
                             t->listing << 3 | t->has_origin << 4));
    writer_byte(w, t->head.id_len);
    writer_byte(w, t->head.sequence_len);
    writer_number(w, t->origin.source, 8);
    writer_number(w, t->origin.sequence, 8);
    if (t->is_sender)
        write_content(w, t);
}

void cfdp_note_begun(struct cfdp_transaction *t)
{
    uint8_t room[CFDP_RECORD_MAX];
    struct writer w = writer_of(room, sizeof room);
    write_begun(&w, t);
    keep_record(t, &w);
}

static void write_metadata(struct writer *w, const struct cfdp_transaction *t)
{
    writer_byte(w, RECORD_METADATA);
    write_content(w, t);
}

void cfdp_note_metadata(struct cfdp_transaction *t)
{
    uint8_t room[CFDP_RECORD_MAX];
    struct writer w = writer_of(room, sizeof room);
    write_metadata(&w, t);
    keep_record(t, &w);
}

static void write_numbers(struct writer *w, enum record kind, uint64_t a, uint64_t b)
{
    writer_byte(w, (uint8_t)kind);
    writer_number(w, a, 8);
    writer_number(w, b, 8);
}

static void note_numbers(struct cfdp_transaction *t, enum record kind, uint64_t a, uint64_t b)
{
    uint8_t room[32];
    struct writer w = writer_of(room, sizeof room);
    write_numbers(&w, kind, a, b);
    keep_record(t, &w);
}

/* ---- a journal that has grown ---- */

static void add_record(struct writer *all, const struct writer *record)
{
    writer_number(all, writer_len(record), 2);
    writer_bytes(all, record->start, writer_len(record));
}

/* What a receiver that waits for octets is now, in as few records as possible. */
static void write_all(struct writer *all, const struct cfdp_transaction *t)
{
    uint8_t room[CFDP_RECORD_MAX];
    struct writer w = writer_of(room, sizeof room);
    write_begun(&w, t);
    add_record(all, &w);
    if (t->has_metadata) {
        w = writer_of(room, sizeof room);
        write_metadata(&w, t);
        add_record(all, &w);
    }
    for (size_t i = 0; i < t->have.len; i++) {
        w = writer_of(room, sizeof room);
        write_numbers(&w, RECORD_RANGE, t->have.at[i].lo, t->have.at[i].hi);
        add_record(all, &w);
    }
    w = writer_of(room, sizeof room);
    write_numbers(&w, RECORD_EOF, t->size, t->sum_wanted);
    if (t->phase == CFDP_COMPLETING)
        add_record(all, &w);
    w = writer_of(room, sizeof room);
    write_numbers(&w, RECORD_PAUSED, (t->paused & PAUSED_BY_USER) != 0, 0);
    add_record(all, &w);
}

/* If it fails, the journal stays as it is. */
static void compact_journal(struct cfdp_transaction *t)
{
    const struct cfdp_config *c = &t->e->config;
    const size_t room = 2 * (CFDP_RECORD_MAX + 2) + (t->have.len + 2) * RANGE_LEN;
    uint8_t *octets = malloc(room);
    struct writer all = writer_of(octets, octets == NULL ? 0 : room);
    assert(t->phase == CFDP_RECEIVING || t->phase == CFDP_COMPLETING);
    if (octets != NULL)
        write_all(&all, t);
    assert(octets == NULL || !all.bad);
    if (octets != NULL &&
        c->files->rewrite(c->context, t->id, slice_of(octets, writer_len(&all))) == 0)
        count_octets(t, writer_len(&all));
    free(octets);
    t->compact_at = 2 * t->logged > COMPACT_AT ? 2 * t->logged : COMPACT_AT;
}

void cfdp_note_range(struct cfdp_transaction *t, uint64_t lo, uint64_t hi)
{
    note_numbers(t, RECORD_RANGE, lo, hi);
    if (t->phase != CFDP_ENDED && t->logged > COMPACT_AT && t->logged > t->compact_at)
        compact_journal(t);
}

void cfdp_note_eof(struct cfdp_transaction *t)
{
    note_numbers(t, RECORD_EOF, t->size, t->sum_wanted);
}

void cfdp_note_progress(struct cfdp_transaction *t)
{
    const bool confirms = t->head.unacknowledged && t->remote->row.confirms;
    t->noted = confirms ? t->confirmed : t->sent;
    assert(t->noted <= t->sent);
    note_numbers(t, RECORD_PROGRESS, t->noted, 0);
}

void cfdp_note_paused(struct cfdp_transaction *t)
{
    note_numbers(t, RECORD_PAUSED, (t->paused & PAUSED_BY_USER) != 0, 0);
}

void cfdp_note_phase(struct cfdp_transaction *t)
{
    uint8_t room[16 + CFDP_RESPONSES_MAX];
    struct writer w = writer_of(room, sizeof room);
    writer_byte(&w, RECORD_PHASE);
    writer_byte(&w, (uint8_t)t->phase);
    writer_byte(&w, (uint8_t)t->condition);
    writer_byte(&w, t->incomplete);
    writer_byte(&w, (uint8_t)(t->status | (t->fault_at_peer ? FAULT_AT_PEER : 0)));
    writer_bytes(&w, t->responses, t->responses_len);
    keep_record(t, &w);
}

void cfdp_note_request(struct cfdp_transaction *t)
{
    uint8_t room[16 + CFDP_RESPONSES_MAX];
    struct writer w = writer_of(room, sizeof room);
    assert(t->phase == CFDP_PERFORMING && t->act_state != 0 && t->condition == CFDP_NO_ERROR);
    writer_byte(&w, RECORD_REQUEST);
    writer_number(&w, t->requests_done, 2);
    writer_number(&w, t->act_state, 8);
    writer_byte(&w, (uint8_t)t->status);
    writer_bytes(&w, t->responses, t->responses_len);
    keep_record(t, &w);
}

/* ---- restart ---- */

static void read_begun(struct cfdp_transaction *t, struct reader *r)
{
    const unsigned flags = reader_byte(r);
    t->head.unacknowledged = (flags & 1) != 0;
    t->head.crc = (flags & 2) != 0;
    t->head.large = (flags & 4) != 0;
    t->listing = (flags & 8) != 0;
    t->has_origin = (flags & 16) != 0;
    t->head.id_len = reader_byte(r);
    t->head.sequence_len = reader_byte(r);
    t->origin.source = reader_number(r, 8);
    t->origin.sequence = reader_number(r, 8);
    const uint64_t us = t->e->config.id, them = t->remote->row.id;
    t->head.toward_sender = !t->is_sender;
    t->head.source = t->id.source;
    t->head.sequence = t->id.sequence;
    t->head.destination = t->is_sender ? them : us;
    const uint8_t ids = t->head.id_len, numbers = t->head.sequence_len;
    r->bad = r->bad || ids < cfdp_number_len(us) || ids < cfdp_number_len(them) || ids > 8 ||
             numbers > 8 || numbers < cfdp_number_len(t->id.sequence);
}

static void read_content(struct cfdp_transaction *t, struct reader *r)
{
    t->closure = reader_byte(r) != 0;
    t->checksum = reader_byte(r);
    const uint64_t size = reader_number(r, 8);
    const struct slice source = cfdp_lv_read(r), destination = cfdp_lv_read(r);
    const uint64_t len = reader_number(r, 2);
    const struct slice options = reader_take(r, len);
    t->about = cfdp_about(&(struct cfdp_metadata){
        .size = size, .source_name = source, .destination_name = destination, .options = options});
    if (!t->has_eof)
        t->size = size;
    r->bad = r->bad || !cfdp_checksum_known(t->checksum) || len > CFDP_OPTIONS_MAX ||
             !cfdp_copy_name(t->source_name, source) ||
             !cfdp_copy_name(t->destination_name, destination) ||
             (!t->head.large && size > UINT32_MAX);
    free(t->options);
    t->options = r->bad ? NULL : malloc(len == 0 ? 1 : len);
    t->options_len = t->options == NULL ? 0 : (size_t)len;
    if (t->options == NULL)
        r->bad = true;
    else if (len > 0)
        memcpy(t->options, options.data, (size_t)len);
    r->bad = r->bad || !cfdp_take_options(t);
}

static void read_range(struct cfdp_transaction *t, struct reader *r)
{
    const uint64_t lo = reader_number(r, 8), hi = reader_number(r, 8);
    if (r->bad || lo >= hi || (!t->head.large && hi > UINT32_MAX) ||
        ranges_add(&t->have, lo, hi, SIZE_MAX) < 0) {
        r->bad = true;
        return;
    }
    t->high = hi > t->high ? hi : t->high;
}

static void read_responses(struct cfdp_transaction *t, struct reader *r)
{
    const struct slice responses = reader_take(r, reader_left(r));
    r->bad = r->bad || responses.len > CFDP_RESPONSES_MAX;
    if (r->bad)
        return;
    t->responses_len = responses.len;
    if (responses.len > 0)
        memcpy(t->responses, responses.data, responses.len);
}

/* A receiver's phase is FINISHING, whose number was another one once. */
static void read_phase(struct cfdp_transaction *t, struct reader *r)
{
    const unsigned phase = reader_byte(r);
    t->condition = (enum cfdp_condition)(reader_byte(r) & 15);
    t->incomplete = reader_byte(r) != 0;
    const unsigned status = reader_byte(r);
    t->status = (enum cfdp_file_status)(status & 3);
    t->fault_at_peer = !t->is_sender && (status & FAULT_AT_PEER) != 0;
    read_responses(t, r);
    const bool cancelled = phase == CFDP_EOF_SENT && t->condition != CFDP_NO_ERROR;
    r->bad = r->bad || (t->is_sender && !cancelled && phase != CFDP_AWAITING_FINISHED);
    t->phase = t->is_sender ? (enum cfdp_phase)phase : CFDP_FINISHING;
}

static void read_request(struct cfdp_transaction *t, struct reader *r)
{
    t->requests_done = (size_t)reader_number(r, 2);
    t->act_state = reader_number(r, 8);
    t->status = (enum cfdp_file_status)(reader_byte(r) & 3);
    read_responses(t, r);
    r->bad = r->bad || t->is_sender || !t->has_metadata || t->act_state == 0;
    t->phase = CFDP_PERFORMING;
}

static void read_eof(struct cfdp_transaction *t, struct reader *r)
{
    t->has_eof = true;
    t->size = reader_number(r, 8);
    t->sum_wanted = (uint32_t)reader_number(r, 8);
    r->bad = r->bad || t->size < t->high || (!t->head.large && t->size > UINT32_MAX);
    t->phase = CFDP_COMPLETING;
}

/* Those of the other role, or what cannot follow the result, are damage. */
static bool may_follow(const struct cfdp_transaction *t, unsigned kind)
{
    if (kind == RECORD_PHASE || kind == RECORD_PAUSED)
        return true;
    if (t->is_sender || kind == RECORD_PROGRESS)
        return t->is_sender && kind == RECORD_PROGRESS;
    return t->phase < CFDP_PERFORMING || kind == RECORD_REQUEST;
}

static void read_record(struct cfdp_transaction *t, struct slice record)
{
    struct reader r = reader_of(record.data, record.len);
    const unsigned kind = reader_byte(&r);
    r.bad = !may_follow(t, kind);
    switch (kind) {
    case RECORD_REQUEST:
        read_request(t, &r);
        break;
    case RECORD_METADATA:
        t->has_metadata = true;
        read_content(t, &r);
        break;
    case RECORD_RANGE:
        read_range(t, &r);
        break;
    case RECORD_EOF:
        read_eof(t, &r);
        break;
    case RECORD_PROGRESS:
        t->sent = t->noted = t->confirmed = reader_number(&r, 8);
        break;
    case RECORD_PHASE:
        read_phase(t, &r);
        break;
    case RECORD_PAUSED:
        t->paused = (t->paused & PAUSED_BY_LINK) | (reader_number(&r, 8) != 0 ? PAUSED_BY_USER : 0);
        break;
    default:
        r.bad = true;
    }
    if (r.bad)
        t->phase = CFDP_ENDED; /* for the caller: malformed */
}

static bool next_record(struct slice *rest, struct slice *out)
{
    struct reader r = reader_of(rest->data, rest->len);
    const uint64_t len = reader_number(&r, 2);
    *out = reader_take(&r, len);
    if (r.bad)
        return false;
    *rest = slice_of(r.p, reader_left(&r));
    return true;
}

static int reopen_source(struct cfdp_transaction *t)
{
    const struct cfdp_config *c = &t->e->config;
    uint64_t size = 0;
    if (t->source_name[0] == '\0')
        return 0;
    const int rc =
        c->files->open_source(c->context, t->id, t->source_name, t->listing, &size, &t->file);
    if (rc == 0 && (size != t->size || t->sent > size)) {
        t->condition = CFDP_FILE_SIZE; /* another file has its name now */
        t->sent = t->sent < t->size ? t->sent : t->size;
        t->noted = t->confirmed = t->sent;
    }
    return rc;
}

static void continue_receiver(struct cfdp_transaction *t, tick now)
{
    cfdp_set_idle(t, now);
    if (t->phase == CFDP_PERFORMING) {
        t->at.idle = TICK_NEVER;
        t->at.work = now;
    } else if (t->phase == CFDP_FINISHING) {
        t->reported = true;
        t->at.idle = TICK_NEVER;
        if (!t->head.unacknowledged || t->closure)
            t->want |= WANT_FINISHED;
        if (t->head.unacknowledged)
            cfdp_end(t);
        cfdp_wake(t);
    } else if (!t->head.unacknowledged && t->remote->row.keep_alive_time > 0) {
        t->at.alive = tick_add(now, t->remote->row.keep_alive_time);
    }
    cfdp_receiver_advance(t, now);
}

static int continue_it(struct cfdp_transaction *t, tick now)
{
    if (t->is_sender) {
        const int rc = reopen_source(t);
        if (rc != 0 && t->condition == CFDP_NO_ERROR)
            t->condition = CFDP_FILESTORE;
        if (t->sent > t->size)
            return HELIO_EFORMAT;
        t->incomplete = t->condition != CFDP_NO_ERROR;
        cfdp_sender_begin(t, now);
        return 0;
    }
    t->held = ranges_bytes(&t->have);
    t->remote->held += t->held;
    if (t->held > 0 && t->phase < CFDP_PERFORMING) {
        const struct cfdp_config *c = &t->e->config;
        const int rc = c->files->open_partial(c->context, t->id, &t->file);
        if (rc != 0)
            return rc;
    }
    continue_receiver(t, now);
    return 0;
}

/* The first record. NULL with *rc. */
static struct cfdp_transaction *begin_restored(struct cfdp *e, struct cfdp_id id,
                                               struct slice record, int *rc)
{
    struct reader r = reader_of(record.data, record.len);
    const bool begun = reader_byte(&r) == RECORD_BEGUN;
    const bool is_sender = reader_byte(&r) != 0, theirs = reader_byte(&r) != 0;
    struct remote *remote = cfdp_find_remote(e, reader_number(&r, 8));
    *rc = HELIO_EFORMAT;
    if (r.bad || !begun || is_sender != (id.source == e->config.id) || (!is_sender && !theirs))
        return NULL;
    *rc = remote == NULL ? HELIO_ENOENT : HELIO_ENOMEM;
    struct cfdp_transaction *t =
        remote == NULL ? NULL : cfdp_transaction_new(e, remote, id, is_sender, theirs);
    if (t == NULL)
        return NULL;
    read_begun(t, &r);
    if (is_sender)
        read_content(t, &r);
    *rc = r.bad ? HELIO_EFORMAT : 0;
    return t;
}

int cfdp_restore(struct cfdp *e, struct cfdp_id id, struct slice records, tick now)
{
    const size_t len = records.len;
    struct slice record;
    int rc;
    if (cfdp_find(e, id) != NULL)
        return HELIO_EEXIST;
    if (!next_record(&records, &record))
        return HELIO_EFORMAT;
    struct cfdp_transaction *t = begin_restored(e, id, record, &rc);
    if (t == NULL)
        return rc;
    while (rc == 0 && t->phase != CFDP_ENDED && next_record(&records, &record))
        read_record(t, record);
    if (rc == 0 && t->phase == CFDP_ENDED)
        rc = HELIO_EFORMAT;
    t->paused_at = now;
    t->kept = true;
    if (!t->is_sender)
        count_octets(t, len);
    if (rc == 0)
        rc = continue_it(t, now);
    if (rc == 0) {
        if (id.source == e->config.id && id.sequence >= e->next)
            e->next = id.sequence + 1;
        cfdp_schedule(t);
        cfdp_release(t);
        return 0;
    }
    if (t->file != NULL)
        e->config.files->close(e->config.context, id, t->file, false);
    t->file = NULL;
    cfdp_transaction_free(t);
    return rc;
}
