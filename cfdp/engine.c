/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entity: its remote entities, its transactions by id, the agenda of their times, and the queue
 * of notices. What can go wrong: memory is out; limits.
 */
#include "cfdp/engine_private.h"

#include <assert.h>
#include <stdlib.h>

static void take_default(tick *value, tick otherwise)
{
    if (*value == 0)
        *value = otherwise;
}

static void take_count(uint32_t *value, uint32_t otherwise)
{
    if (*value == 0)
        *value = otherwise;
}

struct cfdp *cfdp_new(const struct cfdp_config *config)
{
    struct cfdp *e = calloc(1, sizeof *e);
    if (e == NULL)
        return NULL;
    e->config = *config;
    if (e->config.sequence_len == 0)
        e->config.sequence_len = 4;
    take_count(&e->config.transactions_max, 4096);
    e->next = config->sequence == 0 ? 1 : config->sequence;
    e->notices = calloc(CFDP_NOTICES_MAX, sizeof *e->notices);
    list_init(&e->order);
    list_init(&e->remotes);
    agenda_init(&e->agenda);
    const bool good = e->config.id_len <= 8 && e->config.sequence_len <= 8 &&
                      (e->config.id_len == 0 || cfdp_number_len(config->id) <= e->config.id_len);
    if (!good || e->notices == NULL || hash_init(&e->table, config->seed) != 0) {
        agenda_fini(&e->agenda);
        free(e->notices);
        free(e);
        return NULL;
    }
    return e;
}

void cfdp_free(struct cfdp *e)
{
    if (e == NULL)
        return;
    list_for_each_safe (l, &e->order) {
        struct cfdp_transaction *t = container_of(l, struct cfdp_transaction, order);
        if (t->file != NULL)
            e->config.files->close(e->config.context, t->id, t->file, false);
        t->file = NULL;
        cfdp_transaction_free(t);
    }
    list_for_each_safe (l, &e->remotes)
        free(container_of(l, struct remote, order));
    hash_fini(&e->table);
    agenda_fini(&e->agenda);
    free(e->notices);
    free(e);
}

uint64_t cfdp_entity(const struct cfdp *e)
{
    return e->config.id;
}

const struct cfdp_counts *cfdp_counts(const struct cfdp *e)
{
    return &e->counts;
}

/* ---- remote entities ---- */

struct remote *cfdp_find_remote(const struct cfdp *e, uint64_t id)
{
    list_for_each (l, &e->remotes) {
        struct remote *r = container_of(l, struct remote, order);
        if (r->row.id == id)
            return r;
    }
    return NULL;
}

const struct cfdp_remote *cfdp_remote_find(const struct cfdp *e, uint64_t id)
{
    const struct remote *r = cfdp_find_remote(e, id);
    return r == NULL ? NULL : &r->row;
}

static void fill_remote(struct cfdp_remote *row)
{
    if (row->class_ == 0)
        row->class_ = CFDP_CLASS_2;
    take_count(&row->segment_max, 1024);
    take_count(&row->pdu_max, 1400);
    take_default(&row->ack_time, 10 * TICK_S);
    take_default(&row->nak_time, 10 * TICK_S);
    take_default(&row->check_time, 10 * TICK_S);
    take_default(&row->idle_time, 300 * TICK_S);
    take_count(&row->ack_limit, 10);
    take_count(&row->nak_limit, 10);
    take_count(&row->check_limit, 10);
    take_count(&row->transactions_max, 64);
    take_count(&row->gaps_max, 16384);
    take_default(&row->file_max, UINT64_C(16) << 30);
    take_default(&row->space_max, UINT64_C(64) << 30);
}

/* pdu_max: at least a header, a NAK with one request, and names of some length. */
static bool is_remote(const struct cfdp *e, const struct cfdp_remote *row)
{
    const bool fits = e->config.id_len == 0 || cfdp_number_len(row->id) <= e->config.id_len;
    return fits && row->id != e->config.id && cfdp_checksum_known(row->checksum) &&
           row->class_ <= CFDP_CLASS_2 && row->segment_max <= 65000 && row->pdu_max <= 65000 &&
           (row->pdu_max == 0 || row->pdu_max >= 128);
}

int cfdp_remote_set(struct cfdp *e, const struct cfdp_remote *remote)
{
    if (!is_remote(e, remote))
        return HELIO_EINVAL;
    struct remote *r = cfdp_find_remote(e, remote->id);
    if (r == NULL) {
        r = calloc(1, sizeof *r);
        if (r == NULL)
            return HELIO_ENOMEM;
        list_init(&r->ready);
        list_add_tail(&e->remotes, &r->order);
        e->remotes_len++;
    }
    r->row = *remote;
    fill_remote(&r->row);
    return 0;
}

