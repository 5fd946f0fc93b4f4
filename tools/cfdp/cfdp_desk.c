/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control socket: a connection sends one line, an object of JSON, and has lines of JSON as its
 * answer. The last one has "error", or "done". Requests of transactions that the client waits for
 * are answered when they end. What can go wrong: a line that is too long or no such object, and
 * what the entity refuses. The socket is of this user alone.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/printable.h"
#include "cfdp/tlv.h"
#include "conf/json_number.h"
#include "os/net/local_socket.h"
#include "tools/cfdp/cfdp_daemon.h"

#define TALKS_MAX 64
#define LINE_MAX_LEN 16384
#define LIST_MAX (32u << 20) /* octets of a list that is shown */

enum await { AWAIT_NOTHING, AWAIT_PUT, AWAIT_GET, AWAIT_LIST };

struct talk {
    struct list node;
    struct daemon *daemon;
    struct stream *stream;
    enum await await;
    struct cfdp_id id;            /* the transaction that is awaited, or that asked for one */
    uint64_t remote;              /* its remote entity */
    size_t requests;              /* filestore requests whose responses are due */
    char name[CFDP_NAME_MAX + 1]; /* of the file that was asked for */
    bool asked, ends;
    size_t len, out_len, out_done;
    char *out; /* owned: lines to write */
    char line[LINE_MAX_LEN];
};

static void end_talk(struct talk *a)
{
    a->daemon->talks_len--;
    list_sub(&a->node);
    stream_close(a->stream);
    free(a->out);
    free(a);
}

/* ---- answers ---- */

static void write_out(struct talk *a)
{
    const struct slice rest = slice_of(a->out + a->out_done, a->out_len - a->out_done);
    if (rest.len > 0)
        a->out_done += stream_write(a->stream, &rest, 1);
    if (a->ends && a->out_done == a->out_len)
        end_talk(a);
}

/* Takes the object. `last`: the connection ends with it, and `a` with the connection. */
static void answer_talk(struct talk *a, json_t *o, bool last)
{
    char *text = json_dumps(o, JSON_COMPACT);
    const size_t len = text == NULL ? 0 : strlen(text);
    char *bigger = text == NULL ? NULL : realloc(a->out, a->out_len + len + 1);
    json_decref(o);
    if (bigger != NULL) {
        a->out = bigger;
        memcpy(a->out + a->out_len, text, len);
        a->out[a->out_len + len] = '\n';
        a->out_len += len + 1;
    }
    free(text);
    a->ends = last || bigger == NULL;
    write_out(a);
}

static void refuse_talk(struct talk *a, const char *why)
{
    answer_talk(a, json_pack("{s:s}", "error", why), true);
}

static json_t *id_text(struct cfdp_id id)
{
    return json_sprintf("%" PRIu64 ":%" PRIu64, id.source, id.sequence);
}

/* ---- what is asked ---- */

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text == NULL ? "" : text;
}

static uint64_t number_of(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_integer(v) ? (uint64_t)json_integer_value(v)
                              : strtoull(text_of(o, key), NULL, 10);
}

static struct slice slice_text(const char *text)
{
    return slice_of(text, strlen(text));
}

/* ["create directory", "d"] … */
static bool read_requests(const json_t *o, struct writer *w)
{
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(o, "requests"), i, row)
    {
        struct cfdp_request q = {.action = CFDP_ACTIONS_COUNT};
        const char *name = json_string_value(json_array_get(row, 0));
        const char *first = json_string_value(json_array_get(row, 1));
        const char *second = json_string_value(json_array_get(row, 2));
        for (unsigned k = 0; name != NULL && k < CFDP_ACTIONS_COUNT; k++)
            if (strcmp(name, cfdp_action_text(k)) == 0)
                q.action = k;
        if (q.action == CFDP_ACTIONS_COUNT || first == NULL)
            return false;
        q.first = slice_text(first);
        q.second = slice_text(second == NULL ? "" : second);
        cfdp_request_write(w, &q);
    }
    return !w->bad;
}

static const char *why_not(int rc)
{
    switch (helio_code(rc)) {
    case HELIO_ENOENT:
        return "there is no such entity, or no such file below the root";
    case HELIO_EINVAL:
        return "a name or a request is not allowed, or too long";
    case HELIO_EAGAIN:
        return "too many transactions";
    default:
        return helio_strerror(rc);
    }
}

