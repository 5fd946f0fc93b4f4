/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The normal case: files become payloads, the node takes them, receipts finish the files, and the
 * last one the run. What can go wrong: a file that cannot be read (reported; the others continue);
 * a node that refuses (repeated after a pause) or ends (payloads that it had not taken are
 * repeated); a receiver that does not confirm, or refuses.
 */
#include "tools/files/send_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"

#define PAUSE_MIN (50 * TICK_MS)
#define PAUSE_MAX (5 * TICK_S)
#define REFUSAL_TOLD (30 * TICK_S)    /* how often it is said that the node refuses */
#define UNANSWERED_TOLD (60 * TICK_S) /* … without any confirmation */
#define LEFT_NAMED 10                 /* so many entries that are left out are named */
#define SHOWN (200 * TICK_MS)         /* how often the progress is shown on a terminal */

static void on_ready(void *context);

/* ---- what is to be sent ---- */

static bool add_file(void *context, const char *path, const char *name)
{
    struct send_run *r = context;
    const struct send_options *o = r->options;
    struct files_job *j;
    int rc = files_sender_add(&r->sender, path, o->name != NULL ? o->name : name, o->resume, &j);
    if (rc == 0)
        return true;
    r->failed++;
    if (rc == HELIO_EINVAL)
        fprintf(stderr, "helio-send: %s: no name that can be sent (--name gives another)\n", path);
    else if (rc == HELIO_EAGAIN)
        fprintf(stderr, "helio-send: %s: more than %d files; send an archive of them\n", path,
                FILES_JOBS_MAX);
    else
        fprintf(stderr, "helio-send: %s: %s\n", path, helio_strerror(rc));
    return rc == HELIO_EINVAL;
}

/* Copies standard input to an unnamed file, because its length and SHA-256 are sent first. */
static int add_input(struct send_run *r)
{
    char part[65536], path[64];
    size_t n;
    r->input = tmpfile();
    if (r->input == NULL)
        return helio_from_errno(errno);
    while ((n = fread(part, 1, sizeof part, stdin)) > 0)
        if (fwrite(part, 1, n, r->input) != n)
            return helio_from_errno(errno);
    if (ferror(stdin) || fflush(r->input) != 0)
        return HELIO_EIO;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(r->input));
    (void)add_file(r, path, "stdin");
    return 0;
}

static const struct {
    const char *one, *many;
} left_words[FILES_LEFT_COUNT] = {
    [FILES_LEFT_HIDDEN] = {"hidden (--hidden sends it)", "hidden (--hidden sends them)"},
    [FILES_LEFT_LINK] = {"symbolic link", "symbolic links"},
    [FILES_LEFT_OTHER] = {"no file and no folder", "no files and no folders"},
    [FILES_LEFT_LONG] = {"too long a name, or too deep", "too long names, or too deep"},
};

/* The first ones by name, all in a sum. */
static void note_left(void *context, const char *folder, const char *part, enum files_left why)
{
    struct send_run *r = context;
    char text[FILES_NAME_MAX * PRINTABLE_EACH];
    uint64_t before = 0;
    for (int i = 0; i < FILES_LEFT_COUNT; i++)
        before += r->left[i];
    r->left[why]++;
    if (before >= LEFT_NAMED || r->options->quiet)
        return;
    printable(part, strlen(part), text, sizeof text);
    fprintf(stderr, "helio-send: %s/%s: left out: %s\n", folder, text, left_words[why].one);
}

static void tell_left(const struct send_run *r)
{
    uint64_t all = 0;
    for (int i = 0; i < FILES_LEFT_COUNT; i++)
        all += r->left[i];
    if (all == 0)
        return;
    fputs("helio-send: left out below folders:", stderr);
    const char *before = " ";
    for (int i = 0; i < FILES_LEFT_COUNT; i++) {
        if (r->left[i] == 0)
            continue;
        fprintf(stderr, "%s%llu %s", before, (unsigned long long)r->left[i],
                r->left[i] == 1 ? left_words[i].one : left_words[i].many);
        before = ", ";
    }
    fputc('\n', stderr);
}

static void add_path(struct send_run *r, const char *path)
{
    struct files_walk w = {
        .hidden = r->options->hidden, .left = note_left, .found = add_file, .context = r};
    int rc = strcmp(path, "-") == 0 ? add_input(r) : files_walk_path(&w, path);
    if (rc != 0 && rc != HELIO_EAGAIN) {
        r->failed++;
        fprintf(stderr, "helio-send: %s: %s\n", path, helio_strerror(rc));
    }
}

