/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The normal case: a piece is written, the last one completes the file, and a receipt confirms it.
 * What can go wrong: foreign, damaged, repeated or refused payloads are counted; the sender of a
 * refused one is informed once, or when it asks; a full disk stops everything, and the bundles stay
 * at the node.
 */
#include "tools/files/files_receiver.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "tools/files/files_id.h"

/* Whole files of the last process, whose receipts nobody waits for here. */
static void check_resumed(struct files_receiver *r)
{
    list_for_each (l, &r->shelf.order) {
        struct files_item *it = container_of(l, struct files_item, order);
        if (!files_item_whole(it))
            continue;
        snprintf(it->endpoint, sizeof it->endpoint, "%s", it->source);
        list_add_tail(&r->checking, &it->checking);
    }
}

int files_receiver_init(struct files_receiver *r, const char *path,
                        const struct files_limits *limits, bool hidden, uint64_t seed)
{
    *r = (struct files_receiver){.hidden = hidden};
    list_init(&r->checking);
    const int rc = files_shelf_open(&r->shelf, path, limits, seed);
    if (rc == 0)
        check_resumed(r);
    return rc;
}

void files_receiver_fini(struct files_receiver *r)
{
    files_shelf_close(&r->shelf);
}

/* A head whose id is right, and the node that sent it. */
struct arrival {
    struct files_head head;
    struct files_from from;
    const char *endpoint;
};

/* ---- receipts ---- */

static void write_receipt(struct files_receiver *r, const struct files_head *h,
                          const struct files_receipt *receipt, struct files_outcome *out)
{
    out->receipt_len = files_write_receipt(h, receipt, out->receipt);
    r->counts.receipts++;
    assert(out->receipt_len <= sizeof out->receipt);
}

static void say_done(struct files_receiver *r, const struct files_head *h,
                     struct files_outcome *out)
{
    const struct files_receipt done = {.state = FILES_STATE_DONE, .held = h->size};
    write_receipt(r, h, &done, out);
}

/* Is this the first refusal of this transfer to this source? From then on it counts as informed. */
static bool note_refused(struct files_receiver *r, const struct files_head *h, const char *source)
{
    const uint64_t id = hash_bytes(r->shelf.items.seed, h->id, FILES_ID);
    const uint64_t hash = hash_bytes(id, source, strlen(source));
    for (size_t i = 0; i < FILES_REFUSED_MAX; i++)
        if (r->refused[i] == hash)
            return false;
    r->refused[r->refused_next] = hash;
    r->refused_next = (r->refused_next + 1) % FILES_REFUSED_MAX;
    return true;
}

static void refuse_file(struct files_receiver *r, const struct arrival *a, enum files_reason reason,
                        struct files_outcome *out)
{
    const struct files_receipt refused = {.state = FILES_STATE_REFUSED, .reason = reason};
    const struct files_head *h = &a->head;
    bool first = note_refused(r, h, a->from.source);
    r->counts.refused[reason]++;
    if (h->kind == FILES_ASK || (first && (h->flags & FILES_WANT_RECEIPT) != 0))
        write_receipt(r, h, &refused, out);
}

/* ---- pieces ---- */

/* FILES_REASON_NONE: it may be taken. */
static enum files_reason judge_head(const struct files_receiver *r, const struct files_head *h)
{
    if (!files_name_good(h->name, r->hidden) || files_name_own(h->name))
        return FILES_REASON_NAME;
    return h->size > r->shelf.limits.file_max ? FILES_REASON_SIZE : FILES_REASON_NONE;
}

/* Equal ids mean equal files: to make two files with one id takes 2^64 attempts. */
static bool is_same(const struct files_item *it, const struct files_head *h)
{
    return it->size == h->size && memcmp(it->sha, h->sha, FILES_SHA) == 0 &&
           slice_equal(slice_of(it->name, strlen(it->name)), h->name);
}

