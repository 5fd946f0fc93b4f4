/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The happy path: a change is entered into the table; its content comes along, lies here under
 * another name, or is asked for; then it gets its place. What can go wrong: a source that may not,
 * a name that is no name, a place that cannot be had (told to the source), a full disk (everything
 * stops, with the bundle at the node), the end of the process: what was not entered into the table
 * yet is found in the folder when the node delivers the bundle again.
 */
#include "tools/sync/sync_copy.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "tools/files/files_id.h"
#include "tools/sync/sync_place.h"

#define PART "receive"
#define CONTENT "content"
#define FOLDER (O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
#define GONE_KEPT (UINT64_C(30) * 86400 * TICK_S) /* how long a name that is gone is remembered */

/* ---- content that came as a transfer ---- */

static void drop_content(struct sync_copy *c, const char *name)
{
    (void)unlinkat(c->content, name, 0);
}

/* 0: content `name` is that of the entry. HELIO_EFORMAT: it is not, or there is none. */
static int check_content(const struct sync_copy *c, const char *name, const struct sync_entry *e)
{
    struct stat st;
    int fd = openat(c->content, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? HELIO_EFORMAT : helio_from_errno(errno);
    int rc = fstat(fd, &st) == 0 && (uint64_t)st.st_size == e->size
                 ? sync_place_verify(fd, e->size, e->sha)
                 : HELIO_EFORMAT;
    close(fd);
    return rc;
}

/* ---- one name ---- */

static void tell_event(const struct sync_copy *c, enum sync_told what, const struct sync_entry *e,
                       uint64_t bytes)
{
    c->told(c->context, what, e->name, bytes, e->source);
}

static void set_state(struct sync_copy *c, struct sync_entry *e, enum sync_state state,
                      enum sync_reason reason)
{
    e->state = state;
    e->reason = reason;
    c->counts.refused[reason] += state == SYNC_REFUSED;
}

/* File `from` of `folder` has the entry's content: to its place with it. */
static int put_file(struct sync_copy *c, struct sync_entry *e, int folder, const char *from)
{
    struct sync_placed placed = e->placed;
    bool aside;
    int rc = sync_place_put(folder, from, c->dir, e, &placed, &aside);
    if (rc == HELIO_EINVAL) {
        (void)unlinkat(folder, from, 0);
        set_state(c, e, SYNC_REFUSED, SYNC_REASON_PLACE);
        return 0;
    }
    if (rc != 0)
        return rc;
    if (aside) {
        c->counts.aside++;
        tell_event(c, SYNC_TOLD_ASIDE, e, 0);
    }
    sync_table_set_placed(&c->table, e, &placed);
    set_state(c, e, SYNC_APPLIED, SYNC_REASON_NONE);
    c->counts.placed++;
    c->counts.bytes += e->size;
    tell_event(c, SYNC_TOLD_FILE, e, e->size);
    return 0;
}

/* Makes SYNC_NEW of another file with this content. HELIO_EFORMAT: there is none. */
static int copy_other(struct sync_copy *c, const struct sync_entry *e)
{
    const struct sync_entry *other = NULL;
    int rc = HELIO_EFORMAT;
    while (rc == HELIO_EFORMAT && (other = sync_table_sha(&c->table, e->sha, e, other)) != NULL)
        rc = sync_place_copy(c->dir, other->name, &other->placed, c->table.dir);
    return rc;
}

/* The entry's file is to be there. `body`: its content, where it came along. */
static int apply_file(struct sync_copy *c, struct sync_entry *e, const struct slice *body)
{
    struct sync_placed placed = e->placed;
    char name[SYNC_CONTENT_NAME];
    int rc = sync_place_adopt(c->dir, e, &placed);
    if (rc == 0) {
        sync_table_set_placed(&c->table, e, &placed);
        set_state(c, e, SYNC_APPLIED, SYNC_REASON_NONE);
        return 0;
    }
    if (rc == HELIO_EFORMAT && body != NULL)
        rc = sync_place_write(c->table.dir, *body);
    else if (rc == HELIO_EFORMAT) {
        sync_content_name(e->version, name);
        rc = check_content(c, name, e);
        if (rc == 0)
            return put_file(c, e, c->content, name);
        rc = rc == HELIO_EFORMAT ? copy_other(c, e) : rc;
        c->counts.copied += rc == 0;
    }
    if (rc == 0)
        return put_file(c, e, c->table.dir, SYNC_NEW);
    if (rc == HELIO_EFORMAT)
        set_state(c, e, SYNC_WANTED, SYNC_REASON_NONE);
    return rc == HELIO_EFORMAT ? 0 : rc;
}

static int apply_gone(struct sync_copy *c, struct sync_entry *e)
{
    set_state(c, e, SYNC_APPLIED, SYNC_REASON_NONE);
    if (!c->options->remove || !e->placed.there)
        return 0;
    int rc = sync_place_remove(c->dir, e->name, &e->placed);
    if (rc == HELIO_EINVAL) {
        set_state(c, e, SYNC_REFUSED, SYNC_REASON_PLACE);
        return 0;
    }
    if (rc != 0 && rc != HELIO_EFORMAT)
        return rc;
    c->counts.removed += rc == 0;
    c->counts.kept += rc != 0;
    sync_table_set_placed(&c->table, e, NULL);
    tell_event(c, rc == 0 ? SYNC_TOLD_REMOVED : SYNC_TOLD_KEPT, e, 0);
    return 0;
}

/* ---- changes ---- */

/* A change, the node that it is from, and its name with a zero. */
struct arrival {
    struct sync_change change;
    const char *node;
    char name[FILES_NAME_MAX + 1];
};

static enum sync_reason judge_change(const struct sync_copy *c, const struct arrival *a,
                                     const struct sync_entry *e)
{
    const struct sync_copy_options *o = c->options;
    const struct sync_change *h = &a->change;
    const uint64_t placed = e != NULL && e->placed.there ? e->placed.size : 0;
    if (!files_name_good(h->name, o->hidden) || files_name_own(h->name))
        return SYNC_REASON_NAME;
    if (e != NULL && e->version != 0 && strcmp(e->source, a->node) != 0)
        return SYNC_REASON_OTHER;
    if (h->size > o->limits.file_max)
        return SYNC_REASON_SIZE;
    if ((e == NULL && c->table.names.len >= o->files_max) || h->size > o->total_max ||
        c->table.bytes - placed > o->total_max - h->size)
        return SYNC_REASON_ROOM;
    return SYNC_REASON_NONE;
}

static int check_body(const struct sync_change *h, bool *right)
{
    uint8_t sha[FILES_SHA];
    struct files_digest *d = files_digest_new();
    if (d == NULL)
        return HELIO_ENOMEM;
    files_digest_add(d, h->content);
    if (!files_digest_end(d, sha))
        return HELIO_ENOMEM;
    *right = memcmp(sha, h->sha, FILES_SHA) == 0;
    return 0;
}

static int enter_change(struct sync_copy *c, struct sync_entry *e, const struct arrival *a)
{
    const struct sync_change *h = &a->change;
    int rc = sync_table_set_source(e, a->node);
    if (rc != 0)
        return rc;
    sync_table_set_version(&c->table, e, h->version);
    e->type = h->type;
    e->executable = h->executable;
    e->size = h->size;
    e->mtime = h->mtime;
    memcpy(e->sha, h->sha, FILES_SHA);
    return 0;
}

/* A change that is the newest one of its name, or repeats it. */
static int apply_change(struct sync_copy *c, struct sync_entry *e, const struct arrival *a)
{
    const struct sync_change *h = &a->change;
    if (h->version == e->version && e->state == SYNC_APPLIED &&
        (h->type == SYNC_GONE || sync_place_has(c->dir, e->name, &e->placed)))
        return 0;
    int rc = h->version != e->version ? enter_change(c, e, a) : 0;
    if (rc != 0)
        return rc;
    rc = h->type == SYNC_GONE ? apply_gone(c, e) : apply_file(c, e, h->with ? &h->content : NULL);
    return rc == 0 ? sync_table_save(&c->table, e) : rc;
}

/* A name that another source has given up is free. */
static bool is_given_up(const struct sync_entry *e)
{
    return e->type == SYNC_GONE && e->state == SYNC_APPLIED && !e->placed.there;
}

static int refuse_change(struct sync_copy *c, enum sync_reason reason, struct sync_answer *answer)
{
    answer->state = SYNC_REFUSED;
    answer->reason = reason;
    c->counts.refused[reason]++;
    return 0;
}

/* 0, with the answer; or an error of the system. */
static int take_change(struct sync_copy *c, struct arrival *a, struct sync_answer *answer)
{
    const struct sync_change *h = &a->change;
    bool right = true;
    *answer = (struct sync_answer){.version = h->version, .state = SYNC_APPLIED};
    snprintf(a->name, sizeof a->name, "%.*s", (int)h->name.len, (const char *)h->name.data);
    struct sync_entry *e = sync_table_find(&c->table, a->name);
    if (e != NULL && is_given_up(e) && strcmp(e->source, a->node) != 0)
        sync_table_set_version(&c->table, e, 0);
    const enum sync_reason reason = judge_change(c, a, e);
    if (reason != SYNC_REASON_NONE)
        return refuse_change(c, reason, answer);
    if (e != NULL && h->version < e->version)
        return 0;
    int rc = h->with ? check_body(h, &right) : 0;
    if (rc != 0)
        return rc;
    if (!right)
        return refuse_change(c, SYNC_REASON_CONTENT, answer);
    if (e == NULL && (e = sync_table_add(&c->table, a->name)) == NULL)
        return HELIO_ENOMEM;
    rc = apply_change(c, e, a);
    answer->state = e->state;
    answer->reason = e->reason;
    return rc;
}

/* ---- messages ---- */

/* On the medium, as what helio-recv takes. */
static int sync_all(struct sync_copy *c)
{
    if (!c->options->limits.sync)
        return 0;
    return syncfs(c->dir) == 0 ? sync_table_sync(&c->table) : helio_from_errno(errno);
}

/* First the files, since one of them may need the content of another name that is gone; then what
 * is gone; then the files whose place was not free before. */
enum { PASS_FILES, PASS_GONE, PASS_AGAIN, PASSES };

static bool is_turn(int pass, const struct sync_change *h, const struct sync_answer *before)
{
    if (pass == PASS_GONE || h->type == SYNC_GONE)
        return pass == PASS_GONE && h->type == SYNC_GONE;
    return pass == PASS_FILES ||
           (before->state == SYNC_REFUSED && before->reason == SYNC_REASON_PLACE);
}

static int take_changes(struct sync_copy *c, const char *node, const struct sync_head *h,
                        struct reader entries, struct sync_outcome *out)
{
    struct sync_answer answers[SYNC_ENTRIES_MAX] = {{0}};
    struct arrival a = {.node = node};
    int rc = 0;
    for (int pass = 0; pass < PASSES; pass++) {
        struct reader r = entries;
        for (uint32_t i = 0; rc == 0 && i < h->count && sync_parse_change(&r, &a.change); i++)
            if (is_turn(pass, &a.change, &answers[i]))
                rc = take_change(c, &a, &answers[i]);
    }
    rc = rc == 0 ? sync_all(c) : rc;
    if (rc != 0)
        return rc;
    struct writer w = writer_of(out->answers, sizeof out->answers);
    w.p += SYNC_HEAD;
    for (uint32_t i = 0; i < h->count; i++)
        (void)sync_write_answer(&w, &answers[i]);
    const struct sync_head head = {SYNC_ANSWERS, h->number, h->count};
    out->answers_len = writer_len(&w);
    sync_write_end(out->answers, out->answers_len, &head);
    return 0;
}

static void answer_one(const struct sync_entry *e, struct sync_outcome *out)
{
    const struct sync_answer a = {e->version, e->state, e->reason};
    const struct sync_head head = {SYNC_ANSWERS, 0, 1};
    struct writer w = writer_of(out->answers, sizeof out->answers);
    w.p += SYNC_HEAD;
    (void)sync_write_answer(&w, &a);
    out->answers_len = writer_len(&w);
    sync_write_end(out->answers, out->answers_len, &head);
}

/* Contents that nobody waits for are few. */
static void limit_unclaimed(struct sync_copy *c, const char *name)
{
    uint64_t n = 0;
    int fd = openat(c->content, ".", FOLDER);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (d == NULL && fd >= 0)
        close(fd);
    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        n += e->d_name[0] != '.';
    if (d != NULL)
        (void)closedir(d);
    if (n <= SYNC_UNCLAIMED_MAX)
        return;
    c->counts.unclaimed++;
    drop_content(c, name);
}

/* A transfer is whole: `sha` was verified. */
static int take_content(struct sync_copy *c, const char *node, const uint8_t sha[FILES_SHA],
                        struct sync_outcome *out)
{
    const char *name = out->files.name;
    uint64_t version;
    if (!sync_content_version(slice_of(name, strlen(name)), &version)) {
        drop_content(c, name); /* name.1: the same version of two sources */
        return 0;
    }
    struct sync_entry *e = sync_table_version(&c->table, version, node);
    if (e == NULL) {
        limit_unclaimed(c, name);
        return 0;
    }
    int rc = 0;
    if (e->state != SYNC_APPLIED && e->type == SYNC_FILE && memcmp(e->sha, sha, FILES_SHA) == 0)
        rc = put_file(c, e, c->content, name);
    drop_content(c, name);
    rc = rc == 0 ? sync_table_save(&c->table, e) : rc;
    rc = rc == 0 ? sync_all(c) : rc;
    if (rc == 0)
        answer_one(e, out);
    return rc;
}

static bool may_sync(const struct sync_copy *c, const char *source)
{
    struct eid e;
    bool may = false;
    if (eid_parse(source, &e) != 0)
        return false;
    for (size_t i = 0; i < c->options->from_len; i++)
        may = may || eid_patterns_match(&c->options->from[i], &e);
    return may;
}

/* A piece or a question of a transfer whose name is that of a version. */
static bool is_transfer(struct slice payload, struct files_head *h)
{
    struct slice body;
    uint64_t version;
    return files_parse(payload, h, &body) == FILES_OK && h->kind != FILES_RECEIPT &&
           sync_content_version(h->name, &version);
}

int sync_copy_take(struct sync_copy *c, const char *source, const char *neighbour,
                   struct slice payload, tick now, struct sync_outcome *out)
{
    char node[FILES_SOURCE_MAX];
    struct sync_head head;
    struct files_head file;
    struct reader entries;
    out->answers_len = out->files.receipt_len = 0;
    out->files.finished = false;
    if (!may_sync(c, source)) {
        c->counts.others++;
        return 0;
    }
    files_name_node(source, node);
    if (is_transfer(payload, &file)) {
        int rc = files_receiver_take(&c->receiver, source, neighbour, payload, now, &out->files);
        return rc == 0 && out->files.finished ? take_content(c, node, file.sha, out) : rc;
    }
    const enum sync_verdict v = sync_parse(payload, &head, &entries);
    c->counts.damaged += v == SYNC_DAMAGED;
    c->counts.foreign += v == SYNC_FOREIGN || (v == SYNC_OK && head.kind != SYNC_CHANGES);
    if (v != SYNC_OK || head.kind != SYNC_CHANGES)
        return 0;
    c->counts.messages++;
    return take_changes(c, node, &head, entries, out);
}

/* ---- begin and end ---- */

/* Names that are gone for long are forgotten: no bundle that speaks of them is under way. */
static int forget_gone(struct sync_copy *c)
{
    struct sync_table *t = &c->table;
    int rc = 0;
    for (struct sync_entry *e = sync_table_next(t, NULL), *next; rc == 0 && e != NULL; e = next) {
        next = sync_table_next(t, e);
        if (is_given_up(e) && t->newest - e->version > GONE_KEPT)
            rc = sync_table_forget(t, e);
    }
    return rc;
}

static int open_content(struct sync_copy *c, uint64_t seed)
{
    char path[64];
    if (mkdirat(c->table.dir, CONTENT, 0700) != 0 && errno != EEXIST)
        return helio_from_errno(errno);
    c->content = openat(c->table.dir, CONTENT, FOLDER);
    if (c->content < 0)
        return helio_from_errno(errno);
    snprintf(path, sizeof path, "/proc/self/fd/%d", c->content);
    return files_receiver_init(&c->receiver, path, &c->options->limits, false, seed);
}

int sync_copy_init(struct sync_copy *c, const char *path, const struct sync_copy_options *o,
                   uint64_t seed,
                   void (*told)(void *context, enum sync_told what, const char *name,
                                uint64_t bytes, const char *source),
                   void *context)
{
    *c = (struct sync_copy){.options = o, .content = -1, .told = told, .context = context};
    c->table = (struct sync_table){.dir = -1, .lock = -1, .fd = -1};
    c->dir = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    if (c->dir < 0)
        return helio_from_errno(errno);
    int rc = sync_table_open(&c->table, c->dir, PART, seed);
    rc = rc == 0 ? forget_gone(c) : rc;
    return rc == 0 ? open_content(c, seed) : rc;
}

void sync_copy_fini(struct sync_copy *c)
{
    if (c->content >= 0) {
        files_receiver_fini(&c->receiver);
        close(c->content);
    }
    sync_table_close(&c->table);
    if (c->dir >= 0)
        close(c->dir);
}