static bool add_spooled(void *context, const char *path, const char *name, bool first)
{
    struct send_run *r = context;
    struct files_job *j;
    return files_sender_add(&r->sender, path, name, first || r->options->resume, &j) == 0;
}

static void look_at_spool(struct send_run *r, tick now)
{
    if (r->options->spool == NULL || now < r->look_at)
        return;
    r->look_at = tick_add(now, r->options->interval);
    int rc = files_spool_look(&r->spool);
    if (rc == 0)
        return;
    fprintf(stderr, "helio-send: --spool %s: %s\n", r->options->spool, helio_strerror(rc));
    r->broken = true;
}

/* ---- finished files ---- */

static bool text_to_stdout(const struct send_run *r)
{
    return r->options->json == NULL || strcmp(r->options->json, "-") != 0;
}

static void clear_line(const struct send_run *r)
{
    if (r->terminal)
        fputs("\r\033[K", stderr);
}

static void tell_file(const struct send_run *r, const struct files_job *j, bool good)
{
    char name[FILES_NAME_MAX * PRINTABLE_EACH], path[PATH_MAX];
    clear_line(r);
    printable(j->name, strlen(j->name), name, sizeof name);
    printable(j->path, strlen(j->path), path, sizeof path);
    if (!good)
        fprintf(stderr, "helio-send: %s: %s\n", path, j->why);
    else if (!r->options->quiet)
        fprintf(text_to_stdout(r) ? stdout : stderr, "%s  %lld bytes  %s\n", name,
                (long long)j->was.st_size,
                j->was_there                ? "was there already"
                : r->options->files.confirm ? "confirmed"
                                            : "with the node");
    fflush(stdout);
}

static void on_over(void *context, struct files_job *j)
{
    struct send_run *r = context;
    bool good = j->phase == FILES_DONE;
    r->confirmed += good;
    r->failed += !good;
    tell_file(r, j, good);
    if (json_array_size(r->files) < SEND_LIST_MAX)
        json_array_append_new(r->files, json_pack("{s:s,s:I,s:b,s:b,s:s}", "name", j->name, "bytes",
                                                  (json_int_t)j->was.st_size, "confirmed", good,
                                                  "was_there", j->was_there, "why", j->why));
    if (r->options->spool != NULL) {
        int rc = files_spool_over(&r->spool, j->path, j->name, &j->was, good);
        if (rc != 0)
            fprintf(
                stderr,
                "helio-send: %s: the transfer has ended, but the file stays in the folder: %s\n",
                j->path, helio_strerror(rc));
    }
    files_sender_forget(&r->sender, j);
}

/* ---- the node ---- */

static void note_refusal(struct send_run *r, const char *text, tick now)
{
    snprintf(r->refusal, sizeof r->refusal, "%s", *text != '\0' ? text : "no reason given");
    r->refused_since = r->pause == 0 ? now : r->refused_since;
    r->pause = r->pause == 0 ? PAUSE_MIN : tick_min(2 * r->pause, PAUSE_MAX);
    r->again_at = tick_add(now, r->pause);
    if (r->refused++ == 0 || now >= r->told_at) {
        clear_line(r);
        fprintf(stderr, "helio-send: the node refuses (%s); trying again\n", r->refusal);
        r->told_at = tick_add(now, REFUSAL_TOLD);
    }
}

static int read_answers(struct send_run *r, tick now)
{
    struct aap2_arrival a;
    int rc;
    while ((rc = aap2_client_next(r->link.tx, &a)) == 1) {
        bool valid = a.response != NULL && r->sender.given_len > 0;
        bool taken =
            valid && a.response->response_status == AAP2__RESPONSE_STATUS__RESPONSE_STATUS_SUCCESS;
        if (valid && !taken)
            note_refusal(r, a.response->text, now);
        if (taken)
            r->pause = 0;
        if (valid)
            files_sender_answer(&r->sender, taken, now);
        aap2_arrival_fini(&a);
        if (!valid)
            return HELIO_EFORMAT;
    }
    return rc;
}

/* The first receipt of another endpoint is reported. */
static void take_receipt(struct send_run *r, const struct aap2_arrival *a, tick now)
{
    const char *source = a->message->adu->src_eid;
    const bool first = r->sender.others == 0;
    char text[AAP2_EID_MAX * PRINTABLE_EACH];
    files_sender_take(&r->sender, source, buf_slice(a->payload), now);
    if (!first || r->sender.others == 0)
        return;
    clear_line(r);
    printable(source, strlen(source), text, sizeof text);
    fprintf(stderr, "helio-send: a receipt from %s: only %s confirms; not believed\n", text,
            r->options->destination);
}

