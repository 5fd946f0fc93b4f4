/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The payloads of helio-send and helio-recv (docs/helio-send.md, "On the wire"). Every piece of a
 * file contains everything that is known of the file, so any piece may be the first. All numbers
 * are in network byte order. Pure.
 */
#ifndef TOOLS_FILES_WIRE_H
#define TOOLS_FILES_WIRE_H

#include <stdbool.h>

#include "base/ranges.h"
#include "base/slice.h"

#define FILES_HEAD 84       /* bytes of every header; the name follows */
#define FILES_NAME_MAX 1024 /* of a name with its folders, bytes */
#define FILES_PART_MAX 255  /* of one part of it */
#define FILES_ID 16
#define FILES_SHA 32
#define FILES_GAPS_MAX 64 /* of a receipt: the first gaps */
#define FILES_RECEIPT_MAX (FILES_HEAD + 20 + 16 * FILES_GAPS_MAX)

enum files_kind {
    FILES_PIECE = 1,   /* `offset`; the body is the file's bytes from there on */
    FILES_ASK = 2,     /* what is there of it? `number` is repeated in the receipt */
    FILES_RECEIPT = 3, /* no name; the body says it */
};

enum files_flag {
    FILES_WANT_RECEIPT = 1, /* when the file is whole, or refused */
};

struct files_head {
    enum files_kind kind;
    uint32_t flags;
    uint8_t id[FILES_ID];   /* of the transfer: files_id.h */
    uint64_t size;          /* of the file, bytes */
    uint64_t offset;        /* of the piece */
    uint8_t sha[FILES_SHA]; /* SHA-256 of the whole file */
    uint32_t number;
    struct slice name; /* view of the payload */
};

/* Header and name of a payload whose body follows: FILES_HEAD + name.len bytes into out; returns
 * how many. */
size_t files_write(const struct files_head *h, struct slice body, uint8_t *out);

enum files_verdict { FILES_OK, FILES_FOREIGN, FILES_DAMAGED };

/* Reads a payload. FOREIGN: not ours (magic, version, kind, lengths, a piece beyond the size).
 * DAMAGED: the check value differs. *body is what follows the name. */
enum files_verdict files_parse(struct slice payload, struct files_head *out, struct slice *body);

enum files_state {
    FILES_STATE_PARTLY = 1, /* held, and what is missing */
    FILES_STATE_DONE = 2,   /* whole, verified, under its name */
    FILES_STATE_REFUSED = 3,
};

enum files_reason {
    FILES_REASON_NONE,
    FILES_REASON_NAME,     /* it would leave the folder, or is no name */
    FILES_REASON_SIZE,     /* longer than the receiver takes */
    FILES_REASON_ROOM,     /* too many, or too much, that is not whole */
    FILES_REASON_CONFLICT, /* another file has this id */
    FILES_REASON_GAPS,     /* too many gaps */
    FILES_REASON_PLACE,    /* its place in the folder cannot be had */
    FILES_REASON_SHARE,    /* too many, or too much, of this source that is not whole */
    FILES_REASON_ID,       /* its id is not that of its name and content; never sent */
    FILES_REASONS,
};
const char *files_reason_text(uint32_t reason); /* static; "unknown" for others */

struct files_receipt {
    enum files_state state;
    uint32_t reason;                   /* of a refusal */
    uint64_t held;                     /* bytes that are there */
    struct range gaps[FILES_GAPS_MAX]; /* the first ones that are not, in order */
    size_t gaps_len;
};

/* A receipt for the file of `about`: FILES_RECEIPT_MAX bytes always suffice. Returns the length. */
size_t files_write_receipt(const struct files_head *about, const struct files_receipt *r,
                           uint8_t *out);
/* Reads a receipt's body. False: malformed; gaps are in order and within `size`; what is done has
 * all of it, and none. */
bool files_parse_receipt(struct slice body, uint64_t size, struct files_receipt *out);

/* Is it a name of a file below a folder, in parts between slashes, none of them empty, ".", "..",
 * too long, or with control characters, and all of it UTF-8? hidden: parts may begin with a dot. */
bool files_name_good(struct slice name, bool hidden);

/* Is it below a folder in which helio-recv or helio-sync keeps what it knows? Nobody may send such
 * a name: it would be believed. */
bool files_name_own(struct slice name);

#endif
