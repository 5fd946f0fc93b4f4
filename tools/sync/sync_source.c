/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The normal case: looks (sync_look.c) announce new versions. A message contains all that are due,
 * with small contents; long contents become transfers; the copy's answers end them. What can go
 * wrong: no answer (repeated without content, with growing pauses); a content that the copy does
 * not have (it is sent with the next message); a refusal (reported; repeated later); a change
 * meanwhile (a higher version).
 */
#include "tools/sync/sync_source.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "tools/files/files_id.h"

#define PART "send"
#define JOBS_MAX 16 /* transfers at once */
#define PAUSE_MAX (3600 * TICK_S)
#define HELD (500 * TICK_MS) /* to the next look whether a name may go */
#define HELD_MAX (60 * TICK_S)
#define CLEAR_PAUSE TICK_S

/* ---- state of a name ---- */

struct sync_pending *sync_source_pending(struct sync_entry *e)
{
    struct sync_pending *p = e->to;
    if (p != NULL)
        return p;
    p = calloc(1, sizeof *p);
    if (p == NULL)
        return NULL;
    p->entry = e;
    list_init(&p->rest);
    list_init(&p->open);
    e->to = p;
    return p;
}

void sync_source_settle(struct sync_source *s, struct sync_entry *e)
{
    struct sync_pending *p = e->to;
    if (p == NULL || p->missing || !list_empty(&p->rest) || !list_empty(&p->open))
        return;
    assert(s->sum.of != p);
    e->to = NULL;
    free(p);
}

static void close_open(struct sync_source *s, struct sync_pending *p)
{
    if (list_empty(&p->open))
        return;
    list_sub(&p->open);
    s->open_len--;
}

/* Its version is to be announced. */
static void begin_open(struct sync_source *s, struct sync_pending *p, bool with)
{
    close_open(s, p);
    p->with = with;
    p->pushing = p->pushed = p->told = p->displaced = p->cleared = false;
    p->due = 0;
    p->held = 0;
    p->number = 0;
    p->pause = s->options.files.ask;
    list_add_tail(&s->open, &p->open);
    s->open_len++;
}

static void set_version(struct sync_source *s, struct sync_entry *e)
{
    const uint64_t wall = s->wall(s->context);
    sync_table_set_version(&s->table, e, wall > s->table.newest ? wall : s->table.newest + 1);
    e->state = SYNC_WANTED;
    e->reason = SYNC_REASON_NONE;
}

/* Does the copy have a file with this content, or is one in transfer? */
static bool copy_has(const struct sync_source *s, const struct sync_entry *e,
                     const uint8_t sha[FILES_SHA])
{
    if (e->version != 0 && e->type == SYNC_FILE && e->state == SYNC_APPLIED &&
        memcmp(e->sha, sha, FILES_SHA) == 0)
        return true;
    const struct sync_entry *o = NULL;
    while ((o = sync_table_sha(&s->table, sha, e, o)) != NULL)
        if (o->type == SYNC_FILE && (o->state == SYNC_APPLIED || o->size > SYNC_INLINE_MAX))
            return true;
    return false;
}

int sync_source_announce(struct sync_source *s, struct sync_entry *e, const uint8_t sha[FILES_SHA])
{
    struct sync_pending *p = e->to;
    assert(p != NULL && !list_empty(&p->rest));
    const bool known = copy_has(s, e, sha);
    struct sync_placed placed = p->seen;
    memcpy(placed.sha, sha, FILES_SHA);
    list_sub(&p->rest);
    s->resting_len--;
    set_version(s, e);
    e->type = SYNC_FILE;
    e->executable = p->executable;
    e->size = placed.size;
    e->mtime = placed.mtime;
    memcpy(e->sha, sha, FILES_SHA);
    sync_table_set_placed(&s->table, e, &placed);
    begin_open(s, p, !known && !s->fresh);
    s->counts.known += known;
    return sync_table_save(&s->table, e);
}

int sync_source_announce_gone(struct sync_source *s, struct sync_entry *e)
{
    assert(e->to != NULL);
    set_version(s, e);
    e->type = SYNC_GONE;
    e->executable = false;
    e->size = 0;
    e->mtime = 0;
    memset(e->sha, 0, FILES_SHA);
    begin_open(s, e->to, false);
    return sync_table_save(&s->table, e);
}

/* ---- messages ---- */

static bool is_displaced(const struct sync_entry *e)
{
    return e->type == SYNC_FILE && e->state == SYNC_REFUSED && e->reason == SYNC_REASON_PLACE &&
           e->to != NULL;
}

/* The names of an open name's folders: a file that is gone may be where one of them, or the name
 * itself, has to be. */
