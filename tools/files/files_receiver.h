/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiving end: payloads in, files and receipts out. It knows no sockets, and time is an
 * argument. Its state is in its shelf. A payload's head is trusted only if its id is that of its
 * SHA-256, size and name (files_id.h): so an id belongs to one file.
 */
#ifndef TOOLS_FILES_RECEIVER_H
#define TOOLS_FILES_RECEIVER_H

#include "tools/files/files_shelf.h"

#define FILES_REFUSED_MAX 64 /* refused files whose senders have been informed */

struct files_counts {
    uint64_t pieces, bytes;          /* that brought something */
    uint64_t repeated;               /* that did not */
    uint64_t foreign, damaged;       /* foreign payloads, or damaged ones */
    uint64_t refused[FILES_REASONS]; /* pieces, by reason */
    uint64_t files, wrong;           /* files that are whole; whose SHA-256 was wrong */
    uint64_t asks, receipts;
};

struct files_receiver {
    struct files_shelf shelf;
    bool hidden; /* parts of names may begin with a dot */
    struct files_counts counts;
    uint64_t refused[FILES_REFUSED_MAX]; /* a ring of hashes: which file, to which sender */
    size_t refused_next;
    struct list checking; /* whole files, of which one is checked in each turn */
};

/* What a payload leads to. */
struct files_outcome {
    size_t receipt_len; /* 0: there is nothing to say */
    uint8_t receipt[FILES_RECEIPT_MAX];
    bool finished; /* a file is whole: */
    char name[FILES_NAME_MAX + 16];
    uint64_t size;
};

/* As files_shelf_open; files_receiver_fini in any case. With limits.turn_bytes, files that are
 * longer are checked by files_receiver_turn, and so are all that the last process left whole. */
int files_receiver_init(struct files_receiver *r, const char *path,
                        const struct files_limits *limits, bool hidden, uint64_t seed);
void files_receiver_fini(struct files_receiver *r);

/* A payload from endpoint `source`, which the link to node `neighbour` brought ("": not known). 0:
 * the node may forget it. Else what the system says: it has to keep it, and nothing more can be
 * taken. */
int files_receiver_take(struct files_receiver *r, const char *source, const char *neighbour,
                        struct slice payload, tick now, struct files_outcome *out);

/* Is a file being checked? Then files_receiver_turn is to be called, soon. */
bool files_receiver_busy(const struct files_receiver *r);
/* Checks a part of one of these files. `from`: the endpoint of a file that this ends, which gets
 * the receipt (of a file of the last process: its node, which gets none). As files_receiver_take.
 * The payload that made the file whole was taken: a process that ends meanwhile leaves the file to
 * the next one. */
int files_receiver_turn(struct files_receiver *r, char from[FILES_SOURCE_MAX],
                        struct files_outcome *out);

/* The node of an endpoint: a sender that begins again may have another service there. */
void files_name_node(const char *source, char out[FILES_SOURCE_MAX]);

#endif
