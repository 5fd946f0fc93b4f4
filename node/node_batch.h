/* SPDX-License-Identifier: Apache-2.0 */
/* What the storage thread does with the store: jobs, lists of them, and the transactions that they
 * share. Private to node/uv_store.c. */
#ifndef NODE_BATCH_H
#define NODE_BATCH_H

#include "bp/agent/store.h"

#define PUTS_MOST (15 << 20) /* bytes of bundles that one transaction stores, about */

enum job_kind { JOB_PUT, JOB_GET, JOB_REMOVE, JOB_NOTE, JOB_TIDY };

struct job {
    struct job *next;
    enum job_kind kind;
    int result;
    uint64_t key;
    uint64_t until_ms;     /* of the mark; JOB_TIDY: now */
    uint64_t sequence_end; /* JOB_PUT: to note with it; 0: nothing */
    struct buf *bundle;
    size_t head_len, id_len;
    uint8_t bytes[]; /* head, then the id to mark; JOB_NOTE: the value, then the name with its 0 */
};

struct jobs {
    struct job *first, **end;
};

static inline void jobs_init(struct jobs *j)
{
    j->first = NULL;
    j->end = &j->first;
}

void jobs_add(struct jobs *j, struct job *job);
void jobs_move(struct jobs *to, struct jobs *from); /* puts all of `from` behind those of `to` */
struct job *jobs_take(struct jobs *from);           /* the first one, of one or more */

/* Executes jobs, except for JOB_GET and JOB_TIDY, as one transaction, and sets their results.
 * Removals are first: dropped bundles free the room of the bundles that replaced them. If the
 * commit fails, each has a transaction of its own. */
void batch_run(struct store *s, struct job *first);
/* Executes a JOB_GET, outside a transaction. A damaged bundle is set aside. */
void batch_read(struct store *s, struct job *j);

#endif
