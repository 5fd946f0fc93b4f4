/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reserved messages to the user (6): proxy put and directory listing requests of a transaction that
 * was received without error, and the answers to our own. A requested file goes to the requesting
 * entity only. What can go wrong: no permission, no such file or folder: the answer says so.
 */
#include "cfdp/engine_private.h"

/* What the messages of one transaction say together (6.2.1). */
struct asked {
    struct cfdp_message put, list, put_response, listing;
    bool has_put, has_list, has_put_response, has_listing, has_origin, has_mode, unacknowledged,
        has_closure, closure;
    struct cfdp_id origin;
};

static void take_message(struct asked *a, const struct cfdp_message *m)
{
    if (m->kind == CFDP_PROXY_PUT) {
        a->put = *m;
        a->has_put = true;
    } else if (m->kind == CFDP_LISTING_REQUEST) {
        a->list = *m;
        a->has_list = true;
    } else if (m->kind == CFDP_PROXY_PUT_RESPONSE) {
        a->put_response = *m;
        a->has_put_response = true;
    } else if (m->kind == CFDP_LISTING_RESPONSE) {
        a->listing = *m;
        a->has_listing = true;
    } else if (m->kind == CFDP_ORIGINATING_ID) {
        a->origin = m->id;
        a->has_origin = true;
    } else if (m->kind == CFDP_PROXY_MODE) {
        a->has_mode = true;
        a->unacknowledged = m->flag;
    } else if (m->kind == CFDP_PROXY_CLOSURE) {
        a->has_closure = true;
        a->closure = m->flag;
    }
}

static void read_messages(struct slice options, struct asked *a)
{
    struct cfdp_message m;
    struct cfdp_tlv tlv;
    *a = (struct asked){0};
    while (cfdp_tlv_next(&options, &tlv))
        if (tlv.type == CFDP_TLV_MESSAGE && cfdp_message_parse(tlv.value, &m) == 1)
            take_message(a, &m);
}

bool cfdp_origin_of(struct slice options, struct cfdp_id *out)
{
    struct asked a;
    read_messages(options, &a);
    if (a.has_origin)
        *out = a.origin;
    return a.has_origin;
}

/* What proxy messages, requests and overrides become in the proxied transaction. */
static void copy_proxied(struct slice options, struct writer *w)
{
    struct cfdp_message m;
    struct cfdp_tlv tlv;
    while (cfdp_tlv_next(&options, &tlv)) {
        if (tlv.type != CFDP_TLV_MESSAGE || cfdp_message_parse(tlv.value, &m) != 1)
            continue;
        if (m.kind == CFDP_PROXY_MESSAGE)
            cfdp_tlv_write(w, CFDP_TLV_MESSAGE, m.first);
        else if (m.kind == CFDP_PROXY_REQUEST)
            cfdp_tlv_write(w, CFDP_TLV_REQUEST, m.first);
        else if (m.kind == CFDP_PROXY_FLOW)
            cfdp_tlv_write(w, CFDP_TLV_FLOW, m.first);
        else if (m.kind == CFDP_PROXY_HANDLER)
            cfdp_override_write(w, m.condition, m.status);
    }
}

static void write_origin(struct writer *w, struct cfdp_id id)
{
    const struct cfdp_message m = {.kind = CFDP_ORIGINATING_ID, .id = id};
    cfdp_message_write(w, &m);
}

/* A transaction without a file that carries an answer. */
static void send_answer(struct cfdp *e, uint64_t to, struct cfdp_id origin,
                        const struct cfdp_message *answer, struct slice more, tick now)
{
    uint8_t room[CFDP_OPTIONS_MAX];
    struct writer w = writer_of(room, sizeof room);
    cfdp_message_write(&w, answer);
    write_origin(&w, origin);
    writer_bytes(&w, more.data, more.len);
    const struct cfdp_put put = {.destination = to, .options = slice_of(room, writer_len(&w))};
    if (w.bad || cfdp_put_for(e, &put, false, NULL, now) != 0)
        e->counts.refused++;
}

static void refuse_put(struct cfdp_transaction *t, tick now)
{
    const struct cfdp_message m = {.kind = CFDP_PROXY_PUT_RESPONSE,
                                   .condition = CFDP_FILESTORE,
                                   .flag = true,
                                   .status = CFDP_FILE_UNREPORTED};
    t->e->counts.refused++;
    send_answer(t->e, t->remote->row.id, t->id, &m, slice_of(NULL, 0), now);
}

static bool set_name(char out[CFDP_NAME_MAX + 1], struct slice name)
{
    return cfdp_copy_name(out, name) && out[0] != '\0';
}

