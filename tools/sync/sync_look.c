/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the source does with its folder. A look walks through it; a file that is not what was
 * announced must rest, then is read for its SHA-256, a part in each turn. What can go wrong: the
 * folder is gone, or another one is in its place (an unmounted disk): then nothing counts as gone;
 * a file that changes while it is read rests again.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "tools/files/files_id.h"
#include "tools/sync/sync_source.h"

#define SOON (500 * TICK_MS)            /* from a change to the look */
#define BROKEN_PAUSE (10 * TICK_S)      /* to the next look at a folder that cannot be read */
#define LOOK_SHARE 20                   /* looks have that part of the time */
#define LOOK_MAX (60 * TICK_S)          /* a clock that is set does not stop looks */
#define TURN_BYTES (UINT64_C(16) << 20) /* that are read in one turn */
#define PART_BYTES 65536
#define TURN_FILES 256

/* ---- looks ---- */

static bool is_executable(const struct stat *st)
{
    return (st->st_mode & S_IXUSR) != 0;
}

static bool is_announced(const struct sync_entry *e, const struct stat *st)
{
    return e->version != 0 && e->type == SYNC_FILE && sync_placed_is(&e->placed, st) &&
           e->executable == is_executable(st);
}

/* By the file's own clock nothing has changed for as long as it has to rest. */
static bool is_old(const struct sync_source *s, const struct stat *st)
{
    const uint64_t wall = s->wall(s->context);
    const int64_t changed = st->st_ctim.tv_sec * INT64_C(1000000000) + st->st_ctim.tv_nsec;
    return changed > 0 && wall > (uint64_t)changed && wall - (uint64_t)changed >= s->options.rest;
}

static void stop_resting(struct sync_source *s, struct sync_entry *e)
{
    struct sync_pending *p = e->to;
    if (p == NULL || list_empty(&p->rest))
        return;
    if (s->sum.of == p)
        sync_look_end_sum(s);
    list_sub(&p->rest);
    s->resting_len--;
}

static bool see_file(struct sync_source *s, struct sync_entry *e, const struct stat *st)
{
    static const uint8_t none[FILES_SHA];
    struct sync_pending *p = sync_source_pending(e);
    if (p == NULL)
        return false;
    const bool resting = !list_empty(&p->rest);
    if (resting && sync_placed_is(&p->seen, st) && p->executable == is_executable(st)) {
        p->since = is_old(s, st) ? 0 : p->since;
        return true;
    }
    if (resting)
        stop_resting(s, e);
    p->seen = sync_placed_of(st, none);
    p->executable = is_executable(st);
    p->since = is_old(s, st) ? 0 : s->now;
    list_add_tail(&s->resting, &p->rest);
    s->resting_len++;
    return true;
}

static bool is_own(const char *name)
{
    return files_name_own(slice_of(name, strlen(name)));
}

static void note_left(void *context, const char *folder, const char *part, enum files_left why)
{
    struct sync_source *s = context;
    (void)folder;
    if (!is_own(part))
        s->counts.left[why]++;
}