void cfdp_link(struct cfdp *e, uint64_t remote, bool up, tick now)
{
    struct remote *r = cfdp_find_remote(e, remote);
    if (r == NULL || r->down == !up)
        return;
    r->down = !up;
    list_for_each (l, &e->order) {
        struct cfdp_transaction *t = container_of(l, struct cfdp_transaction, order);
        if (t->remote == r && up)
            cfdp_unpause(t, PAUSED_BY_LINK, now);
        else if (t->remote == r)
            cfdp_pause(t, PAUSED_BY_LINK, now);
    }
}

void cfdp_stray(struct remote *r, const struct stray *s)
{
    if (r->strays_len == STRAYS_MAX)
        return; /* the peer asks again */
    r->strays[(r->strays_first + r->strays_len++) % STRAYS_MAX] = *s;
}

/* ---- transactions ---- */

static uint64_t hash_id(const struct cfdp *e, struct cfdp_id id)
{
    return hash_mix(e->table.seed, id.source, id.sequence);
}

struct cfdp_transaction *cfdp_find(const struct cfdp *e, struct cfdp_id id)
{
    for (struct hash_node *n = hash_find(&e->table, hash_id(e, id)); n != NULL; n = hash_next(n)) {
        struct cfdp_transaction *t = container_of(n, struct cfdp_transaction, node);
        if (cfdp_id_same(t->id, id))
            return t;
    }
    return NULL;
}

static void init_times(struct times *at)
{
#define TIME_NEVER(name) at->name = TICK_NEVER;
    TIMES(TIME_NEVER)
#undef TIME_NEVER
}

/* Half of all places is divided among the remote entities and ourselves; nobody else takes these.
 */
static uint32_t count_share(const struct cfdp *e)
{
    return e->config.transactions_max / (2 * (e->remotes_len + 1));
}

static uint32_t count_left(uint32_t share, uint32_t most, uint32_t begun)
{
    const uint32_t least = share < most ? share : most;
    return begun < least ? least - begun : 0;
}

bool cfdp_has_place(const struct cfdp *e, const struct remote *r, bool theirs)
{
    const uint32_t max = e->config.transactions_max, share = count_share(e);
    uint32_t begun = 0, kept = 0;
    list_for_each (l, &e->remotes) {
        const struct remote *other = container_of(l, struct remote, order);
        begun += other->begun;
        if (!theirs || other != r)
            kept += count_left(share, other->row.transactions_max, other->begun);
    }
    assert(begun <= e->live);
    const uint32_t ours = e->live - begun;
    if (theirs)
        kept += count_left(share, max, ours);
    if (theirs && r->begun >= r->row.transactions_max)
        return false;
    return e->live < max && ((theirs ? r->begun : ours) < share || kept < max - e->live);
}

struct cfdp_transaction *cfdp_transaction_new(struct cfdp *e, struct remote *r, struct cfdp_id id,
                                              bool is_sender, bool theirs)
{
    if (!cfdp_has_place(e, r, theirs) || agenda_reserve(&e->agenda, e->live + 1u) != 0)
        return NULL;
    struct cfdp_transaction *t = calloc(1, sizeof *t);
    if (t == NULL)
        return NULL;
    *t = (struct cfdp_transaction){
        .e = e, .id = id, .remote = r, .is_sender = is_sender, .theirs = theirs};
    t->phase = is_sender ? CFDP_SENDING : CFDP_RECEIVING;
    t->compact_at = COMPACT_AT;
    t->status = CFDP_FILE_UNREPORTED;
    t->paused = r->down ? PAUSED_BY_LINK : 0;
    init_times(&t->at);
    heap_node_init(&t->due);
    list_init(&t->ready);
    ranges_init(&t->again);
    ranges_init(&t->have);
    hash_add(&e->table, &t->node, hash_id(e, id));
    list_add_tail(&e->order, &t->order);
    e->live++;
    r->begun += theirs;
    return t;
}

void cfdp_transaction_free(struct cfdp_transaction *t)
{
    struct cfdp *e = t->e;
    assert(t->file == NULL && e->live > 0);
    agenda_sub(&e->agenda, &t->due);
    hash_sub(&e->table, &t->node);
    list_sub(&t->order);
    list_sub(&t->ready);
    t->remote->begun -= t->theirs;
    assert(t->remote->held >= t->held && t->remote->logged >= t->logged);
    t->remote->held -= t->held;
    t->remote->logged -= t->logged;
    e->live--;
    ranges_fini(&t->again);
    ranges_fini(&t->have);
    free(t->options);
    free(t);
}