static void perform_put(struct cfdp_transaction *t, const struct asked *a, tick now)
{
    char from[CFDP_NAME_MAX + 1], to[CFDP_NAME_MAX + 1];
    uint8_t room[CFDP_OPTIONS_MAX];
    struct writer w = writer_of(room, sizeof room);
    const bool may =
        (t->remote->row.permissions & CFDP_MAY_GET) != 0 && a->put.entity == t->remote->row.id;
    write_origin(&w, t->id);
    copy_proxied(slice_of(t->options, t->options_len), &w);
    if (!may || w.bad || !set_name(from, a->put.first) || !set_name(to, a->put.second)) {
        refuse_put(t, now);
        return;
    }
    const unsigned mode = a->unacknowledged ? CFDP_CLASS_1 : CFDP_CLASS_2;
    const struct cfdp_put put = {.destination = a->put.entity,
                                 .source_name = from,
                                 .destination_name = to,
                                 .class_ = a->has_mode ? mode : 0,
                                 .closure = !a->has_closure ? 0
                                            : a->closure    ? 1
                                                            : 2,
                                 .options = slice_of(room, writer_len(&w))};
    if (cfdp_put_for(t->e, &put, false, &t->id, now) != 0)
        refuse_put(t, now);
}

static void perform_listing(struct cfdp_transaction *t, const struct asked *a, tick now)
{
    char folder[CFDP_NAME_MAX + 1], to[CFDP_NAME_MAX + 1];
    uint8_t room[CFDP_OPTIONS_MAX];
    struct writer w = writer_of(room, sizeof room);
    struct cfdp_message m = {
        .kind = CFDP_LISTING_RESPONSE, .first = a->list.first, .second = a->list.second};
    cfdp_message_write(&w, &m);
    write_origin(&w, t->id);
    const struct cfdp_put put = {.destination = t->remote->row.id,
                                 .source_name = folder,
                                 .destination_name = to,
                                 .options = slice_of(room, writer_len(&w))};
    if ((t->remote->row.permissions & CFDP_MAY_LIST) && !w.bad && set_name(folder, a->list.first) &&
        set_name(to, a->list.second) && cfdp_put_for(t->e, &put, true, NULL, now) == 0)
        return;
    t->e->counts.refused++;
    m.flag = true;
    send_answer(t->e, t->remote->row.id, t->id, &m, slice_of(NULL, 0), now);
}

/* An answer to our own request. */
static void tell_answer(struct cfdp_transaction *t, enum cfdp_notice_kind kind,
                        const struct asked *a)
{
    struct cfdp_notice *n = cfdp_notice_push(t->e);
    n->kind = kind;
    n->id = t->id;
    n->remote = t->remote->row.id;
    n->has_origin = a->has_origin;
    n->origin = a->origin;
    n->status = (enum cfdp_file_status)a->put_response.status;
    n->condition = (enum cfdp_condition)a->put_response.condition;
    n->incomplete = kind == CFDP_TOLD_PROXY ? a->put_response.flag : a->listing.flag;
}

void cfdp_operate(struct cfdp_transaction *t, tick now)
{
    struct asked a;
    read_messages(slice_of(t->options, t->options_len), &a);
    if (a.has_put_response)
        tell_answer(t, CFDP_TOLD_PROXY, &a);
    if (a.has_listing)
        tell_answer(t, CFDP_TOLD_LISTING, &a);
    if (a.has_put)
        perform_put(t, &a, now);
    if (a.has_list)
        perform_listing(t, &a, now);
}

/* Proxy filestore responses of the proxied transaction. */
static void copy_responses(const struct cfdp_transaction *t, struct writer *w)
{
    struct slice rest = slice_of(t->responses, t->responses_len);
    struct cfdp_tlv tlv;
    while (cfdp_tlv_next(&rest, &tlv)) {
        const struct cfdp_message m = {.kind = CFDP_PROXY_RESPONSE, .first = tlv.value};
        cfdp_message_write(w, &m);
    }
}

void cfdp_answer_proxy(struct cfdp_transaction *t, tick now)
{
    uint8_t room[CFDP_RESPONSES_MAX * 2];
    struct writer w = writer_of(room, sizeof room);
    const struct cfdp_message m = {.kind = CFDP_PROXY_PUT_RESPONSE,
                                   .condition = (unsigned)t->condition,
                                   .flag = t->incomplete,
                                   .status = (unsigned)t->status};
    copy_responses(t, &w);
    send_answer(t->e, t->origin.source, t->origin, &m, slice_of(room, w.bad ? 0 : writer_len(&w)),
                now);
}
