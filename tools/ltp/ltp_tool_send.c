/* SPDX-License-Identifier: Apache-2.0 */
/* Each file is read as a whole and sent as a block; all sessions run at once. The program ends when
 * each has its close notice. What can go wrong: a file that cannot be read, a session that is
 * cancelled, the time limit or a signal; all end with exit code 1. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "conf/json_number.h"
#include "os/arguments.h"
#include "tools/ltp/ltp_tool.h"

#define FILES_MAX 1024

enum outcome { WAITING, DELIVERED, CANCELLED, LOST };

struct sent {
    const char *file;
    struct buf *data;
    uint64_t red_len;
    struct ltp_session_id id;
    enum outcome outcome;
    enum ltp_reason reason;
    bool remote, orange, again;
    tick ended;
};

struct sender {
    const struct ltp_tool_options *options;
    struct tool tool;
    struct sent *sent;
    size_t waiting;
    tick began;
};

static struct buf *read_file(const char *path)
{
    struct buf *b = NULL;
    struct stat st;
    FILE *f = fopen(path, "rb");
    if (f == NULL || fstat(fileno(f), &st) != 0)
        goto out;
    errno = EINVAL;
    if (!S_ISREG(st.st_mode) || st.st_size == 0 || st.st_size > UINT32_MAX)
        goto out;
    size_t len = (size_t)st.st_size;
    b = buf_new(0, len);
    if (b != NULL && fread(buf_append(b, len), 1, len, f) != len) {
        buf_drop(b);
        b = NULL;
        errno = EIO;
    }
out:
    if (b == NULL)
        fprintf(stderr, "helio-ltp: %s: %s\n", path,
                errno == EINVAL ? "a file of 1 to 4294967295 bytes is wanted" : strerror(errno));
    if (f != NULL)
        fclose(f);
    return b;
}

static int send_block(struct sender *s, size_t i)
{
    struct sent *x = &s->sent[i];
    struct ltp_block block = {.peer = s->options->peer_engine,
                              .client_service = s->options->service,
                              .data = x->data,
                              .red_len = x->red_len,
                              .orange = s->options->orange,
                              .tag = i};
    return ltp_send(s->tool.engine, &block, s->tool.now, &x->id);
}

static int begin_block(struct sender *s, size_t i)
{
    struct sent *x = &s->sent[i];
    x->file = s->options->files[i];
    x->data = read_file(x->file);
    if (x->data == NULL)
        return -1;
    x->red_len = s->options->red == LTP_TOOL_ALL ? x->data->len : s->options->red;
    int r = x->red_len > x->data->len ? HELIO_EINVAL : send_block(s, i);
    if (r != 0) {
        fprintf(stderr, "helio-ltp: %s: %s\n", x->file,
                r == HELIO_EINVAL ? "--red is more than the file has" : helio_strerror(r));
        return -1;
    }
    s->waiting++;
    return 0;
}

/* The peer cancelled for its number of reports, and gets plain recovery from now on: once more. */
static bool send_again(struct sender *s, const struct ltp_notice *n)
{
    struct sent *x = &s->sent[n->tag];
    struct ltp_support b;
    if (n->kind != LTP_EXPORT_CANCELLED || !n->remote || n->reason != LTP_RLEXC || x->again ||
        !ltp_recovery_has(&s->options->span.recovery, LTP_OPTION_RECEIVER) ||
        !ltp_peer_support(s->tool.engine, s->options->peer_engine, &b) ||
        b.learnt != LTP_LEARNT_PLAIN)
        return false;
    x->again = true;
    fprintf(stderr,
            "helio-ltp: %s: the peer cancelled it for its reports; again with plain recovery\n",
            x->file);
    return send_block(s, (size_t)n->tag) == 0;
}

static bool take_notices(void *context)
{
    struct sender *s = context;
    struct ltp_notice n;
    bool any = false;
    while (ltp_poll(s->tool.engine, &n) != 0) {
        any = true;
        buf_drop(n.data);
        if (n.kind == LTP_INITIAL_SENT || send_again(s, &n))
            continue;
        struct sent *x = &s->sent[n.tag];
        x->outcome = n.kind == LTP_EXPORT_DONE   ? DELIVERED
                     : n.kind == LTP_EXPORT_LOST ? LOST
                                                 : CANCELLED;
        x->orange = n.orange;
        x->reason = n.reason;
        x->remote = n.remote;
        x->ended = s->tool.now;
        s->waiting--;
    }
    return any;
}

