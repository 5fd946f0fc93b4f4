/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong: a file that changes while it is read (it is read again), memory, a full
 * disk. */
#include "tools/sync/sync_work.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "tools/files/files_id.h"

#define PART_BYTES 65536
#define FILE_COST 1024 /* bytes of a turn that a file costs, however short it is */

/* ---- sums ---- */

void sync_sum_end(struct sync_sum *s)
{
    uint8_t sha[FILES_SHA];
    if (s->digest != NULL)
        (void)files_digest_end(s->digest, sha);
    *s = (struct sync_sum){0};
}

static void charge_bytes(uint64_t *left, uint64_t bytes)
{
    *left -= bytes < *left ? bytes : *left;
}

static int write_part(int to, const uint8_t *data, size_t len, uint64_t at)
{
    while (to >= 0 && len > 0) {
        const ssize_t n = pwrite(to, data, len, (off_t)at);
        if (n < 0 && errno != EINTR)
            return helio_from_errno(errno);
        data += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
        at += n > 0 ? (uint64_t)n : 0;
    }
    return 0;
}

static int finish_sum(struct sync_sum *s, int fd)
{
    struct stat st;
    const bool same = fstat(fd, &st) == 0 && sync_placed_is(&s->file, &st);
    const bool good = files_digest_end(s->digest, s->file.sha);
    s->digest = NULL;
    if (same && good)
        return 0;
    sync_sum_end(s);
    return good ? HELIO_EFORMAT : HELIO_ENOMEM;
}

/* The next part, of a file that is not read to its end. */
static int read_part(struct sync_sum *s, int fd, int to, uint64_t *left)
{
    uint8_t part[PART_BYTES];
    const uint64_t rest = s->file.size - s->at;
    const ssize_t n = pread(fd, part, rest < sizeof part ? rest : sizeof part, (off_t)s->at);
    if (n < 0 && errno == EINTR)
        return 0;
    if (n <= 0)
        return n == 0 ? HELIO_EFORMAT : helio_from_errno(errno);
    files_digest_add(s->digest, slice_of(part, (size_t)n));
    int rc = write_part(to, part, (size_t)n, s->at);
    s->at += (uint64_t)n;
    charge_bytes(left, (uint64_t)n);
    return rc;
}

int sync_sum_read(struct sync_sum *s, int fd, const struct stat *st, int to, uint64_t *left)
{
    static const uint8_t none[FILES_SHA];
    int rc = 0;
    if (!sync_placed_is(&s->file, st)) {
        sync_sum_end(s);
        if (*left == 0)
            return HELIO_EAGAIN;
        s->digest = files_digest_new();
        if (s->digest == NULL)
            return HELIO_ENOMEM;
        s->file = sync_placed_of(st, none);
        charge_bytes(left, FILE_COST);
    }
    if (s->digest == NULL)
        return 0;
    while (rc == 0 && s->at<s->file.size && * left> 0)
        rc = read_part(s, fd, to, left);
    if (rc != 0)
        sync_sum_end(s);
    else
        rc = s->at < s->file.size ? HELIO_EAGAIN : finish_sum(s, fd);
    return rc;
}

int sync_sum_bytes(struct slice content, const uint8_t sha[FILES_SHA], bool *right)
{
    uint8_t has[FILES_SHA];
    struct files_digest *d = files_digest_new();
    if (d == NULL)
        return HELIO_ENOMEM;
    files_digest_add(d, content);
    if (!files_digest_end(d, has))
        return HELIO_ENOMEM;
    *right = memcmp(has, sha, FILES_SHA) == 0;
    return 0;
}

/* ---- queues ---- */

struct sync_work *sync_work_of(struct sync_entry *e, uint64_t serial)
{
    struct sync_work *w = e->work;
    if (w != NULL)
        return w;
    w = calloc(1, sizeof *w);
    if (w == NULL)
        return NULL;
    list_init(&w->order);
    w->entry = e;
    snprintf(w->made, sizeof w->made, "new.%llx", (unsigned long long)serial);
    e->work = w;
    return w;
}

int sync_work_add(struct sync_work *w, struct list *busy, const char *peer, uint32_t number)
{
    struct sync_owner *o = w->entry->owner;
    if (w->peer == NULL || strcmp(w->peer, peer) != 0) {
        char *copy = strdup(peer);
        if (copy == NULL)
            return HELIO_ENOMEM;
        free(w->peer);
        w->peer = copy;
    }
    w->number = number;
    if (list_empty(&w->order))
        list_add_tail(&o->works, &w->order);
    if (list_empty(&o->busy))
        list_add_tail(busy, &o->busy);
    return 0;
}

void sync_work_end(struct sync_entry *e, int state, bool forget)
{
    struct sync_work *w = e->work;
    if (w == NULL)
        return;
    list_sub(&w->order);
    if (list_empty(&e->owner->works))
        list_sub(&e->owner->busy);
    if (w->copy.file.there)
        (void)unlinkat(state, w->made, 0);
    sync_sum_end(&w->copy);
    free(w->peer);
    w->peer = NULL;
    if (!forget && (w->here.file.there || w->content.file.there))
        return;
    sync_sum_end(&w->here);
    sync_sum_end(&w->content);
    e->work = NULL;
    free(w);
}

/* ---- folders of the program ---- */

static DIR *open_folder(int folder)
{
    int fd = openat(folder, ".", O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (d == NULL && fd >= 0)
        close(fd);
    return d;
}

int sync_own_name(uint64_t version, const char *node, char out[SYNC_OWN_NAME])
{
    static const uint8_t none[FILES_ID];
    uint8_t id[FILES_ID];
    if (!files_id_of_source(none, node, id))
        return HELIO_ENOMEM;
    snprintf(out, SYNC_OWN_NAME, "%016llx-%016llx", (unsigned long long)version,
             (unsigned long long)number_at(id, 8));
    return 0;
}

static bool has_ending(const char *name, const char *ending)
{
    const size_t len = strlen(name), end = strlen(ending);
    return len >= end && strcmp(name + len - end, ending) == 0;
}

uint64_t sync_folder_count(int folder, const char *ending)
{
    uint64_t n = 0;
    DIR *d = open_folder(folder);
    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        n += e->d_name[0] != '.' && has_ending(e->d_name, ending);
    if (d != NULL)
        (void)closedir(d);
    return n;
}

void sync_folder_clear(int folder, const char *begin)
{
    DIR *d = open_folder(folder);
    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        if (strncmp(e->d_name, begin, strlen(begin)) == 0)
            (void)unlinkat(folder, e->d_name, 0);
    if (d != NULL)
        (void)closedir(d);
}
