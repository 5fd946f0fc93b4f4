/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundle-in-Bundle Encapsulation (draft-ietf-dtn-bibe-00 §5.3): the payload of an encapsulating
 * bundle is a whole bundle, or a segment of one.
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
    /* for a segment: offset + data.len <= total; data is not empty */
    uint64_t transfer, total, offset;
    struct slice data; /* the encapsulated bytes (a view) */
};

#define BIBE_HEAD_MAX 40 /* longest head, bytes */

/* Writes the head in front of the bytes in `data`; p->data is ignored. Returns 0; HELIO_ESPACE (the
 * buffer has no head room); HELIO_EINVAL (a segment beyond its total, or an empty one). */
int bibe_encode(const struct bibe_payload *p, struct buf *data);

/* Decodes a payload. out->data is a view of it. Returns 0; HELIO_EFORMAT; HELIO_ENOENT: an array of
 * a reserved size. */
int bibe_decode(struct slice payload, struct bibe_payload *out);

/* Returns the number of nested encapsulations in an encoded bundle; 0: its payload is no bundle.
 * The count stops at `most`, and at a bundle with more than BIBE_EXTENSIONS_MAX bytes of extension
 * blocks, so the time is bounded. Application payloads that look like an encapsulation are counted
 * too. */
#define BIBE_EXTENSIONS_MAX 16384
unsigned bibe_depth(struct slice bundle, unsigned most);

#ifdef __cplusplus
}
#endif

#endif
