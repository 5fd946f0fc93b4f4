/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles on the wire (RFC 9171 §4 with errata 7272, 7337, 8043, 8525; RFC 9758). Decoding makes a
 * struct of views. Encoding adds the blocks around a payload, which is not moved.
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
/* Block type codes (RFC 9171 §9.1). */
enum block_type { BLOCK_PAYLOAD = 1, BLOCK_PREVIOUS_NODE = 6, BLOCK_AGE = 7, BLOCK_HOP_COUNT = 10 };
/* CRC type codes (RFC 9171 §4.2.1). */
enum crc_type { CRC_NONE = 0, CRC_16 = 1, CRC_32C = 2 };

#define BUNDLE_INLINE_MAX 32       /* extension blocks in the array of struct bundle */
#define BUNDLE_REST_MAX (1u << 20) /* further extension blocks of a bundle, bytes in all */
#define BUNDLE_HEAD_MAX                                                                            \
    2048 /* room that bundle_encode may need in front of the payload; with unknown                 \
            blocks: see bundle_head_size */
/* The same for a bundle whose EIDs are ipn EIDs or dtn:none, and whose only extension blocks are a
 * QoS block and those above. */
#define BUNDLE_HEAD_IPN 256
#define BUNDLE_TAIL_MAX 16                 /* the same after the payload: CRC, "break" */
#define DTN_EPOCH_UNIX UINT64_C(946684800) /* 2000-01-01T00:00:00Z in Unix seconds (§4.2.6) */

/* DTN time in ms of a clock's ns since 1970; 0 (unknown) before the DTN epoch. */
static inline uint64_t dtn_ms_of(uint64_t wall_ns)
{
    uint64_t unix_ms = wall_ns / TICK_MS;
    return unix_ms > DTN_EPOCH_UNIX * 1000 ? unix_ms - DTN_EPOCH_UNIX * 1000 : 0;
}

/* Bundle id (§4.2.7): unique over all nodes. */
struct bundle_id {
    struct eid source;
    uint64_t time_ms; /* DTN time of creation, ms; 0 = the source has no clock */
    uint64_t sequence;
    bool fragment;
    uint64_t offset, total; /* for fragments: bytes of the application data unit */
};
/* Do both name the same bundle, or the same fragment of it? */
bool bundle_id_equal(const struct bundle_id *a, const struct bundle_id *b);

struct bundle_block {
    uint64_t type, number, flags;
    enum crc_type crc;
    struct slice data; /* the block-type-specific data */
};

/* Number, flags and CRC type of a block whose data the codec itself encodes and decodes. */
struct bundle_frame {
    uint64_t number; /* 0: bundle_encode chooses a free one */
    uint64_t flags;
    enum crc_type crc;
};

/* Extension blocks that do not fit into `others`, as received. bundle_next reads them one by one.
 * Only decoding makes a bundle_rest. */
struct bundle_rest {
    struct slice bytes; /* all these blocks (a view); empty: none */
    size_t len;         /* number of blocks */
    uint64_t flags;     /* the flags of all blocks, or-ed */
    bool secures;       /* BPSec blocks are among them */
    /* Filter: only blocks with all flags of `need` and none of `without` are read. */
    uint64_t need, without;
};

struct bundle {
    uint64_t flags;
    enum crc_type crc; /* of the primary block */
    struct eid destination, report_to;
    struct bundle_id id; /* contains the source EID */
    uint64_t lifetime_ms;
    bool has_previous, has_age, has_hops;
    struct eid previous;
    uint64_t age_ms;
    uint64_t hop_limit, hop_count;
    struct bundle_frame previous_frame, age_frame, hops_frame;
    /* Blocks of unknown types, and blocks that a BPSec block encrypts: views of the decoded bytes.
     * Number 0: bundle_encode chooses a free one. Blocks beyond BUNDLE_INLINE_MAX are in `rest`.
     * bundle_next reads both. */
    struct bundle_block others[BUNDLE_INLINE_MAX];
    size_t others_len;
    struct bundle_rest rest;
    uint32_t encrypted; /* decoded: bit i: a BPSec block encrypts others[i] */
    /* decoded: bytes of all extension blocks as received; UINT32_MAX: that many or more */
    uint32_t extension_bytes;
    uint64_t payload_flags;
    enum crc_type payload_crc;
    struct slice payload; /* view */
    /* Decoded: the primary block is valid and has a matching CRC, even if other blocks are not. Not
     * used for encoding. */
    bool primary_sound;
};

/* Initialises with defaults: lifetime 1 day, CRC-32C on all blocks, no flags, no extension blocks,
 * all EIDs dtn:none (an anonymous bundle also needs BUNDLE_NO_FRAGMENT, §4.2.3). */
void bundle_init(struct bundle *b);

enum bundle_mode {
    BUNDLE_STRICT,  /* RFC 9171, its errata and RFC 9758, exactly */
    BUNDLE_LENIENT, /* also known deviations of deployed nodes; each is reported as a warning */
    BUNDLE_CHECKED, /* BUNDLE_LENIENT for bytes that were decoded before: CRCs are not computed */
};

