/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The happy path: a delivery is taken, answered to the node, and leads to a receipt or a file. What
 * can go wrong: the disk (the delivery is not answered: it stays at the node, and this ends), and
 * the node going away (receipts that it had not confirmed are given again).
 */
#include "tools/files/recv_run.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"

#define IDLE_TURN (60 * TICK_S)

static void on_ready(void *context);

int recv_run_init(struct recv_run *r, struct world *w, const struct recv_options *o,
                  const uint64_t seed[2], void (*over)(void *context), void *context)
{
    *r = (struct recv_run){.options = o, .over = over, .context = context, .files = json_array()};
    perf_link_init(&r->link, w, &o->link, seed[0], o->deliveries, o->payload_max, on_ready, r);
    alarm_init(&r->alarm, w, ALARM_APP, on_ready, r);
    int rc = files_receiver_init(&r->receiver, o->output, &o->limits, o->hidden, seed[1]);
    if (rc == HELIO_EEXIST)
        fprintf(stderr,
                "helio-recv: -o %s: another helio-recv uses this folder; stop it, or choose "
                "another -o\n",
                o->output);
    else if (helio_code(rc) == HELIO_ENOENT)
        fprintf(stderr,
                "helio-recv: -o %s: there is no such folder; make it (mkdir -p), or write "
                "another\n",
                o->output);
    else if (rc != 0)
        fprintf(stderr, "helio-recv: -o %s: %s\n", o->output, helio_strerror(rc));
    return rc;
}

void recv_run_fini(struct recv_run *r)
{
    perf_link_fini(&r->link);
    alarm_fini(&r->alarm);
    files_receiver_fini(&r->receiver);
    json_decref(r->files);
}

static void end_run(struct recv_run *r)
{
    if (r->stop)
        return;
    r->stop = true;
    alarm_set(&r->alarm, TICK_NEVER);
    r->over(r->context);
}

/* The turn ends first: the connections are in use. */
static void fail_run(struct recv_run *r, const char *why)
{
    r->failed = true;
    fprintf(stderr, "helio-recv: %s\n", why);
}

/* ---- files ---- */