static tick next_turn(void *context)
{
    struct sender *s = context;
    const struct ltp_tool_options *o = s->options;
    tick end = o->timeout == 0 ? TICK_NEVER : tick_add(s->began, o->timeout);
    /* The peer repeats its last report until our acknowledgement has reached it. */
    if (s->waiting == 0)
        return tool_linger(
            &s->tool, o->red == 0 && !o->orange ? 0 : tick_min(2 * o->span.rto, TICK_S), TICK_S);
    return s->tool.stopped || s->tool.now >= end ? TOOL_END : end;
}

static const char *outcome_name(const struct sent *x)
{
    if (x->outcome == WAITING)
        return "unfinished";
    if (x->outcome == CANCELLED)
        return x->remote ? "cancelled_by_peer" : "cancelled";
    if (x->outcome == LOST)
        return x->remote ? "lost" : "not_answered";
    return x->red_len == 0 && !x->orange ? "sent" : "delivered";
}

static json_t *to_json(const struct sender *s, const struct sent *x)
{
    json_t *o = json_object();
    double seconds = (double)((x->ended == 0 ? s->tool.now : x->ended) - s->began) / 1e9;
    json_object_set_new(o, "file", json_string(x->file));
    json_object_set_new(o, "session", json_number(x->id.number));
    json_object_set_new(o, "bytes", json_integer((json_int_t)x->data->len));
    json_object_set_new(o, "red_bytes", json_integer((json_int_t)x->red_len));
    json_object_set_new(o, "outcome", json_string(outcome_name(x)));
    if (x->outcome == CANCELLED)
        json_object_set_new(o, "reason", json_string(tool_reason(x->reason)));
    json_object_set_new(o, "seconds", json_real(seconds));
    return o;
}

static void print_result(const struct sender *s)
{
    json_t *blocks = json_array();
    for (size_t i = 0; i < s->options->count; i++) {
        const struct sent *x = &s->sent[i];
        json_array_append_new(blocks, to_json(s, x));
        if (!s->options->json)
            printf("%s: %s%s%s, %zu bytes (%" PRIu64 " red), session %" PRIu64 "\n", x->file,
                   outcome_name(x), x->outcome == CANCELLED ? ": " : "",
                   x->outcome == CANCELLED ? tool_reason(x->reason) : "", x->data->len, x->red_len,
                   x->id.number);
    }
    json_t *all = json_object();
    json_object_set_new(all, "blocks", blocks);
    json_object_set_new(all, "counters", tool_counters(&s->tool));
    if (s->options->json) {
        json_dumpf(all, stdout, JSON_INDENT(2));
        putchar('\n');
    }
    json_decref(all);
}

static bool missing_file(const struct ltp_tool_options *o)
{
    for (size_t i = 0; i < o->count; i++)
        if (argument_file_code(o->files[i], false) == 2)
            return true;
    return false;
}

int ltp_tool_send(const struct ltp_tool_options *o)
{
    static const struct tool_user user = {take_notices, next_turn};
    struct sender s = {.options = o};
    int status = 1;
    if (o->count > FILES_MAX) {
        fprintf(stderr, "helio-ltp: at most %d files\n", FILES_MAX);
        return 2;
    }
    if (tool_open(&s.tool, o, (uint32_t)o->count) != 0)
        return 1;
    s.began = s.tool.now;
    s.sent = calloc(o->count, sizeof *s.sent);
    bool ready = s.sent != NULL;
    for (size_t i = 0; ready && i < o->count; i++)
        ready = begin_block(&s, i) == 0;
    if (!ready && missing_file(o))
        status = 2;
    if (ready) {
        tool_run(&s.tool, &user, &s);
        print_result(&s);
        status = 0;
        for (size_t i = 0; i < o->count; i++)
            status |= s.sent[i].outcome != DELIVERED;
    }
    tool_close(&s.tool);
    for (size_t i = 0; s.sent != NULL && i < o->count; i++)
        buf_drop(s.sent[i].data);
    free(s.sent);
    return status;
}