static int end_file(struct files_receiver *r, struct files_item *it, const struct arrival *a,
                    struct files_outcome *out)
{
    const struct files_head *h = &a->head;
    list_sub(&it->checking);
    int rc = files_shelf_finish(&r->shelf, it, out->name);
    if (rc == HELIO_EINVAL) {
        refuse_file(r, a, FILES_REASON_PLACE, out);
        return 0;
    }
    if (rc ==
        HELIO_EFORMAT) { /* nothing is held now, and the sender gets that answer when it asks */
        r->counts.wrong++;
        return 0;
    }
    if (rc != 0)
        return rc;
    r->counts.files++;
    out->finished = true;
    out->size = h->size;
    if ((h->flags & FILES_WANT_RECEIPT) != 0 || h->kind == FILES_ASK)
        say_done(r, h, out);
    return 0;
}

static int finish_file(struct files_receiver *r, struct files_item *it, const struct arrival *a,
                       struct files_outcome *out)
{
    const struct files_head *h = &a->head;
    assert(a->endpoint != NULL && a->from.source != NULL);
    const uint64_t turn = r->shelf.limits.turn_bytes;
    if (turn == 0 || it->size <= turn)
        return end_file(r, it, a, out);
    snprintf(it->endpoint, sizeof it->endpoint, "%s", a->endpoint);
    it->wanted = it->wanted || (h->flags & FILES_WANT_RECEIPT) != 0 || h->kind == FILES_ASK;
    it->number = h->number;
    if (list_empty(&it->checking))
        list_add_tail(&r->checking, &it->checking);
    return 0;
}

bool files_receiver_busy(const struct files_receiver *r)
{
    return !list_empty(&r->checking);
}

int files_receiver_turn(struct files_receiver *r, char from[FILES_SOURCE_MAX],
                        struct files_outcome *out)
{
    char name[FILES_NAME_MAX + 1], source[FILES_SOURCE_MAX];
    struct list *first = list_first(&r->checking);
    assert(first != NULL);
    struct files_item *it = container_of(first, struct files_item, checking);
    out->receipt_len = 0;
    out->finished = false;
    const int rc = files_shelf_check_part(&r->shelf, it, r->shelf.limits.turn_bytes);
    if (rc == 1) { /* several files take turns */
        list_sub(&it->checking);
        list_add_tail(&r->checking, &it->checking);
        return 0;
    }
    if (rc == HELIO_EFORMAT) { /* as in end_file, which would check it again */
        files_shelf_drop(&r->shelf, it);
        r->counts.wrong++;
        return 0;
    }
    if (rc != 0) { /* it is kept: a question or a piece begins the check again */
        list_sub(&it->checking);
        return rc;
    }
    memcpy(from, it->endpoint, FILES_SOURCE_MAX);
    memcpy(name, it->name, sizeof name);
    memcpy(source, it->source, sizeof source);
    struct arrival a = {.endpoint = from, .from.source = source};
    a.head = (struct files_head){.kind = it->wanted ? FILES_ASK : FILES_PIECE,
                                 .size = it->size,
                                 .number = it->number,
                                 .name = slice_of(name, strlen(name))};
    memcpy(a.head.id, it->id, FILES_ID);
    memcpy(a.head.sha, it->sha, FILES_SHA);
    return end_file(r, it, &a, out);
}

static int write_piece(struct files_receiver *r, struct files_item *it, const struct arrival *a,
                       struct slice body, tick now, struct files_outcome *out)
{
    int rc = files_shelf_write(&r->shelf, it, a->head.offset, body, now);
    if (rc == HELIO_EAGAIN || rc == FILES_NO_ROOM || rc == FILES_NO_SHARE) {
        refuse_file(r, a,
                    rc == HELIO_EAGAIN    ? FILES_REASON_GAPS
                    : rc == FILES_NO_ROOM ? FILES_REASON_ROOM
                                          : FILES_REASON_SHARE,
                    out);
        return 0;
    }
    if (rc < 0)
        return rc;
    r->counts.pieces += rc == FILES_WRITTEN;
    r->counts.bytes += rc == FILES_WRITTEN ? body.len : 0;
    r->counts.repeated += rc == FILES_REPEATED && body.len > 0;
    return files_item_whole(it) ? finish_file(r, it, a, out) : 0;
}

