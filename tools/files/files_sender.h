/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sending end: files in, payloads out, until the receiver has confirmed each. It knows no
 * sockets, and time is an argument. The caller gives payloads to the node and reports the result of
 * each, in their order; receipts are pushed as payloads.
 */
#ifndef TOOLS_FILES_SENDER_H
#define TOOLS_FILES_SENDER_H

#include <sys/stat.h>

#include "base/list.h"
#include "base/ranges.h"
#include "base/tick.h"
#include "bp/codec/eid.h"
#include "tools/files/files_wire.h"

#define FILES_GIVEN_MAX 32 /* payloads that the node has not answered */
#define FILES_JOBS_MAX 10000

struct files_send_options {
    struct eid receiver; /* whose receipts count: no other endpoint's does */
    uint64_t piece;      /* bytes of a file in one bundle, at least 1 */
    bool confirm; /* a file is finished when the receiver confirms it, else when the node has it */
    tick ask;     /* the first question is sent so long after the last piece */
    tick wait;    /* a file that is not confirmed so long after that has failed */
};

enum files_phase {
    FILES_WAITING, /* for its turn */
    FILES_ASKING,  /* what is there already? Nothing is sent before that is known */
    FILES_SENDING,
    FILES_DRAINING, /* all is given to the node; confirmation is missing */
    FILES_DONE,
    FILES_FAILED,
};

struct files_job {
    struct list order;
    char *path;
    char name[FILES_NAME_MAX + 1];
    enum files_phase phase;
    bool resume;     /* it asks first */
    bool summed;     /* `was` and `sha` are known from before: it is not read for them */
    struct stat was; /* the file, when it was read first */
    uint8_t id[FILES_ID], sha[FILES_SHA];
    struct ranges todo;    /* to be given to the node */
    uint64_t given;        /* payloads that the node has not answered */
    uint64_t sent;         /* bytes that the node has taken, again and again counted once */
    uint64_t held;         /* of the last receipt */
    uint32_t asked, heard; /* numbers of the last question, and of the last receipt */
    bool known;            /* there was a receipt */
    bool was_there;        /* DONE: the receiver had all of it when it was asked, before we sent */
    tick ask_at, ask_pause, give_up_at;
    char why[160]; /* of FAILED */
};

/* A payload that the node has not answered. */
struct files_given {
    struct files_job *job; /* NULL: it does not matter any more */
    uint64_t lo, hi;       /* of a piece; equal: a question, or an empty file */
    bool question;
    uint8_t *bytes; /* the payload, owned */
};

struct files_sender {
    struct files_send_options options;
    struct list jobs;
    uint64_t jobs_len, done, failed;
    uint64_t bytes, bytes_held; /* files that were started; of these, confirmed or with the node */
    uint64_t pieces, again, questions, receipts, foreign;
    uint64_t others; /* receipts from other endpoints than the receiver's */
    struct files_given given[FILES_GIVEN_MAX]; /* a ring */
    size_t given_first, given_len;
    struct files_job *reading; /* whose file is open */
    int fd;
    /* A job is done or failed; it may be freed by files_sender_forget. */
    void (*over)(void *context, struct files_job *job);
    void *context;
};

void files_sender_init(struct files_sender *s, const struct files_send_options *o,
                       void (*over)(void *context, struct files_job *job), void *context);
void files_sender_fini(struct files_sender *s);

/* Adds a file to be sent under a name. 0, HELIO_EINVAL (no good name), HELIO_EAGAIN (too many
 * files), HELIO_ENOMEM. `over` reports what is wrong with the file itself. */
int files_sender_add(struct files_sender *s, const char *path, const char *name, bool resume,
                     struct files_job **out);

/* A job that is over is not needed any more. */
void files_sender_forget(struct files_sender *s, struct files_job *job);

/* A payload to be given to the node; its bytes stay until it is answered. False: there is none now.
 */
bool files_sender_next(struct files_sender *s, tick now, struct slice *out);

/* The node's answer to the oldest payload that it has not answered. */
void files_sender_answer(struct files_sender *s, bool taken, tick now);
/* The node is gone: what it has not answered has to be given again. */
void files_sender_lost(struct files_sender *s);

/* A payload from endpoint `source`. Only the receiver's receipt with the job's id, size and SHA-256
 * finishes a job. */
void files_sender_take(struct files_sender *s, const char *source, struct slice payload, tick now);

/* When files_sender_next may have something, or a job has failed; TICK_NEVER: not by itself. */
tick files_sender_deadline(const struct files_sender *s);
void files_sender_expire(struct files_sender *s, tick now);

/* All jobs are done or failed. */
bool files_sender_idle(const struct files_sender *s);

/* Its own invariants, asserted. */
void files_sender_check(const struct files_sender *s);

#endif
