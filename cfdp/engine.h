/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CFDP entity (CCSDS 727.0-B-5, class 1 and 2): transactions of both roles with any number of
 * remote entities. Pure: no I/O, no clock; files are reached by a table of functions.
 *
 *   set up:  cfdp_new · cfdp_remote_set · after a restart: cfdp_restore for each kept journal
 *   push:    cfdp_put · cfdp_input · cfdp_suspend, cfdp_resume, cfdp_cancel, cfdp_prompt ·
 *            cfdp_link · cfdp_expire
 *   pull:    cfdp_output (the next PDU for a remote entity) · cfdp_poll (the next notice) ·
 *            cfdp_deadline (when to call cfdp_expire)
 *
 * After each push the host polls until there is no notice, and sends what cfdp_output gives. Time
 * never goes back. The phases of a transaction:
 *
 *   sender:    SENDING → EOF_SENT → AWAITING_FINISHED → ENDED
 *                 └─ cancel ─┘
 *   receiver:  RECEIVING → COMPLETING → CHECKING → PERFORMING → FINISHING → ENDED
 *
 * A sender that is cancelled goes on with EOF, which has the condition. Class 1 ends after EOF, or
 * with closure after Finished. A receiver is COMPLETING when EOF is here, CHECKING when all octets
 * are (the checksum is computed in parts), PERFORMING when the file has its name (filestore
 * requests), and FINISHING until Finished has its ACK (class 2).
 *
 * A transaction that ended is forgotten when its last PDU was pulled; its result is remembered for
 * PDUs that arrive late. While a transaction is suspended, or its link is down, its timers stand
 * still. Each state change that a restart must not lose is given to the journal of the files table
 * before a PDU depends on it.
 */
#ifndef CFDP_ENGINE_H
#define CFDP_ENGINE_H

#include "cfdp/pdu.h"

enum {
    CFDP_OPTIONS_MAX = 4096,  /* octets of TLVs in a Metadata PDU */
    CFDP_RESPONSES_MAX = 512, /* octets of filestore responses that are kept */
    CFDP_RECORD_MAX = 5120,   /* octets of a journal's record */
    CFDP_NOTICES_MAX = 256,   /* queued; the oldest is lost then */
    CFDP_RESULT_LEN = 44,     /* octets of a result that outlives the process */
    CFDP_UNCONFIRMED_MAX = 64 /* PDUs of a remote entity with `confirms` */
};

struct cfdp;
struct cfdp_transaction;

/* A filestore request of 4.9, which may take several calls. */
struct cfdp_act {
    unsigned action; /* enum cfdp_action */
    const char *first, *second;
    uint64_t file_max; /* octets: no file gets longer */
    uint64_t state;    /* the host's: 0 in the first call */
};
#define CFDP_ACT_MORE 16 /* no status: another call is needed */

/*
 * The host's files. Names are texts as the peer wrote them: the host decides what they may reach.
 * Functions return 0 or HELIO_E*; HELIO_EINVAL, HELIO_ENOENT and HELIO_EEXIST mean that the host
 * refuses. `file` is the host's handle.
 */
struct cfdp_files {
    /* A file to send; *size: its octets. `listing`: `name` is a folder, and the file is a list of
     * its entries. Called again with the same id after a restart. */
    int (*open_source)(void *context, struct cfdp_id id, const char *name, bool listing,
                       uint64_t *size, void **file);
    /* The file of a transaction that is not complete, empty or as it was before a restart. */
    int (*open_partial)(void *context, struct cfdp_id id, void **file);
    /* The octets read, fewer only at the end of the file; HELIO_E*. */
    int64_t (*read)(void *context, void *file, uint64_t offset, uint8_t *out, size_t len);
    int (*write)(void *context, void *file, uint64_t offset, struct slice octets);
    /* These octets stay as they are: the host may bring them to the medium, so that little is left
     * to do when the file is placed. */
    int (*settle)(void *context, void *file, uint64_t offset, uint64_t len);
    /* Gives the partial file its name; `size`: its octets. A second call for the same id after a
     * restart has the result of the first one. */
    int (*place)(void *context, struct cfdp_id id, void *file, const char *name, uint64_t size);
    /* Ends the use of a handle. `discard`: a partial file, or a listing, is removed. */
    void (*close)(void *context, struct cfdp_id id, void *file, bool discard);
    /* Returns the status number of the request's response, 0: done; or CFDP_ACT_MORE. The first
     * call then has changed nothing but act->state, which is not 0. Later calls may come again
     * after a restart, with this state. */
    unsigned (*act)(void *context, struct cfdp_id id, struct cfdp_act *act);
    /* Appends a record to the journal of a transaction. */
    int (*journal)(void *context, struct cfdp_id id, struct slice record);
    /* Puts records, each behind its length of 2 octets, in the place of all of its journal. */
    int (*rewrite)(void *context, struct cfdp_id id, struct slice records);
    void (*forget)(void *context, struct cfdp_id id); /* removes the journal */
    /* Keeps a result, CFDP_RESULT_LEN octets: the latest are given to cfdp_remembered. */
    int (*remember)(void *context, struct slice result);
    /* Numbers below `next` are used: after a restart cfdp_config.sequence is at least this. */
    int (*reserve)(void *context, uint64_t next);
};

