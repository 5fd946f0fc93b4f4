/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The language of `helio-sle user --script`: one step a line, each done before the next begins.
 * docs/helio-sle.md has the grammar.
 */
#ifndef TOOLS_SLE_SCRIPT_H
#define TOOLS_SLE_SCRIPT_H

#include "sle/pdu.h"
#include "tools/sle/sle_when.h"

#define SCRIPT_STEPS_MAX 4096u
#define SCRIPT_WORDS_MAX 32u
#define SCRIPT_WORD_MAX (2u * SLE_CLTU_MAX + 1u)
#define SCRIPT_BYTES_MAX (16u * 1024u * 1024u)
#define SCRIPT_WITHIN (10 * TICK_S) /* where a step says nothing else */

enum script_verb {
    SCRIPT_BIND,
    SCRIPT_START,
    SCRIPT_GET,
    SCRIPT_REPORT,
    SCRIPT_TRANSFER,
    SCRIPT_THROW,
    SCRIPT_STOP,
    SCRIPT_UNBIND,
    SCRIPT_ABORT,
    SCRIPT_DISCONNECT,
    SCRIPT_WAIT,
    SCRIPT_EXPECT
};

/* What is expected. */
enum script_wish {
    SCRIPT_FRAMES, /* so many more (number) */
    SCRIPT_SYNC,   /* value: enum sle_sync_kind */
    SCRIPT_STATUS,
    SCRIPT_NOTIFY, /* value: enum sle_notification */
    SCRIPT_END     /* of the association, not by us */
};

struct script_step {
    unsigned line;
    enum script_verb verb;
    bool refused;    /* the return is negative; */
    bool diag_given; /* with this number */
    unsigned diag;
    tick within; /* of WAIT: how long */
    struct sle_start start;
    struct user_when from, to; /* START; earliest and latest of TRANSFER */
    enum sle_parameter parameter;
    bool is_given; /* its value is `number` */
    uint64_t number;
    struct sle_schedule report;
    size_t octets_at, octets_len; /* TRANSFER, THROW: in the script's octets */
    uint32_t delay_us;
    bool quiet;
    enum sle_unbind reason;
    enum script_wish wish;
    unsigned value;
};

struct script {
    struct script_step *steps;
    size_t len;
    uint8_t *octets;
    size_t octets_len;
};

/* Reads a script; START begins with `start`. 0; HELIO_EFORMAT: *line and `why` say what is wrong;
 * HELIO_ENOMEM. Then there is nothing to free. */
int script_parse(struct script *s, struct slice text, const struct sle_start *start, unsigned *line,
                 char *why, size_t why_cap);
void script_free(struct script *s);

#endif
