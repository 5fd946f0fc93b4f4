/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sending end of a synchronisation: a folder in, payloads out, until the copy has confirmed
 * each name. It knows no sockets, and time is an argument. Its table lies in SYNC_FOLDER.
 *
 * Of a file: seen -> resting (the same in two looks) -> summed -> announced, with its content or,
 * where the copy has that under any name, without -> confirmed. Of one that is missing in two
 * looks: announced as gone -> confirmed, forgotten.
 */
#ifndef TOOLS_SYNC_SOURCE_H
#define TOOLS_SYNC_SOURCE_H

#include <sys/stat.h>

#include "tools/files/files_sender.h"
#include "tools/files/files_walk.h"
#include "tools/sync/sync_table.h"
#include "tools/sync/sync_watch.h"

struct sync_source_options {
    const char *path;                /* of the folder */
    struct files_send_options files; /* receiver, piece, ask, wait */
    tick rest;                       /* a file that was the same for so long is complete */
    tick interval;                   /* between looks when nothing has changed */
    bool hidden;
    bool check; /* at the start all is announced again, without content */
};

struct sync_source_counts {
    uint64_t looks, hashed;          /* files that were read for their SHA-256 */
    uint64_t messages, announced;    /* entries of these */
    uint64_t inlined, pushed;        /* contents that were sent in messages; as transfers */
    uint64_t known;                  /* changes whose content the copy had under another name */
    uint64_t confirmed, gone;        /* files; names that are gone */
    uint64_t wanted, refused;        /* answers */
    uint64_t foreign, others;        /* foreign payloads; of another endpoint */
    uint64_t left[FILES_LEFT_COUNT]; /* entries of the last look that are left out */
};

/* The state of a name. More than one of resting, open and missing may hold. */
struct sync_pending {
    struct sync_entry *entry;
    bool missing; /* one look did not find it */

    struct list rest;        /* in `resting`: its file is not what was announced */
    struct sync_placed seen; /* the file, without its SHA-256, … */
    bool executable;
    tick since; /* … the same since then; 0: since long */

    struct list open;                 /* in `open`: the copy has not confirmed the version */
    bool with, pushing, pushed, told; /* content goes along; a transfer is under way; one was
                                       * confirmed; a refusal was reported */
    bool displaced;                   /* the last refusal was for its place */
    bool cleared;                     /* … and a name that was removed may block it */
    tick held;                        /* gone, and no name with its content is confirmed: to the
                                       * next check; 0: not so */
    uint32_t number;                  /* of the last message that had it */
    tick due, pause;
};

struct sync_source {
    struct sync_source_options options;
    struct sync_table table;
    struct files_sender sender;
    struct sync_watch watch;
    struct list open, resting; /* of sync_pending */
    uint64_t open_len, resting_len, missing_len, jobs;
    uint64_t look; /* number of the last one */
    struct {
        struct sync_pending *of; /* whose file is read for its SHA-256; NULL: none */
        struct files_digest *digest;
        uint64_t at;
        int fd;
    } sum;
    tick now;
    uint32_t number; /* of the last message */
    tick look_at;    /* the next look */
    tick earliest;   /* not before, whatever changes */
    tick clear_at;   /* `cleared` is computed again, not before this */
    bool clear;      /* … when this is set */
    bool room_made;  /* a name is gone at the copy: what had no place may have one now */
    bool changed;    /* something did since the last look */
    bool fresh;      /* the table was empty at the start: the copy may have all */
    bool broken;     /* the last look failed */
    uint64_t (*wall)(void *context);
    /* A file or a name that is gone is confirmed; or is refused: `why`. */
    void (*over)(void *context, const struct sync_entry *e, const char *why);
    void *context;
    struct sync_source_counts counts;
};

/* 0, HELIO_EEXIST (another process has the folder), or what the system says; fini in any case.
 * wall: ns since 1970. */
int sync_source_init(struct sync_source *s, const struct sync_source_options *o, uint64_t seed,
                     uint64_t (*wall)(void *context),
                     void (*over)(void *context, const struct sync_entry *e, const char *why),
                     void *context);
void sync_source_fini(struct sync_source *s);

/* Looks at the folder when it is time. 0, HELIO_ENOMEM, or what the system says of the table.
 * *folder: what it says of the folder: nothing is taken for gone, and it is looked at again. */
int sync_source_turn(struct sync_source *s, tick now, int *folder);

/* A message for the node, at most `room` bytes long, which is enough for any entry
 * (SYNC_MESSAGE_MIN). Returns its length; 0: there is none now. Transfers are s->sender's. */
#define SYNC_MESSAGE_MIN (SYNC_HEAD + SYNC_CHANGE + FILES_NAME_MAX + SYNC_INLINE_MAX)
size_t sync_source_next(struct sync_source *s, uint8_t *out, size_t room);

/* A payload from endpoint `source`. 0, or an error of the table. */
int sync_source_take(struct sync_source *s, const char *source, struct slice payload, tick now);

/* All of the folder is confirmed, as the last two looks saw it. */
bool sync_source_equal(const struct sync_source *s);

/* For sync_look.c: looks at the folder, and reads what rests. */
int sync_look_turn(struct sync_source *s, int *folder);
void sync_look_end_sum(struct sync_source *s);
/* The state of an entry, created if there was none. NULL: no memory. */
struct sync_pending *sync_source_pending(struct sync_entry *e);
void sync_source_settle(struct sync_source *s,
                        struct sync_entry *e); /* frees it, when nothing is */
/* Its newest version is what was seen, with that SHA-256; or is gone. 0 or HELIO_E*. */
int sync_source_announce(struct sync_source *s, struct sync_entry *e, const uint8_t sha[FILES_SHA]);
int sync_source_announce_gone(struct sync_source *s, struct sync_entry *e);

#endif