/* 0 takes the default in brackets. */
struct cfdp_config {
    uint64_t id;               /* entity */
    uint8_t id_len;            /* octets of entity ids in our PDUs [the least for both] */
    uint8_t sequence_len;      /* octets of transaction numbers in our PDUs [4] */
    uint64_t sequence;         /* number of the first transaction [1] */
    uint32_t transactions_max; /* of all remote entities [4096] */
    uint64_t seed;
    const struct cfdp_files *files; /* must outlive the entity */
    void *context;                  /* of files */
};
/* NULL: memory is out, or a length is none. */
struct cfdp *cfdp_new(const struct cfdp_config *config);
/* Closes all files, and leaves partial files and journals as they are. */
void cfdp_free(struct cfdp *e);
uint64_t cfdp_entity(const struct cfdp *e);

/* What a remote entity may ask of us. Nobody may have files sent to a third entity. */
enum cfdp_permission {
    CFDP_MAY_PUT = 1,   /* send files here */
    CFDP_MAY_GET = 2,   /* have files sent to it, by proxy put requests */
    CFDP_MAY_LIST = 4,  /* have lists of folders sent to it */
    CFDP_MAY_CHANGE = 8 /* filestore requests */
};

/* A row of the management information base (CCSDS 727.0-B-5 8). 0 takes the default. */
struct cfdp_remote {
    uint64_t id;
    unsigned permissions;                /* enum cfdp_permission; 0: none */
    enum cfdp_class class_;              /* of puts that name none [CFDP_CLASS_2] */
    unsigned checksum;                   /* of what we send, enum cfdp_checksum (0 is modular) */
    bool crc;                            /* our PDUs have one */
    bool closure;                        /* class 1 asks for a Finished PDU */
    bool immediate_nak;                  /* at once for each gap, besides those after EOF */
    uint32_t segment_max;                /* octets of file data in a PDU [1024] */
    uint32_t pdu_max;                    /* octets of other PDUs [1400] */
    tick ack_time, nak_time, check_time; /* timers [10 s] */
    tick idle_time;                      /* inactivity [300 s] */
    tick keep_alive_time;                /* between Keep Alive PDUs as receiver [none] */
    uint64_t keep_alive_limit;           /* octets that a receiver may be behind [no limit] */
    uint32_t ack_limit, nak_limit, check_limit; /* expirations [10] */
    uint8_t handlers[16];      /* enum cfdp_handler by condition [CFDP_HANDLE_CANCEL] */
    uint32_t transactions_max; /* begun by the peer, at once [64] */
    uint32_t gaps_max;         /* ranges of octets that one transaction keeps [16384] */
    uint64_t file_max;         /* octets of a file that it sends [16 GiB] */
    uint64_t space_max; /* octets of its incomplete files and their journals, together [64 GiB] */
    bool confirms;      /* cfdp_confirm is called for each PDU */
};
/* Adds or changes it; transactions that are under way take the new values as well. 0, HELIO_EINVAL,
 * HELIO_ENOMEM. */
int cfdp_remote_set(struct cfdp *e, const struct cfdp_remote *remote);
/* NULL: not known. */
const struct cfdp_remote *cfdp_remote_find(const struct cfdp *e, uint64_t id);
/* The link to it can be used, or not (freeze and thaw: 4.12). It is up at first. */
void cfdp_link(struct cfdp *e, uint64_t remote, bool up, tick now);

/* ---- requests (3.5) ---- */

