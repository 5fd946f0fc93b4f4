/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of helio-store: each reads its options, then runs with the store's directory locked.
 */
#ifndef TOOLS_HELIO_STORE_H
#define TOOLS_HELIO_STORE_H

#include <stdbool.h>
#include <stdio.h>

#include "bp/agent/agent_head.h"
#include "store/store_lmdb.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct store_options_line {
    const char *directory;
    const char *output; /* NULL: as the command likes */
    uint64_t key;       /* 0: all */
    bool json, damaged;
};

/* What one walk over the store found; shared with the children that do it. */
struct tally {
    struct store_walk at;
    uint64_t whole, bytes, damaged, unreadable;
    uint64_t written; /* files, by export */
    bool failed;      /* a message was printed */
};

typedef int visit_row(void *ctx, struct tally *t, const struct store_row *row);

/*
 * Reads all rows in a child process. If a damaged page ends the child by a signal, the row is
 * counted as unreadable and reported, and another child continues after it. The output of visit is
 * flushed row by row. NULL: no memory, which was reported.
 */
struct tally *walk_store(const char *directory, visit_row *visit, void *ctx);
void tally_free(struct tally *t);

/* store_lmdb_about, in a child process. 0, or an error, which was said unless `quiet`. */
int about_store(const char *directory, struct store_about *out, bool quiet);

/* Of a bundle's head; false: it cannot be read. */
bool head_read(const struct store_row *row, struct agent_head *out);
const char *row_state_text(const struct store_row *row);
const char *row_state_word(const struct store_row *row); /* for JSON: "whole", "head-damaged" … */
bool row_is_damaged(const struct store_row *row);

/* The node's time now, for ages and expiry; from the store's own notes. */
uint64_t life_now(const char *directory);

int command_check(const struct store_options_line *o);
int command_list(const struct store_options_line *o);
int command_export(const struct store_options_line *o);
int command_repair(const struct store_options_line *o);

#endif
