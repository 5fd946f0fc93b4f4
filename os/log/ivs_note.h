/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A persistent note of initialization vectors, or other numbers that must not repeat after a
 * restart. Bundle security (node/node_ivs.h) and Space Data Link Security
 * (cla/framed/sdls_numbers.h) use it.
 *
 *     next 874521934823424
 *     key 5f0c61d2a8b7e913 131072     # mark of a key, and an upper bound of its uses
 *
 * The remark is not part of the file. Only the exact format of ivs_note_write is accepted: a
 * damaged note that was accepted could repeat an IV.
 */
#ifndef OS_IVS_NOTE_H
#define OS_IVS_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IVS_NOTE_KEYS 256                       /* keys whose uses are recorded */
#define IVS_NOTE_TEXT (32 + IVS_NOTE_KEYS * 64) /* bytes of the longest text, with its zero */

struct ivs_use {
    uint64_t mark, uses;
};

struct ivs_note {
    uint64_t next; /* the first IV that was not reserved */
    struct ivs_use keys[IVS_NOTE_KEYS];
    size_t keys_len; /* different marks */
};

/* False: the text is no note; *out is then undefined. The text needs no zero behind it. */
bool ivs_note_parse(const char *text, size_t len, struct ivs_note *out);
/* Writes the text; returns its length. */
size_t ivs_note_write(const struct ivs_note *n, char text[IVS_NOTE_TEXT]);
/* The entry of that mark; NULL: none. */
struct ivs_use *ivs_note_find(struct ivs_note *n, uint64_t mark);
/* The entry with this mark, or a new one with 0 uses. If the note is full, a new one replaces an
 * entry that has none of the `len` marks. NULL: all entries have one of them. */
struct ivs_use *ivs_note_use(struct ivs_note *n, uint64_t mark, const uint64_t *marks, size_t len);

/*
 * Reads the note of that name in a folder (a descriptor); an empty one when there is none. 0;
 * HELIO_EIO with its errno (helio_errno); HELIO_EFORMAT: it is damaged.
 */
int ivs_note_load(int folder, const char *name, struct ivs_note *out);
/* Writes it as NAME.new, which takes the old one's name, both synced: a loss of power leaves the
 * old note or the new one. 0 or an errno. */
int ivs_note_save(int folder, const char *name, const struct ivs_note *n);

#endif