static void clear_folders(struct sync_source *s, struct sync_pending *p)
{
    char path[FILES_NAME_MAX + 1];
    snprintf(path, sizeof path, "%s", p->entry->name);
    for (char *slash; (slash = strrchr(path, '/')) != NULL;) {
        *slash = '\0';
        struct sync_entry *above = sync_table_find(&s->table, path);
        if (above == NULL)
            continue;
        if (p->entry->type == SYNC_GONE && is_displaced(above))
            above->to->cleared = true;
        if (above->type == SYNC_GONE && is_displaced(p->entry))
            p->cleared = true;
    }
}

/* A file `d` and a file `d/x` cannot be there both: `d/x` has to go before `d` has a place. */
static void clear_places(struct sync_source *s)
{
    if (!s->clear || s->now < s->clear_at)
        return;
    s->clear = false;
    s->clear_at = tick_add(s->now, CLEAR_PAUSE);
    list_for_each (it, &s->open)
        container_of(it, struct sync_pending, open)->cleared = false;
    list_for_each (it, &s->open)
        clear_folders(s, container_of(it, struct sync_pending, open));
}

enum held { HELD_NOT, HELD_WANTED, HELD_REFUSED };

/* The name of a content stays at the copy until all that need the content have it. A refusal is no
 * confirmation: then the name stays until one of them has it. */
static enum held judge_held(struct sync_source *s, const struct sync_entry *e)
{
    const struct sync_entry *o = NULL;
    bool applied = false, refused = false;
    if (e->type != SYNC_GONE || !e->placed.there)
        return HELD_NOT;
    while ((o = sync_table_sha(&s->table, e->placed.sha, e, o)) != NULL) {
        if (o->type != SYNC_FILE)
            continue;
        if (o->state == SYNC_WANTED)
            return HELD_WANTED;
        s->clear = s->clear || is_displaced(o);
        applied = applied || o->state == SYNC_APPLIED;
        refused = refused || (o->state == SYNC_REFUSED && !(is_displaced(o) && o->to->cleared));
    }
    return refused && !applied ? HELD_REFUSED : HELD_NOT;
}

/* Is it gone, and does it have to stay at the copy? */
static bool hold_gone(struct sync_source *s, struct sync_pending *p)
{
    const enum held held = judge_held(s, p->entry);
    const bool again = held == HELD_REFUSED && p->held > 0;
    p->held = held != HELD_REFUSED ? 0 : again ? tick_min(2 * p->held, HELD_MAX) : HELD;
    if (held != HELD_NOT)
        p->due = tick_add(s->now, held == HELD_REFUSED ? p->held : HELD);
    if (again && !p->told)
        s->over(s->context, p->entry, "stays there: the names with its content are refused");
    p->told = p->told || again;
    return held != HELD_NOT;
}

static bool make_path(const struct sync_source *s, const char *name, char out[PATH_MAX])
{
    int n = snprintf(out, PATH_MAX, "%s/%s", s->options.path, name);
    return n > 0 && n < PATH_MAX;
}

/* Reads a small content as it was announced. False: it is not so any more. */
static bool read_content(const struct sync_source *s, const struct sync_entry *e,
                         uint8_t out[SYNC_INLINE_MAX])
{
    char path[PATH_MAX];
    uint8_t sha[FILES_SHA];
    struct stat st;
    int fd = make_path(s, e->name, path)
                 ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
                 : -1;
    bool good = fd >= 0 && fstat(fd, &st) == 0 && sync_placed_is(&e->placed, &st) &&
                pread(fd, out, (size_t)e->size, 0) == (ssize_t)e->size;
    if (fd >= 0)
        close(fd);
    struct files_digest *d = good ? files_digest_new() : NULL;
    if (d == NULL)
        return false;
    files_digest_add(d, slice_of(out, (size_t)e->size));
    good = files_digest_end(d, sha);
    return good && memcmp(sha, e->sha, FILES_SHA) == 0;
}

/* A content that is too long for messages. False: it has to wait. */
static bool begin_transfer(struct sync_source *s, struct sync_pending *p)
{
    const struct sync_entry *e = p->entry;
    char path[PATH_MAX], name[SYNC_CONTENT_NAME];
    struct files_job *j;
    struct stat st;
    sync_content_name(e->version, name);
    if (s->jobs >= JOBS_MAX || !make_path(s, e->name, path))
        return false;
    if (lstat(path, &st) != 0 || !sync_placed_is(&e->placed, &st)) /* the next look sees it */
        return true;
    const bool resume = p->number != 0; /* it was announced before: some of it may be there */
    if (files_sender_add(&s->sender, path, name, resume, &j) != 0)
        return false;
    j->summed = true;
    j->was = st;
    memcpy(j->sha, e->sha, FILES_SHA);
    s->jobs++;
    s->counts.pushed++;
    p->pushing = true;
    return true;
}

enum added { ADDED, ADDED_NOT, ADDED_FULL };

