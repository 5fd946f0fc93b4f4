/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets into the frames of one virtual channel, of any of the kinds that have a packet zone (AOS:
 * M_PDU; TM; USLP: packets that span frames). The caller opens a frame in a buffer of its own, puts
 * packets until it is full (or fills it up), closes it and sends it:
 *
 *     mpdu_pack_open(p, frame, slices);
 *     while (!mpdu_pack_full(p) && there is a packet)
 *         mpdu_pack_put(p, header, header_len, payload, n);
 *     if (!mpdu_pack_full(p) && it shall not wait for more)
 *         mpdu_pack_fill(p);
 *     if (mpdu_pack_full(p))
 *         mpdu_pack_close(p, NULL, &out);
 *
 * The rest of a packet that does not fit begins the next frame. Long pieces of payload need
 * not be copied (gather_min): the frame is then a list of slices, some in the caller's frame
 * buffer, some in the payloads.
 */
#ifndef FRAMES_MPDU_PACK_H
#define FRAMES_MPDU_PACK_H

#include "frames/frame.h"
#include "frames/packet.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MPDU_PARTS_MAX 4
#define MPDU_GATHER_LEAST 16

struct mpdu_pack_config {
    struct frame_format format; /* TM, AOS or USLP */
    uint16_t scid;
    uint8_t vcid, map;
    bool replay; /* AOS: the frames are marked as replayed */
    /* PACKET_ENCAP: any length; PACKET_SPACE: 7 octets at least, which may go on in the next
     * frame */
    enum packet_kind idle;
    /* pieces of payload from so many octets on are not copied; 0: all are; else MPDU_GATHER_LEAST
     * or more */
    uint32_t gather_min;
    uint64_t count; /* of the first frame */
};

/* Octets of frames that were closed. */
struct mpdu_pack_totals {
    uint64_t frames, packets, packet_bytes, idle_packets, idle_bytes;
};

struct mpdu_pack {
    struct mpdu_pack_config config;
    struct frame_layout layout;
    uint64_t count;
    uint8_t *frame;       /* NULL: none is open */
    struct slice *slices; /* the caller's */
    size_t slice_count;   /* those that are complete */
    uint32_t used, run;   /* octets of the zone; of the frame up to where slices describe it */
    uint32_t pointer;     /* first header, or FRAME_NO_START */
    struct slice parts[1 + MPDU_PARTS_MAX]; /* what is left of the packet: header and payload */
    size_t part, part_count;
    uint64_t zeros; /* what is left of an idle packet */
    uint8_t header[PACKET_HEADER_MAX];
    struct mpdu_pack_totals totals;
};

/* What a frame has beside packets; of fields that the format lacks nothing is used. */
struct mpdu_extra {
    uint32_t ocf;
    uint8_t master_count;           /* TM */
    struct slice insert, secondary; /* empty: zeros */
};

struct mpdu_frame {
    const struct slice *slices; /* the caller's array of mpdu_pack_open */
    size_t slice_count;         /* 1 when all was copied */
    uint64_t count;             /* its frame count */
};

/* NULL, or a text that says what is wrong with it. */
const char *mpdu_pack_problem(const struct mpdu_pack_config *c);

/* The configuration must have no problem. */
void mpdu_pack_init(struct mpdu_pack *p, const struct mpdu_pack_config *c);

/* Number of slices that the array of mpdu_pack_open must have. */
size_t mpdu_pack_slices_max(const struct mpdu_pack *p);

/* Begins a frame in `frame`, which must have the format's length. The caller gets `frame` and
 * `slices` back at the close. No other frame may be open. The rest of the last packet is put first,
 * so the frame may be full at once. */
void mpdu_pack_open(struct mpdu_pack *p, uint8_t *frame, struct slice *slices);

/* Is the frame full, so that it should be taken? */
static inline bool mpdu_pack_full(const struct mpdu_pack *p)
{
    return p->used == p->layout.zone_len;
}

/* Something of the last packet is left for the next frame: its payload is still needed. */
static inline bool mpdu_pack_pending(const struct mpdu_pack *p)
{
    return p->part < p->part_count || p->zeros > 0;
}

/* Free octets of the frame; the rest of a longer packet is put into the next one. */
static inline uint32_t mpdu_pack_room(const struct mpdu_pack *p)
{
    return p->layout.zone_len - p->used;
}

/* Puts a packet: its header, which is copied, and its payload in at most MPDU_PARTS_MAX slices. The
 * payload must not change until all frames with parts of it are sent (without gathering: closed). A
 * frame must be open and not full. */
void mpdu_pack_put(struct mpdu_pack *p, const uint8_t *header, size_t header_len,
                   const struct slice *payload, size_t n);

/* Fills the open frame with an idle packet; nothing when it is full. */
void mpdu_pack_fill(struct mpdu_pack *p);

/* Ends the open frame, which is full. `extra` may be NULL: zeros. */
void mpdu_pack_close(struct mpdu_pack *p, const struct mpdu_extra *extra, struct mpdu_frame *out);

#ifdef __cplusplus
}
#endif

#endif
