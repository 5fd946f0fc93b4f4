/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the codec: what a reading of a bundle found, and whether it may go on. */
#ifndef BP_CHECK_H
#define BP_CHECK_H

#include "bp/codec/bundle.h"
#include "bp/codec/cbor.h"

/* How much a finding weighs. */
enum check_weight {
    CHECK_NOTE,   /* odd, but the receiver has to accept it */
    CHECK_RULE,   /* refused in strict mode only */
    CHECK_REFUSE, /* refused in both modes; a lint can go on behind it */
    CHECK_LOST,   /* nothing behind it can be read */
};

struct check {
    enum bundle_mode mode;
    bool lint;                        /* go on where possible */
    bool stop;                        /* reading is over */
    bool bad;                         /* the bundle is refused */
    uint64_t extensions_max;          /* bytes of extension blocks that are read; 0: all */
    bool beyond;                      /* there are more: reading stopped */
    struct bundle_findings *findings; /* may be NULL */
};

/* Adds a finding. A fatal one displaces the last when the list is full. */
void check_note(struct check *c, enum check_weight weight, const char *section, const char *text,
                size_t at);

/* Hands the reader's error on, if there is one, as CHECK_LOST. */
void check_reader(struct check *c, const struct item_reader *r, const char *section);

/* EIDs of other schemes (eid_other.c): their part behind the scheme's number. */
#define EID_RAW_LEVELS 4 /* arrays within arrays */
void eid_other_read(struct item_reader *r, uint64_t number, struct eid *e);
bool eid_other_legal(const struct eid *e);
size_t eid_other_text(const struct eid *e, char out[EID_TEXT_MAX]);
char *eid_put_number(char *p, uint64_t value); /* decimal; returns its end */
/* A decimal number without leading zeros, at most max; moves *text behind it. */
bool eid_read_number(const char **text, uint64_t max, uint64_t *out);

/* The two-element array of RFC 9171 §4.2.5.1; also its size and writing in the form it came in. */
struct eid eid_read(struct item_reader *r, struct check *c);
size_t eid_size(const struct eid *e);
void eid_write(struct writer *w, const struct eid *e);
/* Can it be written? */
bool eid_legal(const struct eid *e);

#endif