/* Into a message, when it is due. */
static enum added add_entry(struct sync_source *s, struct sync_pending *p, struct writer *w)
{
    struct sync_entry *e = p->entry;
    uint8_t content[SYNC_INLINE_MAX];
    struct sync_change c = {.version = e->version,
                            .type = e->type,
                            .executable = e->executable,
                            .size = e->size,
                            .mtime = e->mtime,
                            .name = slice_of(e->name, strlen(e->name))};
    memcpy(c.sha, e->sha, FILES_SHA);
    if (hold_gone(s, p))
        return ADDED_NOT;
    const bool small = e->size <= SYNC_INLINE_MAX;
    const uint64_t len = SYNC_CHANGE + c.name.len + (p->with && small ? e->size : 0);
    if ((uint64_t)(w->end - w->p) < len)
        return ADDED_FULL;
    if (p->with && small) {
        c.with = read_content(s, e, content);
        c.content = slice_of(content, c.with ? (size_t)e->size : 0);
        s->counts.inlined += c.with;
    } else if (p->with && !begin_transfer(s, p))
        return ADDED_NOT;
    return sync_write_change(w, &c) ? ADDED : ADDED_FULL;
}

static void note_added(struct sync_source *s, struct sync_pending *p)
{
    p->number = s->number;
    p->with = false;
    p->due = p->pushing ? TICK_NEVER : tick_add(s->now, p->pause);
    p->pause = tick_min(2 * p->pause, PAUSE_MAX);
    s->counts.announced++;
}

size_t sync_source_next(struct sync_source *s, uint8_t *out, size_t room)
{
    struct sync_head head = {.kind = SYNC_CHANGES};
    struct writer w = writer_of(out, room);
    assert(room >= SYNC_MESSAGE_MIN);
    w.p += SYNC_HEAD;
    s->number = s->number == UINT32_MAX ? 1 : s->number + 1;
    clear_places(s);
    list_for_each_safe (it, &s->open) {
        struct sync_pending *p = container_of(it, struct sync_pending, open);
        if (p->due > s->now || (p->entry->state == SYNC_WANTED && p->pushing))
            continue;
        const enum added added = add_entry(s, p, &w);
        if (added == ADDED_FULL)
            break;
        if (added == ADDED_NOT)
            continue;
        note_added(s, p);
        if (++head.count == SYNC_ENTRIES_MAX)
            break;
    }
    if (head.count == 0)
        return 0;
    head.number = s->number;
    s->counts.messages++;
    sync_write_end(out, writer_len(&w), &head);
    return writer_len(&w);
}

/* ---- answers ---- */

static int take_applied(struct sync_source *s, struct sync_entry *e)
{
    struct sync_pending *p = e->to;
    e->state = SYNC_APPLIED;
    close_open(s, p);
    s->over(s->context, e, NULL);
    const bool gone = e->type == SYNC_GONE;
    s->counts.gone += gone;
    s->room_made = s->room_made || gone;
    s->counts.confirmed += !gone;
    if (s->open_len == 0)
        s->fresh = false;
    if (!gone || !list_empty(&p->rest)) {
        sync_source_settle(s, e);
        return sync_table_save(&s->table, e);
    }
    sync_source_settle(s, e);
    return sync_table_forget(&s->table, e);
}

/* Its content goes along the next time. A transfer that was confirmed needs another name: the copy
 * would believe that it has it. */
static int take_wanted(struct sync_source *s, struct sync_entry *e, uint32_t number)
{
    struct sync_pending *p = e->to;
    s->counts.wanted++;
    if (p->pushing || number != p->number || e->type != SYNC_FILE)
        return 0;
    if (p->pushed) {
        set_version(s, e);
        begin_open(s, p, true);
        return sync_table_save(&s->table, e);
    }
    e->state = SYNC_WANTED;
    p->with = true;
    p->due = 0;
    p->pause = s->options.files.ask;
    return 0;
}

static int take_refused(struct sync_source *s, struct sync_entry *e, uint32_t reason)
{
    struct sync_pending *p = e->to;
    s->counts.refused++;
    e->state = SYNC_REFUSED;
    e->reason = reason < SYNC_REASONS ? reason : SYNC_REASON_NONE;
    p->due = tick_add(s->now, p->pause);
    const bool again = e->reason == SYNC_REASON_PLACE && !p->displaced;
    p->displaced = e->reason == SYNC_REASON_PLACE;
    if (!p->told && !again)
        s->over(s->context, e, sync_reason_text(e->reason));
    p->told = p->told || !again;
    return 0;
}

/* A folder may block the name of a file until the last name below it is removed. */
static void retry_displaced(struct sync_source *s)
{
    list_for_each (it, &s->open) {
        struct sync_pending *p = container_of(it, struct sync_pending, open);
        if (p->displaced && p->entry->state == SYNC_REFUSED)
            p->due = 0;
    }
    s->room_made = false;
}

