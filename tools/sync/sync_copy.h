/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiving end of a synchronisation: payloads in, a folder and answers out. It knows no
 * sockets, and time is an argument. Content in transfer, and the table, are in SYNC_FOLDER.
 *
 * Of a name: unknown -> WANTED (announced, its content is missing) -> APPLIED; REFUSED, until it is
 * announced again. A higher version begins anew, a lower one changes nothing.
 */
#ifndef TOOLS_SYNC_COPY_H
#define TOOLS_SYNC_COPY_H

#include "bp/codec/eid.h"
#include "node/aap2/aap2_client.h"
#include "tools/files/files_receiver.h"
#include "tools/sync/sync_work.h"

#define SYNC_PATTERNS_MAX 16
#define SYNC_UNCLAIMED_MAX 64 /* contents without an announcement so far */

struct sync_copy_options {
    struct eid_patterns
        from[SYNC_PATTERNS_MAX]; /* the endpoints that may synchronise to the folder */
    size_t from_len;
    struct files_limits limits; /* of content in transfer; `share` is of all limits */
    uint64_t files_max;         /* names */
    uint64_t total_max;         /* bytes of all files that were placed */
    bool remove, hidden;
};

enum sync_told { SYNC_TOLD_FILE, SYNC_TOLD_REMOVED, SYNC_TOLD_KEPT, SYNC_TOLD_ASIDE };

struct sync_copy_counts {
    uint64_t messages, foreign, damaged;
    uint64_t others;                /* payloads of sources that may not */
    uint64_t placed, bytes;         /* files, and their bytes */
    uint64_t copied;                /* of these: their content was there under another name */
    uint64_t removed, kept, aside;  /* kept: it had changed here */
    uint64_t refused[SYNC_REASONS]; /* changes */
    uint64_t unclaimed;             /* contents that were dropped */
};

struct sync_copy {
    const struct sync_copy_options *options;
    int dir, content; /* folders; -1: not open */
    struct sync_table table;
    struct files_receiver receiver;
    struct sync_copy_counts counts;
    struct list busy; /* owners with a queue, the next one first */
    uint64_t left;    /* bytes of files that messages may still read in this turn */
    uint64_t serial;  /* of the last work */
    void (*told)(void *context, enum sync_told what, const char *name, uint64_t bytes,
                 const char *source);
    void *context;
};

/* What a payload leads to: answers of both kinds, for its source. */
struct sync_outcome {
    struct files_outcome files;
    size_t answers_len; /* 0: none */
    uint8_t answers[SYNC_ANSWERS_BYTES];
};

/* The options stay the caller's. 0, HELIO_EEXIST (another process has the folder), or what the
 * system says; fini in any case. */
int sync_copy_init(struct sync_copy *c, const char *path, const struct sync_copy_options *o,
                   uint64_t seed,
                   void (*told)(void *context, enum sync_told what, const char *name,
                                uint64_t bytes, const char *source),
                   void *context);
void sync_copy_fini(struct sync_copy *c);

/* As files_receiver_take. */
int sync_copy_take(struct sync_copy *c, const char *source, const char *neighbour,
                   struct slice payload, tick now, struct sync_outcome *out);

/* Files are read for names that could not be settled at once. */
bool sync_copy_busy(const struct sync_copy *c);
/* The next part of that, for one source. *out: answers for endpoint `peer`, if there are some. As
 * sync_copy_take. To be called from time to time: messages may read as much between two calls. */
int sync_copy_turn(struct sync_copy *c, char peer[AAP2_EID_MAX], struct sync_outcome *out);

#endif
