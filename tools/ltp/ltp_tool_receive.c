/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a block are written at their offsets into ORIGINATOR.SESSION.part. The suffix is
 * removed when the red part and the green part are complete. A block ends when it is complete, when
 * it is cancelled, or when the engine no longer waits for the rest of its green part. A part is
 * confirmed to the sender when it is written. What can go wrong: the disk, which cancels the block
 * and ends the program; incomplete blocks, which count as failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "conf/json_number.h"
#include "os/arguments.h"
#include "tools/ltp/ltp_tool.h"

#define NAME_MAX_BYTES 4096

struct block {
    struct list node;
    struct ltp_session_id id;
    uint64_t service, bytes, red_len, length; /* length EVENT_NONE: the end has not arrived */
    bool red;                                 /* the red part is complete, or there is none */
    bool orange;                              /* it is confirmed to its sender */
    int fd;
    tick began;
};

struct receiver {
    const struct ltp_tool_options *options;
    struct tool tool;
    tick end, swept;
    struct list blocks; /* open ones */
    uint64_t whole, failed;
    bool disk_failed;
    json_t *done;
};

static void name_of(const struct receiver *r, struct ltp_session_id id, const char *suffix,
                    char out[NAME_MAX_BYTES])
{
    snprintf(out, NAME_MAX_BYTES, "%s/%" PRIu64 ".%" PRIu64 "%s", r->options->output, id.originator,
             id.number, suffix);
}

static void disk(struct receiver *r, const char *path)
{
    fprintf(stderr, "helio-ltp: %s: %s\n", path, strerror(errno));
    r->disk_failed = true;
}

static struct block *find_file(struct receiver *r, struct ltp_session_id id)
{
    list_for_each (it, &r->blocks) {
        struct block *b = container_of(it, struct block, node);
        if (b->id.number == id.number && b->id.originator == id.originator)
            return b;
    }
    return NULL;
}

static struct block *block_new(struct receiver *r, const struct ltp_notice *n)
{
    char path[NAME_MAX_BYTES];
    struct block *b = calloc(1, sizeof *b);
    if (b == NULL)
        return NULL;
    name_of(r, n->id, ".part", path);
    b->id = n->id;
    b->service = n->client_service;
    b->length = EVENT_NONE;
    b->began = r->tool.now;
    b->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (b->fd < 0) {
        disk(r, path);
        free(b);
        return NULL;
    }
    list_add_tail(&r->blocks, &b->node);
    return b;
}

static void tell_block(struct receiver *r, const struct block *b, const char *outcome,
                       const char *path)
{
    json_t *o = json_object();
    json_object_set_new(o, "originator", json_number(b->id.originator));
    json_object_set_new(o, "session", json_number(b->id.number));
    json_object_set_new(o, "service", json_number(b->service));
    json_object_set_new(o, "bytes", json_integer((json_int_t)b->bytes));
    json_object_set_new(o, "red_bytes", json_integer((json_int_t)b->red_len));
    json_object_set_new(o, "outcome", json_string(outcome));
    json_object_set_new(o, "file", json_string(path));
    json_array_append_new(r->done, o);
    if (r->options->json)
        return;
    printf("%s: %s, %" PRIu64 " bytes (%" PRIu64 " red)\n", path, outcome, b->bytes, b->red_len);
    fflush(stdout);
}

/* The end of a block, and of b. */
static void finish_file(struct receiver *r, struct block *b, const char *why)
{
    char part[NAME_MAX_BYTES], path[NAME_MAX_BYTES];
    name_of(r, b->id, ".part", part);
    name_of(r, b->id, "", path);
    bool whole = b->red && b->bytes == b->length;
    bool closed = close(b->fd) == 0;
    if (!closed || (whole && rename(part, path) != 0)) {
        disk(r, part);
        whole = false;
        why = "not_written";
    }
    tell_block(r, b, whole ? "received" : why, whole ? path : part);
    r->whole += whole;
    r->failed += !whole;
    list_sub(&b->node);
    free(b);
}

static bool write_at(int fd, struct slice data, uint64_t offset)
{
    while (data.len > 0) {
        ssize_t n = pwrite(fd, data.data, data.len, (off_t)offset);
        if (n < 0)
            return false;
        data = slice_of(data.data + n, data.len - (size_t)n);
        offset += (uint64_t)n;
    }
    return true;
}

static void take_block(struct receiver *r, struct ltp_notice *n)
{
    struct block *b = find_file(r, n->id);
    if (b == NULL)
        b = block_new(r, n);
    if (b == NULL) {
        r->disk_failed = true;
        buf_drop(n->data);
        (void)ltp_cancel(r->tool.engine, n->id, LTP_SYS_CNCLD, r->tool.now);
        return;
    }
    if (!write_at(b->fd, buf_slice(n->data), n->offset)) {
        disk(r, r->options->output);
        buf_drop(n->data);
        (void)ltp_cancel(r->tool.engine, n->id, LTP_SYS_CNCLD,
                         r->tool.now); /* the peer is informed */
        finish_file(r, b, "not_written");
        return;
    }
    b->bytes += n->data->len;
    b->orange |= n->orange;
    if (n->kind == LTP_BLOCK)
        b->red_len = n->data->len;
    b->red = b->red || n->kind == LTP_BLOCK || n->red_len == 0;
    if (n->end)
        b->length = n->offset + n->data->len;
    buf_drop(n->data);
    bool whole = b->red && b->bytes == b->length;
    if (n->kind == LTP_BLOCK || (whole && n->orange))
        (void)ltp_accept(r->tool.engine, n->id, r->tool.now);
    if (whole)
        finish_file(r, b, "received");
}

