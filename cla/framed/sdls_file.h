/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Security associations from a file (docs/sdls.md), with their keys from files of their own.
 *
 *     numbers: sdls.numbers
 *     associations:
 *       - {spi: 1, vcids: 0, service: authenticated-encryption, algorithm: aes-gcm, key_file: k}
 */
#ifndef CLA_FRAMED_SDLS_FILE_H
#define CLA_FRAMED_SDLS_FILE_H

#include "conf/conf_value.h"
#include "frames/sdls.h"

#define SDLS_FILE_ASSOCIATIONS 128 /* of a file at most */

struct sdls_numbers;

struct sdls_file {
    struct sdls sdls;
    struct crypto crypto;
    struct sdls_numbers *sent, *received; /* NULL: not noted */
};

/* What it is read for. Frames that are sent need the key `numbers`. */
enum sdls_file_use {
    SDLS_FILE_SEND,
    SDLS_FILE_RECEIVE,
    SDLS_FILE_RECEIVE_AHEAD, /* needs the key `received` (SDLS_RECEIVED_AHEAD) */
};

/* How a program that runs for long has it: */
struct sdls_file_config {
    const char *path;
    enum sdls_file_use use;
    const char *note; /* instead of the file's own `numbers` or `received`; NULL or "": those */
    bool check;       /* whether it could be opened; nothing is locked, no frame can be sent */
};

/* The keys of the file, and those of an association; for the reference. */
extern const struct conf_option sdls_file_options[], sdls_association_options[];

/*
 * Reads the file for a channel of that format (frames/sdls.h). Returns 0 with *out, which the
 * caller closes with sdls_file_close; else an error, with lines ("FILE:LINE: KEY: what; what would
 * be right") passed to `say`.
 */
int sdls_file_open(struct sdls_file **out, const char *path, enum sdls_file_use use,
                   const struct frame_format *format, void (*say)(const char *line));

/* The same with one text of what is wrong, the first line. */
int sdls_file_read(struct sdls_file **out, const struct sdls_file_config *c,
                   const struct frame_format *format, char *why, size_t why_cap);
int sdls_file_end(struct sdls_file *f, char *why, size_t why_cap);

/* Reads *f again, for the same format: associations and keys are those of the file now; counts and
 * numbers continue. Returns 0; or an error with its text: *f is unchanged but has no note any more,
 * so no frame can be sent with it. It must still be closed. */
int sdls_file_renew(struct sdls_file **f, const struct sdls_file_config *c, char *why,
                    size_t why_cap);
/* Have both the same associations with the same keys? */
bool sdls_file_same(const struct sdls_file *a, const struct sdls_file *b);

/* Notes the numbers, wipes the keys and frees it; NULL is allowed. Likewise. */
int sdls_file_close(struct sdls_file *f, void (*say)(const char *line));

#endif
