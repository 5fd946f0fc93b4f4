/* SPDX-License-Identifier: Apache-2.0 */
/* `key value` pairs of a scenario's command, stored into the fields of a configuration. */
#ifndef TESTS_SIM_OPTIONS_H
#define TESTS_SIM_OPTIONS_H

#include <stddef.h>

struct option_key {
    const char *name; /* NULL ends a table */
    enum { TIME, RATE, SIZE, COUNT, COUNT32, FLAG, SHARE } kind;
    size_t at; /* where the value goes */
};

extern const struct option_key options_engine[]; /* of struct ltp_config */
extern const struct option_key options_span[];   /* of struct ltp_span */
extern const struct option_key options_line[];   /* of struct chan_config */

/* 1: stored; 0: no such key; -1: a wrong value. */
int options_set(const struct option_key *keys, void *config, const char *key, const char *value);

#endif
