/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The QoS block is one of the blocks of unknown type, and stays there: it is forwarded unchanged,
 * and its security blocks stay valid. What can go wrong: its content. A private-use type may have
 * any content, so a block in another format belongs to another implementation, and is no error.
 * Only the first BUNDLE_INLINE_MAX extension blocks are examined.
 */
#include "bp/codec/qos.h"

#include <assert.h>

#include "bp/codec/block_kind.h"
#include "bp/codec/cbor.h"

const char *bundle_priority_word(enum bundle_priority p)
{
    static const char *const words[BUNDLE_PRIORITIES] = {"bulk", "normal", "expedited"};
    return (unsigned)p < BUNDLE_PRIORITIES ? words[p] : "unknown";
}

struct bundle_qos bundle_qos_none(void)
{
    return (struct bundle_qos){.priority = BUNDLE_NORMAL};
}

size_t qos_encode(const struct bundle_qos *q, uint8_t out[QOS_CONTENT_MAX])
{
    assert(q->priority < BUNDLE_PRIORITIES);
    struct writer w = writer_of(out, QOS_CONTENT_MAX);
    item_put_array(&w, 4);
    item_put_uint(&w, q->flags);
    item_put_uint(&w, (uint64_t)q->priority);
    item_put_uint(&w, q->ordinal);
    item_put_uint(&w, q->label);
    assert(!w.bad);
    return writer_len(&w);
}

static bool is_over(const struct item_reader *r)
{
    return !r->in.bad && reader_left(&r->in) == 0;
}

int qos_decode(struct slice content, struct bundle_qos *out)
{
    struct item_reader r = item_reader_of(content.data, content);
    if (item_array(&r) != 4)
        return HELIO_EFORMAT;
    uint64_t flags = item_uint(&r), priority = item_uint(&r), ordinal = item_uint(&r);
    uint64_t label = item_uint(&r);
    if (!is_over(&r) || priority >= BUNDLE_PRIORITIES || ordinal > UINT8_MAX)
        return HELIO_EFORMAT;
    *out = (struct bundle_qos){.priority = (enum bundle_priority)priority,
                               .ordinal = (uint8_t)ordinal,
                               .flags = flags,
                               .label = label};
    assert(out->priority < BUNDLE_PRIORITIES);
    return 0;
}

static int decode_hdtn(struct slice content, struct bundle_qos *out)
{
    struct item_reader r = item_reader_of(content.data, content);
    if (item_peek(&r) != ITEM_UINT)
        return HELIO_EFORMAT;
    uint64_t priority = item_uint(&r);
    if (!is_over(&r) || priority >= BUNDLE_PRIORITIES)
        return HELIO_EFORMAT;
    *out = (struct bundle_qos){.priority = (enum bundle_priority)priority};
    return 0;
}

bool bundle_qos_read(const struct bundle *b, size_t i, struct bundle_qos *out)
{
    assert(i < b->others_len);
    const struct bundle_block *block = &b->others[i];
    if (block->type == BLOCK_QOS)
        return qos_decode(block->data, out) == 0 && !bundle_is_encrypted(b, i);
    return block->type == BLOCK_HDTN_PRIORITY && decode_hdtn(block->data, out) == 0 &&
           !bundle_is_encrypted(b, i);
}

static bool is_read(const struct bundle *b, size_t i)
{
    struct bundle_qos q;
    return bundle_qos_read(b, i, &q);
}

const struct block_kind block_qos = {
    .type = BLOCK_QOS, .section = "bpq.c of ION", .understood = is_read};
const struct block_kind block_hdtn_priority = {
    .type = BLOCK_HDTN_PRIORITY, .section = "common/bpcodec of HDTN", .understood = is_read};

bool bundle_qos(const struct bundle *b, struct bundle_qos *out)
{
    struct bundle_qos q;
    bool found = false;
    *out = bundle_qos_none();
    for (size_t i = 0; i < b->others_len; i++) {
        if (!bundle_qos_read(b, i, &q) || (found && b->others[i].type != BLOCK_QOS))
            continue;
        *out = q;
        found = true;
        if (b->others[i].type == BLOCK_QOS)
            break; /* says more than the other */
    }
    assert(out->priority < BUNDLE_PRIORITIES);
    return found;
}
