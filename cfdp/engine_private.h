/* SPDX-License-Identifier: Apache-2.0 */
/* Private: what the parts of the entity share. */
#ifndef CFDP_ENGINE_PRIVATE_H
#define CFDP_ENGINE_PRIVATE_H

#include "base/agenda.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/ranges.h"
#include "cfdp/checksum.h"
#include "cfdp/engine.h"
#include "cfdp/tlv.h"

enum {
    PAST_MAX = 256,          /* results that are remembered for a remote entity */
    STRAYS_MAX = 64,         /* queued answers of no transaction, of a remote entity */
    WORK_STEP = 1 << 20,     /* octets of a checksum in one call */
    PROGRESS_STEP = 1 << 16, /* octets sent between two records of progress */
    RANGE_LEN = 19,          /* octets of a journal's record of a range, with its length */
    COMPACT_AT = 1 << 20     /* a shorter journal is not rewritten */
};

/* PDUs that a transaction has to send, in this order. */
enum want {
    WANT_ACK_EOF = 1,
    WANT_ACK_FINISHED = 2,
    WANT_METADATA = 4,
    WANT_EOF = 8,
    WANT_FINISHED = 16,
    WANT_NAK = 32,
    WANT_KEEP_ALIVE = 64,
    WANT_PROMPT_NAK = 128,
    WANT_PROMPT_KEEP_ALIVE = 256
};
/* Sent although suspended. */
#define WANT_ACKS (WANT_ACK_EOF | WANT_ACK_FINISHED)

enum pause { PAUSED_BY_USER = 1, PAUSED_BY_LINK = 2 };

/* Times of a transaction; its node in the agenda is at the earliest. */
#define TIMES(X) X(ack) X(nak) X(check) X(idle) X(alive) X(work)
#define TIME_FIELD(name) tick name;
struct times {
    TIMES(TIME_FIELD)
};
#undef TIME_FIELD

/* The result of a transaction that ended, or an answer that belongs to none. */
struct past {
    struct cfdp_id id;
    bool unacknowledged, we_sent, incomplete;
    bool has_about;
    uint32_t about; /* what its metadata said, if has_about */
    uint8_t condition, status;
    uint32_t sum; /* of EOF, as is size */
    uint64_t size;
};
struct stray {
    struct past past;
    enum cfdp_pdu_kind kind; /* CFDP_PDU_ACK or CFDP_PDU_FINISHED */
    unsigned of;             /* of an ACK */
    unsigned status;         /* transaction status of an ACK */
    uint8_t id_len, sequence_len;
};

/* A PDU that was pulled and not confirmed. */
struct pulled {
    struct cfdp_id id; /* of its transaction */
    uint64_t sent;     /* octets of the file that it and those before it have */
    bool eof;
};

struct remote {
    struct cfdp_remote row;
    struct list order; /* of the entity */
    struct list ready; /* transactions that may have a PDU to send */
    bool down;
    uint32_t begun;             /* live transactions that it began */
    uint64_t held;              /* octets of their partial files */
    uint64_t logged;            /* octets of their journals */
    struct past past[PAST_MAX]; /* a ring */
    size_t past_next, past_len;
    struct stray strays[STRAYS_MAX]; /* a ring */
    size_t strays_first, strays_len;
    struct pulled pulled[CFDP_UNCONFIRMED_MAX]; /* a ring; only with row.confirms */
    size_t pulled_first, pulled_len;
};