static int take_piece(struct files_receiver *r, const struct arrival *a, struct slice body,
                      tick now, struct files_outcome *out)
{
    const struct files_head *h = &a->head;
    if (files_done_has(&r->shelf.done, h->id)) {
        r->counts.repeated++;
        if (h->offset == 0 && (h->flags & FILES_WANT_RECEIPT) != 0)
            say_done(r, h, out);
        return 0;
    }
    struct files_item *it = files_shelf_find(&r->shelf, h->id, a->from.source);
    enum files_reason reason = judge_head(r, h);
    if (reason == FILES_REASON_NONE && it != NULL && !is_same(it, h))
        reason = FILES_REASON_CONFLICT;
    int rc = 0;
    if (reason == FILES_REASON_NONE && it == NULL)
        rc = files_shelf_begin(&r->shelf, h, &a->from, now, &it);
    if (rc == HELIO_EAGAIN)
        reason = FILES_REASON_ROOM;
    if (rc == HELIO_EEXIST)
        reason = FILES_REASON_SHARE;
    if (reason != FILES_REASON_NONE) {
        refuse_file(r, a, reason, out);
        return 0;
    }
    return rc != 0 ? rc : write_piece(r, it, a, body, now, out);
}

static int take_ask(struct files_receiver *r, const struct arrival *a, struct files_outcome *out)
{
    const struct files_head *h = &a->head;
    struct files_receipt receipt = {.state = FILES_STATE_PARTLY};
    r->counts.asks++;
    if (files_done_has(&r->shelf.done, h->id)) {
        say_done(r, h, out);
        return 0;
    }
    struct files_item *it = files_shelf_find(&r->shelf, h->id, a->from.source);
    enum files_reason reason = judge_head(r, h);
    if (reason == FILES_REASON_NONE && it != NULL && !is_same(it, h))
        reason = FILES_REASON_CONFLICT;
    if (reason != FILES_REASON_NONE) {
        refuse_file(r, a, reason, out);
        return 0;
    }
    if (it != NULL && files_item_whole(it)) /* it could not be finished before */
        return finish_file(r, it, a, out);
    if (it != NULL)
        files_item_receipt(it, &receipt);
    else if (h->size > 0)
        receipt.gaps[receipt.gaps_len++] = (struct range){0, h->size};
    write_receipt(r, h, &receipt, out);
    return 0;
}

void files_name_node(const char *source, char out[FILES_SOURCE_MAX])
{
    const char *end =
        strncmp(source, "dtn://", 6) == 0 ? strchr(source + 6, '/') : strrchr(source, '.');
    size_t len = end != NULL ? (size_t)(end - source) : strlen(source);
    snprintf(out, FILES_SOURCE_MAX, "%.*s", (int)(len < FILES_SOURCE_MAX ? len : 0), source);
}

/* A piece or a question whose head is sound, from anybody. One with another file's id gets no
 * answer: its source, which may be forged, would take that for an answer about the other file. */
static int take_sound(struct files_receiver *r, const struct arrival *a, struct slice body,
                      tick now, struct files_outcome *out)
{
    uint8_t right[FILES_ID];
    if (!files_id_make(&a->head, right))
        return HELIO_ENOMEM;
    if (memcmp(right, a->head.id, FILES_ID) != 0) {
        r->counts.refused[FILES_REASON_ID]++;
        return 0;
    }
    return a->head.kind == FILES_ASK ? take_ask(r, a, out) : take_piece(r, a, body, now, out);
}

int files_receiver_take(struct files_receiver *r, const char *source, const char *neighbour,
                        struct slice payload, tick now, struct files_outcome *out)
{
    struct arrival a;
    struct slice body;
    char node[FILES_SOURCE_MAX];
    out->receipt_len = 0;
    out->finished = false;
    enum files_verdict v = files_parse(payload, &a.head, &body);
    r->counts.damaged += v == FILES_DAMAGED;
    r->counts.foreign += v == FILES_FOREIGN || (v == FILES_OK && a.head.kind == FILES_RECEIPT);
    if (v != FILES_OK || a.head.kind == FILES_RECEIPT)
        return 0;
    files_name_node(source, node);
    a.endpoint = source;
    a.from = (struct files_from){node, strlen(neighbour) < FILES_SOURCE_MAX ? neighbour : ""};
    return take_sound(r, &a, body, now, out);
}
