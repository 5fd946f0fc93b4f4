/* SPDX-License-Identifier: Apache-2.0 */
/* Unsigned 64-bit numbers in JSON. The library's integers are signed, and many readers' are shorter
 * than 64 bits: what is beyond them is a text of its decimal digits. */
#ifndef CONF_JSON_NUMBER_H
#define CONF_JSON_NUMBER_H

#include <inttypes.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

static inline json_t *json_number(uint64_t value)
{
    char text[24];
    if (value <= INT64_MAX)
        return json_integer((json_int_t)value);
    snprintf(text, sizeof text, "%" PRIu64, value);
    return json_string(text);
}

/* Members of the object. */
static inline void json_put_number(json_t *o, const char *key, uint64_t value)
{
    json_object_set_new(o, key, json_number(value));
}

static inline void json_put_text(json_t *o, const char *key, const char *text)
{
    json_object_set_new(o, key, json_string(text));
}

#endif