struct cfdp_put {
    uint64_t destination;
    const char *source_name, *destination_name; /* both NULL: no file */
    unsigned class_;                            /* 0: that of the remote entity */
    unsigned closure;     /* class 1: 1 yes, 2 no; 0: that of the remote entity */
    struct slice options; /* TLVs (cfdp/tlv.h): requests, messages, overrides, flow label; copied */
};
/* 0 and *id; HELIO_ENOENT (no such remote entity), HELIO_EINVAL (names or options too long),
 * HELIO_EAGAIN (limits), HELIO_ENOMEM, or what open_source and the journal say. */
int cfdp_put(struct cfdp *e, const struct cfdp_put *put, tick now, struct cfdp_id *id);
/* 0; HELIO_ENOENT: no such transaction; HELIO_EINVAL: it is in that state, or ends already. */
int cfdp_suspend(struct cfdp *e, struct cfdp_id id, tick now);
int cfdp_resume(struct cfdp *e, struct cfdp_id id, tick now);
int cfdp_cancel(struct cfdp *e, struct cfdp_id id, tick now);
/* Of a sender: a Prompt PDU (class 2). */
int cfdp_prompt(struct cfdp *e, struct cfdp_id id, bool keep_alive, tick now);

enum cfdp_phase {
    CFDP_SENDING,
    CFDP_EOF_SENT,
    CFDP_AWAITING_FINISHED,
    CFDP_RECEIVING,
    CFDP_COMPLETING,
    CFDP_CHECKING,
    CFDP_PERFORMING,
    CFDP_FINISHING,
    CFDP_ENDED
};
const char *cfdp_phase_text(enum cfdp_phase phase);

struct cfdp_status {
    struct cfdp_id id;
    uint64_t remote;
    bool is_sender, suspended, frozen; /* frozen: the link is down */
    enum cfdp_class class_;
    enum cfdp_phase phase;
    enum cfdp_condition condition;
    uint64_t size;                              /* 0: not known yet */
    uint64_t progress;                          /* octets sent at least once, or received */
    const char *source_name, *destination_name; /* until the next push */
};
/* Report request: false: no such transaction. */
bool cfdp_report(const struct cfdp *e, struct cfdp_id id, struct cfdp_status *out);
/* All transactions, in the order of their beginning: NULL first, NULL at the end. */
const struct cfdp_transaction *cfdp_walk(const struct cfdp *e, const struct cfdp_transaction *t);
void cfdp_status_of(const struct cfdp_transaction *t, struct cfdp_status *out);

/* ---- PDUs ---- */

#define CFDP_VERDICTS(X)                                                                           \
    X(TAKEN, "taken")                                                                              \
    X(REPEATED, "taken before")                                                                    \
    X(MALFORMED, "malformed")                                                                      \
    X(FOREIGN, "from an entity without configuration, or with another one's id")                   \
    X(NOT_OURS, "for another entity")                                                              \
    X(DIRECTION, "a directive of the other direction")                                             \
    X(MODE, "of another class than its transaction")                                               \
    X(UNKNOWN, "of no transaction")                                                                \
    X(LATE, "of a transaction that ended")                                                         \
    X(FORBIDDEN, "the remote entity has no permission")                                            \
    X(BAD_NAME, "a file name or option that is malformed")                                         \
    X(BAD_SIZE, "beyond the file's size, or the size contradicts received octets")                 \
    X(TRANSACTIONS, "too many transactions")                                                       \
    X(TOO_LONG, "a file or options longer than the limit")                                         \
    X(SPACE, "more octets of incomplete files than the limit")                                     \
    X(GAPS, "more gaps than the limit")                                                            \
    X(FAILED, "our memory, file store or journal failed")
#define CFDP_VERDICT_ENUM(name, text) CFDP_VERDICT_##name,
enum cfdp_verdict { CFDP_VERDICTS(CFDP_VERDICT_ENUM) CFDP_VERDICT_COUNT };
#undef CFDP_VERDICT_ENUM
const char *cfdp_verdict_text(enum cfdp_verdict verdict);

/* One PDU from the remote entity `from`, as its address says. */
enum cfdp_verdict cfdp_input(struct cfdp *e, uint64_t from, struct slice pdu, tick now);
/* The next PDU for this remote entity: its octets, 0: there is none now. `room` must be at least
 * segment_max and pdu_max, each with CFDP_HEAD_MAX + 16. */