static void cancelled(struct receiver *r, const struct ltp_notice *n)
{
    struct block *b = find_file(r, n->id);
    struct block none = {.id = n->id, .service = n->client_service};
    char why[64];
    if (b != NULL && b->orange && !n->remote) {
        finish_file(r, b, "incomplete");
        return;
    }
    snprintf(why, sizeof why, "cancelled%s: %s", n->remote ? "_by_peer" : "",
             tool_reason(n->reason));
    if (b != NULL) {
        finish_file(r, b, why);
        return;
    }
    tell_block(r, &none, why, "-");
    r->failed++;
}

static bool take_notices(void *context)
{
    struct receiver *r = context;
    struct ltp_notice n;
    bool any = false;
    while (!r->disk_failed && ltp_poll(r->tool.engine, &n) != 0) {
        any = true;
        if (n.kind == LTP_BLOCK || n.kind == LTP_GREEN)
            take_block(r, &n);
        else if (n.kind == LTP_IMPORT_CANCELLED)
            cancelled(r, &n);
    }
    return any;
}

static bool is_open(const struct ltp_session_info *open, size_t count, struct ltp_session_id id)
{
    for (size_t i = 0; i < count; i++)
        if (open[i].id.number == id.number && open[i].id.originator == id.originator)
            return true;
    return false;
}

/* The engine closes a session with an incomplete green part without a notice, when it no longer
 * waits for the rest. */
static void sweep_files(struct receiver *r)
{
    struct ltp_session_info *open;
    size_t count = ltp_sessions(r->tool.engine, NULL, 0);
    if (list_empty(&r->blocks) || (open = calloc(count + 1, sizeof *open)) == NULL)
        return;
    ltp_sessions(r->tool.engine, open, count);
    struct list *it = list_first(&r->blocks);
    while (it != &r->blocks) {
        struct block *b = container_of(it, struct block, node);
        it = it->next;
        if (!is_open(open, count, b->id))
            finish_file(r, b, "incomplete");
    }
    free(open);
}

static bool is_served(const struct receiver *r)
{
    return r->options->blocks > 0 && r->whole + r->failed >= r->options->blocks;
}

static tick next_turn(void *context)
{
    struct receiver *r = context;
    struct tool *t = &r->tool;
    if (t->now - r->swept >= TICK_MS) {
        r->swept = t->now;
        sweep_files(r);
    }
    /* The sender repeats its checkpoint until our report has reached it. */
    if (is_served(r) || r->disk_failed)
        return tool_linger(t, 0, tick_min(10 * r->options->span.rto, 10 * TICK_S));
    if (t->stopped || t->now >= r->end)
        return TOOL_END;
    return list_empty(&r->blocks) ? r->end : tick_min(r->end, t->now + 20 * TICK_MS);
}

static void run_receiver(struct receiver *r)
{
    static const struct tool_user user = {take_notices, next_turn};
    const struct ltp_tool_options *o = r->options;
    r->end = o->timeout == 0 ? TICK_NEVER : tick_add(r->tool.now, o->timeout);
    r->swept = r->tool.now;
    tool_run(&r->tool, &user, r);
    if (r->tool.now >= r->end && !is_served(r))
        r->failed++;
}

static void print_result(const struct receiver *r)
{
    json_t *all = json_object();
    json_object_set(all, "blocks", r->done);
    json_object_set_new(all, "received", json_integer((json_int_t)r->whole));
    json_object_set_new(all, "failed", json_integer((json_int_t)r->failed));
    json_object_set_new(all, "counters", tool_counters(&r->tool));
    if (r->options->json) {
        json_dumpf(all, stdout, JSON_INDENT(2));
        putchar('\n');
    }
    json_decref(all);
}

/* Makes it if it is not there. False with errno when files cannot be written into it. */
static bool folder(const char *path)
{
    struct stat s;
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return false;
    if (stat(path, &s) != 0)
        return false;
    if (!S_ISDIR(s.st_mode)) {
        errno = ENOTDIR;
        return false;
    }
    return access(path, W_OK | X_OK) == 0;
}

int ltp_tool_receive(const struct ltp_tool_options *o)
{
    struct receiver r = {.options = o};
    char local[ADDRESS_TEXT_MAX];
    list_init(&r.blocks);
    if (!folder(o->output)) {
        int why = errno;
        fprintf(stderr, "helio-ltp: --output %s: %s\n", o->output, strerror(why));
        return argument_open_code(why);
    }
    if (tool_open(&r.tool, o, 1) != 0)
        return 1;
    r.done = json_array();
    fprintf(stderr, "helio-ltp: receiving at %s (port %u), ready\n",
            address_write(&o->local, local), udp_port(r.tool.port->io));
    run_receiver(&r);
    while (!list_empty(&r.blocks))
        finish_file(&r, container_of(list_first(&r.blocks), struct block, node), "unfinished");
    print_result(&r);
    json_decref(r.done);
    tool_close(&r.tool);
    return r.disk_failed || (o->blocks > 0 && r.failed > 0);
}
