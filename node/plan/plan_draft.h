/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A contact plan as a file gives it, item by item with its line, and the readers and writers of
 * files. Times of a file are dates, or count from a start that the caller gives; both become ticks
 * since 1970, or since 0 when the start is 0.
 */
#ifndef NODE_PLAN_DRAFT_H
#define NODE_PLAN_DRAFT_H

#include <stdio.h>

#include "conf/conf_tree.h"
#include "route/plan.h"

#define PLAN_ITEMS_MAX 16000000

struct plan_draft_contact {
    struct plan_contact is;
    uint32_t line;
};

struct plan_draft_range {
    struct plan_range is;
    uint32_t line;
};

struct plan_draft {
    struct plan_draft_contact *contacts;
    struct plan_draft_range *ranges;
    size_t contacts_len, contacts_cap, ranges_len, ranges_cap;
    tick start;        /* what times without a date count from */
    bool dated, since; /* the file has dates; it has times that count from the start */
    size_t skipped;    /* lines that are no part of a contact plan */
    /* What is odd, but no error, with its line; borrowed. NULL: it is not written down. */
    struct conf_errors *notes;
};

enum plan_format { PLAN_YAML, PLAN_ION, PLAN_HDTN, PLAN_FORMATS };

const char *plan_format_name(enum plan_format format);

void plan_draft_init(struct plan_draft *d, tick start);
void plan_draft_fini(struct plan_draft *d);

void plan_draft_note(struct plan_draft *d, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* 0; or -1 with an error in *e: what is wrong with it, no memory, too many. `where` names it in the
 * message ("contacts[3]."). */
int plan_draft_contact(struct plan_draft *d, const struct plan_contact *c, uint32_t line,
                       const char *where, struct conf_errors *e);
int plan_draft_range(struct plan_draft *d, const struct plan_range *r, uint32_t line,
                     const char *where, struct conf_errors *e);

/* Where contacts of the same two nodes overlap, or light times, the one that starts first holds to
 * its end, and what is left of the other begins then; that of contacts is noted. */
void plan_draft_trim(struct plan_draft *d);

/* Puts all of it into an empty plan. 0, or -1 with errors: what overlaps, with both lines. */
int plan_draft_build(struct plan_draft *d, struct plan *p, struct conf_errors *e);

/* Adds all of it to a plan that has something, or nothing: 0, or -1 with an error that says what it
 * overlaps. `start` as in plan_time_text. */
int plan_draft_add(const struct plan_draft *d, struct plan *p, tick start, struct conf_errors *e);

/* --- reading. 0, or -1 with errors; the draft has what was understood. --- */

int plan_ion_read(struct plan_draft *d, const char *text, size_t len, struct conf_errors *e);
int plan_yaml_read(struct plan_draft *d, const char *text, size_t len, struct conf_errors *e);
int plan_hdtn_read(struct plan_draft *d, const char *text, size_t len, struct conf_errors *e);

/* By the end of the name: .yaml, .yml, .json; anything else is ION's. */
enum plan_format plan_format_guess(const char *path);
/* All of a file that is open. */
int plan_stream_read(struct plan_draft *d, FILE *f, enum plan_format format, struct conf_errors *e);
/* A whole file; "-" is the standard input. A pipe will do (os/input_file.h). */
int plan_file_read(struct plan_draft *d, const char *path, enum plan_format format,
                   struct conf_errors *e);

/* --- writing; each reads back to the same contacts and ranges, but for what the format cannot say,
 * which is counted in *lost. Returns 0 or -1 (the file's error). --- */

struct plan_lost {
    size_t confidence; /* contacts below 1: HDTN has none */
    size_t fractions;  /* times or light times that ION itself, or HDTN, does not read */
    size_t ranges;     /* light times that change during a contact, or have none: HDTN */
    size_t dates;      /* HDTN counts from its start */
    size_t one_way;    /* ION: light times from the lower to the higher number, and none back */
};
int plan_write(FILE *f, const struct plan *p, enum plan_format format, tick start,
               struct plan_lost *lost);

/* What ION and HDTN themselves load. Counts of what was changed for that. */
struct plan_fitted {
    size_t seconds;  /* contacts and light times that had fractions of seconds */
    size_t vanished; /* contacts and light times of which no whole second was left */
    size_t touching; /* ION: contacts that ended when the next began; they end a second earlier */
    size_t rates;    /* ION: contacts at no limit, below a byte/s or above 4294967295 of them */
    size_t numbers;  /* HDTN: contacts of nodes above 2147483647, or later than that; left out */
};

/* A plan of whole seconds that count from `start`, as the format's own program loads it: contacts
 * begin later and end earlier, light times are rounded. *out is the caller's to plan_free. 0, or
 * HELIO_ENOMEM. */
int plan_fit(const struct plan *p, enum plan_format format, tick start, struct plan **out,
             struct plan_fitted *fitted);

/* --- times --- */

/* "2026-11-22T12:00:00.5Z" or "2026/11/22-12:00:00.5" as ticks since 1970. 0 or HELIO_EFORMAT. */
int plan_date(const char *text, tick *out);
/* Seconds with up to nine decimals. 0 or HELIO_EFORMAT. */
int plan_seconds(const char *text, size_t len, tick *out);
/* A date when the start is one, else what has passed since; for people. */
#define PLAN_TIME_CAP 48
const char *plan_time_text(tick t, tick start, char out[PLAN_TIME_CAP]);
/* "12.5" of 12.5 s. */
const char *plan_seconds_text(tick t, char out[PLAN_TIME_CAP]);
/* ISO 8601 with Z, or with slashes as ION writes it. */
const char *plan_date_text(tick t, bool slashes, char out[PLAN_TIME_CAP]);

#endif