struct cfdp_transaction {
    struct cfdp *e;
    struct cfdp_id id;
    struct remote *remote;
    struct hash_node node;
    struct heap_node due;
    struct list order, ready; /* ready: in remote.ready, or in no list */
    struct cfdp_head head;    /* of our PDUs */
    enum cfdp_phase phase;
    bool is_sender, closure, listing;
    bool theirs;                /* counted in remote.begun */
    bool has_metadata, has_eof; /* receiver */
    bool kept;                  /* it has a journal */
    bool reported;              /* FINISHED or ABANDONED was reported */
    unsigned want, paused;
    tick paused_at;
    struct times at;
    uint32_t acks, naks, checks; /* expirations */
    uint8_t handlers[16];        /* overrides; 0: that of the remote entity */
    unsigned checksum;           /* type */
    enum cfdp_condition condition;
    bool incomplete;
    enum cfdp_file_status status;
    uint64_t size;
    uint32_t sum_wanted; /* receiver: of EOF */
    struct cfdp_sum sum;
    char source_name[CFDP_NAME_MAX + 1], destination_name[CFDP_NAME_MAX + 1];
    uint8_t *options; /* owned */
    size_t options_len;
    void *file; /* the host's; NULL: not open */
    /* sender */
    uint64_t sent, noted; /* octets sent once; as the journal says */
    uint64_t confirmed;   /* with row.confirms: of class 1, as the host says */
    bool refused;         /* likewise: one was not taken */
    struct ranges again;  /* octets to send again, below `sent` */
    bool has_origin;      /* a proxy put: its request */
    struct cfdp_id origin;
    /* receiver */
    struct ranges have;
    uint64_t high, held;         /* end of the last range; octets in `have` */
    uint64_t nak_lo, nak_hi;     /* scope that the next NAK PDUs are about, with WANT_NAK */
    unsigned ack_condition;      /* of the PDU that an ACK answers */
    uint32_t about;              /* cfdp_about of its metadata */
    bool fault_at_peer;          /* the sender has cancelled it */
    size_t requests_done;        /* filestore requests that have their response */
    uint64_t act_state;          /* the host's, of the next one */
    uint64_t logged, compact_at; /* octets of the journal; of one that is rewritten */
    uint8_t responses[CFDP_RESPONSES_MAX];
    size_t responses_len;
};

struct cfdp {
    struct cfdp_config config;
    struct cfdp_counts counts;
    struct hash table;
    struct agenda agenda;
    struct list order, remotes;
    uint32_t remotes_len;
    uint64_t next; /* transaction number */
    uint32_t live;
    struct cfdp_notice *notices; /* a ring */
    size_t notices_first, notices_len;
};

/* engine.c */
struct remote *cfdp_find_remote(const struct cfdp *e, uint64_t id);
struct cfdp_transaction *cfdp_find(const struct cfdp *e, struct cfdp_id id);
/* May this remote entity (theirs), or our user, have one more transaction? */
bool cfdp_has_place(const struct cfdp *e, const struct remote *r, bool theirs);
/* `theirs`: the remote entity began it, or asked for it. NULL: memory, or limits. */
struct cfdp_transaction *cfdp_transaction_new(struct cfdp *e, struct remote *r, struct cfdp_id id,
                                              bool is_sender, bool theirs);
void cfdp_transaction_free(struct cfdp_transaction *t);
void cfdp_emit(struct cfdp_transaction *t, enum cfdp_notice_kind kind);
struct cfdp_notice *cfdp_notice_push(struct cfdp *e);
/* The transaction may have something to send. */
void cfdp_wake(struct cfdp_transaction *t);
tick cfdp_first_time(const struct times *at);
/* Its times have changed. */
void cfdp_schedule(struct cfdp_transaction *t);
void cfdp_set_idle(struct cfdp_transaction *t, tick now);
void cfdp_pause(struct cfdp_transaction *t, unsigned reason, tick now);
void cfdp_unpause(struct cfdp_transaction *t, unsigned reason, tick now);
/* Declares a fault (4.8). Returns the handler, which was applied. */
enum cfdp_handler cfdp_fault(struct cfdp_transaction *t, enum cfdp_condition condition, tick now);
/* The same. Does the transaction go on, at once (ignore) or when it is resumed (suspend)? */
bool cfdp_fault_goes_on(struct cfdp_transaction *t, enum cfdp_condition condition, tick now);
/* ENDED: its result was reported, its files are closed, and its journal is removed. */
void cfdp_end(struct cfdp_transaction *t);
/* A sender is done. */
void cfdp_sender_end(struct cfdp_transaction *t, tick now);
/* Ends it without a word to the peer. */
void cfdp_abandon(struct cfdp_transaction *t, enum cfdp_condition condition);
/* Frees it if it has ended and has nothing to send. Each call of the host ends with this, and
 * nothing else frees a transaction while the entity is in use. */
void cfdp_release(struct cfdp_transaction *t);
bool cfdp_copy_name(char out[CFDP_NAME_MAX + 1], struct slice name);
void cfdp_stray(struct remote *r, const struct stray *s);