/* Does the peer say how it ended? */
static bool has_finished(const struct daemon *d, const struct cfdp_put *put)
{
    const struct cfdp_remote *row = cfdp_remote_find(d->entity, put->destination);
    const unsigned class_ = put->class_ != 0 ? put->class_ : (unsigned)row->class_;
    return class_ == CFDP_CLASS_2 || row->closure;
}

static void begin_put(struct talk *a, const json_t *o, const struct cfdp_put *put, enum await await)
{
    struct daemon *d = a->daemon;
    struct cfdp_id id;
    const int rc = daemon_route(d, put->destination) == NULL
                       ? HELIO_ENOENT
                       : cfdp_put(d->entity, put, world_now(d->world), &id);
    if (rc != 0) {
        refuse_talk(a, why_not(rc));
        return;
    }
    const bool wait = json_is_true(json_object_get(o, "wait"));
    json_t *answer = json_pack("{s:o}", "id", id_text(id));
    if (!wait)
        json_object_set_new(answer, "done", json_true());
    a->await = wait ? await : AWAIT_NOTHING;
    a->id = id;
    a->remote = put->destination;
    if (!has_finished(d, put))
        a->requests = 0;
    answer_talk(a, answer, !wait);
}

static void ask_put(struct talk *a, const json_t *o)
{
    uint8_t room[CFDP_OPTIONS_MAX];
    struct writer w = writer_of(room, sizeof room);
    const char *source = text_of(o, "source"), *name = text_of(o, "name");
    if (!read_requests(o, &w)) {
        refuse_talk(a, "a filestore request is not understood, or there are too many");
        return;
    }
    if (*source == '\0' && *name != '\0') {
        refuse_talk(a, "there is a name, but no source");
        return;
    }
    const struct cfdp_put put = {.destination = number_of(o, "to"),
                                 .source_name = *source == '\0' ? NULL : source,
                                 .destination_name = *name == '\0' ? NULL : name,
                                 .class_ = (unsigned)number_of(o, "class"),
                                 .options = slice_of(room, writer_len(&w))};
    a->requests = json_array_size(json_object_get(o, "requests"));
    begin_put(a, o, &put, AWAIT_PUT);
}

static void ask_file(struct talk *a, const json_t *o)
{
    uint8_t room[CFDP_OPTIONS_MAX];
    struct writer w = writer_of(room, sizeof room);
    const unsigned class_ = (unsigned)number_of(o, "class");
    const struct cfdp_message m = {.kind = CFDP_PROXY_PUT,
                                   .entity = a->daemon->settings->entity,
                                   .first = slice_text(text_of(o, "source")),
                                   .second = slice_text(text_of(o, "name"))};
    const struct cfdp_message mode = {.kind = CFDP_PROXY_MODE, .flag = class_ == CFDP_CLASS_1};
    cfdp_message_write(&w, &m);
    if (class_ != 0)
        cfdp_message_write(&w, &mode);
    if (w.bad) {
        refuse_talk(a, "the names are too long");
        return;
    }
    const struct cfdp_put put = {.destination = number_of(o, "from"),
                                 .options = slice_of(room, writer_len(&w))};
    snprintf(a->name, sizeof a->name, "%s", text_of(o, "name"));
    begin_put(a, o, &put, AWAIT_GET);
}

static void ask_list(struct talk *a, const json_t *o)
{
    uint8_t room[CFDP_OPTIONS_MAX];
    struct writer w = writer_of(room, sizeof room);
    char name[64];
    snprintf(name, sizeof name, "listing-%016" PRIx64, world_random(a->daemon->world));
    const char *folder = text_of(o, "folder");
    const struct cfdp_message m = {.kind = CFDP_LISTING_REQUEST,
                                   .first = slice_text(*folder == '\0' ? "/" : folder),
                                   .second = slice_text(name)};
    cfdp_message_write(&w, &m);
    if (w.bad) {
        refuse_talk(a, "the name is too long");
        return;
    }
    const struct cfdp_put put = {.destination = number_of(o, "from"),
                                 .options = slice_of(room, writer_len(&w))};
    snprintf(a->name, sizeof a->name, "%s", name);
    begin_put(a, o, &put, AWAIT_LIST);
}

static bool read_id(const char *text, struct cfdp_id *out)
{
    char *end;
    out->source = strtoull(text, &end, 10);
    if (end == text || *end != ':')
        return false;
    const char *number = end + 1;
    out->sequence = strtoull(number, &end, 10);
    return end != number && *end == '\0';
}

