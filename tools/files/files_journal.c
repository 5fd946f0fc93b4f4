/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "HFRJ", a length of 4 bytes, and a payload of that length (files_wire.h) whose body is the
 * source; then a record of 20 bytes for each piece: first byte, end, CRC-32C of these. A record of
 * UINT64_MAX twice says that the file is being given its name. What can go wrong: the process ended
 * within a record, which is not sound then.
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
#define HEAD_MAX (LEAD + FILES_HEAD + FILES_NAME_MAX + FILES_SOURCE_MAX)

static const uint8_t magic[4] = {'H', 'F', 'R', 'J'};

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
    files_journal_name(it->id, name);
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
    struct slice source = slice_of(it->source, strlen(it->source));
    memcpy(h.id, it->id, FILES_ID);
    memcpy(h.sha, it->sha, FILES_SHA);
    size_t head = files_write(&h, source, out + LEAD);
    memcpy(out + LEAD + head, source.data, source.len);
    struct writer w = writer_of(out, LEAD);
    writer_bytes(&w, magic, sizeof magic);
    writer_number(&w, head + source.len, 4);
    int rc = append_bytes(state, it, out, LEAD + head + source.len, O_CREAT | O_EXCL, sync);
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

static int read_head(int fd, struct files_item *it, off_t *end)
{
    uint8_t in[HEAD_MAX];
    struct files_head h;
    struct slice source;
    ssize_t n = pread(fd, in, sizeof in, 0);
    if (n < 0)
        return helio_from_errno(errno);
    struct reader r = reader_of(in, (size_t)n);
    struct slice m = reader_take(&r, sizeof magic);
    uint64_t len = reader_number(&r, 4);
    struct slice payload = reader_take(&r, len);
    if (r.bad || !slice_equal(m, slice_of(magic, sizeof magic)) ||
        files_parse(payload, &h, &source) != FILES_OK || source.len >= FILES_SOURCE_MAX)
        return HELIO_EFORMAT;
    memcpy(it->id, h.id, FILES_ID);
    memcpy(it->sha, h.sha, FILES_SHA);
    memcpy(it->name, h.name.data, h.name.len);
    it->name[h.name.len] = '\0';
    memcpy(it->source, source.data, source.len);
    it->source[source.len] = '\0';
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
    if (rc == 0 && ftruncate(fd, at) != 0)
        rc = helio_from_errno(errno);
    close(fd);
    return rc;
}
