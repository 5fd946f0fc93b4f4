/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A note of initialization vectors, or other numbers that must not repeat, over restarts: bundle
 * security (node/node_ivs.h) and Space Data Link Security (cla/framed/sdls_numbers.h) have one.
 *
 *     next 874521934823424
 *     key 5f0c61d2a8b7e913 131072     # mark of a key, and its uses at most
 *
 * (without the remark). Only what ivs_note_write writes is a note: a damaged one that is taken for
 * a good one may repeat an IV.
 */
#ifndef OS_IVS_NOTE_H
#define OS_IVS_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IVS_NOTE_KEYS 256                       /* whose uses are remembered */
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
/* The entry of that mark, or a new one with 0. When there is no room, one whose mark is none of
 * these `len` marks gives its place. NULL: all are. */
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
