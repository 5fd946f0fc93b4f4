/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiver's folder, and in it a hidden one for incomplete files: the received bytes of each
 * file, and a journal that lists them. So a process may end at any moment, and the next one
 * continues: written bytes are there (with `sync`: all bytes that a call reported as taken). A file
 * appears under its name when it is complete and its SHA-256 is right. It never replaces another
 * file.
 */
#ifndef TOOLS_FILES_SHELF_H
#define TOOLS_FILES_SHELF_H

#include "base/ranges.h"
#include "base/tick.h"
#include "bp/codec/eid.h"
#include "tools/files/files_done.h"
#include "tools/files/files_sources.h"
#include "tools/files/files_wire.h"

#define FILES_FOLDER ".helio-recv"
#define FILES_RANGES_MAX 65536 /* of one file that is not whole */
#define FILES_SOURCE_MAX EID_TEXT_MAX
#define FILES_SHOWN_MAX                                                                            \
    ((FILES_NAME_MAX + 16) * 10) /* a name as it is shown (base/printable.h)                       \
                                  */

struct files_limits {
    uint64_t file_max;  /* bytes of one file */
    uint64_t items_max; /* files that are not whole */
    uint64_t space_max; /* the sum of their received bytes */
    tick forget;        /* a file that was silent for so long may be removed for others */
    bool sync;          /* what is taken is on the medium */
    unsigned share;     /* percent of these two that one source may have; 0 is 100 */
    unsigned neighbour; /* that all sources behind one neighbour may have; 0 is 100 */
    tick idle; /* a file that has hardly grown, and was silent for so long, may be removed */
    uint64_t turn_bytes; /* a whole file is checked in turns of so many bytes; 0: at once */
};

/* A file that is not whole, as one source sends it. Each source has its own: it neither spoils nor
 * keeps out what another sends. */
struct files_item {
    struct hash_node node;
    struct list order; /* by `heard` */
    uint8_t id[FILES_ID], sha[FILES_SHA];
    uint8_t key[FILES_ID]; /* files_id_of_source: what its files here are called */
    uint64_t size;
    char name[FILES_NAME_MAX + 1];
    char source[FILES_SOURCE_MAX];    /* the node that it is from */
    char neighbour[FILES_SOURCE_MAX]; /* whose link brought its first piece; "": not known */
    struct ranges have;
    uint64_t held; /* bytes of these */
    bool grown;    /* another piece followed the first one */
    tick heard;
    struct list checking;        /* of a whole one: in files_receiver.checking */
    struct files_digest *digest; /* of its first `digested` bytes; NULL: of none */
    uint64_t digested;
    bool right; /* its SHA-256 is that of its head */
    /* Of one in files_receiver.checking: who gets the receipt, if it is wanted. */
    char endpoint[FILES_SOURCE_MAX];
    bool wanted;
    uint32_t number;
};

struct files_shelf {
    struct files_limits limits;
    int dir, state, lock; /* folders, and the lock; -1: not open */
    struct hash items;
    struct list order; /* the least recently heard first */
    uint64_t space;    /* `held` of all items */
    struct files_sources sources, neighbours;
    struct files_done done;
    uint64_t unreadable; /* journals that were removed: damaged, or with an id of another file */
    uint64_t displaced;  /* files that were removed for others */
    uint64_t completed;  /* at the start: files that the last process had left whole */
};

/* Opens an existing folder and continues with the files in it. With limits.turn_bytes whole ones
 * stay items, which the caller has to finish. 0, HELIO_EEXIST (another process uses it), or a
 * system error; call files_shelf_close in any case. */
int files_shelf_open(struct files_shelf *s, const char *path, const struct files_limits *limits,
                     uint64_t seed);
void files_shelf_close(struct files_shelf *s);

/* What this source has sent of a transfer; NULL: nothing. */
struct files_item *files_shelf_find(const struct files_shelf *s, const uint8_t id[FILES_ID],
                                    const char *source);

/* The source of a file: two names, shorter than FILES_SOURCE_MAX. */
struct files_from {
    const char *source, *neighbour;
};

/* Begins the file of a header, whose id is right (files_id.h). 0, HELIO_EAGAIN (limits),
 * HELIO_EEXIST (its source or its neighbour has its share), or a system error. Limits count
 * received bytes, not announced ones. If space is short, files are removed: first those that have
 * hardly grown (one piece, or less than a hundredth of the file) and were silent for limits.idle,
 * the one with the fewest bytes first; then those that were silent for limits.forget. */
int files_shelf_begin(struct files_shelf *s, const struct files_head *h,
                      const struct files_from *from, tick now, struct files_item **out);

enum files_written {
    FILES_REPEATED, /* it was there */
    FILES_WRITTEN,
    FILES_NO_ROOM,
    FILES_NO_SHARE
};
/* A piece: files_written, HELIO_EAGAIN (too many gaps), or a system error. Others may be removed
 * for it, as above. */
int files_shelf_write(struct files_shelf *s, struct files_item *it, uint64_t offset,
                      struct slice body, tick now);

bool files_item_whole(const struct files_item *it);

/* Computes the SHA-256 of a whole item, `most` bytes of it now. 1: bytes are left; 0: it is right;
 * HELIO_EFORMAT: it is not; or what the system says: it begins again with the next call. */
int files_shelf_check_part(const struct files_shelf *s, struct files_item *it, uint64_t most);
void files_item_drop_digest(struct files_item *it); /* the next call begins again */

/*
 * A whole item: checks it, as far as files_shelf_check_part has not, gives it its name, or name.1,
 * name.2, … when that is taken, and forgets the item, and what other sources have sent of it;
 * `name` is what it is called now. 0; HELIO_EFORMAT (the bytes are others: they are dropped),
 * HELIO_EINVAL (its place cannot be had: likewise), or what the system says: it is kept.
 */
int files_shelf_finish(struct files_shelf *s, struct files_item *it,
                       char name[FILES_NAME_MAX + 16]);
void files_shelf_drop(struct files_shelf *s, struct files_item *it);

/* What is missing and held of an item. */
void files_item_receipt(const struct files_item *it, struct files_receipt *out);

/* Its own invariants, asserted. */
void files_shelf_check(const struct files_shelf *s);

#endif