/* request.c */
void cfdp_suspend_it(struct cfdp_transaction *t, tick now);
/* A put that a remote entity asked for: a file, a list of a folder, or an answer without a file.
 * origin: its request, if it has an answer of its own. */
int cfdp_put_for(struct cfdp *e, const struct cfdp_put *put, bool listing,
                 const struct cfdp_id *origin, tick now);
/* Takes the fault handler overrides of its options. False: a malformed TLV. */
bool cfdp_take_options(struct cfdp_transaction *t);

/* sender.c */
void cfdp_sender_input(struct cfdp_transaction *t, const struct cfdp_pdu *p, tick now);
void cfdp_sender_cancel(struct cfdp_transaction *t, enum cfdp_condition condition, tick now);
void cfdp_sender_expire(struct cfdp_transaction *t, tick now);
void cfdp_sender_work(struct cfdp_transaction *t, tick now);
size_t cfdp_sender_output(struct cfdp_transaction *t, uint8_t *out, size_t room, tick now);
void cfdp_sender_begin(struct cfdp_transaction *t, tick now); /* or goes on after a restart */

/* receiver.c, receiver_end.c */
enum cfdp_verdict cfdp_receiver_input(struct cfdp_transaction *t, const struct cfdp_pdu *p,
                                      tick now);
void cfdp_receiver_cancel(struct cfdp_transaction *t, enum cfdp_condition condition, tick now);
void cfdp_receiver_expire(struct cfdp_transaction *t, tick now);
void cfdp_receiver_work(struct cfdp_transaction *t, tick now);
size_t cfdp_receiver_output(struct cfdp_transaction *t, uint8_t *out, size_t room, tick now);
/* After new octets, EOF, metadata or a restart: asks for what is missing, or goes on. */
void cfdp_receiver_advance(struct cfdp_transaction *t, tick now);
/* The end, with the file if `keep`; filestore requests come before the result. */
void cfdp_receiver_finish(struct cfdp_transaction *t, enum cfdp_condition condition, bool keep,
                          tick now);
/* The result is known: it is reported, and Finished goes out. */
void cfdp_tell_result(struct cfdp_transaction *t, tick now);
bool cfdp_receiver_is_whole(const struct cfdp_transaction *t);
size_t cfdp_nak_write(struct cfdp_transaction *t, uint8_t *out, size_t room, tick now);
void cfdp_nak_want(struct cfdp_transaction *t, uint64_t lo, uint64_t hi);
size_t cfdp_ack_write(struct cfdp_transaction *t, unsigned of, uint8_t *out, size_t room);

/* filestore.c: goes on with the filestore requests; then cfdp_tell_result. */
void cfdp_perform(struct cfdp_transaction *t, tick now);

/* past.c */
void cfdp_remember(struct cfdp_transaction *t);
const struct past *cfdp_past(const struct remote *r, struct cfdp_id id);
/* Its number is given anew. */
void cfdp_past_forget(struct remote *r, struct cfdp_id id);
/* Tells Metadata PDUs with one id apart. */
uint32_t cfdp_about(const struct cfdp_metadata *m);

/* user_operations.c: reserved messages of a transaction that was received without error */
void cfdp_operate(struct cfdp_transaction *t, tick now);
bool cfdp_origin_of(struct slice options, struct cfdp_id *out);
/* The proxied transaction of t->origin ended. */
void cfdp_answer_proxy(struct cfdp_transaction *t, tick now);

/* journal.c. If the journal fails, the transaction is abandoned: its phase is ENDED then. */
void cfdp_note_begun(struct cfdp_transaction *t);
void cfdp_note_metadata(struct cfdp_transaction *t);
void cfdp_note_range(struct cfdp_transaction *t, uint64_t lo, uint64_t hi);
void cfdp_note_eof(struct cfdp_transaction *t);
void cfdp_note_progress(struct cfdp_transaction *t);
void cfdp_note_phase(struct cfdp_transaction *t); /* phase, condition, result */
void cfdp_note_paused(struct cfdp_transaction *t);
void cfdp_note_request(struct cfdp_transaction *t); /* its next filestore request has begun */

#endif
