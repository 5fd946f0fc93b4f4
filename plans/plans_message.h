/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of the plan service (docs/plan-service.md), each the payload of one bundle. CDDL:
 *
 *   message = plan / state
 *   plan  = [1, 1, number, effect, format, check, contents: bstr]   ; from the owner
 *   state = [1, 2, asks: bool, applied: uint, [* [number, check]], refused, reason: uint]
 *   number = 1..2^63-1     ; of a version
 *   effect = uint          ; DTN time in ms, 0: at once
 *   format = 0             ; a plan in YAML (docs/contact-plans.md)
 *   check  = uint .size 4  ; CRC-32C of number and effect, 8 octets each, and the contents
 *
 * A version is in one message as a whole, so a plan cannot arrive in part. All items have their
 * shortest form, and nothing follows the message.
 */
#ifndef PLANS_MESSAGE_H
#define PLANS_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/tick.h"

#define PLANS_CONTENTS_MAX (16u << 20)
#define PLANS_HEAD_MAX 64 /* of a plan message, before its contents */
#define PLANS_MESSAGE_MAX (PLANS_CONTENTS_MAX + PLANS_HEAD_MAX)
#define PLANS_LATER_MAX 16 /* versions that have not taken effect */
/* These, the one in force, and one that is about to replace it and some of these. */
#define PLANS_LISTED_MAX (PLANS_LATER_MAX + 2)
#define PLANS_STATE_MAX 512 /* of a state message */
#define PLANS_NUMBER_MAX (UINT64_MAX >> 1)

enum plans_verdict {
    PLANS_TAKEN,      /* new, and kept; of a state: it is known now */
    PLANS_REPEATED,   /* this version is here already */
    PLANS_OLD,        /* a higher version is in force */
    PLANS_FOREIGN,    /* the source is not the owner, or none of the followers */
    PLANS_MALFORMED,  /* no message of the plan service */
    PLANS_CONFLICT,   /* the same number, and other contents */
    PLANS_FULL,       /* PLANS_LATER_MAX versions wait for their time */
    PLANS_UNREADABLE, /* the contents are no plan that a node can follow */
    PLANS_UNSTORED,   /* the medium failed */
    PLANS_AHEAD,      /* a follower has a version that the owner does not have */
    PLANS_EARLY,      /* a follower asked again too soon; it is answered later */
    PLANS_VERDICTS
};

/* For people, static: "taken", … */
const char *plans_verdict_text(enum plans_verdict v);

struct plans_version {
    uint64_t number;
    uint64_t effect_ms; /* DTN time; 0: at once */
    uint32_t check;     /* plans_check of all */
};

/* The check value of a version: CRC-32C of its number, its time of effect and its contents. */
uint32_t plans_check(uint64_t number, uint64_t effect_ms, struct slice contents);

/* Has it taken effect? wall: ns since 1970, 0: there is no clock. */
bool plans_version_begun(const struct plans_version *v, uint64_t wall);
/* DTN time of ticks since 1970; 0 before 2000. */
uint64_t plans_dtn_ms(tick wall);
/* Ticks since 1970 of a DTN time, TICK_NEVER - 1 at most. */
tick plans_wall(uint64_t dtn_ms);

/* What a follower has. */
struct plans_state {
    bool asks;        /* for all that it lacks */
    uint64_t applied; /* the version that its node follows; 0: none */
    size_t len;
    struct {
        uint64_t number;
        uint32_t check;
    } held[PLANS_LISTED_MAX]; /* in rising order; the first one is in force, or none is */
    uint64_t refused;         /* the last version that it refused; 0: none */
    enum plans_verdict reason;
};

enum plans_kind { PLANS_PLAN = 1, PLANS_STATE = 2 };

struct plans_message {
    enum plans_kind kind;
    struct plans_version version; /* PLANS_PLAN */
    struct slice contents;        /* likewise; a view of the input */
    struct plans_state state;     /* PLANS_STATE */
};

/* Parses a message. False: it is malformed; *why says what is wrong (static). */
bool plans_message_parse(struct slice in, struct plans_message *out, const char **why);

/* The head of a plan message; its contents follow. Returns its length. */
size_t plans_message_head(const struct plans_version *v, size_t contents_len,
                          uint8_t out[PLANS_HEAD_MAX]);
/* A state message. Returns its length. */
size_t plans_state_write(const struct plans_state *s, uint8_t out[PLANS_STATE_MAX]);

#endif