/* A finding: which rule of which document is broken, and where. */
struct bundle_finding {
    const char *section; /* "RFC 9171 §4.3.1" … static */
    const char *text;    /* what is wrong and what would be right; static */
    size_t at;           /* byte offset in the bundle */
    bool fatal;          /* the bundle is refused in this mode */
};
#define BUNDLE_FINDINGS_MAX 16
/* What was found in one bundle, in the order of its bytes. */
struct bundle_findings {
    struct bundle_finding at[BUNDLE_FINDINGS_MAX];
    size_t len;
};

/*
 * Decodes and checks a bundle (all CRCs too) of exactly len bytes. Views in *out point into `data`.
 * Returns 0, or HELIO_EFORMAT with the reason as the last finding. `findings` may be NULL.
 *
 * The time grows with the length; n blocks cost n log n at worst. The payload is not copied. The
 * function allocates memory in one case only: more than BUNDLE_INLINE_MAX extension blocks whose
 * numbers are not in rising order. It then uses 8 bytes per block and frees them before it returns.
 * HELIO_ENOMEM: this allocation failed, and nothing is found.
 */
int bundle_decode(const uint8_t *data, size_t len, enum bundle_mode mode, struct bundle *out,
                  struct bundle_findings *findings);

/* bundle_decode with a limit for the extension blocks, extensions_max bytes (> 0). Returns
 * HELIO_ESPACE as soon as more were read, whatever follows; *out is then incomplete. */
int bundle_decode_within(const uint8_t *data, size_t len, enum bundle_mode mode,
                         uint64_t extensions_max, struct bundle *out,
                         struct bundle_findings *findings);

/* Position in a walk over extension blocks; all 0: before the first one. */
struct bundle_walk {
    size_t at, offset;
};
/* Reads the next extension block except previous node, bundle age and hop count; blocks in `rest`
 * are included. False: there are no more. */
bool bundle_next(const struct bundle *b, struct bundle_walk *w, struct bundle_block *out);

/* Has the bundle a block of this type, encrypted or not? */
bool bundle_has(const struct bundle *b, uint64_t type);
/* Is one of the blocks that bundle_next reads of this type? */
bool bundle_has_other(const struct bundle *b, uint64_t type);
/* Does the codec understand the content of others[i], so that it is not of unknown type? */
bool bundle_understood(const struct bundle *b, size_t i);
/* Does bundle_encode make the blocks of this type from fields of struct bundle? */
bool bundle_made_here(uint64_t type);

/* What a forwarding node writes into the blocks of a bundle. */
struct bundle_hop {
    const struct eid *node; /* the forwarding node */
    uint64_t hop_count;     /* this hop included */
    uint64_t age_ms;
};
/* Sets the fields of a decoded bundle to those that it leaves the node with (RFC 9171 §4.4, §5.4).
 */
void bundle_pass(struct bundle *b, const struct bundle_hop *hop);

/* Returns the length of the bundle at the start of `data`, bytes; more data may follow it. 0: there
 * is no complete bundle. Only finds the end: the contents of the blocks are not checked. */
size_t bundle_length(struct slice data);

/* Checks in strict mode and continues after recoverable errors, so that `bundle lint` shows all
 * findings. Returns the number of findings. */
size_t bundle_lint(const uint8_t *data, size_t len, struct bundle_findings *findings);

/* Returns the head room that bundle_encode needs before the payload, bytes. It is an upper bound,
 * and does not depend on the payload's length. */
size_t bundle_head_size(const struct bundle *b);

/*
 * Encodes a bundle around a payload in place. On entry the data of `payload` is the payload's
 * bytes, with head room >= bundle_head_size(b) and tail room >= BUNDLE_TAIL_MAX. On return the
 * buffer's data is the whole bundle. b->payload is ignored. b->others may be views of the bytes
 * before the payload (as in a forwarded bundle). The buffer must have no other reader.
 *
 * Block order: primary, previous node, hop count, bundle age, others, payload (last, §4.1). Returns
 * 0, HELIO_ESPACE (not enough room), HELIO_EINVAL (a struct without a legal encoding, e.g. a
 * fragment whose end is beyond the total). On failure the buffer is unchanged.
 */
int bundle_encode(const struct bundle *b, struct buf *payload);

/* bundle_encode into a new buffer with a copy of b->payload. The caller owns the buffer. NULL: no
 * memory, or the struct has no legal encoding. */
struct buf *bundle_encode_copy(const struct bundle *b);

/* Remaining lifetime at DTN time dtn_ms (0: no clock), ms. UINT64_MAX: it never expires. */
uint64_t bundle_life_left(const struct bundle *b, uint64_t dtn_ms);

/* Time since the lifetime expired, ms. 0: it has not expired, or expires now. */
uint64_t bundle_life_over(const struct bundle *b, uint64_t dtn_ms);

/* Makes one fragment of a bundle (§5.8): a copy of payload [offset, offset + len) with the blocks
 * that it must contain. The fragment with offset 0 has all blocks. The others have those with
 * BLOCK_REPLICATE. Previous node, hop count and bundle age are in all of them. *b may be a
 * fragment. The caller owns the buffer. NULL: not legal (empty, beyond the payload,
 * BUNDLE_NO_FRAGMENT), or no memory. */
struct buf *bundle_fragment(const struct bundle *b, uint64_t offset, uint64_t len);

#ifdef __cplusplus
}
#endif

#endif
