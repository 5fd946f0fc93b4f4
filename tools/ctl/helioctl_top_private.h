/* SPDX-License-Identifier: Apache-2.0 */
/* helioctl top, for its own files: what the node said, its rows, and what the user wants to see. */
#ifndef TOOLS_HELIOCTL_TOP_PRIVATE_H
#define TOOLS_HELIOCTL_TOP_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/tick.h"
#include "tools/ctl/ctl_table.h"

struct json_t;
struct screen;

/* Columns of the screen; each is a column of the node's answer too, or made of some. */
enum field {
    F_NAME,
    F_PEER,
    F_STATE,
    F_TX,
    F_RX,
    F_SHARE,
    F_RTO,
    F_RTT,
    F_HEARD,
    F_RESENT,
    F_SESSIONS,
    F_BUNDLES,
    F_BYTES,
    F_OLDEST,
    F_SENT,
    F_FAILED,
    F_COUNT
};

struct field_format {
    const char *title, *key; /* key NULL: made here */
    enum column_kind kind;
    int width; /* characters; < 0: to the left */
    int rank;  /* the lower, the longer it stays when the screen is narrow */
};

extern const struct field_format top_fields[F_COUNT];

struct row {
    struct json_t *values[F_COUNT]; /* borrowed from the answer; NULL: not in it */
    double share;                   /* of the nominal rate; < 0: it has none */
};

/* Of all links, whatever the filter leaves. */
struct top_sums {
    double tx, rx, sessions;
    size_t links, up;
    char others[96]; /* " (2 silent, 1 waiting)" */
};

#define TOP_NAME_MAX 128
#define TOP_SESSION_MAX 80
#define TOP_BACKLOG_SHOWN 5

struct top {
    const char *path;
    tick timeout, interval;
    struct json_t *answer, *backlog; /* the last good ones; NULL: none yet */
    struct row *rows;                /* those that fit the filter, sorted */
    size_t rows_len, rows_cap;
    struct top_sums sums;
    bool silent; /* the last question had no answer */
    int sort;    /* enum field */
    bool reverse, busy_only, help, paused;
    char filter[64];               /* "": all */
    bool typing;                   /* the filter */
    char selected[TOP_NAME_MAX];   /* a link's name; "": none yet */
    char *detail;                  /* of the selected link, in lines; NULL: the list is shown */
    struct json_t *sessions;       /* of that link; NULL: not known */
    char session[TOP_SESSION_MAX]; /* that is shown in place of the link; "": none */
    double session_done;           /* of it, at the last look, */
    tick session_at;               /* which was then; 0: there was none */
    size_t first;                  /* row, or line of the detail, at the top */
    uint64_t looks;
};

/* From the answer; false: no memory. */
bool top_make_rows(struct top *t);
void top_sort_rows(struct top *t);
/* Of the selected link; SIZE_MAX: it is not among the rows. */
size_t top_selected(const struct top *t);
double top_number(const struct row *r, int field);
bool top_is_busy(const struct row *r);
bool top_is_bad(const struct row *r);
double top_node_number(const struct top *t, const char *key);

/* The value of a row as the screen shows it; "-": not known. */
void top_cell(const struct row *r, int field, char *out, size_t cap);

/* helioctl_top_session.c: shows the session behind the one that is shown, or the first. */
void top_next_session(struct top *t);
/* The session that is shown, in lines. */
void top_put_session(struct top *t, FILE *out);

/* A whole picture; keeps `first` within the rows or lines. */
void top_show(struct top *t, struct screen *s);

#endif
