/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles on the wire (RFC 9171 §4 with errata 7272, 7337, 8043, 8525; RFC 9758): decoding into a
 * struct of views, and encoding around a payload that stays where it is.
 */
#ifndef BP_BUNDLE_H
#define BP_BUNDLE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/tick.h"
#include "bp/codec/eid.h"

#ifdef __cplusplus
extern "C" {
#endif

/* RFC 9171 §4.2.3: bundle processing control flags */
enum bundle_flag {
    BUNDLE_IS_FRAGMENT = 0x01,
    BUNDLE_IS_ADMIN = 0x02,
    BUNDLE_NO_FRAGMENT = 0x04,
    BUNDLE_APP_ACK = 0x20,
    BUNDLE_REPORT_TIME = 0x40,
    BUNDLE_REPORT_RECEPTION = 0x4000,
    BUNDLE_REPORT_FORWARDING = 0x10000,
    BUNDLE_REPORT_DELIVERY = 0x20000,
    BUNDLE_REPORT_DELETION = 0x40000,
    BUNDLE_REPORTS = 0x74000,                                   /* any of the four */
    BUNDLE_TIMED_REPORTS = BUNDLE_REPORTS | BUNDLE_REPORT_TIME, /* all of them, with their times */
};
/* §4.2.4: block processing control flags */
enum block_flag {
    BLOCK_REPLICATE = 0x01, /* must be replicated in every fragment */
    BLOCK_REPORT_IF_UNKNOWN = 0x02,
    BLOCK_DELETE_BUNDLE_IF_UNKNOWN = 0x04,
    BLOCK_DROP_IF_UNKNOWN = 0x10,
};
enum block_type { BLOCK_PAYLOAD = 1, BLOCK_PREVIOUS_NODE = 6, BLOCK_AGE = 7, BLOCK_HOP_COUNT = 10 };
enum crc_type { CRC_NONE = 0, CRC_16 = 1, CRC_32C = 2 };

#define BUNDLE_INLINE_MAX 32       /* extension blocks that a struct bundle has itself */
#define BUNDLE_KNOWN_MAX 3         /* previous node, age, hop count: nodes on the way add them */
#define BUNDLE_REST_MAX (1u << 20) /* bytes of all further extension blocks */
#define BUNDLE_HEAD_MAX                                                                            \
    2048 /* room that bundle_encode may need in front of the payload, unless unknown               \
            blocks are carried: bundle_head_size tells */
/* The same for a bundle whose EIDs are of scheme ipn, or none, and which carries no blocks but a
 * QoS block and those above. */
#define BUNDLE_HEAD_IPN 256
#define BUNDLE_TAIL_MAX 16                 /* and behind it: payload CRC, "break" */
#define DTN_EPOCH_UNIX UINT64_C(946684800) /* 2000-01-01T00:00:00Z in Unix seconds (§4.2.6) */

/* DTN time, ms, of a wall clock's ns since 1970; 0 (not known) before the epoch. */
static inline uint64_t dtn_ms_of(uint64_t wall_ns)
{
    uint64_t unix_ms = wall_ns / TICK_MS;
    return unix_ms > DTN_EPOCH_UNIX * 1000 ? unix_ms - DTN_EPOCH_UNIX * 1000 : 0;
}

/* What names a bundle (§4.2.7): unique over all nodes. */
struct bundle_id {
    struct eid source;
    uint64_t time_ms; /* DTN time of creation, ms; 0 = the source has no clock */
    uint64_t sequence;
    bool fragment;
    uint64_t offset, total; /* of fragments, bytes of the application data unit */
};
bool bundle_id_equal(const struct bundle_id *a, const struct bundle_id *b);

struct bundle_block {
    uint64_t type, number, flags;
    enum crc_type crc;
    struct slice data; /* content of the block-type-specific byte string */
};

/* How a block that the codec itself understands was, or shall be, framed. */
struct bundle_frame {
    uint64_t number; /* 0: bundle_encode chooses a free one */
    uint64_t flags;
    enum crc_type crc;
};

/* Extension blocks behind those in `others`, as they came; read one by one (bundle_next). Only
 * decoding makes one. */
struct bundle_rest {
    struct slice bytes; /* of whole blocks; a view; empty: there are none */
    size_t len;         /* blocks */
    uint64_t flags;     /* of all of them together */
    bool secures;       /* BPSec blocks are among them */
    /* Which of them count: those that have all flags of `need`, and none of `without`. */
    uint64_t need, without;
};

struct bundle {
    uint64_t flags;
    enum crc_type crc; /* of the primary block */
    struct eid destination, report_to;
    struct bundle_id id; /* holds the source */
    uint64_t lifetime_ms;
    bool has_previous, has_age, has_hops;
    struct eid previous;
    uint64_t age_ms;
    uint64_t hop_limit, hop_count;
    struct bundle_frame previous_frame, age_frame, hops_frame;
    /* Unknown types, and blocks that a BPSec block encrypts: views of the decoded bytes. Number 0:
     * bundle_encode chooses a free one. A bundle may have any number of them: `rest` has those that
     * find no place here. bundle_next walks both. */
    struct bundle_block others[BUNDLE_INLINE_MAX];
    size_t others_len;
    struct bundle_rest rest;
    uint32_t encrypted;       /* decoded: bit i says that a BPSec block encrypts others[i] */
    uint32_t extension_bytes; /* decoded: of all extension blocks as they came; UINT32_MAX: as many
                                 or more */
    uint64_t payload_flags;
    enum crc_type payload_crc;
    struct slice payload; /* view */
    bool primary_sound; /* decoded: the primary block is legal and has a CRC that matches, whatever
                           became of the others; for encoding it means nothing */
};

/* Defaults: lifetime 1 day, CRC-32C on all blocks, no flags, no extension blocks, all EIDs
 * dtn:none (an anonymous bundle also needs BUNDLE_NO_FRAGMENT, §4.2.3). */
void bundle_init(struct bundle *b);

enum bundle_mode {
    BUNDLE_STRICT,  /* RFC 9171, its errata and RFC 9758 to the letter */
    BUNDLE_LENIENT, /* also what deployed peers send; each deviation is reported as a warning */
    BUNDLE_CHECKED, /* the same, of bytes that were decoded before: check values are not computed */
};

/* One finding: which rule of which document was broken, where. */
struct bundle_finding {
    const char *section; /* "RFC 9171 §4.3.1" … static */
    const char *text;    /* what is wrong and what would be right, static */
    size_t at;           /* byte offset in the bundle */
    bool fatal;          /* this reading mode refuses the bundle for it */
};
#define BUNDLE_FINDINGS_MAX 16
struct bundle_findings {
    struct bundle_finding at[BUNDLE_FINDINGS_MAX];
    size_t len;
};

/*
 * Decodes and checks a bundle (all CRCs too) of exactly len bytes. Views in *out point into data.
 * Returns 0, or HELIO_EFORMAT with the reason as the last finding. findings may be NULL. A bundle
 * with a payload of 500 kB costs its head and its CRC. Time grows with the bytes; n blocks cost
 * n log n at worst. Allocates nothing, but for a bundle of more than BUNDLE_INLINE_MAX extension
 * blocks whose numbers are not in rising order: 8 bytes for each block, which are freed again;
 * HELIO_ENOMEM: they could not be had, and nothing is found.
 */
int bundle_decode(const uint8_t *data, size_t len, enum bundle_mode mode, struct bundle *out,
                  struct bundle_findings *findings);

/* The same of a bundle whose extension blocks take at most extensions_max bytes (> 0). Others give
 * HELIO_ESPACE as soon as that many were read, whatever is behind them; *out is then not whole. */
int bundle_decode_within(const uint8_t *data, size_t len, enum bundle_mode mode,
                         uint64_t extensions_max, struct bundle *out,
                         struct bundle_findings *findings);

/* Where a walk over extension blocks is; all 0: before the first one. */
struct bundle_walk {
    size_t at, offset;
};
/* The next of the extension blocks beside previous node, age and hop count, those in `rest` too.
 * False: there are no more. */
bool bundle_next(const struct bundle *b, struct bundle_walk *w, struct bundle_block *out);

/* Bytes of the bundle at the front of data, which may go on behind it; 0 when there is none or not
 * all of one. Finds the end only: what the blocks hold is not checked. */
size_t bundle_length(struct slice data);

/* Checks in strict mode and goes on after what can be survived: all findings, for `bundle lint`.
 * Returns the number of findings. */
size_t bundle_lint(const uint8_t *data, size_t len, struct bundle_findings *findings);

/* Room that the encoding takes before the payload's first byte: at most this, whatever the
 * payload's length. */
size_t bundle_head_size(const struct bundle *b);

/*
 * Encodes around a payload in place: on entry the data of `payload` is the payload's bytes, with
 * head room >= bundle_head_size(b) and tail room >= BUNDLE_TAIL_MAX; on return the buffer's data is
 * the whole bundle. b->payload is ignored; b->others may view the bytes in front of the payload
 * (a bundle that is forwarded). The buffer must have no other reader. Block order: primary,
 * previous node, hop count, age, others, payload (last, §4.1). Returns 0, HELIO_ESPACE (room),
 * HELIO_EINVAL (a struct that has no legal encoding, e.g. a fragment whose end is beyond the
 * total). On failure the buffer is unchanged.
 */
int bundle_encode(const struct bundle *b, struct buf *payload);

/* The same into a new buffer with a copy of b->payload. NULL when memory is out or the struct is
 * not legal. */
struct buf *bundle_encode_copy(const struct bundle *b);

/* What is left of its lifetime at the DTN time dtn_ms (0: no clock), ms; UINT64_MAX: it does not
 * end.
 */
uint64_t bundle_life_left(const struct bundle *b, uint64_t dtn_ms);

/* How long ago its lifetime ended, ms; 0: it goes on, or ends now. */
uint64_t bundle_life_over(const struct bundle *b, uint64_t dtn_ms);

/* One fragment of a bundle (§5.8): a copy of payload [offset, offset + len) with the blocks that it
 * must carry: all in the fragment with offset 0, in the others those with BLOCK_REPLICATE, and
 * always previous node, hop count and age. b may be a fragment itself. NULL: not legal (empty,
 * beyond the payload, BUNDLE_NO_FRAGMENT), or no memory. */
struct buf *bundle_fragment(const struct bundle *b, uint64_t offset, uint64_t len);

#ifdef __cplusplus
}
#endif

#endif
