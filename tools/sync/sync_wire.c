/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head: magic 4, version 1, kind 1, entries 2, number 4, CRC-32C 4, which covers the payload
 * with its own bytes as zero. A change: version 8, type 1, flags 1 (1 executable, 2 with content),
 * length of the name 2, size 8, time 8, SHA-256 32, length of the content 4, name, content. An
 * answer: version 8, state 1, reason 1, zero 2. What can go wrong in a received payload is a
 * verdict.
 */
#include "tools/sync/sync_wire.h"

#include <assert.h>
#include <stdio.h>

#include "base/crc.h"

#define VERSION 1
#define CRC_AT 12
#define EXECUTABLE 1
#define WITH 2

static const uint8_t magic[4] = {'H', 'S', 'Y', 'N'};

bool sync_write_change(struct writer *w, const struct sync_change *c)
{
    const size_t content = c->with ? c->content.len : 0;
    assert(c->name.len > 0 && c->name.len <= FILES_NAME_MAX && content <= SYNC_INLINE_MAX);
    if ((size_t)(w->end - w->p) < SYNC_CHANGE + c->name.len + content)
        return false;
    writer_number(w, c->version, 8);
    writer_number(w, c->type, 1);
    writer_number(w, (c->executable ? EXECUTABLE : 0u) | (c->with ? WITH : 0u), 1);
    writer_number(w, c->name.len, 2);
    writer_number(w, c->size, 8);
    writer_number(w, c->mtime, 8);
    writer_bytes(w, c->sha, FILES_SHA);
    writer_number(w, content, 4);
    writer_bytes(w, c->name.data, c->name.len);
    if (content > 0)
        writer_bytes(w, c->content.data, content);
    return !w->bad;
}

bool sync_write_answer(struct writer *w, const struct sync_answer *a)
{
    if (w->end - w->p < SYNC_ANSWER)
        return false;
    writer_number(w, a->version, 8);
    writer_number(w, a->state, 1);
    writer_number(w, a->reason, 1);
    writer_number(w, 0, 2);
    return !w->bad;
}

void sync_write_end(uint8_t *message, size_t len, const struct sync_head *h)
{
    struct writer w = writer_of(message, SYNC_HEAD);
    assert(len >= SYNC_HEAD && h->count > 0 && h->count <= SYNC_ENTRIES_MAX);
    writer_bytes(&w, magic, sizeof magic);
    writer_number(&w, VERSION, 1);
    writer_number(&w, h->kind, 1);
    writer_number(&w, h->count, 2);
    writer_number(&w, h->number, 4);
    writer_number(&w, 0, 4);
    w = writer_of(message + CRC_AT, 4);
    writer_number(&w, crc32c(0, message, len), 4);
}

static bool is_sound_change(const struct sync_change *c, size_t content)
{
    if (c->version == 0 || c->name.len == 0 || c->size > INT64_MAX || c->mtime > INT64_MAX)
        return false;
    if (c->type == SYNC_GONE)
        return !c->with && content == 0 && c->size == 0;
    return c->type == SYNC_FILE && content == (c->with ? c->size : 0);
}

bool sync_parse_change(struct reader *r, struct sync_change *out)
{
    out->version = reader_number(r, 8);
    out->type = (enum sync_type)reader_number(r, 1);
    const uint64_t flags = reader_number(r, 1), name = reader_number(r, 2);
    out->executable = (flags & EXECUTABLE) != 0;
    out->with = (flags & WITH) != 0;
    out->size = reader_number(r, 8);
    out->mtime = reader_number(r, 8);
    struct slice sha = reader_take(r, FILES_SHA);
    const uint64_t content = reader_number(r, 4);
    if (r->bad || name > FILES_NAME_MAX || content > SYNC_INLINE_MAX)
        return false;
    memcpy(out->sha, sha.data, FILES_SHA);
    out->name = reader_take(r, name);
    out->content = reader_take(r, content);
    return !r->bad && is_sound_change(out, out->content.len);
}

bool sync_parse_answer(struct reader *r, struct sync_answer *out)
{
    out->version = reader_number(r, 8);
    const uint64_t state = reader_number(r, 1);
    out->reason = (uint32_t)reader_number(r, 1);
    (void)reader_number(r, 2);
    if (r->bad || state < SYNC_APPLIED || state > SYNC_REFUSED)
        return false;
    out->state = (enum sync_state)state;
    return true;
}

static bool are_sound(const struct sync_head *h, struct reader r)
{
    struct sync_change change;
    struct sync_answer answer;
    for (uint32_t i = 0; i < h->count; i++)
        if (!(h->kind == SYNC_CHANGES ? sync_parse_change(&r, &change)
                                      : sync_parse_answer(&r, &answer)))
            return false;
    return reader_left(&r) == 0;
}

static bool right_crc(struct slice p, uint32_t crc)
{
    static const uint8_t zero[4] = {0};
    uint32_t right = crc32c(crc32c(0, p.data, CRC_AT), zero, 4);
    return crc == crc32c(right, p.data + SYNC_HEAD, p.len - SYNC_HEAD);
}

enum sync_verdict sync_parse(struct slice payload, struct sync_head *out, struct reader *entries)
{
    struct reader r = reader_of(payload.data, payload.len);
    struct slice m = reader_take(&r, sizeof magic);
    const uint64_t version = reader_number(&r, 1), kind = reader_number(&r, 1);
    out->count = (uint32_t)reader_number(&r, 2);
    out->number = (uint32_t)reader_number(&r, 4);
    const uint32_t crc = (uint32_t)reader_number(&r, 4);
    if (r.bad || !slice_equal(m, slice_of(magic, sizeof magic)) || version != VERSION ||
        kind < SYNC_CHANGES || kind > SYNC_ANSWERS || out->count == 0 ||
        out->count > SYNC_ENTRIES_MAX)
        return SYNC_FOREIGN;
    if (!right_crc(payload, crc))
        return SYNC_DAMAGED;
    out->kind = (enum sync_kind)kind;
    *entries = r;
    return are_sound(out, r) ? SYNC_OK : SYNC_FOREIGN;
}

const char *sync_reason_text(uint32_t reason)
{
    static const char *const texts[SYNC_REASONS] = {
        [SYNC_REASON_NONE] = "no reason given",
        [SYNC_REASON_NAME] = "its name is not taken there",
        [SYNC_REASON_SIZE] = "it is longer than what is taken there",
        [SYNC_REASON_ROOM] = "the folder there has all the files, or bytes, that it may have",
        [SYNC_REASON_OTHER] = "another source has this name there",
        [SYNC_REASON_PLACE] = "its place in the folder there cannot be had",
        [SYNC_REASON_CONTENT] = "its content arrived wrong",
    };
    return reason < SYNC_REASONS ? texts[reason] : "unknown";
}

void sync_content_name(uint64_t version, char out[SYNC_CONTENT_NAME])
{
    snprintf(out, SYNC_CONTENT_NAME, "%016llx", (unsigned long long)version);
}

bool sync_content_version(struct slice name, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < name.len; i++) {
        const uint8_t c = name.data[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
        *out = *out << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return name.len == SYNC_CONTENT_NAME - 1;
}
