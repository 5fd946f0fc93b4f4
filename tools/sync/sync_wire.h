/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The payloads of both ends of helio-sync beside files (docs/helio-sync.md, "On the wire"). A
 * message contains the newest version of up to SYNC_ENTRIES_MAX names. So messages may arrive in
 * any order, twice, or not at all: the highest version of a name counts. Small content is in the
 * message; longer content is a transfer of tools/files. All numbers are in network byte order.
 * Pure.
 */
#ifndef TOOLS_SYNC_WIRE_H
#define TOOLS_SYNC_WIRE_H

#include <stdbool.h>

#include "base/cursor.h"
#include "tools/files/files_wire.h"

#define SYNC_HEAD 16
#define SYNC_CHANGE 64 /* bytes of a change before its name and its content */
#define SYNC_ANSWER 12
#define SYNC_ENTRIES_MAX 512
#define SYNC_INLINE_MAX 65536
#define SYNC_ANSWERS_BYTES (SYNC_HEAD + SYNC_ANSWER * SYNC_ENTRIES_MAX)

enum sync_kind {
    SYNC_CHANGES = 1, /* source to copy */
    SYNC_ANSWERS = 2, /* copy to source */
};

struct sync_head {
    enum sync_kind kind;
    uint32_t number; /* of a message with changes; answers repeat it; 0: unsolicited */
    uint32_t count;  /* entries, 1 to SYNC_ENTRIES_MAX */
};

enum sync_type { SYNC_FILE = 1, SYNC_GONE = 2 };

/* The newest version of a name. Of what is gone: size, time and SHA-256 are 0. */
struct sync_change {
    uint64_t version; /* of all names of a source; grows with each change */
    enum sync_type type;
    bool executable;
    bool with;      /* `content` is here: all `size` bytes */
    uint64_t size;  /* bytes */
    uint64_t mtime; /* ns since 1970 */
    uint8_t sha[FILES_SHA];
    struct slice name, content; /* views of the payload */
};

enum sync_state {
    SYNC_APPLIED = 1, /* it is so, or a higher version is */
    SYNC_WANTED = 2,  /* its content is missing */
    SYNC_REFUSED = 3,
};

enum sync_reason {
    SYNC_REASON_NONE,
    SYNC_REASON_NAME,    /* it would leave the folder, or is no name */
    SYNC_REASON_SIZE,    /* longer than the receiver takes */
    SYNC_REASON_ROOM,    /* the folder has as many files, or bytes, as it may */
    SYNC_REASON_OTHER,   /* the name is another source's */
    SYNC_REASON_PLACE,   /* its place in the folder cannot be had */
    SYNC_REASON_CONTENT, /* the content is not that of its SHA-256 */
    SYNC_REASONS,
};
const char *sync_reason_text(uint32_t reason); /* static; "unknown" for others */

struct sync_answer {
    uint64_t version;
    enum sync_state state;
    uint32_t reason; /* of a refusal */
};

/* Append an entry to a message whose first SYNC_HEAD bytes are skipped. False: it does not fit;
 * nothing is written. */
bool sync_write_change(struct writer *w, const struct sync_change *c);
bool sync_write_answer(struct writer *w, const struct sync_answer *a);
/* Completes the message of `len` bytes: its head. */
void sync_write_end(uint8_t *message, size_t len, const struct sync_head *h);

enum sync_verdict { SYNC_OK, SYNC_FOREIGN, SYNC_DAMAGED };

/* Reads a payload, and checks all of its entries. FOREIGN: not ours. DAMAGED: the check value
 * differs. *entries: to be read head.count times by one of the two below. */
enum sync_verdict sync_parse(struct slice payload, struct sync_head *out, struct reader *entries);
/* The next entry. False: there is none that is well formed. */
bool sync_parse_change(struct reader *entries, struct sync_change *out);
bool sync_parse_answer(struct reader *entries, struct sync_answer *out);

/* What the transfer of a version's content is called: 16 hexadecimal digits. */
#define SYNC_CONTENT_NAME 17
void sync_content_name(uint64_t version, char out[SYNC_CONTENT_NAME]);
/* The version of such a name. False: it is none. */
bool sync_content_version(struct slice name, uint64_t *out);

#endif
