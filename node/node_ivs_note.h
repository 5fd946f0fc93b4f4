/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of the note of reserved initialization vectors (node_ivs.h):
 *
 *     next 874521934823424
 *     key 5f0c61d2a8b7e913 131072     # mark (security_key_mark) and uses at most
 *
 * (without the remark). Only what ivs_note_write writes is a note: a damaged one that is taken for
 * a good one may repeat an IV.
 */
#ifndef NODE_NODE_IVS_NOTE_H
#define NODE_NODE_IVS_NOTE_H

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

#endif
