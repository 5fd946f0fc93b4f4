/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After a restart: each journal of the state folder is given to the entity. What can go wrong: a
 * journal that is damaged (it and its partial file are removed), that cannot be read now, or of a
 * remote entity that the configuration no longer has (it is kept).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "tools/cfdp/cfdp_store_private.h"

#define JOURNAL_MAX (INT64_C(1) << 30)

/* "SOURCE-NUMBER.KIND"; the kind, or NULL. */
static const char *read_state_name(const char *name, struct cfdp_id *id)
{
    char *end;
    if (name[0] < '0' || name[0] > '9')
        return NULL;
    id->source = strtoull(name, &end, 10);
    if (*end != '-')
        return NULL;
    id->sequence = strtoull(end + 1, &end, 10);
    return *end == '.' ? end + 1 : NULL;
}

/* All of a file of at most `max` octets in the folder, which the caller frees. NULL with *rc;
 * HELIO_ESPACE: it is longer. */
static uint8_t *read_all(int folder, const char *name, off_t max, size_t *len, int *rc)
{
    struct stat st;
    uint8_t *out = NULL;
    const int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    *rc = HELIO_EFORMAT;
    if (fd < 0) {
        *rc = helio_from_errno(errno);
        return NULL;
    }
    if (fstat(fd, &st) != 0) {
        *rc = helio_from_errno(errno);
    } else if (S_ISREG(st.st_mode) && st.st_size > max) {
        *rc = HELIO_ESPACE;
    } else if (S_ISREG(st.st_mode)) {
        out = malloc((size_t)st.st_size + 1);
        const ssize_t n = out == NULL ? 0 : read(fd, out, (size_t)st.st_size);
        *len = (size_t)st.st_size;
        *rc = out == NULL      ? HELIO_ENOMEM
              : n < 0          ? helio_from_errno(errno)
              : n < st.st_size ? HELIO_EIO
                               : 0;
    }
    close(fd);
    if (*rc != 0) {
        free(out);
        out = NULL;
    }
    return out;
}

static int restore_one(struct cfdp_store *s, struct cfdp *e, const char *name, struct cfdp_id id,
                       tick now)
{
    int rc;
    size_t len = 0;
    uint8_t *records = read_all(s->state, name, JOURNAL_MAX, &len, &rc);
    if (records == NULL)
        return rc;
    rc = cfdp_restore(e, id, slice_of(records, len), now);
    free(records);
    if (rc != HELIO_EFORMAT)
        return rc;
    s->unreadable++;
    store_files.forget(s, id);
    return rc;
}

static bool has_journal(const struct cfdp_store *s, struct cfdp_id id)
{
    char name[STORE_NAME];
    store_state_name(id, "log", name);
    return faccessat(s->state, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void restore_results(const struct cfdp_store *s, struct cfdp *e, const char *name)
{
    size_t len = 0;
    int rc;
    uint8_t *results = read_all(s->state, name, 2 * STORE_PAST_MAX, &len, &rc);
    if (results != NULL)
        cfdp_remembered(e, slice_of(results, len));
    free(results);
}

int store_restore(struct cfdp_store *s, struct cfdp *e, tick now,
                  void (*said)(void *context, const char *journal, int error), void *context)
{
    struct cfdp_id id;
    const struct dirent *d;
    const int fd = openat(s->state, ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL)
        return helio_from_errno(errno);
    restore_results(s, e, STORE_PAST_OLD);
    restore_results(s, e, STORE_PAST);
    while ((d = readdir(dir)) != NULL) {
        const char *kind = read_state_name(d->d_name, &id);
        if (kind != NULL && strcmp(kind, "log") == 0) {
            const int rc = restore_one(s, e, d->d_name, id, now);
            if (rc != 0)
                said(context, d->d_name, rc);
        } else if (kind != NULL && (strcmp(kind, "new") == 0 || !has_journal(s, id))) {
            (void)unlinkat(s->state, d->d_name, 0); /* of a process that was killed at the end */
        }
    }
    closedir(dir);
    return 0;
}

char *store_take_text(struct cfdp_store *s, const char *name, size_t max)
{
    const char *last;
    int rc;
    size_t len = 0;
    const int parent = store_parent(s, name, false, &last);
    if (parent < 0)
        return NULL;
    char *out = (char *)read_all(parent, last, (off_t)max, &len, &rc);
    (void)unlinkat(parent, last, 0);
    if (out != NULL)
        out[len] = '\0';
    close(parent);
    return out;
}