static int take_answer(struct sync_source *s, const struct sync_answer *a, uint32_t number)
{
    struct sync_entry *e = sync_table_version(&s->table, a->version, "");
    if (e == NULL || e->to == NULL || list_empty(&e->to->open))
        return 0;
    if (a->state == SYNC_APPLIED)
        return take_applied(s, e);
    return a->state == SYNC_WANTED ? take_wanted(s, e, number) : take_refused(s, e, a->reason);
}

int sync_source_take(struct sync_source *s, const char *source, struct slice payload, tick now)
{
    struct sync_head head;
    struct sync_answer a;
    struct reader r;
    struct eid e;
    s->now = now;
    const enum sync_verdict v = sync_parse(payload, &head, &r);
    if (v == SYNC_FOREIGN) {
        files_sender_take(&s->sender, source, payload, now);
        return 0;
    }
    if (v == SYNC_DAMAGED || head.kind != SYNC_ANSWERS) {
        s->counts.foreign++;
        return 0;
    }
    if (eid_parse(source, &e) != 0 || !eid_equal(&e, &s->options.files.receiver)) {
        s->counts.others++;
        return 0;
    }
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < head.count && sync_parse_answer(&r, &a); i++)
        rc = take_answer(s, &a, head.number);
    if (s->room_made)
        retry_displaced(s);
    return rc;
}

/* ---- transfers ---- */

/* Of a version that is not the newest any more nothing is left to do. */
static void on_transfer(void *context, struct files_job *j)
{
    struct sync_source *s = context;
    uint64_t version;
    const bool good = sync_content_version(slice_of(j->name, strlen(j->name)), &version);
    struct sync_entry *e = good ? sync_table_version(&s->table, version, "") : NULL;
    s->jobs--;
    if (e != NULL && e->to != NULL && e->to->pushing) {
        struct sync_pending *p = e->to;
        p->pushing = false;
        p->pushed = j->phase == FILES_DONE;
        p->due = tick_add(s->now, s->options.files.ask);
        if (j->phase == FILES_FAILED)
            s->over(s->context, e, j->why);
    }
    files_sender_forget(&s->sender, j);
}

/* ---- begin, turns and end ---- */

/* What was not confirmed when the last process ended, is asked for: the copy may have it. */
static int open_entries(struct sync_source *s)
{
    for (struct sync_entry *e = NULL; (e = sync_table_next(&s->table, e)) != NULL;) {
        if (s->options.check && e->state == SYNC_APPLIED)
            e->state = SYNC_WANTED;
        if (e->state == SYNC_APPLIED)
            continue;
        struct sync_pending *p = sync_source_pending(e);
        if (p == NULL)
            return HELIO_ENOMEM;
        begin_open(s, p, false);
    }
    return 0;
}

int sync_source_init(struct sync_source *s, const struct sync_source_options *o, uint64_t seed,
                     uint64_t (*wall)(void *context),
                     void (*over)(void *context, const struct sync_entry *e, const char *why),
                     void *context)
{
    *s = (struct sync_source){.options = *o, .wall = wall, .over = over, .context = context};
    s->table = (struct sync_table){.dir = -1, .lock = -1, .fd = -1};
    s->sum.fd = -1;
    list_init(&s->open);
    list_init(&s->resting);
    sync_watch_init(&s->watch);
    files_sender_init(&s->sender, &o->files, on_transfer, s);
    int folder = open(o->path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    if (folder < 0)
        return helio_from_errno(errno);
    int rc = sync_table_open(&s->table, folder, PART, seed);
    close(folder);
    s->fresh = s->table.names.len == 0;
    return rc == 0 ? open_entries(s) : rc;
}

void sync_source_fini(struct sync_source *s)
{
    sync_look_end_sum(s);
    for (struct sync_entry *e = NULL; (e = sync_table_next(&s->table, e)) != NULL;)
        free(e->to);
    files_sender_fini(&s->sender);
    sync_watch_fini(&s->watch);
    sync_table_close(&s->table);
}

int sync_source_turn(struct sync_source *s, tick now, int *folder)
{
    s->now = now;
    files_sender_expire(&s->sender, now);
    return sync_look_turn(s, folder);
}

bool sync_source_equal(const struct sync_source *s)
{
    if (s->counts.looks == 0 || s->broken || s->changed || s->missing_len > 0)
        return false;
    list_for_each (it, &s->resting)
        if (!container_of(it, struct sync_pending, rest)->told)
            return false;
    list_for_each (it, &s->open) {
        const struct sync_pending *p = container_of(it, struct sync_pending, open);
        if ((p->entry->state != SYNC_REFUSED && p->held == 0) || !p->told)
            return false;
    }
    return true;
}