static void change_transaction(struct talk *a, const json_t *o, const char *what)
{
    struct daemon *d = a->daemon;
    const tick now = world_now(d->world);
    struct cfdp_id id;
    int rc = HELIO_ENOENT;
    if (read_id(text_of(o, "id"), &id))
        rc = strcmp(what, "suspend") == 0  ? cfdp_suspend(d->entity, id, now)
             : strcmp(what, "resume") == 0 ? cfdp_resume(d->entity, id, now)
                                           : cfdp_cancel(d->entity, id, now);
    if (rc == 0)
        answer_talk(a, json_pack("{s:b}", "done", 1), true);
    else
        refuse_talk(a, rc == HELIO_ENOENT ? "there is no such transaction"
                                          : "the transaction is not in a state for that");
}

static void change_link(struct talk *a, const json_t *o)
{
    struct daemon *d = a->daemon;
    struct route *r = daemon_route(d, number_of(o, "entity"));
    if (r == NULL) {
        refuse_talk(a, "there is no such entity");
        return;
    }
    r->down = !json_is_true(json_object_get(o, "up"));
    cfdp_link(d->entity, r->config->entity, !r->down, world_now(d->world));
    answer_talk(a, json_pack("{s:b}", "done", 1), true);
}

static void obey_request(struct talk *a, const json_t *o)
{
    const char *what = text_of(o, "do");
    if (strcmp(what, "put") == 0)
        ask_put(a, o);
    else if (strcmp(what, "get") == 0)
        ask_file(a, o);
    else if (strcmp(what, "ls") == 0)
        ask_list(a, o);
    else if (strcmp(what, "suspend") == 0 || strcmp(what, "resume") == 0 ||
             strcmp(what, "cancel") == 0)
        change_transaction(a, o, what);
    else if (strcmp(what, "link") == 0)
        change_link(a, o);
    else if (strcmp(what, "status") == 0)
        answer_talk(a, desk_status(a->daemon), true);
    else
        refuse_talk(a, "such a request is not known");
}

/* ---- what happens to transactions ---- */

/* Did it all succeed, as far as it is known? `responses`: how many there are. */
static bool is_done(const struct talk *a, const struct cfdp_notice *n, size_t responses)
{
    const bool kept =
        n->name[0] == '\0' || n->status == CFDP_FILE_RETAINED || n->status == CFDP_FILE_UNREPORTED;
    return n->condition == CFDP_NO_ERROR && !n->incomplete && kept && responses >= a->requests;
}

static json_t *result_of(const struct talk *a, const struct cfdp_notice *n)
{
    static const char *const files[] = {"discarded", "rejected", "retained", "not reported"};
    json_t *o =
        json_pack("{s:o,s:s,s:s,s:s}", "id", id_text(n->id), "condition",
                  cfdp_condition_text(n->condition), "file", files[n->status & 3], "name", n->name);
    json_t *responses = json_array();
    struct slice rest = slice_of(n->responses, n->responses_len);
    struct cfdp_response r;
    struct cfdp_tlv tlv;
    while (cfdp_tlv_next(&rest, &tlv))
        if (cfdp_response_parse(tlv.value, &r))
            json_array_append_new(responses,
                                  json_pack("{s:s,s:s%,s:i}", "action", cfdp_action_text(r.action),
                                            "name", (const char *)r.first.data, r.first.len,
                                            "status", (int)r.status));
    if (o == NULL)
        o = json_object();
    json_put_number(o, "octets", n->progress);
    json_object_set_new(o, "done", json_boolean(is_done(a, n, json_array_size(responses))));
    json_object_set_new(o, "responses", responses == NULL ? json_array() : responses);
    return o;
}

/* A name that is no UTF-8 cannot be in JSON: what is no character of it is escaped. */
static json_t *escape_lines(const char *text)
{
    char *all = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&all, &len);
    if (out == NULL)
        return NULL;
    for (const char *end; *text != '\0'; text = *end == '\0' ? end : end + 1) {
        char shown[300 * PRINTABLE_EACH];
        end = text + strcspn(text, "\n");
        printable(text, (size_t)(end - text), shown, sizeof shown);
        fprintf(out, "%s\n", shown);
    }
    json_t *list = fclose(out) == 0 ? json_string(all) : NULL;
    free(all);
    return list;
}

static void show_list(struct talk *a, const struct cfdp_notice *n)
{
    const bool good = n->condition == CFDP_NO_ERROR;
    char *text = good ? store_take_text(&a->daemon->store, n->name, LIST_MAX) : NULL;
    json_t *list = text == NULL ? NULL : json_string(text);
    if (text != NULL && list == NULL)
        list = escape_lines(text);
    free(text);
    if (good && list == NULL) {
        refuse_talk(a, "the list cannot be read, or is longer than 32 MiB");
        return;
    }
    json_t *o = result_of(a, n);
    if (list != NULL)
        json_object_set_new(o, "list", list);
    answer_talk(a, o, true);
}