static int read_receipts(struct send_run *r, tick now)
{
    struct aap2_arrival a;
    int rc;
    while ((rc = aap2_client_next(r->link.rx, &a)) == 1) {
        if (a.payload != NULL) {
            take_receipt(r, &a, now);
            rc = aap2_client_answer(r->link.rx, true);
        }
        aap2_arrival_fini(&a);
        if (rc < 0)
            return rc;
    }
    return rc;
}

/* Payloads are long: each is written before the next is made. */
static int give_payloads(struct send_run *r, tick now)
{
    struct slice payload;
    while (now >= r->again_at && !aap2_client_queued(r->link.tx) &&
           files_sender_next(&r->sender, now, &payload)) {
        struct aap2_adu adu = {.destination = r->options->destination,
                               .lifetime_ms = r->options->link.lifetime_ms,
                               .priority = r->options->link.priority,
                               .ordinal = r->options->link.ordinal,
                               .body = payload};
        int rc = aap2_client_send(r->link.tx, &adu);
        rc = rc == 0 ? aap2_client_flush(r->link.tx) : rc;
        if (rc != 0)
            return rc;
    }
    return aap2_client_flush(r->link.tx);
}

static void serve_node(struct send_run *r, tick now)
{
    int rc = read_answers(r, now);
    rc = rc == 0 ? read_receipts(r, now) : rc;
    rc = rc == 0 ? aap2_client_flush(r->link.rx) : rc;
    rc = rc == 0 ? give_payloads(r, now) : rc;
    if (rc == 0)
        return;
    perf_link_close(&r->link, now);
    files_sender_lost(&r->sender);
}

/* ---- turns ---- */

static void end_run(struct send_run *r)
{
    if (r->stop)
        return;
    r->stop = true;
    clear_line(r);
    alarm_set(&r->alarm, TICK_NEVER);
    r->over(r->context);
}

/* Nothing but refusals for as long as a confirmation would be waited for. */
static void check_refusals(struct send_run *r, tick now)
{
    if (r->pause == 0 || now - r->refused_since < r->options->files.wait)
        return;
    clear_line(r);
    fprintf(stderr, "helio-send: the node refuses: %s\n", r->refusal);
    r->broken = true;
}

/* The file that has had no receipt for most questions in a row, at least so many; or NULL. */
#define UNANSWERED 2
static const struct files_job *find_unanswered(const struct files_sender *s)
{
    const struct files_job *worst = NULL;
    list_for_each (it, &s->jobs) {
        const struct files_job *j = container_of(it, struct files_job, order);
        const bool asks = j->phase == FILES_ASKING || j->phase == FILES_DRAINING;
        const uint32_t most = worst == NULL ? UNANSWERED - 1 : worst->asked - worst->heard;
        if (asks && j->asked - j->heard > most)
            worst = j;
    }
    return worst;
}

/* The node takes all, and the receiver says nothing: it is asked again, ever more rarely. */
static void tell_unanswered(struct send_run *r, tick now)
{
    if (now < r->unanswered_at || r->pause != 0)
        return;
    r->unanswered_at = tick_add(now, TICK_S);
    const struct files_job *j = find_unanswered(&r->sender);
    if (j == NULL)
        return;
    char name[FILES_NAME_MAX * PRINTABLE_EACH];
    printable(j->name, strlen(j->name), name, sizeof name);
    clear_line(r);
    fprintf(stderr,
            "helio-send: %s: no receipt from %s for %u questions; asking again (the bundles wait "
            "at a node on the way, which may be full, or no helio-recv is there: helioctl links, "
            "backlog)\n",
            name, r->options->destination, (unsigned)(j->asked - j->heard));
    r->unanswered_at = tick_add(now, UNANSWERED_TOLD);
}

static void show_progress(struct send_run *r, tick now)
{
    const struct files_sender *s = &r->sender;
    if (!r->terminal || r->options->quiet || now < r->shown_at || !r->begun)
        return;
    uint64_t sent = 0, all = 0;
    list_for_each (it, &s->jobs) {
        const struct files_job *j = container_of(it, struct files_job, order);
        sent += j->sent > j->held ? j->sent : j->held;
        all += (uint64_t)j->was.st_size;
    }
    double seconds = (double)(now - r->begun_at) / 1e9;
    fprintf(stderr,
            "\r\033[K%llu files under way: %.1f of %.1f MB with the node, %llu confirmed, %.0f s",
            (unsigned long long)s->jobs_len, (double)sent / 1e6, (double)all / 1e6,
            (unsigned long long)r->confirmed, seconds);
    r->shown_at = tick_add(now, SHOWN);
}

