/* SPDX-License-Identifier: Apache-2.0 */
/* The sending end at a node. What can go wrong: the folder cannot be read (reported once; it is
 * read again later); its table cannot be written (the end). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/printable.h"
#include "tools/sync/sync_run.h"

#define TURN (250 * TICK_MS)     /* how often inotify is asked */
#define SHOWN (500 * TICK_MS)    /* how often the progress is shown on a terminal */
#define WAITS_TOLD (60 * TICK_S) /* how often a missing answer is reported */

static uint64_t ask_wall(void *context)
{
    struct sync_send *r = context;
    return world_wall(r->node.link.world);
}

static void clear_line(const struct sync_send *r)
{
    if (r->terminal)
        fputs("\r\033[K", stderr);
}

static void on_over(void *context, const struct sync_entry *e, const char *why)
{
    struct sync_send *r = context;
    char name[FILES_NAME_MAX * PRINTABLE_EACH];
    printable(e->name, strlen(e->name), name, sizeof name);
    r->failed += why != NULL;
    if (why == NULL && r->options->quiet)
        return;
    clear_line(r);
    if (why != NULL)
        fprintf(stderr, "helio-sync: %s: %s\n", name, why);
    else {
        FILE *out =
            r->options->json != NULL && strcmp(r->options->json, "-") == 0 ? stderr : stdout;
        if (e->type == SYNC_GONE)
            fprintf(out, "%s  gone\n", name);
        else
            fprintf(out, "%s  %llu bytes  confirmed\n", name, (unsigned long long)e->size);
        fflush(out);
    }
}

static void tell_error(struct sync_send *r, int rc)
{
    clear_line(r);
    sync_node_fail(&r->node, r->options->path, helio_strerror(rc));
}

static int take_delivery(void *context, const char *source, const char *neighbour,
                         struct slice payload)
{
    struct sync_send *r = context;
    (void)neighbour;
    int rc = sync_source_take(&r->source, source, payload, world_now(r->node.link.world));
    if (rc != 0)
        tell_error(r, rc);
    return rc;
}

static void fill_node(void *context, tick now)
{
    struct sync_send *r = context;
    const size_t room = r->options->source.files.piece > SYNC_MESSAGE_MIN
                            ? (size_t)r->options->source.files.piece
                            : SYNC_MESSAGE_MIN;
    struct slice transfer;
    r->source.now = now;
    while (r->source.open_len > 0 && !sync_node_full(&r->node)) {
        uint8_t *message = malloc(room);
        const size_t len = message != NULL ? sync_source_next(&r->source, message, room) : 0;
        if (len == 0) {
            free(message);
            break;
        }
        sync_node_push(&r->node, r->options->destination, slice_of(message, len), message);
    }
    while (!sync_node_full(&r->node) && files_sender_next(&r->source.sender, now, &transfer))
        sync_node_push(&r->node, r->options->destination, transfer, NULL);
}

static void note_answered(void *context, bool taken)
{
    struct sync_send *r = context;
    files_sender_answer(&r->source.sender, taken, world_now(r->node.link.world));
}

static void note_lost(void *context)
{
    struct sync_send *r = context;
    files_sender_lost(&r->source.sender);
}

/* "ipn:!.N" is an endpoint of our node, whose answers have its number (RFC 9758 §3.4.2). */
static void name_receiver(struct sync_send *r)
{
    struct eid own, *receiver = &r->source.options.files.receiver;
    if (eid_is_local(receiver) && eid_parse(r->node.link.endpoint, &own) == 0)
        *receiver = eid_ipn(own.allocator, own.node, receiver->service);
    r->source.sender.options.receiver = *receiver;
}

static void begin_run(struct sync_send *r)
{
    r->node.begun = true;
    name_receiver(r);
    if (!r->options->quiet)
        fprintf(stderr, "helio-sync: %s keeps %s equal to %s\n", r->node.link.endpoint,
                r->options->destination, r->options->path);
}

static const char *folder_text(int folder)
{
    return helio_errno(folder) == ESTALE ? "another folder is in its place, or its .helio-sync is"
                                           " not there"
                                         : helio_strerror(folder);
}

static void tell_folder(struct sync_send *r, int folder)
{
    if (folder != 0 && folder != r->folder) {
        clear_line(r);
        fprintf(stderr, "helio-sync: %s: %s; nothing counts as gone until it can be read again\n",
                r->options->path, folder_text(folder));
    }
    r->folder = folder;
}

/* Everything was requested, and nothing was answered. */
static void tell_silence(struct sync_send *r, tick now)
{
    const struct sync_source_counts *c = &r->source.counts;
    const bool silent =
        r->source.open_len > 0 && c->confirmed + c->wanted + c->refused + c->gone == 0;
    if (!silent || c->messages < 3) {
        r->told_at = tick_add(now, TICK_S);
        return;
    }
    if (now < r->told_at)
        return;
    clear_line(r);
    fprintf(
        stderr,
        "helio-sync: no answer from %s; asking again (the bundles wait at a node on the way, or "
        "no helio-sync receive is there that takes them from us: helioctl links, backlog)\n",
        r->options->destination);
    r->told_at = tick_add(now, WAITS_TOLD);
}