size_t cfdp_output(struct cfdp *e, uint64_t remote, uint8_t *out, size_t room, tick now);
/* Does cfdp_output of any remote entity have a PDU? False only if there is none. */
bool cfdp_has_output(const struct cfdp *e, uint64_t remote);
/* Of a remote entity with `confirms`: the oldest PDU that was not confirmed yet has left our hands
 * (taken), or will never do so. At most CFDP_UNCONFIRMED_MAX wait for this. A class 1 transaction
 * without closure ends with it; until then a restart sends its PDUs again. */
void cfdp_confirm(struct cfdp *e, uint64_t remote, bool taken, tick now);

tick cfdp_deadline(const struct cfdp *e);
/* Serves one time that is due. False: there is none. Call it until then. A long checksum is
 * computed in parts, one a call. */
bool cfdp_expire(struct cfdp *e, tick now);

/* ---- notices: the indications of 3.4 ---- */

enum cfdp_notice_kind {
    CFDP_TOLD_STARTED,      /* Transaction.indication; receiver: its first PDU */
    CFDP_TOLD_METADATA,     /* Metadata-Recv */
    CFDP_TOLD_EOF_SENT,     /* EOF-Sent */
    CFDP_TOLD_EOF_RECEIVED, /* EOF-Recv */
    CFDP_TOLD_SUSPENDED,
    CFDP_TOLD_RESUMED,
    CFDP_TOLD_FAULT, /* the handler is "ignore" */
    CFDP_TOLD_ABANDONED,
    CFDP_TOLD_FINISHED, /* Transaction-Finished: once, unless abandoned */
    CFDP_TOLD_PROXY,    /* the result of our proxy put request `origin` */
    CFDP_TOLD_LISTING   /* the answer to our directory listing request `origin` */
};
struct cfdp_notice {
    enum cfdp_notice_kind kind;
    struct cfdp_id id;
    uint64_t remote;
    bool is_sender;
    enum cfdp_condition condition;
    bool incomplete; /* delivery code; LISTING: unsuccessful */
    enum cfdp_file_status status;
    uint64_t size, progress;
    bool has_origin;
    struct cfdp_id origin;        /* of a message "originating transaction id" */
    char name[CFDP_NAME_MAX + 1]; /* destination file; "": none, or not known */
    size_t responses_len;
    uint8_t responses[CFDP_RESPONSES_MAX]; /* FINISHED: TLVs of filestore responses */
};
bool cfdp_poll(struct cfdp *e, struct cfdp_notice *out);

#define CFDP_COUNTS(X)                                                                             \
    X(pdus_in, "PDUs received")                                                                    \
    X(pdus_out, "PDUs sent")                                                                       \
    X(octets_in, "octets of file data received for the first time")                                \
    X(octets_out, "octets of file data sent for the first time")                                   \
    X(octets_again, "octets of file data sent again")                                              \
    X(naks_in, "NAK PDUs received")                                                                \
    X(naks_out, "NAK PDUs sent")                                                                   \
    X(started, "transactions begun")                                                               \
    X(finished, "transactions finished without error")                                             \
    X(cancelled, "transactions finished with an error")                                            \
    X(abandoned, "transactions abandoned")                                                         \
    X(faults, "faults declared")                                                                   \
    X(refused, "user operations refused")                                                          \
    X(notices_lost, "notices that were not polled in time")
#define CFDP_COUNT_FIELD(name, text) uint64_t name;
struct cfdp_counts {
    CFDP_COUNTS(CFDP_COUNT_FIELD)
    uint64_t verdicts[CFDP_VERDICT_COUNT];
    uint64_t malformed[CFDP_PDU_RESULT_COUNT];
};
#undef CFDP_COUNT_FIELD
const struct cfdp_counts *cfdp_counts(const struct cfdp *e);

/* ---- restart ---- */

/* Continues a transaction from its journal: all its records, each behind a length of 2 octets. An
 * incomplete last record is left out. 0; HELIO_EFORMAT (nothing can be continued: the host removes
 * journal and partial file), HELIO_ENOENT (the remote entity is not known), HELIO_EEXIST,
 * HELIO_ENOMEM, or what the files say. */
int cfdp_restore(struct cfdp *e, struct cfdp_id id, struct slice records, tick now);

/* Results of an earlier process, the oldest first. */
void cfdp_remembered(struct cfdp *e, struct slice results);

/* Invariants, asserted. */
void cfdp_check(const struct cfdp *e);

#endif
