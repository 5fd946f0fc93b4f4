/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history of bundles, from the bundle logs of any number of nodes and the sessions in their
 * segment logs: one stay for each bundle at each node, and how its time there was spent. Kept until
 * the end, some 400 bytes each, because only then the bundle's next node is known.
 */
#ifndef TOOLS_LIVES_H
#define TOOLS_LIVES_H

#include <stdio.h>

#include "base/hash.h"
#include "tools/analyze/analyze.h"
#include "tools/analyze/input/bundle_row.h"

/* Where a bundle is, while it is at a node. */
enum life_part {
    LIFE_STORE,       /* being stored */
    LIFE_APART,       /* there is no route now */
    LIFE_QUEUE,       /* of a link or an endpoint, pauses included */
    LIFE_LINK,        /* at the link; if the link logs sessions: until it has one */
    LIFE_SESSION,     /* in a session of the link */
    LIFE_APPLICATION, /* until it says that it has the bundle */
    LIFE_PARTS
};

/* How the time from this node's `accepted` to the next one's was spent. The parts add up to it
 * exactly. */
enum delay_part {
    DELAY_QUEUE,     /* at the node, until the first segment of its session left */
    DELAY_RADIATION, /* until the last segment that was sent for the first time left */
    DELAY_CHANNEL,   /* the one-way delay, and the time to receive and store: all the rest if the
                        session lost nothing, else the least rest of any bundle */
    DELAY_RETRANSMISSION, /* the rest; and tries that failed before */
    DELAY_PARTS
};

/* Times are t_ns of the logs, TICK_NEVER when not known. */
struct stay {
    struct hash_node by_key;     /* while it is open */
    struct hash_node by_session; /* while in_session */
    bool open, in_session;
    /* interned; NULL: none */
    const char *node, *source, *destination, *link_in, *link_out, *peer_in, *peer_out, *end;
    uint64_t key, created_ms, sequence;
    bool fragment, whole;
    uint64_t fragment_offset, adu_length;
    struct bundle_number bytes, payload;
    enum bundle_origin from;
    tick begun; /* accepted, assembled, or restored from a run without a log */
    tick ended, sent_first, sent, delivered; /* sent: the last try */
    bool gap; /* the rows do not follow each other: some are missing, or the node did not run */
    enum life_part part;
    tick since; /* in `part` */
    tick spent[LIFE_PARTS];
    uint64_t tries, failed, lost, restarts;
    /* of the last session that transmitted it */
    bool has_session, session_known;
    uint64_t originator, session;
    tick carried, session_wait, session_time;
    bool cycles_known;
    uint64_t cycles;
    tick session_radiation; /* first to last segment, each the first time; with session_wait */
    bool session_clean;     /* nothing of it was lost or sent again */
    tick failed_before;     /* in links and sessions of earlier tries, when it was sent last */
    /* made at the end */
    uint64_t hop;            /* 1 at its source; 0: not known */
    const struct stay *next; /* the next hop */
    tick total;              /* from its source to its application */
    tick delay[DELAY_PARTS]; /* with `next` */
};

struct lives {
    struct hash open, sessions, names;
    struct stay **stays;
    size_t len, cap;
    uint64_t rows, refused, consumed,
        strange; /* strange: of bundles whose beginning is not there */
    tick first_row, last_row;
};

int lives_init(struct lives *l); /* 0 or HELIO_ENOMEM */
void lives_fini(struct lives *l);
/* The next row in order of time. 0 or HELIO_ENOMEM. */
int lives_row(struct lives *l, const struct bundle_row *r);
/* A session that is finished, as analyze_taker gives it. */
void lives_session(struct lives *l, const struct analyze_session *s);
/* After the last row and session: joins the stays of each bundle, and puts them in order. */
void lives_end(struct lives *l);

/* Does the log have its begin and its end? Then its time here is known. */
bool stay_is_whole(const struct stay *s);
/* And is each part of it known, too? */
bool stay_is_known(const struct stay *s);

/* delays.c: divides the times to the next node; after the stays are joined. */
void delays_divide(struct lives *l);
/* The stay at a bundle's source from which its whole route to its application is known, else
 * NULL. */
const struct stay *delays_delivered(const struct stay *source);
bool delays_table(FILE *f, const struct lives *l); /* false when it cannot be written */
struct json_t;
struct json_t *delays_json(const struct lives *l); /* NULL: no memory */
void delays_text(FILE *f, const struct lives *l);

/* lives_table.c: false when the file cannot be written */
bool lives_table(FILE *f, const struct lives *l);

/* lives_result.c: the summary */
struct json_t *lives_json(const struct lives *l); /* NULL: no memory */
void lives_text(FILE *f, const struct lives *l);

#endif