static bool find_file(void *context, const char *path, const char *name)
{
    struct sync_source *s = context;
    struct stat st;
    if (is_own(name) || lstat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return true;
    if (!files_name_good(slice_of(name, strlen(name)), true)) {
        s->counts.left[FILES_LEFT_OTHER]++;
        return true;
    }
    struct sync_entry *e = sync_table_find(&s->table, name);
    if (e == NULL && (e = sync_table_add(&s->table, name)) == NULL)
        return false;
    e->look = s->look;
    if (e->to != NULL && e->to->missing) {
        e->to->missing = false;
        s->missing_len--;
    }
    if (!is_announced(e, &st))
        return see_file(s, e, &st);
    stop_resting(s, e);
    sync_source_settle(s, e);
    return true;
}

static void watch_folder(void *context, const char *path)
{
    struct sync_source *s = context;
    if (!is_own(path + strlen(s->options.path) + 1))
        sync_watch_add(&s->watch, path);
}

/* Is the folder that is open still the one at its path? */
static int check_folder(const struct sync_source *s)
{
    char path[PATH_MAX];
    struct stat at, open;
    int n = snprintf(path, sizeof path, "%s/" SYNC_FOLDER "/send", s->options.path);
    if (n < 0 || (size_t)n >= sizeof path)
        return helio_from_errno(ENAMETOOLONG);
    if (fstat(s->table.dir, &open) != 0)
        return helio_from_errno(errno);
    if (stat(path, &at) != 0) { /* another folder has no state */
        const int number = errno;
        const bool other = number == ENOENT && stat(s->options.path, &at) == 0;
        return helio_from_errno(other ? ESTALE : number);
    }
    return at.st_dev == open.st_dev && at.st_ino == open.st_ino ? 0 : helio_from_errno(ESTALE);
}

/* What the look did not find. The second time it is gone: an editor that saves moves files. */
static int note_missing(struct sync_source *s, struct sync_entry *e)
{
    stop_resting(s, e);
    if (e->version == 0) {
        sync_source_settle(s, e);
        return sync_table_forget(&s->table, e);
    }
    if (e->type == SYNC_GONE)
        return 0;
    struct sync_pending *p = sync_source_pending(e);
    if (p == NULL)
        return HELIO_ENOMEM;
    if (!p->missing) {
        p->missing = true;
        s->missing_len++;
        return 0;
    }
    p->missing = false;
    s->missing_len--;
    return sync_source_announce_gone(s, e);
}

static int find_missing(struct sync_source *s)
{
    int rc = 0;
    for (struct sync_entry *e = sync_table_next(&s->table, NULL), *next; rc == 0 && e != NULL;
         e = next) {
        next = sync_table_next(&s->table, e);
        if (e->look != s->look)
            rc = note_missing(s, e);
    }
    return rc;
}

/* ---- what rests ---- */

/* The file had another name: its content is known, and needs no rest. */
struct inode {
    struct hash_node node;
    const struct sync_entry *entry;
};

static int take_renamed(struct sync_source *s)
{
    if (s->missing_len == 0 || s->resting_len == 0)
        return 0;
    struct hash inodes;
    struct inode *all = calloc(s->missing_len, sizeof *all);
    uint64_t n = 0;
    int rc = all == NULL ? HELIO_ENOMEM : hash_init(&inodes, s->number);
    if (rc != 0) {
        free(all);
        return rc;
    }
    for (const struct sync_entry *e = NULL; (e = sync_table_next(&s->table, e)) != NULL;) {
        if (e->to == NULL || !e->to->missing)
            continue;
        assert(n < s->missing_len);
        all[n].entry = e;
        hash_add(&inodes, &all[n].node, hash_mix(inodes.seed, e->placed.ino, 0));
        n++;
    }
    list_for_each_safe (it, &s->resting) {
        struct sync_pending *p = container_of(it, struct sync_pending, rest);
        struct hash_node *found = hash_find(&inodes, hash_mix(inodes.seed, p->seen.ino, 0));
        for (; rc == 0 && found != NULL; found = hash_next(found)) {
            const struct sync_placed *was = &container_of(found, struct inode, node)->entry->placed;
            if (was->ino != p->seen.ino || was->size != p->seen.size || was->mtime != p->seen.mtime)
                continue;
            rc = sync_source_announce(s, p->entry, was->sha);
            break;
        }
    }
    hash_fini(&inodes);
    free(all);
    return rc;
}

void sync_look_end_sum(struct sync_source *s)
{
    uint8_t sha[FILES_SHA];
    if (s->sum.of == NULL)
        return;
    if (s->sum.digest != NULL)
        (void)files_digest_end(s->sum.digest, sha);
    if (s->sum.fd >= 0)
        close(s->sum.fd);
    s->sum.of = NULL;
    s->sum.digest = NULL;
    s->sum.fd = -1;
}

static int open_path(const struct sync_source *s, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", s->options.path, name);
    return n > 0 && (size_t)n < sizeof path
               ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
               : -1;
}

/* It is not what was seen, or cannot be read: the next looks see. */
static void rest_again(struct sync_source *s, struct sync_pending *p)
{
    sync_look_end_sum(s);
    p->since = s->now;
    p->seen.mtime = p->seen.size = UINT64_MAX; /* of no file: it is seen anew */
    list_sub(&p->rest);
    list_add_tail(&s->resting, &p->rest);
}

static bool begin_sum(struct sync_source *s, struct sync_pending *p)
{
    assert(s->sum.of == NULL);
    s->sum.of = p;
    s->sum.at = 0;
    s->sum.digest = files_digest_new();
    s->sum.fd = open_path(s, p->entry->name);
    if (s->sum.fd >= 0 && s->sum.digest != NULL)
        return true;
    if (!p->told && s->sum.fd < 0 && errno != ENOENT)
        s->over(s->context, p->entry, strerror(errno));
    p->told = true;
    rest_again(s, p);
    return false;
}

/* All of it is read. */
static int finish_sum(struct sync_source *s)
{
    struct sync_pending *p = s->sum.of;
    struct stat st;
    uint8_t sha[FILES_SHA];
    const bool same = fstat(s->sum.fd, &st) == 0 && sync_placed_is(&p->seen, &st);
    const bool good = files_digest_end(s->sum.digest, sha);
    s->sum.digest = NULL;
    if (!same || !good) {
        rest_again(s, p);
        return good ? 0 : HELIO_ENOMEM;
    }
    sync_look_end_sum(s);
    s->counts.hashed++;
    return sync_source_announce(s, p->entry, sha);
}

/* The next part of the file that is read; *left are bytes of this turn. */
static int read_sum(struct sync_source *s, uint64_t *left)
{
    uint8_t part[PART_BYTES];
    while (*left > 0) {
        const ssize_t n = pread(s->sum.fd, part, sizeof part, (off_t)s->sum.at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            rest_again(s, s->sum.of);
            return 0;
        }
        if (n == 0)
            return finish_sum(s);
        files_digest_add(s->sum.digest, slice_of(part, (size_t)n));
        s->sum.at += (uint64_t)n;
        *left -= (uint64_t)n < *left ? (uint64_t)n : *left;
    }
    return 0;
}

static struct sync_pending *find_rested(const struct sync_source *s)
{
    list_for_each (it, &s->resting) {
        struct sync_pending *p = container_of(it, struct sync_pending, rest);
        if (p->seen.size != UINT64_MAX && (p->since == 0 || s->now - p->since >= s->options.rest))
            return p;
    }
    return NULL;
}

static int read_rested(struct sync_source *s)
{
    uint64_t left = TURN_BYTES;
    int rc = 0;
    for (int i = 0; rc == 0 && left > 0 && i < TURN_FILES; i++) {
        struct sync_pending *p = s->sum.of == NULL ? find_rested(s) : NULL;
        if (s->sum.of == NULL && p == NULL)
            break;
        if (p != NULL && !begin_sum(s, p))
            continue;
        rc = read_sum(s, &left);
    }
    return rc;
}

/* ---- turns ---- */

/* 0; HELIO_ENOMEM, an error of the table; *folder: what the system says of the folder. */
static int look_through(struct sync_source *s, int *folder)
{
    struct files_walk w = {.hidden = s->options.hidden,
                           .left = note_left,
                           .folder = watch_folder,
                           .found = find_file,
                           .context = s};
    *folder = check_folder(s);
    if (*folder != 0)
        return 0;
    s->look++;
    s->watch.unwatched = 0;
    memset(s->counts.left, 0, sizeof s->counts.left);
    *folder = files_walk_below(&w, s->options.path);
    if (*folder == 0)
        *folder = check_folder(s);
    if (*folder != 0)
        return *folder == HELIO_EAGAIN ? HELIO_ENOMEM : 0;
    s->counts.looks++;
    int rc = find_missing(s);
    return rc == 0 ? take_renamed(s) : rc;
}

static void plan_look(struct sync_source *s, tick took, int folder)
{
    const tick again =
        tick_add(s->now, s->options.rest > LOOK_SHARE * took ? s->options.rest : LOOK_SHARE * took);
    s->earliest = tick_add(s->now, LOOK_SHARE * took);
    s->look_at = tick_add(s->now, s->options.interval);
    if (folder != 0)
        s->look_at = tick_add(s->now, BROKEN_PAUSE);
    else if (s->resting_len + s->missing_len > 0)
        s->look_at = again;
}

int sync_look_turn(struct sync_source *s, int *folder)
{
    int rc = 0;
    *folder = 0;
    if (sync_watch_changed(&s->watch)) {
        const tick soon = tick_add(s->now, SOON);
        s->look_at = tick_min(s->look_at, soon > s->earliest ? soon : s->earliest);
        s->changed = true;
    }
    if (s->now >= s->look_at) {
        const uint64_t begun = s->wall(s->context);
        s->changed = false;
        rc = look_through(s, folder);
        const uint64_t over = s->wall(s->context);
        plan_look(s, over > begun ? tick_min(over - begun, LOOK_MAX) : 0, *folder);
        s->broken = *folder != 0;
    }
    return rc == 0 ? read_rested(s) : rc;
}
