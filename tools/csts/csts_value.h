/* SPDX-License-Identifier: Apache-2.0 */
/* Values of parameters as text and as BER; times and refusals as text. */
#ifndef TOOLS_CSTS_VALUE_H
#define TOOLS_CSTS_VALUE_H

#include <jansson.h>

#include "csts/engine.h"

enum figure_type {
    FIGURE_INTEGER,
    FIGURE_ENUMERATED,
    FIGURE_REAL,
    FIGURE_BOOLEAN,
    FIGURE_TEXT,
    FIGURE_EVENT, /* no parameter: notified when its value, an integer, changes */
    FIGURE_TYPES
};
extern const char *const figure_types[FIGURE_TYPES + 1]; /* their names; NULL ends them */

#define FIGURE_TEXT_MAX 1024 /* octets of a value's text */

/* BER of the text; octets written, 0: it is no value of this type. 1,100 are always enough. */
size_t figure_encode(enum figure_type type, const char *text, uint8_t *out, size_t room);
/* What one BER value of a universal type is: a number, a boolean, a string; of others, and of what
 * is none, their octets in hexadecimal digits. NULL: memory is out. */
json_t *figure_decode(struct slice in);

enum { CSTS_TIME_TEXT = 64 };
/* Writes the time in UTC with microseconds. Returns out. */
const char *csts_time_text(struct sle_time t, char out[CSTS_TIME_TEXT]);
/* The production status of a NOTIFY of its change; NULL: none that is known. */
const char *csts_production_of(const struct csts_notify *n);
const char *csts_production_text(enum csts_production production); /* static */
/* Writes why a return is negative into out[cap]. Returns out. */
const char *csts_refusal_text(const struct csts_diagnostic *d, char *out, size_t cap);

#endif