static void show_progress(struct sync_send *r, tick now)
{
    const struct sync_source *s = &r->source;
    if (!r->terminal || r->options->quiet || now < r->shown_at)
        return;
    r->shown_at = tick_add(now, SHOWN);
    if (s->open_len + s->resting_len == 0)
        clear_line(r);
    else
        fprintf(stderr,
                "\r\033[K%llu of %zu names are open, %llu rest or are read, %llu of %llu MB of "
                "transfers",
                (unsigned long long)s->open_len, s->table.names.len,
                (unsigned long long)s->resting_len,
                (unsigned long long)(s->sender.bytes_held / 1000000),
                (unsigned long long)(s->sender.bytes / 1000000));
    fflush(stderr);
}

static tick end_turn(void *context, bool up, tick now)
{
    struct sync_send *r = context;
    int folder = r->folder;
    if (up && !r->node.begun)
        begin_run(r);
    const bool due = now >= r->source.look_at;
    int rc = sync_source_turn(&r->source, now, &folder);
    if (due)
        tell_folder(r, folder);
    if (rc != 0)
        tell_error(r, rc);
    tell_silence(r, now);
    show_progress(r, now);
    if (r->options->once && up && sync_source_equal(&r->source) && r->node.len == 0)
        sync_node_end(&r->node);
    const bool busy = r->source.sum.of != NULL;
    tick next = tick_add(now, busy ? TICK_MS : TURN);
    if (r->node.link.tx != NULL && !sync_node_full(&r->node) &&
        !aap2_client_queued(r->node.link.tx))
        next = tick_min(next, tick_min(files_sender_deadline(&r->source.sender), next));
    return next;
}

static void on_end(void *context)
{
    struct sync_send *r = context;
    clear_line(r);
    r->over(r->context);
}

int sync_send_init(struct sync_send *r, struct world *w, const struct sync_options *o,
                   uint64_t random, void (*over)(void *context), void *context)
{
    static const struct sync_node_user user = {.take = take_delivery,
                                               .fill = fill_node,
                                               .answered = note_answered,
                                               .lost = note_lost,
                                               .turned = end_turn,
                                               .over = on_end};
    *r = (struct sync_send){.options = o, .over = over, .context = context};
    r->terminal = isatty(STDERR_FILENO) == 1;
    sync_node_init(&r->node, w, &o->link, random, 1 << 20, &user, r);
    int rc = sync_source_init(&r->source, &o->source, random, ask_wall, on_over, r);
    if (rc == HELIO_EEXIST)
        fprintf(stderr, "helio-sync: another helio-sync send has %s\n", o->path);
    else if (rc != 0)
        fprintf(stderr, "helio-sync: %s: %s\n", o->path, helio_strerror(rc));
    return rc;
}

void sync_send_fini(struct sync_send *r)
{
    sync_node_fini(&r->node);
    sync_source_fini(&r->source);
}

void sync_send_stop(struct sync_send *r)
{
    r->interrupted = true;
    sync_node_end(&r->node);
}

bool sync_send_good(const struct sync_send *r)
{
    const bool equal = sync_source_equal(&r->source) && r->source.open_len == 0;
    return !r->node.failed && (!r->options->once || (equal && r->source.resting_len == 0));
}

json_t *sync_send_json(const struct sync_send *r)
{
    const struct sync_source *s = &r->source;
    const struct sync_source_counts *c = &s->counts;
    const uint64_t names_len = s->table.names.len;
    json_t *left = json_pack("{s:I,s:I,s:I,s:I}", "hidden", (json_int_t)c->left[FILES_LEFT_HIDDEN],
                             "links", (json_int_t)c->left[FILES_LEFT_LINK], "other",
                             (json_int_t)c->left[FILES_LEFT_OTHER], "long",
                             (json_int_t)c->left[FILES_LEFT_LONG]);
    return json_pack(
        "{s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,"
        "s:b,s:b,s:o}",
        "role", "send", "destination", r->options->destination, "source", r->node.link.endpoint,
        "names", (json_int_t)names_len, "open", (json_int_t)s->open_len, "resting",
        (json_int_t)s->resting_len, "confirmed", (json_int_t)c->confirmed, "gone",
        (json_int_t)c->gone, "messages", (json_int_t)c->messages, "announced",
        (json_int_t)c->announced, "inlined", (json_int_t)c->inlined, "transfers",
        (json_int_t)c->pushed, "pieces", (json_int_t)s->sender.pieces, "known",
        (json_int_t)c->known, "wanted", (json_int_t)c->wanted, "refused", (json_int_t)c->refused,
        "others", (json_int_t)c->others + (json_int_t)s->sender.others, "looks",
        (json_int_t)c->looks, "hashed", (json_int_t)c->hashed, "overflows",
        (json_int_t)s->watch.overflows, "unwatched", (json_int_t)s->watch.unwatched, "reconnects",
        (json_int_t)r->node.link.reconnects, "equal", sync_source_equal(s) && s->open_len == 0,
        "interrupted", r->interrupted, "left", left);
}
