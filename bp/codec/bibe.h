/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles in bundles (draft-ietf-dtn-bibe-00 §5.3): the payload of an encapsulating bundle, which
 * is a whole bundle, or a segment of one.
 */
#ifndef BP_BIBE_H
#define BP_BIBE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bibe_payload {
    bool segment;
    uint64_t transfer, total, offset; /* of a segment: offset + data.len <= total, data not empty */
    struct slice data;                /* the encapsulated bytes; a view */
};

#define BIBE_HEAD_MAX 40 /* bytes in front of the data, at most */

/* Puts the head in front of the bytes that `data` has; p->data is ignored. 0, HELIO_ESPACE (no head
 * room), HELIO_EINVAL (a segment beyond its total, or an empty one). */
int bibe_encode(const struct bibe_payload *p, struct buf *data);

/* 0, HELIO_EFORMAT, or HELIO_ENOENT: an array of a size that is reserved. */
int bibe_decode(struct slice payload, struct bibe_payload *out);

/* How many encapsulations this encoded bundle has within itself: 0, its payload is none. Counts no
 * further than `most`, and looks into no bundle with more than BIBE_EXTENSIONS_MAX bytes of
 * extension blocks: time is bounded. Payloads of applications that look like one count as well. */
#define BIBE_EXTENSIONS_MAX 16384
unsigned bibe_depth(struct slice bundle, unsigned most);

#ifdef __cplusplus
}
#endif

#endif
