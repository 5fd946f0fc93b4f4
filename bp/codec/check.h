/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the codec: the findings of a decoding, and whether decoding continues. */
#ifndef BP_CHECK_H
#define BP_CHECK_H

#include "bp/codec/bundle.h"
#include "bp/codec/cbor.h"

/* Severity of a finding. */
enum check_weight {
    CHECK_NOTE,   /* unusual, but the receiver must accept it */
    CHECK_RULE,   /* refused in strict mode only */
    CHECK_REFUSE, /* refused in both modes; lint continues after it */
    CHECK_LOST,   /* nothing after it can be read */
};

struct check {
    enum bundle_mode mode;
    bool lint;                        /* continue where possible */
    bool stop;                        /* decoding has stopped */
    bool bad;                         /* the bundle is refused */
    uint64_t extensions_max;          /* limit of extension blocks, bytes; 0: none */
    bool beyond;                      /* the limit was exceeded: decoding stopped */
    struct bundle_findings *findings; /* may be NULL */
};

/* Adds a finding. If the list is full, a fatal finding replaces the last one. */
void check_note(struct check *c, enum check_weight weight, const char *section, const char *text,
                size_t at);

/* Adds the reader's error, if there is one, as CHECK_LOST. */
void check_reader(struct check *c, const struct item_reader *r, const char *section);

/* EIDs of other schemes (eid_other.c): the scheme-specific part after the scheme's number. */
#define EID_RAW_LEVELS 4 /* nested arrays */
void eid_other_read(struct item_reader *r, uint64_t number, struct eid *e);
bool eid_other_legal(const struct eid *e);
size_t eid_other_text(const struct eid *e, char out[EID_TEXT_MAX]);
char *eid_put_number(char *p, uint64_t value); /* decimal; returns its end */
/* Reads a decimal number without leading zeros, at most `max`; moves *text after it. */
bool eid_read_number(const char **text, uint64_t max, uint64_t *out);

/* Reads, measures and writes the two-element array of RFC 9171 §4.2.5.1. An EID is written in the
 * form in which it was read. */
struct eid eid_read(struct item_reader *r, struct check *c);
size_t eid_size(const struct eid *e);
void eid_write(struct writer *w, const struct eid *e);
/* Has it a legal encoding? */
bool eid_legal(const struct eid *e);

#endif
