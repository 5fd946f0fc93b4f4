/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads or writes a BER structure with the same code: the structure of a PDU is described once for
 * both directions. Sticky error, as in base/cursor.h. Reading accepts any definite length form, up
 * to 4 octets of length; writing uses the shortest definite form. Tags are the identifier octets:
 * 0x30, 0xa1, 0xbf64.
 */
#ifndef SLE_BER_H
#define SLE_BER_H

#include <stdbool.h>

#include "base/cursor.h"

enum {
    BER_INTEGER = 0x02,
    BER_OCTETS = 0x04,
    BER_NULL = 0x05,
    BER_OID = 0x06,
    BER_SEQUENCE = 0x30,
    BER_SET = 0x31,
    BER_VISIBLE = 0x1a
};

struct ber {
    bool writing;
    bool bad; /* of both directions, including the errors of r and w */
    struct reader r;
    struct writer w;
};

struct ber ber_reader(struct slice in);
struct ber ber_writer(void *out, size_t room);
/* Reading: nothing was wrong, and all was read. Writing: it fitted. */
bool ber_done(const struct ber *b);

/* The next tag (0: none, or the end of the open value), or when writing, `tag` itself: the
 * alternative of a CHOICE. */
uint32_t ber_choice(struct ber *b, uint32_t tag);
/* Is there more in what is open? Reading only. */
static inline bool ber_more(const struct ber *b)
{
    return !b->bad && b->r.p < b->r.end;
}
void ber_fail(struct ber *b);

/* A constructed value, or any whose content is processed by hand: from open to close. */
struct ber_mark {
    const uint8_t *end; /* reading: of what is around it */
    size_t at;          /* writing: of the first octet of its content */
};
struct ber_mark ber_open(struct ber *b, uint32_t tag);
void ber_close(struct ber *b, struct ber_mark mark);

/* INTEGER content under this tag, in [min, max] when read. */
void ber_int(struct ber *b, uint32_t tag, int64_t *value, int64_t min, int64_t max);
void ber_u32(struct ber *b, uint32_t tag, uint32_t *value, uint32_t min, uint32_t max);
void ber_null(struct ber *b, uint32_t tag);
/* Octets under this tag, min..max of them; they stay where they are. */
void ber_octets(struct ber *b, uint32_t tag, struct slice *value, size_t min, size_t max);
/* The same as a C string of at least min, at most room - 1 characters; graphic characters only, and
 * blanks if `blanks`. */
void ber_text(struct ber *b, uint32_t tag, char *text, size_t min, size_t room, bool blanks);

#endif
