/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording: records with a time each, in rotating files of one folder with an index by time. One
 * thread writes it at the line's rate; several threads can read it meanwhile.
 *
 * Adding a record costs a copy to memory and never waits for the medium. If the medium is too slow
 * or full, whole blocks of records are lost and counted. Each reader has its own thread, so that
 * its caller does not wait for the medium either.
 *
 * Files are NNNNNNNNNN.rec and .idx (os/log/recording_block.h). After a kill there is at most one
 * torn block, which readers skip. After a power failure the check values show unwritten blocks.
 */
#ifndef OS_RECORDING_H
#define OS_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

#define RECORDING_DATA_MAX (128u * 1024u) /* octets of one record */
#define RECORDING_MEMORY_MIN (4u * 1024u * 1024u)
#define RECORDING_FILE_MIN (1024u * 1024u)

struct recording_limits {
    uint64_t file_bytes;   /* a file is not begun larger; >= RECORDING_FILE_MIN */
    uint64_t total_bytes;  /* of all files: the oldest are removed; 0: no limit */
    uint64_t memory_bytes; /* that may wait for the medium; >= RECORDING_MEMORY_MIN */
};

struct recording_counts {
    uint64_t records;       /* added, lost ones included */
    uint64_t lost;          /* of them */
    uint64_t written_bytes; /* of whole blocks that the system took */
    uint64_t files;         /* begun */
    uint64_t removed;       /* files, for total_bytes */
    int trouble;            /* HELIO_E* of the latest write; 0: success */
};

struct recording;

/* Opens the folder, which is made when it is not there, for one writer (HELIO_EEXIST: there is one
 * already); records go to a new file. 0 or HELIO_E*; the caller owns *out. */
int recording_open(struct recording **out, const char *folder, const struct recording_limits *l);

/* Adds a record: `head` and `data` one behind the other, RECORDING_DATA_MAX octets at most
 * together. `time` and `tag` are the caller's. False: it was lost, and counted. One thread. */
bool recording_add(struct recording *r, uint64_t time, uint32_t tag, struct slice head,
                   struct slice data);

/* Would recording_add take a record of so many octets now? False: too many wait for the disk, or
 * memory is out. One thread. */
bool recording_has_room(struct recording *r, size_t len);

/* Passes the collected records to the thread. Call it several times a second, and before new
 * records are read. Returns a ticket: when recording_written returns true for it, all records added
 * until now are written, or lost. */
uint64_t recording_flush(struct recording *r);
bool recording_written(struct recording *r, uint64_t ticket);

/* Waits until all that was added is written or lost, timeout_ms at most: 0 or HELIO_EAGAIN. */
int recording_sync(struct recording *r, unsigned timeout_ms);

struct recording_counts recording_counts(const struct recording *r);

/* Writes the rest and closes; NULL is allowed. May wait for the medium. */
void recording_close(struct recording *r);

/* ---- readers ---- */

enum recording_step {
    RECORDING_RECORD, /* *out is one */
    RECORDING_WAIT,   /* the medium is at work: ask again when recording_reader_fd is readable */
    RECORDING_END     /* there are no more, or reading failed (recording_reader_error) */
};

struct recording_record {
    uint64_t time;
    uint32_t tag;
    struct slice data; /* of the reader, until recording_release frees its block */
};

struct recording_reader;
#define RECORDING_AHEAD 6 /* blocks of at most 1 MiB that a reader holds */

/* Reads the records with from <= time < to that are written by now, in the order in which they were
 * added. 0 or HELIO_E*. */
int recording_read(struct recording_reader **out, const char *folder, uint64_t from, uint64_t to);

/* The next one. */
enum recording_step recording_next(struct recording_reader *r, struct recording_record *out);

/* Records are in blocks with rising numbers. Returns the block of the latest record, 0 before the
 * first. The data of blocks stay valid until recording_release with a higher number, because they
 * may be in transmission. While RECORDING_AHEAD blocks are held, recording_next returns
 * RECORDING_WAIT. */
uint64_t recording_block(const struct recording_reader *r);
void recording_release(struct recording_reader *r, uint64_t below);

/* Readable when recording_next may have something after RECORDING_WAIT. */
int recording_reader_fd(const struct recording_reader *r);
/* After RECORDING_END: HELIO_E* if an error ended it early; 0: no error. */
int recording_reader_error(const struct recording_reader *r);
/* Blocks that were skipped: torn or damaged. */
uint64_t recording_reader_damaged(const struct recording_reader *r);
void recording_reader_free(struct recording_reader *r); /* NULL is allowed */

#endif