static tick wake_at(const struct send_run *r, tick now)
{
    tick t = tick_add(now, TICK_S);
    if (r->terminal)
        t = tick_min(t, r->shown_at);
    if (r->options->spool != NULL)
        t = tick_min(t, r->look_at);
    if (r->link.tx == NULL)
        return tick_min(t, r->link.retry_at);
    if (aap2_client_queued(r->link.tx))
        return t; /* the node's next message wakes us */
    tick due = files_sender_deadline(&r->sender);
    return tick_min(t, due > r->again_at ? due : r->again_at > now ? r->again_at : due);
}

/* "ipn:!.N" is an endpoint of our node, whose receipts have its number (RFC 9758 §3.4.2). */
static void name_receiver(struct send_run *r)
{
    struct eid own, *receiver = &r->sender.options.receiver;
    if (eid_is_local(receiver) && eid_parse(r->link.endpoint, &own) == 0)
        *receiver = eid_ipn(own.allocator, own.node, receiver->service);
}

/* Called when the connections have an event, and at the time that was set. */
static void take_turn(struct send_run *r)
{
    tick now = world_now(r->link.world);
    int rc = perf_link_turn(&r->link, now);
    if (rc < 0) {
        fprintf(stderr, "helio-send: %s\n", r->link.why);
        r->broken = true;
    }
    if (rc == 1 && !r->begun) {
        r->begun = true;
        r->begun_at = now;
        name_receiver(r);
    }
    if (r->begun)
        look_at_spool(r, now);
    if (rc == 1)
        serve_node(r, now);
    files_sender_expire(&r->sender, now);
    check_refusals(r, now);
    tell_unanswered(r, now);
    show_progress(r, now);
    if (r->broken || (r->options->spool == NULL && files_sender_idle(&r->sender)))
        end_run(r);
    tick next = wake_at(r, now);
    if (!r->stop)
        alarm_set(&r->alarm, next > now ? next : now + TICK_MS);
}

static void on_ready(void *context)
{
    struct send_run *r = context;
    if (!r->stop)
        take_turn(r);
}

int send_run_init(struct send_run *r, struct world *w, const struct send_options *o,
                  uint64_t random, void (*over)(void *context), void *context)
{
    *r = (struct send_run){.options = o, .over = over, .context = context, .files = json_array()};
    r->terminal = isatty(STDERR_FILENO) == 1;
    files_sender_init(&r->sender, &o->files, on_over, r);
    files_spool_init(&r->spool, o->spool, o->sent, o->hidden, add_spooled, r);
    perf_link_init(&r->link, w, &o->link, random, 64, 1 << 20, on_ready, r);
    alarm_init(&r->alarm, w, ALARM_APP, on_ready, r);
    for (size_t i = 0; i < o->paths_len; i++)
        add_path(r, o->paths[i]);
    tell_left(r);
    if (o->spool == NULL && r->sender.jobs_len == 0) {
        fprintf(stderr, "helio-send: there is no file to send\n");
        return HELIO_ENOENT;
    }
    return 0;
}

void send_run_fini(struct send_run *r)
{
    perf_link_fini(&r->link);
    alarm_fini(&r->alarm);
    files_sender_fini(&r->sender);
    files_spool_fini(&r->spool);
    json_decref(r->files);
    if (r->input != NULL)
        (void)fclose(r->input);
}

void send_run_start(struct send_run *r)
{
    tick now = world_now(r->link.world);
    r->link.give_up_at = tick_add(now, PERF_LINK_WAIT); /* reading standard input took its time */
    take_turn(r);
}

void send_run_stop(struct send_run *r)
{
    r->interrupted = true;
    end_run(r);
}

bool send_run_good(const struct send_run *r)
{
    bool all = r->options->spool != NULL || r->sender.jobs_len == 0;
    return all && r->failed == 0 && !r->broken;
}

json_t *send_run_json(const struct send_run *r)
{
    const struct files_sender *s = &r->sender;
    return json_pack("{s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:b,s:I,s:O}", "role",
                     "send", "destination", r->options->destination, "source", r->link.endpoint,
                     "files", (json_int_t)r->confirmed, "failed", (json_int_t)r->failed, "open",
                     (json_int_t)s->jobs_len, "bytes", (json_int_t)s->bytes, "pieces",
                     (json_int_t)s->pieces, "again", (json_int_t)s->again, "questions",
                     (json_int_t)s->questions, "receipts", (json_int_t)s->receipts, "refused",
                     (json_int_t)r->refused, "reconnects", (json_int_t)r->link.reconnects,
                     "interrupted", r->interrupted, "others", (json_int_t)s->others, "list",
                     r->files);
}