/* Writes the file's content to standard output and removes the file. 0 or HELIO_E*. */
static int pass_file(const struct files_shelf *s, const char *name)
{
    uint8_t part[65536];
    int fd = openat(s->dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : 0;
    while (fd >= 0 && (n = read(fd, part, sizeof part)) > 0)
        if (fwrite(part, 1, (size_t)n, stdout) != (size_t)n)
            break;
    bool good = n == 0 && fflush(stdout) == 0;
    int error = errno;
    if (fd >= 0)
        close(fd);
    if (!good)
        return error > 0 ? helio_from_errno(error) : HELIO_EIO;
    return unlinkat(s->dir, name, 0) == 0 ? 0 : helio_from_errno(errno);
}

static void tell_file(struct recv_run *r, const char *source, const struct files_outcome *o)
{
    const struct recv_options *q = r->options;
    bool text_to_stdout = !q->to_stdout && (q->json == NULL || strcmp(q->json, "-") != 0);
    if (json_array_size(r->files) < RECV_LIST_MAX)
        json_array_append_new(r->files, json_pack("{s:s,s:I,s:s}", "name", o->name, "bytes",
                                                  (json_int_t)o->size, "from", source));
    if (q->quiet)
        return;
    char name[FILES_SHOWN_MAX], from[AAP2_EID_MAX * PRINTABLE_EACH];
    printable(o->name, strlen(o->name), name, sizeof name);
    printable(source, strlen(source), from, sizeof from);
    fprintf(text_to_stdout ? stdout : stderr, "%s  %llu bytes from %s\n", name,
            (unsigned long long)o->size, from);
    fflush(text_to_stdout ? stdout : stderr);
}

static void push_reply(struct recv_run *r, const char *peer, const struct files_outcome *o)
{
    assert(r->len < RECV_REPLIES_MAX);
    struct recv_reply *a = &r->replies[(r->first + r->len++) % RECV_REPLIES_MAX];
    snprintf(a->peer, sizeof a->peer, "%s", peer);
    memcpy(a->bytes, o->receipt, o->receipt_len);
    a->len = o->receipt_len;
}

/* The first one; all are counted. */
static void tell_wrong_id(const char *source)
{
    char from[AAP2_EID_MAX * PRINTABLE_EACH];
    printable(source, strlen(source), from, sizeof from);
    fprintf(stderr, "helio-recv: from %s: a payload with another file's id; refused\n", from);
}

/* A file, or a receipt, or both. 0, or an error of the disk. */
static int take_outcome(struct recv_run *r, int rc, const char *source,
                        const struct files_outcome *o)
{
    char why[AAP2_WHY_MAX];
    if (rc == 0 && o->finished) {
        tell_file(r, source, o);
        rc = r->options->to_stdout ? pass_file(&r->receiver.shelf, o->name) : 0;
    }
    if (rc == 0 && o->receipt_len > 0)
        push_reply(r, source, o);
    if (rc == 0)
        return 0;
    snprintf(why, sizeof why, "%.150s: %s; what was not taken stays at the node",
             r->options->output, helio_strerror(rc));
    fail_run(r, why);
    return rc;
}

/* A part of a file that is being checked; there is room for its receipt. */
static void check_part(struct recv_run *r)
{
    struct files_outcome o;
    char source[FILES_SOURCE_MAX];
    if (r->failed || !files_receiver_busy(&r->receiver) || r->len >= RECV_REPLIES_MAX)
        return;
    const int rc = files_receiver_turn(&r->receiver, source, &o);
    (void)take_outcome(r, rc, source, &o);
}

/* 0, or an error of the disk. */
static int take_delivery(struct recv_run *r, const char *source, const char *neighbour,
                         struct slice payload)
{
    struct files_outcome o;
    const uint64_t *wrong = &r->receiver.counts.refused[FILES_REASON_ID], before = *wrong;
    int rc =
        files_receiver_take(&r->receiver, source, neighbour, payload, world_now(r->link.world), &o);
    if (before == 0 && *wrong > 0)
        tell_wrong_id(source);
    return take_outcome(r, rc, source, &o);
}

/* ---- the node ---- */

/* All that was wanted is here. */
static bool is_enough(const struct recv_run *r)
{
    return r->options->count > 0 && r->receiver.counts.files >= r->options->count;
}

static int read_deliveries(struct recv_run *r)
{
    struct aap2_arrival a;
    int rc = 0;
    while (!r->failed && !is_enough(r) && r->len < RECV_REPLIES_MAX &&
           (rc = aap2_client_next(r->link.rx, &a)) == 1) {
        rc = 0;
        bool taken = a.payload == NULL ||
                     take_delivery(r, a.message->adu->src_eid, a.message->adu->previous_node,
                                   buf_slice(a.payload)) == 0;
        if (a.payload != NULL && taken)
            rc = aap2_client_answer(r->link.rx, true);
        aap2_arrival_fini(&a);
        if (rc != 0)
            break;
    }
    return rc;
}

static int read_confirmations(struct recv_run *r)
{
    struct aap2_arrival a;
    int rc;
    while ((rc = aap2_client_next(r->link.tx, &a)) == 1) {
        bool valid = a.response != NULL && r->given > 0;
        if (valid) {
            r->refused +=
                a.response->response_status != AAP2__RESPONSE_STATUS__RESPONSE_STATUS_SUCCESS;
            r->first = (r->first + 1) % RECV_REPLIES_MAX;
            r->given--;
            r->len--;
        }
        aap2_arrival_fini(&a);
        if (!valid)
            return HELIO_EFORMAT;
    }
    return rc;
}

static int give_replies(struct recv_run *r)
{
    while (r->given < r->len && !aap2_client_full(r->link.tx)) {
        struct recv_reply *a = &r->replies[(r->first + r->given) % RECV_REPLIES_MAX];
        struct aap2_adu adu = {.destination = a->peer,
                               .lifetime_ms = r->options->lifetime_ms,
                               .body = slice_of(a->bytes, a->len)};
        int rc = aap2_client_send(r->link.tx, &adu);
        if (rc != 0)
            return rc;
        r->given++;
    }
    return aap2_client_flush(r->link.tx);
}

static void serve_node(struct recv_run *r, tick now)
{
    int rc = read_confirmations(r);
    rc = rc == 0 ? read_deliveries(r) : rc;
    rc = rc == 0 ? aap2_client_flush(r->link.rx) : rc;
    rc = rc == 0 ? give_replies(r) : rc;
    if (rc == 0 && is_enough(r) && r->len == 0 && !aap2_client_queued(r->link.rx))
        end_run(r);
    if (rc == 0)
        return;
    perf_link_close(&r->link, now);
    r->given = 0; /* all that was not confirmed is sent again */
    if (is_enough(r))
        end_run(r);
}

static size_t count_parts(const struct files_shelf *s)
{
    size_t n = 0;
    list_for_each (l, &s->order)
        n += !files_item_whole(container_of(l, struct files_item, order));
    return n;
}

static void begin_run(struct recv_run *r)
{
    const struct files_shelf *s = &r->receiver.shelf;
    r->begun = true;
    if (r->options->quiet)
        return;
    fprintf(stderr, "helio-recv: %s takes files to %s", r->link.endpoint, r->options->output);
    if (count_parts(s) > 0)
        fprintf(stderr, "; %zu from before are not whole yet", count_parts(s));
    fprintf(stderr, "\n");
}

/* Called when the connections have an event, and at the time that was set. */
static void take_turn(struct recv_run *r)
{
    tick now = world_now(r->link.world);
    int rc = perf_link_turn(&r->link, now);
    if (rc < 0)
        fail_run(r, r->link.why);
    if (rc == 1 && !r->begun)
        begin_run(r);
    check_part(r);
    if (rc == 1)
        serve_node(r, now);
    if (r->failed)
        end_run(r);
    if (r->stop)
        return;
    const tick due = r->link.tx == NULL ? r->link.retry_at : tick_add(now, IDLE_TURN);
    const bool checks = files_receiver_busy(&r->receiver) && r->len < RECV_REPLIES_MAX;
    alarm_set(&r->alarm, checks ? now : due);
}

static void on_ready(void *context)
{
    struct recv_run *r = context;
    if (!r->stop)
        take_turn(r);
}

void recv_run_start(struct recv_run *r)
{
    take_turn(r);
}

void recv_run_stop(struct recv_run *r)
{
    end_run(r);
}

json_t *recv_run_json(const struct recv_run *r)
{
    static const char *const names[FILES_REASONS] = {NULL,   "name",  "size",  "room", "conflict",
                                                     "gaps", "place", "share", "id"};
    const struct files_counts *c = &r->receiver.counts;
    json_t *refused = json_object();
    for (int i = 1; i < FILES_REASONS; i++)
        json_object_set_new(refused, names[i], json_integer((json_int_t)c->refused[i]));
    return json_pack("{s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:o,s:O}",
                     "role", "recv", "endpoint", r->link.endpoint, "files", (json_int_t)c->files,
                     "bytes", (json_int_t)c->bytes, "pieces", (json_int_t)c->pieces, "repeated",
                     (json_int_t)c->repeated, "damaged", (json_int_t)c->damaged, "foreign",
                     (json_int_t)c->foreign, "wrong", (json_int_t)c->wrong, "asks",
                     (json_int_t)c->asks, "receipts", (json_int_t)c->receipts, "receipts_refused",
                     (json_int_t)r->refused, "incomplete", (json_int_t)r->receiver.shelf.items.len,
                     "displaced", (json_int_t)r->receiver.shelf.displaced, "reconnects",
                     (json_int_t)r->link.reconnects, "refused", refused, "list", r->files);
}