void cfdp_wake(struct cfdp_transaction *t)
{
    if (list_empty(&t->ready))
        list_add_tail(&t->remote->ready, &t->ready);
}

bool cfdp_copy_name(char out[CFDP_NAME_MAX + 1], struct slice name)
{
    if (name.len > CFDP_NAME_MAX || (name.len > 0 && memchr(name.data, 0, name.len) != NULL))
        return false;
    if (name.len > 0)
        memcpy(out, name.data, name.len);
    out[name.len] = '\0';
    return true;
}

/* ---- time ---- */

tick cfdp_first_time(const struct times *at)
{
    tick first = TICK_NEVER;
#define TIME_FIRST(name) first = tick_min(first, at->name);
    TIMES(TIME_FIRST)
#undef TIME_FIRST
    return first;
}

void cfdp_schedule(struct cfdp_transaction *t)
{
    const tick due = t->paused ? TICK_NEVER : cfdp_first_time(&t->at);
    if (due == TICK_NEVER)
        agenda_sub(&t->e->agenda, &t->due);
    else
        (void)agenda_set(&t->e->agenda, &t->due, due, 0); /* reserved */
}

void cfdp_set_idle(struct cfdp_transaction *t, tick now)
{
    t->at.idle = tick_add(now, t->remote->row.idle_time);
    cfdp_schedule(t);
}

void cfdp_pause(struct cfdp_transaction *t, unsigned reason, tick now)
{
    if (t->paused == 0)
        t->paused_at = now;
    t->paused |= reason;
    cfdp_schedule(t);
}

void cfdp_unpause(struct cfdp_transaction *t, unsigned reason, tick now)
{
    if (!(t->paused & reason))
        return;
    t->paused &= ~reason;
    if (t->paused != 0)
        return;
    assert(now >= t->paused_at);
    const tick gone = now - t->paused_at;
#define TIME_SHIFT(name) t->at.name = tick_add(t->at.name, gone);
    TIMES(TIME_SHIFT)
#undef TIME_SHIFT
    cfdp_schedule(t);
    cfdp_wake(t);
}

tick cfdp_deadline(const struct cfdp *e)
{
    return agenda_due(&e->agenda);
}

bool cfdp_expire(struct cfdp *e, tick now)
{
    struct heap_node *n = agenda_first(&e->agenda);
    if (n == NULL || n->due > now)
        return false;
    struct cfdp_transaction *t = container_of(n, struct cfdp_transaction, due);
    if (t->at.work <= now) {
        t->at.work = TICK_NEVER;
        if (t->is_sender)
            cfdp_sender_work(t, now);
        else
            cfdp_receiver_work(t, now);
    } else if (t->is_sender) {
        cfdp_sender_expire(t, now);
    } else {
        cfdp_receiver_expire(t, now);
    }
    cfdp_schedule(t);
    cfdp_release(t);
    return true;
}

/* ---- notices ---- */

struct cfdp_notice *cfdp_notice_push(struct cfdp *e)
{
    if (e->notices_len == CFDP_NOTICES_MAX) {
        e->notices_first = (e->notices_first + 1) % CFDP_NOTICES_MAX;
        e->notices_len--;
        e->counts.notices_lost++;
    }
    struct cfdp_notice *n = &e->notices[(e->notices_first + e->notices_len++) % CFDP_NOTICES_MAX];
    *n = (struct cfdp_notice){0};
    return n;
}

bool cfdp_poll(struct cfdp *e, struct cfdp_notice *out)
{
    if (e->notices_len == 0)
        return false;
    *out = e->notices[e->notices_first];
    e->notices_first = (e->notices_first + 1) % CFDP_NOTICES_MAX;
    e->notices_len--;
    return true;
}

static void count_event(struct cfdp_transaction *t, enum cfdp_notice_kind kind)
{
    struct cfdp_counts *c = &t->e->counts;
    if (kind == CFDP_TOLD_STARTED)
        c->started++;
    else if (kind == CFDP_TOLD_ABANDONED)
        c->abandoned++;
    else if (kind == CFDP_TOLD_FINISHED && t->condition == CFDP_NO_ERROR)
        c->finished++;
    else if (kind == CFDP_TOLD_FINISHED)
        c->cancelled++;
}

