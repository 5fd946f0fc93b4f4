/* SPDX-License-Identifier: Apache-2.0 */
/* `key value` pairs of a scenario's command, stored into the fields of a configuration. */
#ifndef TESTS_SIM_OPTIONS_H
#define TESTS_SIM_OPTIONS_H

#include <stddef.h>

struct option_key {
    const char *name; /* NULL ends a table */
    enum { TIME, RATE, SIZE, COUNT, COUNT32, FLAG, SHARE } kind;
    size_t at; /* where the value is written */
};

extern const struct option_key options_engine[]; /* of struct ltp_config */
extern const struct option_key options_line[];   /* of struct chan_config */

struct ltp_span;

/* 1: stored; 0: no such key; -1: a wrong value. */
int options_set(const struct option_key *keys, void *config, const char *key, const char *value);
/* The same of a span: a line of ltp/options.h, or confirm, orange_deaf, sessions_auto. */
int options_span(struct ltp_span *span, const char *key, const char *value);

#endif
