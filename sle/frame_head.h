/* SPDX-License-Identifier: Apache-2.0 */
/* Headers of the frames in a TRANSFER-BUFFER, for code that builds one. */
#ifndef SLE_FRAME_HEAD_H
#define SLE_FRAME_HEAD_H

#include "sle/pdu.h"
#include "sle/tml.h"

enum {
    FRAME_HEAD_MAX = 256,                     /* octets of a frame's header, or of a notification */
    BUFFER_HEAD_MAX = SLE_TML_HEADER + 1 + 4, /* of a message with a TRANSFER-BUFFER */
};

struct frame_template {
    struct sle_dialect dialect;
    struct slice antenna; /* the owner's */
    size_t credentials_at;
    uint8_t len, time_at, continuity_at;
    bool raf;
    uint8_t octets[FRAME_HEAD_MAX - 1];
};

/* `credentials_len` octets of credentials, < 128, are left as zeros; 0: unused. The antenna's
 * octets stay the caller's. */
void frame_template_init(struct frame_template *t, const struct sle_dialect *d,
                         struct slice antenna, bool global, size_t credentials_len);
/* The header of a frame, of which item.data follows; an item without antenna has the template's.
 * Octets written at `out`, at most FRAME_HEAD_MAX; *credentials_at: where in them, 0: none. */
size_t frame_template_write(const struct frame_template *t, const struct sle_item *it, uint8_t *out,
                            size_t *credentials_at);
/* A SYNC-NOTIFY. */
size_t sync_write(const struct sle_dialect *d, const struct sle_sync *sync, size_t credentials_len,
                  uint8_t *out, size_t *credentials_at);
/* The octets before `content` octets of items, so that they end at `end`; how many. */
size_t buffer_head_write(size_t content, uint8_t *end);

#endif
