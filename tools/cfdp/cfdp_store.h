/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filestore of an entity: all names are below one folder, and neither "..", a hidden name nor a
 * symbolic link leads out of it or to what the program keeps there. In the folder .helio-cfdp are a
 * partial file and a journal for each transaction, and the next transaction number.
 */
#ifndef TOOLS_CFDP_STORE_H
#define TOOLS_CFDP_STORE_H

#include "cfdp/engine.h"

#define STORE_FOLDER ".helio-cfdp"

struct cfdp_store {
    int root, state, lock; /* descriptors; -1: not open */
    bool overwrite;        /* a file that arrives takes the place of one with its name */
    bool sync;             /* files are on the medium before they are reported */
    uint64_t sequence;     /* numbers below this are used; of a new folder: the clock's seconds */
    uint64_t unreadable;   /* journals that were removed */
};

/* Opens an existing folder. 0; HELIO_EEXIST (another process has it), or a system error. Call
 * store_close in any case. */
int store_open(struct cfdp_store *s, const char *path, bool overwrite, bool sync);
void store_close(struct cfdp_store *s);

/* For struct cfdp_config, with the store as its context. */
extern const struct cfdp_files store_files;

/* Continues the transactions of an earlier process; `said` is called for each that is not
 * continued. 0, or a system error. */
int store_restore(struct cfdp_store *s, struct cfdp *e, tick now,
                  void (*said)(void *context, const char *journal, int error), void *context);

/* A file of at most `max` octets as a text, which the caller frees, and removes the file. NULL: it
 * cannot be read, or is longer. */
char *store_take_text(struct cfdp_store *s, const char *name, size_t max);

#endif