/* The file that was asked for, or why it does not come. */
static void take_answer(struct talk *a, const struct cfdp_notice *n)
{
    const bool ours = cfdp_id_same(n->id, a->id);
    const bool failed = n->condition != CFDP_NO_ERROR || n->incomplete;
    const bool ended = n->kind == CFDP_TOLD_FINISHED || n->kind == CFDP_TOLD_ABANDONED;
    if (ours && ended && failed) {
        answer_talk(a, result_of(a, n), true);
    } else if (n->has_origin && cfdp_id_same(n->origin, a->id) && n->remote == a->remote) {
        const bool comes = ended && !n->is_sender && strcmp(n->name, a->name) == 0;
        if (comes && a->await == AWAIT_LIST)
            show_list(a, n);
        else if (comes)
            answer_talk(a, result_of(a, n), true);
        else if ((n->kind == CFDP_TOLD_PROXY || n->kind == CFDP_TOLD_LISTING) && failed)
            refuse_talk(a, n->kind == CFDP_TOLD_PROXY
                               ? "the remote entity could not send the file"
                               : "the remote entity could not list the folder");
    }
}

void desk_notice(struct daemon *d, const struct cfdp_notice *n)
{
    list_for_each_safe (l, &d->talks) {
        struct talk *a = container_of(l, struct talk, node);
        const bool ended = n->kind == CFDP_TOLD_FINISHED || n->kind == CFDP_TOLD_ABANDONED;
        if (a->ends || a->await == AWAIT_NOTHING)
            continue;
        if (a->await != AWAIT_PUT)
            take_answer(a, n);
        else if (ended && cfdp_id_same(n->id, a->id))
            answer_talk(a, result_of(a, n), true);
    }
}

/* ---- the socket ---- */

static uint8_t *find_space(void *context, size_t *len)
{
    struct talk *a = context;
    if (a->asked || a->len == sizeof a->line)
        a->len = 0; /* the rest is not looked at */
    *len = sizeof a->line - a->len;
    return (uint8_t *)a->line + a->len;
}

static void on_fed(void *context, size_t len)
{
    struct talk *a = context;
    struct daemon *d = a->daemon;
    a->len += len;
    if (a->asked)
        return;
    const char *end = memchr(a->line, '\n', a->len);
    if (end == NULL && a->len < sizeof a->line)
        return;
    a->asked = true;
    json_t *o = end == NULL
                    ? NULL
                    : json_loadb(a->line, (size_t)(end - a->line), JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(o))
        obey_request(a, o);
    else
        refuse_talk(a, "one line with an object of JSON is expected");
    json_decref(o);
    alarm_set(&d->alarm, 0); /* a turn */
}

static void on_writable(void *context)
{
    write_out(context);
}

static void on_ended(void *context, int error)
{
    (void)error;
    end_talk(context);
}

static const struct stream_user stream_user = {find_space, on_fed, on_writable, on_ended};

static void on_accepted(void *context, struct stream *s)
{
    struct daemon *d = context;
    struct talk *a = d->talks_len < TALKS_MAX ? calloc(1, sizeof *a) : NULL;
    if (a == NULL) {
        stream_close(s);
        return;
    }
    d->talks_len++;
    list_add_tail(&d->talks, &a->node);
    a->daemon = d;
    a->stream = s;
    stream_use(s, &stream_user, a);
    stream_read(s, true);
}

int desk_open(struct daemon *d)
{
    char why[256];
    const char *path = d->settings->control;
    if (local_socket_claim(path, why, sizeof why) != 0) {
        say(&d->log, LEVEL_ERROR, "control: %s", why);
        return HELIO_EIO;
    }
    const int rc = stream_listen(
        d->world, &d->desk, &(struct stream_place){.path = path, .mode = 0600}, on_accepted, d);
    if (rc != 0)
        say(&d->log, LEVEL_ERROR, "control: %s: %s", path, helio_strerror(rc));
    return rc;
}

void desk_close(struct daemon *d)
{
    if (d->desk == NULL)
        return;
    stream_unlisten(d->desk);
    d->desk = NULL;
    list_for_each_safe (l, &d->talks)
        end_talk(container_of(l, struct talk, node));
}
