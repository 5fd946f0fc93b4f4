/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record is an id and its CRC-32C. What can go wrong: a record that was cut off by the end of the
 * process, with which reading ends, and what follows takes its place; a full disk.
 */
#include "tools/files/files_done.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/crc.h"
#include "base/err.h"

#define RECORD (FILES_ID + 4)

struct done_id {
    struct hash_node node;
    struct list order;
    uint8_t id[FILES_ID];
};

static uint64_t hash_id(const struct files_done *d, const uint8_t id[FILES_ID])
{
    return hash_bytes(d->ids.seed, id, FILES_ID);
}

static struct done_id *find_id(const struct files_done *d, const uint8_t id[FILES_ID])
{
    struct hash_node *n = hash_find(&d->ids, hash_id(d, id));
    for (; n != NULL; n = hash_next(n)) {
        struct done_id *e = container_of(n, struct done_id, node);
        if (memcmp(e->id, id, FILES_ID) == 0)
            return e;
    }
    return NULL;
}

bool files_done_has(const struct files_done *d, const uint8_t id[FILES_ID])
{
    return find_id(d, id) != NULL;
}

static void drop_id(struct files_done *d, struct done_id *e)
{
    hash_sub(&d->ids, &e->node);
    list_sub(&e->order);
    free(e);
}

static int keep_id(struct files_done *d, const uint8_t id[FILES_ID])
{
    if (files_done_has(d, id))
        return 0;
    struct done_id *e = calloc(1, sizeof *e);
    if (e == NULL)
        return HELIO_ENOMEM;
    memcpy(e->id, id, FILES_ID);
    list_init(&e->order);
    hash_add(&d->ids, &e->node, hash_id(d, id));
    list_add_tail(&d->order, &e->order);
    if (d->ids.len > FILES_DONE_MAX)
        drop_id(d, container_of(list_first(&d->order), struct done_id, order));
    assert(d->ids.len <= FILES_DONE_MAX);
    return 0;
}

static void write_record(const uint8_t id[FILES_ID], uint8_t out[RECORD])
{
    uint32_t crc = crc32c(0, id, FILES_ID);
    memcpy(out, id, FILES_ID);
    for (int i = 0; i < 4; i++)
        out[FILES_ID + i] = (uint8_t)(crc >> (24 - 8 * i));
}

static int append_record(int fd, const uint8_t id[FILES_ID])
{
    uint8_t record[RECORD];
    write_record(id, record);
    ssize_t n = write(fd, record, sizeof record);
    return n == RECORD ? 0 : n < 0 ? helio_from_errno(errno) : HELIO_ESPACE;
}

/* Reads what is there; *len is the length of the sound part. */
static int load_ids(struct files_done *d, int fd, off_t *len)
{
    uint8_t record[RECORD], right[RECORD];
    int rc = 0;
    for (*len = 0; rc == 0 && pread(fd, record, RECORD, *len) == RECORD; *len += RECORD) {
        write_record(record, right);
        if (memcmp(record, right, RECORD) != 0)
            break;
        rc = keep_id(d, record);
    }
    return rc;
}

/* A new file with those that are remembered takes the old one's place. */
static int rewrite_ids(struct files_done *d, int dir, const char *name)
{
    char beside[64];
    snprintf(beside, sizeof beside, "%s.new", name);
    int fd =
        openat(dir, beside, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    int rc = fd < 0 ? helio_from_errno(errno) : 0;
    list_for_each (it, &d->order)
        if (rc == 0)
            rc = append_record(fd, container_of(it, struct done_id, order)->id);
    if (rc == 0 && (fsync(fd) != 0 || renameat(dir, beside, dir, name) != 0))
        rc = helio_from_errno(errno);
    if (rc != 0 && fd >= 0)
        close(fd);
    if (rc != 0)
        return rc;
    close(d->fd);
    d->fd = fd;
    return 0;
}

int files_done_open(struct files_done *d, int dir, const char *name, uint64_t seed)
{
    off_t len = 0;
    list_init(&d->order);
    d->fd = -1;
    int rc = hash_init(&d->ids, seed);
    if (rc != 0)
        return rc;
    d->fd = openat(dir, name, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (d->fd < 0)
        return helio_from_errno(errno);
    rc = load_ids(d, d->fd, &len);
    if (rc == 0 && ftruncate(d->fd, len) != 0)
        rc = helio_from_errno(errno);
    if (rc == 0 && len > (off_t)RECORD * FILES_DONE_MAX)
        rc = rewrite_ids(d, dir, name);
    return rc;
}

void files_done_fini(struct files_done *d)
{
    list_for_each_safe (it, &d->order)
        drop_id(d, container_of(it, struct done_id, order));
    hash_fini(&d->ids);
    if (d->fd >= 0)
        close(d->fd);
    d->fd = -1;
}

int files_done_add(struct files_done *d, const uint8_t id[FILES_ID], bool sync)
{
    int rc = keep_id(d, id);
    if (rc == 0)
        rc = append_record(d->fd, id);
    if (rc == 0 && sync && fdatasync(d->fd) != 0)
        rc = helio_from_errno(errno);
    return rc;
}
