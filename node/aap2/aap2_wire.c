/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The happy path: bytes are read ahead, so that many small messages come with one system call; a
 * length and a message are cut off the front; when the message is a BundleADU, what was read ahead
 * of its payload is copied into a new buffer and the rest is read there directly, unless it is
 * short. Pieces are of a few kilobytes, so that little of a long payload is copied; while full ones
 * come in which there is none they double, if the user wants that. What can go wrong: a length
 * beyond the limits or a message that is not protobuf (both final: the stream has lost its frame),
 * and memory running out: a payload without memory is skipped.
 */
#include "node/aap2/aap2_wire.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define AHEAD_LEAST 8192
#define VARINT_MAX 10

static size_t put_varint(uint8_t *out, uint64_t v)
{
    size_t n = 0;
    while (v >= 0x80) {
        out[n++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    out[n++] = (uint8_t)v;
    return n;
}

int aap2_pack(const ProtobufCMessage *m, uint8_t *out, size_t cap)
{
    size_t len = protobuf_c_message_get_packed_size(m);
    uint8_t head[VARINT_MAX];
    size_t n = put_varint(head, len);
    if (len > AAP2_MESSAGE_MAX || n + len > cap)
        return HELIO_ESPACE;
    memcpy(out, head, n);
    protobuf_c_message_pack(m, out + n);
    return (int)(n + len);
}

void aap2_reader_init(struct aap2_reader *r, bool responses, size_t head_room, size_t tail_room,
                      uint64_t payload_max)
{
    *r = (struct aap2_reader){.responses = responses,
                              .head_room = head_room,
                              .tail_room = tail_room,
                              .payload_max = payload_max,
                              .piece = AHEAD_LEAST};
}

void aap2_reader_fini(struct aap2_reader *r)
{
    free(r->ahead);
    buf_drop(r->payload);
    aap2_message_free(r->adu);
    *r = (struct aap2_reader){0};
}

static size_t unread(const struct aap2_reader *r)
{
    return r->len - r->off;
}

/* Room for `want` unread bytes in all. */
static int reserve_bytes(struct aap2_reader *r, size_t want)
{
    if (r->off > 0) {
        memmove(r->ahead, r->ahead + r->off, unread(r));
        r->len -= r->off;
        r->off = 0;
    }
    if (want <= r->cap)
        return 0;
    uint8_t *p = realloc(r->ahead, want);
    if (p == NULL)
        return HELIO_ENOMEM;
    r->ahead = p;
    r->cap = want;
    return 0;
}

/* Long payloads go straight to where they belong. */
static bool reads_payload(const struct aap2_reader *r)
{
    return r->payload != NULL && !r->skips && unread(r) == 0 && r->payload_need >= AHEAD_LEAST;
}

uint8_t *aap2_reader_space(struct aap2_reader *r, size_t *len)
{
    *len = 0;
    if (r->error != 0)
        return NULL;
    if (reads_payload(r)) {
        *len = (size_t)r->payload_need;
        return buf_data(r->payload) + r->payload->len;
    }
    size_t want = r->need > r->piece ? (size_t)r->need : r->piece;
    if (want <= unread(r))
        want = unread(r) + 1;
    if (reserve_bytes(r, want) != 0)
        return NULL;
    assert(r->len < want && want <= r->cap);
    *len = want - r->len;
    return r->ahead + r->len;
}

/* The length before a message: 1 when it is known, 0 when bytes are missing. */
static int take_length(struct aap2_reader *r)
{
    while (!r->sized) {
        if (unread(r) == 0)
            return 0;
        uint8_t byte = r->ahead[r->off++];
        if (r->shift >= 7 * VARINT_MAX)
            return HELIO_EFORMAT;
        if (r->shift < 63)
            r->need |= (uint64_t)(byte & 0x7f) << r->shift;
        else if ((byte & 0x7f) > 0)
            return HELIO_EFORMAT;
        r->shift += 7;
        r->sized = (byte & 0x80) == 0;
        if (r->need > AAP2_MESSAGE_MAX)
            return HELIO_EFORMAT;
    }
    return 1;
}

/* The payload's buffer, once its length is known to be allowed. NULL: no memory. Its bytes are
 * skipped, so that the sender gets an answer in its turn. */
static int begin_payload(struct aap2_reader *r, Aap2__AAPMessage *m)
{
    uint64_t n = m->adu->payload_length;
    r->skips = r->skips_long && n > r->payload_max;
    if (!r->skips && (n > r->payload_max || n > SIZE_MAX / 8))
        return HELIO_EFORMAT;
    size_t head = r->find_head_room != NULL ? r->find_head_room(r, m->adu) : r->head_room;
    r->payload = buf_new(head, (r->skips ? 0 : (size_t)n) + r->tail_room);
    r->payload_need = n;
    r->adu = m;
    if (n >= AHEAD_LEAST)
        r->piece = AHEAD_LEAST;
    return 0;
}

/* The message of r->need bytes at the front: 1 = given out, 0 = its payload comes first. */
static int take_message(struct aap2_reader *r, Aap2__AAPMessage **message,
                        Aap2__AAPResponse **response)
{
    const uint8_t *at = r->ahead + r->off;
    size_t len = (size_t)r->need;
    r->off += len;
    r->need = 0;
    r->shift = 0;
    r->sized = false;
    int error = 0;
    if (r->responses) {
        *response = aap2_read_response(at, len, &error);
        return *response != NULL ? 1 : error;
    }
    Aap2__AAPMessage *m = aap2_read_message(at, len, &error);
    if (m == NULL)
        return error;
    if (m->msg_case != AAP2__AAPMESSAGE__MSG_ADU) {
        *message = m;
        return 1;
    }
    int rc = begin_payload(r, m);
    if (rc != 0)
        aap2_message_free(m);
    return rc;
}

/* What was read ahead of the payload goes into it, if it has a buffer; 1 when it is whole. */
static int take_payload(struct aap2_reader *r, Aap2__AAPMessage **message, struct buf **payload)
{
    size_t n = unread(r) < r->payload_need ? unread(r) : (size_t)r->payload_need;
    if (n > 0 && r->payload != NULL && !r->skips)
        memcpy(buf_append(r->payload, n), r->ahead + r->off, n);
    r->off += n;
    r->payload_need -= n;
    if (r->payload_need > 0)
        return 0;
    *message = r->adu;
    *payload = r->payload;
    r->adu = NULL;
    r->payload = NULL;
    return 1;
}

static void account_bytes(struct aap2_reader *r, size_t n)
{
    if (n == 0)
        return;
    if (reads_payload(r)) {
        assert(n <= r->payload_need);
        (void)buf_append(r->payload, n);
        r->payload_need -= n;
        return;
    }
    assert(n <= r->cap - r->len);
    r->len += n;
    if (r->len >= r->piece && r->piece < r->piece_max)
        r->piece *= 2;
}

int aap2_reader_fed(struct aap2_reader *r, size_t n, Aap2__AAPMessage **message,
                    Aap2__AAPResponse **response, struct buf **payload)
{
    *message = NULL;
    *response = NULL;
    *payload = NULL;
    if (r->error != 0)
        return r->error;
    account_bytes(r, n);
    int rc = 0;
    while (rc == 0) {
        if (r->adu != NULL) {
            rc = take_payload(r, message, payload);
            break;
        }
        rc = take_length(r);
        if (rc <= 0 || unread(r) < r->need) {
            rc = rc < 0 ? rc : 0;
            break;
        }
        rc = take_message(r, message, response);
    }
    if (rc < 0)
        r->error = rc;
    return rc;
}
