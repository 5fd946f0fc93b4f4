/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs of the storage thread as transactions. What can go wrong: a put without room fails alone. A
 * commit that fails (the medium is full) undoes everything, so each job is tried again in a
 * separate transaction: those that fit succeed. A bundle whose first bytes are stored, and that is
 * not put then, leaves nothing.
 */
#include "node/node_batch.h"

#include "bp/codec/bundle.h"
#include "node/storage.h"
#include "store/store_record.h"

void jobs_add(struct jobs *j, struct job *job)
{
    job->next = NULL;
    *j->end = job;
    j->end = &job->next;
}

void jobs_move(struct jobs *to, struct jobs *from)
{
    if (from->first == NULL)
        return;
    *to->end = from->first;
    to->end = from->end;
    jobs_init(from);
}

struct job *jobs_take(struct jobs *from)
{
    struct job *j = from->first;
    from->first = j->next;
    if (j->next == NULL)
        jobs_init(from);
    return j;
}

static int put_bundle(struct store *s, const struct job *j)
{
    const struct store_ops *ops = s->ops;
    uint8_t value[8];
    int rc = ops->put(s, j->key, slice_of(j->bytes, j->head_len), buf_slice(j->bundle));
    if (rc < 0 || j->sequence_end == 0)
        return rc;
    store_number_write(j->sequence_end, value);
    rc = ops->note(s, STORAGE_SEQUENCE, slice_of(value, sizeof value));
    if (rc < 0)
        (void)ops->remove(s, j->key);
    return rc;
}

static void run_job(struct store *s, struct job *j)
{
    const struct store_ops *ops = s->ops;
    struct slice id = slice_of(j->bytes + j->head_len, j->id_len);
    switch (j->kind) {
    case JOB_PUT:
        j->result = put_bundle(s, j);
        break;
    case JOB_REMOVE:
        j->result = ops->remove(s, j->key);
        if (j->result == HELIO_ENOENT)
            j->result = 0;
        break;
    case JOB_NOTE:
        j->result = ops->note(s, (const char *)id.data, slice_of(j->bytes, j->head_len));
        return;
    case JOB_GET:
    case JOB_TIDY:
        break; /* not part of a transaction */
    }
    if (j->result < 0 || id.len == 0)
        return;
    j->result = ops->mark(s, id, j->until_ms);
    if (j->result < 0 && j->kind == JOB_PUT)
        (void)ops->remove(s, j->key); /* a bundle without its mark is not stored */
}

/* The first bytes of a long bundle, for which its transaction would take much memory. */
static void store_ahead(struct store *s, struct job *j)
{
    j->result = 0;
    if (j->kind == JOB_PUT && j->bundle->len > PUTS_MOST && s->ops->put_ahead != NULL)
        j->result = s->ops->put_ahead(s, j->key, buf_slice(j->bundle));
}

static void run_one(struct store *s, struct job *j)
{
    store_ahead(s, j);
    if (j->result < 0 || (j->result = s->ops->begin(s)) < 0)
        return;
    run_job(s, j);
    if (j->result < 0)
        s->ops->abort(s);
    else
        j->result = s->ops->commit(s);
}

/* A transaction for each job; removals first, because they free room. The removal of a bundle is
 * never in the batch of its put: the agent does not know yet that it is stored. */
static void run_alone(struct store *s, struct job *first)
{
    for (struct job *j = first; j != NULL; j = j->next)
        if (j->kind == JOB_REMOVE)
            run_one(s, j);
    for (struct job *j = first; j != NULL; j = j->next)
        if (j->kind == JOB_PUT || j->kind == JOB_NOTE)
            run_one(s, j);
}

/* Removals, or the others; `err`: there is no transaction. */
static void run_jobs(struct store *s, struct job *first, bool removals, int err)
{
    for (struct job *j = first; j != NULL; j = j->next) {
        if ((j->kind == JOB_REMOVE) != removals)
            continue;
        if (err != 0)
            j->result = err;
        else if (j->result == 0) /* else its first bytes are not stored */
            run_job(s, j);
    }
}

void batch_run(struct store *s, struct job *first)
{
    for (struct job *j = first; j != NULL; j = j->next)
        store_ahead(s, j);
    int err = s->ops->begin(s);
    run_jobs(s, first, true, err);
    run_jobs(s, first, false, err);
    if (err == 0 && s->ops->commit(s) < 0)
        run_alone(s, first);
    if (s->ops->drop_ahead != NULL)
        (void)s->ops->drop_ahead(s); /* an error shows at the next one */
}

void batch_read(struct store *s, struct job *j)
{
    const struct store_ops *ops = s->ops;
    j->result = ops->get(s, j->key, BUNDLE_HEAD_MAX, &j->bundle);
    if (j->result != HELIO_EFORMAT || ops->begin(s) < 0)
        return;
    (void)ops->set_aside(s, j->key); /* on an error it is found again */
    (void)ops->commit(s);
}
