/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the codec: the registry of the extension blocks whose content it understands. A new type
 * of block takes a file with its struct block_kind, a line of BLOCK_KINDS, and a field in struct
 * bundle when its content is read with the bundle.
 */
#ifndef BP_BLOCK_KIND_H
#define BP_BLOCK_KIND_H

#include "bp/codec/block.h"

/* Each name stands for a struct block_kind block_NAME; they are written in this order. */
#define BLOCK_KINDS(X)                                                                             \
    X(previous_node)                                                                               \
    X(hop_count)                                                                                   \
    X(age)                                                                                         \
    X(qos)                                                                                         \
    X(hdtn_priority)

/* The longest content that a kind writes: a dtn EID. */
#define BLOCK_CONTENT_MAX 300

struct block_kind {
    uint64_t type;
    const char *section; /* of the document that has its content */
    bool single;         /* a bundle has at most one, encrypted or not */

    /* Read with the bundle, into fields of struct bundle (read != NULL). Where the flag and the
     * frame of such a block lie in it. */
    size_t has, frame;
    void (*read)(struct item_reader *r, struct check *c, struct bundle *b);
    /* At most BLOCK_CONTENT_MAX bytes. */
    void (*write)(struct writer *w, const struct bundle *b);
    bool (*legal)(const struct bundle *b); /* has its field an encoding? NULL: always */
    uint64_t flags;                        /* of a block that is made here */
    /* What its content demands of the bundle. NULL: nothing. */
    void (*rule)(const struct bundle *b, struct check *c);
    /* A node forwards the bundle (RFC 9171 §5.4). NULL: the block goes on as it is. */
    void (*hop)(struct bundle *b, const struct bundle_hop *hop);
    /* It describes the copy at hand, so each fragment has it (§5.8). Else its flag
     * BLOCK_REPLICATE decides. */
    bool each_fragment;

    /* Stays in bundle.others (read == NULL) and is read when somebody asks: is others[i], of this
     * type, one that is understood? */
    bool (*understood)(const struct bundle *b, size_t i);
};

#define BLOCK_KIND_DECLARE(name) extern const struct block_kind block_##name;
BLOCK_KINDS(BLOCK_KIND_DECLARE)
#undef BLOCK_KIND_DECLARE

#define BLOCK_KIND_ENUM(name) BLOCK_KIND_##name,
enum { BLOCK_KINDS(BLOCK_KIND_ENUM) BLOCK_KIND_COUNT };
#undef BLOCK_KIND_ENUM

/* The kinds in the order of the table, BLOCK_KIND_COUNT of them. */
extern const struct block_kind *const block_kinds[];

/* The place of a type in block_kinds; BLOCK_KIND_COUNT: it is not there. */
size_t block_kind_find(uint64_t type);

/* The frame of a kind that is read with the bundle, whether there is such a block or not. */
static inline const struct bundle_frame *block_kind_frame(const struct block_kind *k,
                                                          const struct bundle *b)
{
    return (const struct bundle_frame *)(const void *)((const char *)b + k->frame);
}
/* The same, NULL when the bundle has no such block. */
static inline const struct bundle_frame *block_kind_of(const struct block_kind *k,
                                                       const struct bundle *b)
{
    if (k->read == NULL || !*(const bool *)(const void *)((const char *)b + k->has))
        return NULL;
    return block_kind_frame(k, b);
}
/* The bundle has such a block, or not, with this frame. */
static inline void block_kind_set(const struct block_kind *k, struct bundle *b, bool has,
                                  struct bundle_frame frame)
{
    *(bool *)(void *)((char *)b + k->has) = has;
    *(struct bundle_frame *)(void *)((char *)b + k->frame) = frame;
}

#endif
