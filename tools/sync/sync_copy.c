/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The happy path: a change is entered into the table; its content comes along, lies here under
 * another name, or is asked for; then it gets its place. What can go wrong: a source that may not,
 * a name that is no name, a place that cannot be had (reported to the source), a full disk
 * (everything stops, with the bundle at the node), the end of the process: what was not entered
 * into the table yet is found in the folder when the node delivers the bundle again.
 */
#include "tools/sync/sync_copy.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "tools/sync/sync_place.h"

#define PART "receive"
#define CONTENT "content"
#define FOLDER (O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
#define NOT_YET ((enum sync_state)0)              /* no answer now */
#define GONE_KEPT (UINT64_C(30) * 86400 * TICK_S) /* how long a name that is gone is remembered */

/* ---- content that arrived as a transfer ---- */

static void drop_content(struct sync_copy *c, const char *name)
{
    (void)unlinkat(c->content, name, 0);
}

/* 0: content `name` is that of the entry. HELIO_EFORMAT: it is not, or there is none. As
 * sync_sum_read. */
static int check_content(const struct sync_copy *c, const char *name, const struct sync_entry *e,
                         uint64_t *left)
{
    struct stat st;
    int fd = openat(c->content, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? HELIO_EFORMAT : helio_from_errno(errno);
    int rc = fstat(fd, &st) == 0 && (uint64_t)st.st_size == e->size
                 ? sync_place_verify(fd, &st, e->sha, &e->work->content, left)
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
    sync_work_end(e, c->table.dir, state != SYNC_WANTED);
}

/* May a source have so many bytes in place of `before` ones of its own? */
static bool has_room(const struct sync_copy *c, const struct sync_owner *o, uint64_t before,
                     uint64_t size)
{
    const uint64_t all = c->options->total_max;
    return sync_table_room(&c->table, o, before, size, all,
                           sync_share_of(all, c->options->limits.share));
}

static bool has_place_bytes(const struct sync_copy *c, const struct sync_entry *e)
{
    return has_room(c, e->owner, e->placed.there ? e->placed.size : 0, e->size);
}

/* File `from` of `folder` has the entry's content: to its place with it. */
static int put_file(struct sync_copy *c, struct sync_entry *e, int folder, const char *from)
{
    struct sync_placed placed = e->placed;
    bool aside;
    if (!has_place_bytes(c, e)) { /* others took it since it was announced */
        (void)unlinkat(folder, from, 0);
        set_state(c, e, SYNC_REFUSED, SYNC_REASON_ROOM);
        return 0;
    }
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

/* Makes e->work->made of another file with this content. HELIO_EFORMAT: there is none. As
 * sync_sum_read. */
static int copy_other(struct sync_copy *c, const struct sync_entry *e, uint64_t *left)
{
    struct sync_work *w = e->work;
    struct sync_entry *other = NULL;
    int rc = HELIO_EFORMAT;
    while (rc == HELIO_EFORMAT && (other = sync_table_sha(&c->table, e->sha, e, other)) != NULL) {
        rc = sync_place_copy(c->dir, other->name, &other->placed, c->table.dir, w, left);
        if (rc != HELIO_EFORMAT || !w->copy.file.there || w->copy.digest != NULL)
            continue;
        sync_sum_end(&w->copy); /* it was read, and is not what was placed */
        sync_table_set_placed(&c->table, other, NULL);
        other = NULL;
    }
    return rc;
}

/* From received content, or from another file, to its place. HELIO_EFORMAT: there is none. */
static int fetch_file(struct sync_copy *c, struct sync_entry *e, uint64_t *left)
{
    struct stat st;
    char name[SYNC_OWN_NAME];
    int rc = sync_own_name(e->version, e->source, name);
    if (rc != 0)
        return rc;
    if (fstatat(c->content, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        sync_content_name(e->version, name); /* of a process that was killed then */
    rc = check_content(c, name, e, left);
    if (rc == 0)
        return put_file(c, e, c->content, name);
    if (rc == HELIO_EFORMAT)
        rc = copy_other(c, e, left);
    if (rc != 0)
        return rc;
    sync_sum_end(&e->work->copy); /* the file is put_file's now */
    if (renameat(c->table.dir, e->work->made, c->table.dir, SYNC_NEW) != 0)
        return helio_from_errno(errno);
    c->counts.copied++;
    return put_file(c, e, c->table.dir, SYNC_NEW);
}

/* The entry's file is to be there. `body`: its content, if the message had it. *left: bytes that
 * may be read. HELIO_EAGAIN: they are too few. */
static int apply_file(struct sync_copy *c, struct sync_entry *e, const struct slice *body,
                      uint64_t *left)
{
    struct sync_placed placed = e->placed;
    uint64_t all = UINT64_MAX; /* what is as long as a body, is short */
    struct sync_work *w = sync_work_of(e, ++c->serial);
    if (w == NULL)
        return HELIO_ENOMEM;
    if (!has_place_bytes(c, e)) {
        set_state(c, e, SYNC_REFUSED, SYNC_REASON_ROOM);
        return 0;
    }
    int rc = sync_place_adopt(c->dir, e, &placed, &w->here, body != NULL ? &all : left);
    if (rc == 0) {
        sync_table_set_placed(&c->table, e, &placed);
        set_state(c, e, SYNC_APPLIED, SYNC_REASON_NONE);
        return 0;
    }
    if (rc == HELIO_EFORMAT && body == NULL)
        rc = fetch_file(c, e, left);
    else if (rc == HELIO_EFORMAT) {
        rc = sync_place_write(c->table.dir, *body);
        rc = rc == 0 ? put_file(c, e, c->table.dir, SYNC_NEW) : rc;
    }
    if (rc != HELIO_EFORMAT)
        return rc;
    set_state(c, e, SYNC_WANTED, SYNC_REASON_NONE);
    return 0;
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
    const char *source, *node; /* the endpoint, and its node */
    uint32_t number;           /* of the message */
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
    const struct sync_owner *owner = sync_table_owner(&c->table, a->node);
    const bool own = owner != NULL && e != NULL && e->owner == owner;
    const bool gone = e != NULL && sync_entry_gone(e); /* it has no place */
    if (h->type == SYNC_GONE)
        return SYNC_REASON_NONE;
    if ((!own || gone) && owner != NULL &&
        owner->names - owner->gone_len >= sync_share_of(o->files_max, o->limits.share))
        return SYNC_REASON_ROOM;
    if (((e == NULL || gone) && c->table.names.len - c->table.gone_len >= o->files_max) ||
        !has_room(c, owner, own ? placed : 0, h->size))
        return SYNC_REASON_ROOM;
    return SYNC_REASON_NONE;
}

static int enter_change(struct sync_copy *c, struct sync_entry *e, const struct arrival *a)
{
    const struct sync_change *h = &a->change;
    sync_work_end(e, c->table.dir, false);
    int rc = sync_table_set_source(&c->table, e, a->node);
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

/* The entry's file, now or in its owner's turn. HELIO_EAGAIN: then. */
static int begin_file(struct sync_copy *c, struct sync_entry *e, const struct arrival *a)
{
    const struct sync_change *h = &a->change;
    uint64_t none = 0;
    uint64_t *left = list_empty(&e->owner->works) ? &c->left : &none; /* in its order */
    int rc = apply_file(c, e, h->with ? &h->content : NULL, left);
    if (rc != HELIO_EAGAIN)
        return rc;
    e->state = SYNC_WANTED;
    e->reason = SYNC_REASON_NONE;
    rc = sync_work_add(e->work, &c->busy, a->source, a->number);
    return rc == 0 ? HELIO_EAGAIN : rc;
}

/* A change that is the newest one of its name, or repeats it. HELIO_EAGAIN: it is answered later.
 */
static int apply_change(struct sync_copy *c, struct sync_entry *e, const struct arrival *a)
{
    const struct sync_change *h = &a->change;
    if (h->version == e->version && e->state == SYNC_APPLIED &&
        (h->type == SYNC_GONE || sync_place_has(c->dir, e->name, &e->placed)))
        return 0;
    int rc = h->version != e->version ? enter_change(c, e, a) : 0;
    if (rc != 0)
        return rc;
    rc = h->type == SYNC_GONE ? apply_gone(c, e) : begin_file(c, e, a);
    if (rc != 0 && rc != HELIO_EAGAIN)
        return rc;
    const int saved = sync_table_save(&c->table, e);
    return saved != 0 ? saved : rc;
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
    if (e != NULL && sync_entry_gone(e) && strcmp(e->source, a->node) != 0)
        sync_table_set_version(&c->table, e, 0);
    const enum sync_reason reason = judge_change(c, a, e);
    const bool own = e != NULL && e->version != 0 && strcmp(e->source, a->node) == 0;
    if (reason != SYNC_REASON_NONE) /* what this source does not have here, is gone */
        return h->type == SYNC_GONE && !own ? 0 : refuse_change(c, reason, answer);
    if (e != NULL && h->version < e->version)
        return 0;
    int rc = h->with ? sync_sum_bytes(h->content, h->sha, &right) : 0;
    if (rc != 0)
        return rc;
    if (!right)
        return refuse_change(c, SYNC_REASON_CONTENT, answer);
    if (e == NULL && (e = sync_table_add(&c->table, a->name)) == NULL)
        return HELIO_ENOMEM;
    rc = apply_change(c, e, a);
    answer->state = rc == HELIO_EAGAIN ? NOT_YET : e->state;
    answer->reason = e->reason;
    if (rc != 0)
        return rc == HELIO_EAGAIN ? 0 : rc;
    return sync_table_limit_gone(&c->table, e->owner, c->options->files_max,
                                 c->options->limits.share);
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

static struct writer begin_answers(struct sync_outcome *out)
{
    struct writer w = writer_of(out->answers, sizeof out->answers);
    w.p += SYNC_HEAD;
    return w;
}

static void end_answers(struct sync_outcome *out, const struct writer *w, uint32_t number,
                        uint32_t count)
{
    const struct sync_head head = {SYNC_ANSWERS, number, count};
    if (count == 0)
        return;
    out->answers_len = writer_len(w);
    sync_write_end(out->answers, out->answers_len, &head);
}

static int take_changes(struct sync_copy *c, struct arrival *a, const struct sync_head *h,
                        struct reader entries, struct sync_outcome *out)
{
    struct sync_answer answers[SYNC_ENTRIES_MAX] = {{0}};
    uint32_t count = 0;
    int rc = 0;
    for (int pass = 0; pass < PASSES; pass++) {
        struct reader r = entries;
        for (uint32_t i = 0; rc == 0 && i < h->count && sync_parse_change(&r, &a->change); i++)
            if (is_turn(pass, &a->change, &answers[i]))
                rc = take_change(c, a, &answers[i]);
    }
    rc = rc == 0 ? sync_all(c) : rc;
    if (rc != 0)
        return rc;
    struct writer w = begin_answers(out);
    for (uint32_t i = 0; i < h->count; i++)
        count += answers[i].state != NOT_YET && sync_write_answer(&w, &answers[i]);
    end_answers(out, &w, h->number, count);
    return 0;
}

static bool answer_entry(const struct sync_entry *e, struct writer *w)
{
    const struct sync_answer a = {e->version, e->state, e->reason};
    return sync_write_answer(w, &a);
}

/* Contents without a waiting entry are few. */
static int keep_unclaimed(struct sync_copy *c, uint64_t version, const char *node, const char *name)
{
    char own[SYNC_OWN_NAME];
    int rc = sync_own_name(version, node, own);
    if (rc != 0)
        return rc;
    if (renameat(c->content, name, c->content, own) != 0)
        return helio_from_errno(errno);
    if (sync_folder_count(c->content, "") <= SYNC_UNCLAIMED_MAX &&
        sync_folder_count(c->content, own + SYNC_CONTENT_NAME) <= SYNC_UNCLAIMED_MAX / 2)
        return 0;
    c->counts.unclaimed++;
    drop_content(c, own);
    return 0;
}

/* A transfer is whole: `sha` was verified. */
static int take_content(struct sync_copy *c, const char *node, const uint8_t sha[FILES_SHA],
                        struct sync_outcome *out)
{
    const char *name = out->files.name;
    uint64_t version;
    if (!sync_content_version(slice_of(name, strnlen(name, SYNC_CONTENT_NAME - 1)), &version)) {
        drop_content(c, name);
        return 0;
    }
    struct sync_entry *e = sync_table_version(&c->table, version, node);
    if (e == NULL)
        return keep_unclaimed(c, version, node, name);
    int rc = 0;
    if (e->state != SYNC_APPLIED && e->type == SYNC_FILE && memcmp(e->sha, sha, FILES_SHA) == 0)
        rc = put_file(c, e, c->content, name);
    drop_content(c, name);
    rc = rc == 0 ? sync_table_save(&c->table, e) : rc;
    rc = rc == 0 ? sync_all(c) : rc;
    if (rc != 0)
        return rc;
    struct writer w = begin_answers(out);
    end_answers(out, &w, 0, answer_entry(e, &w));
    return 0;
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
    struct arrival a = {.source = source, .node = node};
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
    a.number = head.number;
    return take_changes(c, &a, &head, entries, out);
}

/* ---- what could not be settled at once ---- */

bool sync_copy_busy(const struct sync_copy *c)
{
    return !list_empty(&c->busy);
}

static struct sync_work *first_work(const struct sync_owner *o)
{
    const struct list *first = list_first(&o->works);
    return first != NULL ? container_of(first, struct sync_work, order) : NULL;
}

/* What one source waits for, in its order, of one message. Then it is the turn of the next one. */
static int take_works(struct sync_copy *c, struct sync_owner *o, char peer[AAP2_EID_MAX],
                      struct sync_outcome *out)
{
    struct sync_work *w = first_work(o);
    struct writer answers = begin_answers(out);
    const uint32_t number = w->number;
    uint64_t left = SYNC_TURN_BYTES;
    uint32_t count = 0;
    int rc = 0;
    snprintf(peer, AAP2_EID_MAX, "%s", w->peer);
    for (; w != NULL && count < SYNC_ENTRIES_MAX; w = first_work(o)) {
        struct sync_entry *e = w->entry;
        if (w->number != number || strcmp(w->peer, peer) != 0)
            break;
        rc = apply_file(c, e, NULL, &left);
        rc = rc == 0 ? sync_table_save(&c->table, e) : rc;
        if (rc != 0)
            break;
        count += answer_entry(e, &answers);
    }
    if (!list_empty(&o->works)) {
        list_sub(&o->busy);
        list_add_tail(&c->busy, &o->busy);
    }
    rc = rc == HELIO_EAGAIN ? 0 : rc;
    rc = rc == 0 && count > 0 ? sync_all(c) : rc;
    if (rc == 0)
        end_answers(out, &answers, number, count);
    return rc;
}

int sync_copy_turn(struct sync_copy *c, char peer[AAP2_EID_MAX], struct sync_outcome *out)
{
    const struct list *first = list_first(&c->busy);
    out->answers_len = out->files.receipt_len = 0;
    c->left = SYNC_TURN_BYTES;
    return first == NULL ? 0
                         : take_works(c, container_of(first, struct sync_owner, busy), peer, out);
}

/* ---- begin and end ---- */

/* Names that are gone for long are forgotten: no bundle that speaks of them is under way. */
static int forget_gone(struct sync_copy *c)
{
    struct sync_table *t = &c->table;
    int rc = 0;
    for (struct sync_entry *e = sync_table_next(t, NULL), *next; rc == 0 && e != NULL; e = next) {
        next = sync_table_next(t, e);
        if (sync_entry_gone(e) && e->owner->newest - e->version > GONE_KEPT)
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
    *c = (struct sync_copy){
        .options = o, .content = -1, .left = SYNC_TURN_BYTES, .told = told, .context = context};
    list_init(&c->busy);
    c->table = (struct sync_table){.dir = -1, .lock = -1, .fd = -1};
    c->dir = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    if (c->dir < 0)
        return helio_from_errno(errno);
    int rc = sync_table_open(&c->table, c->dir, PART, seed);
    if (rc == 0)
        sync_folder_clear(c->table.dir, SYNC_NEW ".");
    rc = rc == 0 ? forget_gone(c) : rc;
    return rc == 0 ? open_content(c, seed) : rc;
}

void sync_copy_fini(struct sync_copy *c)
{
    for (struct sync_entry *e = NULL; (e = sync_table_next(&c->table, e)) != NULL;)
        sync_work_end(e, c->table.dir, true);
    if (c->content >= 0) {
        files_receiver_fini(&c->receiver);
        close(c->content);
    }
    sync_table_close(&c->table);
    if (c->dir >= 0)
        close(c->dir);
}