void cfdp_emit(struct cfdp_transaction *t, enum cfdp_notice_kind kind)
{
    struct cfdp_notice *n = cfdp_notice_push(t->e);
    count_event(t, kind);
    n->kind = kind;
    n->id = t->id;
    n->remote = t->remote->row.id;
    n->is_sender = t->is_sender;
    n->condition = t->condition;
    n->incomplete = t->incomplete;
    n->status = t->status;
    n->size = t->size;
    n->progress = t->is_sender ? t->sent : t->held;
    n->has_origin = cfdp_origin_of(slice_of(t->options, t->options_len), &n->origin);
    memcpy(n->name, t->destination_name, sizeof n->name);
    n->responses_len = t->responses_len;
    memcpy(n->responses, t->responses, t->responses_len);
}

/* ---- ends ---- */

static void close_file(struct cfdp_transaction *t)
{
    if (t->file != NULL)
        t->e->config.files->close(t->e->config.context, t->id, t->file, true);
    t->file = NULL;
}

static void forget_journal(struct cfdp_transaction *t)
{
    if (t->kept)
        t->e->config.files->forget(t->e->config.context, t->id);
    t->kept = false;
}

void cfdp_end(struct cfdp_transaction *t)
{
    if (t->phase == CFDP_ENDED)
        return;
    assert(t->remote != NULL && (t->reported || t->condition != CFDP_NO_ERROR));
    t->phase = CFDP_ENDED;
    t->want &= WANT_ACKS | WANT_EOF | WANT_FINISHED; /* class 1: sent once */
    init_times(&t->at);
    cfdp_schedule(t);
    cfdp_wake(t);
    close_file(t);
    cfdp_remember(t);
    forget_journal(t);
}

void cfdp_abandon(struct cfdp_transaction *t, enum cfdp_condition condition)
{
    if (t->phase == CFDP_ENDED)
        return;
    t->condition = condition;
    t->incomplete = true;
    if (!t->reported)
        cfdp_emit(t, CFDP_TOLD_ABANDONED);
    t->reported = true;
    cfdp_end(t);
    t->want = 0;
}

void cfdp_release(struct cfdp_transaction *t)
{
    assert(t->phase != CFDP_ENDED || (t->file == NULL && !t->kept));
    if (t->phase == CFDP_ENDED && t->want == 0)
        cfdp_transaction_free(t);
}

/* ---- faults ---- */

static enum cfdp_handler handler_of(const struct cfdp_transaction *t, enum cfdp_condition condition)
{
    unsigned h = t->handlers[condition & 15];
    if (h == 0)
        h = t->remote->row.handlers[condition & 15];
    return h == 0 ? CFDP_HANDLE_CANCEL : (enum cfdp_handler)h;
}

enum cfdp_handler cfdp_fault(struct cfdp_transaction *t, enum cfdp_condition condition, tick now)
{
    enum cfdp_handler h = handler_of(t, condition);
    t->e->counts.faults++;
    if (t->condition != CFDP_NO_ERROR && h == CFDP_HANDLE_CANCEL)
        h = CFDP_HANDLE_ABANDON; /* it was cancelled already, and the peer does not answer */
    if (t->phase == CFDP_FINISHING && (h == CFDP_HANDLE_CANCEL || h == CFDP_HANDLE_ABANDON)) {
        cfdp_end(t); /* its result stays: only the ACK of Finished is missing */
        t->want = 0;
        h = CFDP_HANDLE_ABANDON;
    } else if (h == CFDP_HANDLE_IGNORE) {
        const enum cfdp_condition before = t->condition;
        t->condition = condition; /* that of the notice */
        cfdp_emit(t, CFDP_TOLD_FAULT);
        t->condition = before;
    } else if (h == CFDP_HANDLE_SUSPEND) {
        cfdp_suspend_it(t, now);
    } else if (h == CFDP_HANDLE_ABANDON) {
        cfdp_abandon(t, t->condition == CFDP_NO_ERROR ? condition : t->condition);
    } else if (t->is_sender) {
        cfdp_sender_cancel(t, condition, now);
    } else {
        cfdp_receiver_cancel(t, condition, now);
    }
    return h;
}

bool cfdp_fault_goes_on(struct cfdp_transaction *t, enum cfdp_condition condition, tick now)
{
    const enum cfdp_handler h = cfdp_fault(t, condition, now);
    return (h == CFDP_HANDLE_IGNORE || h == CFDP_HANDLE_SUSPEND) && t->phase != CFDP_ENDED;
}
