/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "HFR2", a length of 4 bytes, and a payload of that length (files_wire.h) whose body is the
 * source, a zero, and the neighbour ("HFRJ", of an earlier version: the source alone); then a
 * record of 20 bytes for each piece: first byte, end, CRC-32C of these. A record of UINT64_MAX
 * twice says that the file is being given its name. What can go wrong: the process ended within a
 * record, which is not sound then.
 */
#include "tools/files/files_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc.h"
#include "base/cursor.h"
#include "base/err.h"

#define LEAD 8
#define RECORD 20
#define BODY_MAX (2 * FILES_SOURCE_MAX)
#define HEAD_MAX (LEAD + FILES_HEAD + FILES_NAME_MAX + BODY_MAX)

static const uint8_t magic[4] = {'H', 'F', 'R', '2'}, magic_1[4] = {'H', 'F', 'R', 'J'};

void files_journal_hex(const uint8_t id[FILES_ID], char out[FILES_HEX])
{
    for (int i = 0; i < FILES_ID; i++)
        snprintf(out + 2 * i, 3, "%02x", id[i]);
}

void files_journal_name(const uint8_t id[FILES_ID], char out[FILES_JOURNAL_NAME])
{
    char hex[FILES_HEX];
    files_journal_hex(id, hex);
    snprintf(out, FILES_JOURNAL_NAME, "%s.log", hex);
}

/* Appends to the journal, which is made when `flags` say so. */
static int append_bytes(int state, const struct files_item *it, const uint8_t *data, size_t len,
                        int flags, bool sync)
{
    char name[FILES_JOURNAL_NAME];
    files_journal_name(it->key, name);
    int fd = openat(state, name, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
    if (fd < 0)
        return helio_from_errno(errno);
    ssize_t n = write(fd, data, len);
    int rc = n == (ssize_t)len ? 0 : n < 0 ? helio_from_errno(errno) : HELIO_ESPACE;
    if (rc == 0 && sync && fdatasync(fd) != 0)
        rc = helio_from_errno(errno);
    close(fd);
    return rc;
}

int files_journal_begin(int state, const struct files_item *it, bool sync)
{
    uint8_t out[HEAD_MAX];
    struct files_head h = {
        .kind = FILES_ASK, .size = it->size, .name = slice_of(it->name, strlen(it->name))};
    uint8_t names[BODY_MAX];
    struct writer n = writer_of(names, sizeof names);
    writer_bytes(&n, it->source, strlen(it->source) + 1);
    writer_bytes(&n, it->neighbour, strlen(it->neighbour));
    const struct slice body = slice_of(names, writer_len(&n));
    memcpy(h.id, it->id, FILES_ID);
    memcpy(h.sha, it->sha, FILES_SHA);
    size_t head = files_write(&h, body, out + LEAD);
    memcpy(out + LEAD + head, body.data, body.len);
    struct writer w = writer_of(out, LEAD);
    writer_bytes(&w, magic, sizeof magic);
    writer_number(&w, head + body.len, 4);
    int rc = append_bytes(state, it, out, LEAD + head + body.len, O_CREAT | O_EXCL, sync);
    if (rc == 0 && sync && fsync(state) != 0)
        rc = helio_from_errno(errno);
    return rc;
}

static void write_record(uint64_t lo, uint64_t hi, uint8_t out[RECORD])
{
    struct writer w = writer_of(out, RECORD);
    writer_number(&w, lo, 8);
    writer_number(&w, hi, 8);
    writer_number(&w, crc32c(0, out, 16), 4);
}

int files_journal_add(int state, const struct files_item *it, uint64_t lo, uint64_t hi, bool sync)
{
    uint8_t record[RECORD];
    write_record(lo, hi, record);
    return append_bytes(state, it, record, RECORD, 0, sync);
}

int files_journal_placing(int state, const struct files_item *it, bool sync)
{
    return files_journal_add(state, it, UINT64_MAX, UINT64_MAX, sync);
}

/* ---- reading ---- */

static bool read_name(struct slice s, char out[FILES_SOURCE_MAX])
{
    if (s.len >= FILES_SOURCE_MAX || (s.len > 0 && memchr(s.data, 0, s.len) != NULL))
        return false;
    if (s.len > 0)
        memcpy(out, s.data, s.len);
    out[s.len] = '\0';
    return true;
}

/* Source and neighbour. */
static bool read_names(struct slice body, bool first_version, struct files_item *it)
{
    const uint8_t *zero = body.len == 0 ? NULL : memchr(body.data, 0, body.len);
    if (first_version)
        return read_name(body, it->source) && read_name(slice_of(NULL, 0), it->neighbour);
    if (zero == NULL)
        return false;
    const size_t len = (size_t)(zero - body.data);
    return read_name(slice_of(body.data, len), it->source) &&
           read_name(slice_of(zero + 1, body.len - len - 1), it->neighbour);
}

static int read_head(int fd, struct files_item *it, off_t *end)
{
    uint8_t in[HEAD_MAX];
    struct files_head h;
    struct slice body;
    ssize_t n = pread(fd, in, sizeof in, 0);
    if (n < 0)
        return helio_from_errno(errno);
    struct reader r = reader_of(in, (size_t)n);
    struct slice m = reader_take(&r, sizeof magic);
    uint64_t len = reader_number(&r, 4);
    struct slice payload = reader_take(&r, len);
    const bool first_version = slice_equal(m, slice_of(magic_1, sizeof magic_1));
    if (r.bad || (!first_version && !slice_equal(m, slice_of(magic, sizeof magic))) ||
        files_parse(payload, &h, &body) != FILES_OK || !read_names(body, first_version, it))
        return HELIO_EFORMAT;
    memcpy(it->id, h.id, FILES_ID);
    memcpy(it->sha, h.sha, FILES_SHA);
    memcpy(it->name, h.name.data, h.name.len);
    it->name[h.name.len] = '\0';
    it->size = h.size;
    *end = (off_t)(LEAD + len);
    return 0;
}

/* One record: 1, 0 when there is no sound one, or HELIO_E*. */
static int read_record(int fd, off_t at, struct files_item *it, bool *placing)
{
    uint8_t record[RECORD], right[RECORD];
    if (pread(fd, record, RECORD, at) != RECORD)
        return 0;
    struct reader r = reader_of(record, RECORD);
    uint64_t lo = reader_number(&r, 8), hi = reader_number(&r, 8);
    write_record(lo, hi, right);
    if (memcmp(record, right, RECORD) != 0)
        return 0;
    *placing = lo == UINT64_MAX;
    if (*placing)
        return 1;
    if (lo >= hi || hi > it->size)
        return 0;
    it->grown = it->have.len > 0;
    int rc = ranges_add(&it->have, lo, hi, FILES_RANGES_MAX);
    return rc < 0 ? rc : 1;
}

int files_journal_load(int state, const char *name, struct files_item *it, bool *placing)
{
    off_t at = 0;
    *placing = false;
    int fd = openat(state, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return helio_from_errno(errno);
    int rc = read_head(fd, it, &at), more = rc == 0;
    while (more == 1) {
        more = read_record(fd, at, it, placing);
        at += more == 1 ? RECORD : 0;
    }
    rc = rc == 0 && more < 0 ? more : rc;
    it->held = ranges_bytes(&it->have);
    if (rc == 0 && ftruncate(fd, at) != 0)
        rc = helio_from_errno(errno);
    close(fd);
    return rc;
}
