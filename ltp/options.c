/* SPDX-License-Identifier: Apache-2.0 */
/* The table as an array, and what is done by its lines. What can go wrong is a value that a person
 * wrote: of another unit, or out of its range. */
#include "ltp/options.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/units.h"

#define FIELD_SIZE(field) sizeof(((struct ltp_span *)0)->field)
#define ROW(group, name, unit, field, part, initial, least, most, word, help)                      \
    {group,                                                                                        \
     #name,                                                                                        \
     LTP_OPTION_##unit,                                                                            \
     LTP_OPTION_##part,                                                                            \
     offsetof(struct ltp_span, field),                                                             \
     FIELD_SIZE(field),                                                                            \
     initial,                                                                                      \
     least,                                                                                        \
     most,                                                                                         \
     word,                                                                                         \
     help},
const struct ltp_option ltp_options[] = {LTP_OPTIONS(ROW){0}};
#undef ROW

/* A field has room for each value of its range. */
#define FITS(group, name, unit, field, part, initial, least, most, word, help)                     \
    static_assert(LTP_OPTION_##unit == LTP_OPTION_FLAG ? FIELD_SIZE(field) == sizeof(bool)         \
                  : FIELD_SIZE(field) == sizeof(uint64_t)                                          \
                      ? true                                                                       \
                      : FIELD_SIZE(field) == sizeof(uint32_t) &&                                   \
                            LTP_OPTION_##unit != LTP_OPTION_TIME &&                                \
                            (most)-UINT64_C(1) < UINT32_MAX,                                       \
                  #name);
LTP_OPTIONS(FITS)
#undef FITS

#define CONFIG_SIZE(field) sizeof(((struct ltp_config *)0)->field)
#define FITS(key, name, unit, field, initial, least, most, help)                                   \
    static_assert(CONFIG_SIZE(field) == sizeof(uint64_t) ||                                        \
                      (CONFIG_SIZE(field) == sizeof(uint32_t) &&                                   \
                       LTP_OPTION_##unit == LTP_OPTION_COUNT && (most)-UINT64_C(1) < UINT32_MAX),  \
                  key);
LTP_ENGINE_OPTIONS(FITS)
#undef FITS

static bool is_named(const struct ltp_option *o, const char *name)
{
    const char *a = o->name;
    for (; *a != '\0' && (*a == *name || (*a == '_' && *name == '-')); a++)
        name++;
    return *a == '\0' && *name == '\0';
}

const struct ltp_option *ltp_option_find(const char *name)
{
    for (const struct ltp_option *o = ltp_options; o->name != NULL; o++)
        if (is_named(o, name))
            return o;
    return NULL;
}

static int parse_value(const struct ltp_option *o, const char *text, uint64_t *out)
{
    switch (o->unit) {
    case LTP_OPTION_TIME:
        return units_duration(text, out);
    case LTP_OPTION_BYTES:
        return units_size(text, out);
    case LTP_OPTION_COUNT:
        return units_count(text, UINT64_MAX, out);
    case LTP_OPTION_FLAG:
        *out = strcmp(text, "yes") == 0;
        return *out == 1 || strcmp(text, "no") == 0 ? 0 : HELIO_EFORMAT;
    }
    return HELIO_EFORMAT;
}

void ltp_option_put(const struct ltp_option *o, struct ltp_span *span, uint64_t value)
{
    char *at = (char *)span + o->at;
    const uint32_t narrow = (uint32_t)value;
    const bool flag = value != 0;
    if (o->size == sizeof flag)
        memcpy(at, &flag, sizeof flag);
    else if (o->size == sizeof narrow)
        memcpy(at, &narrow, sizeof narrow);
    else
        memcpy(at, &value, sizeof value);
}

int ltp_option_set(const struct ltp_option *o, struct ltp_span *span, const char *text)
{
    uint64_t value = 0;
    if (parse_value(o, text, &value) != 0)
        return HELIO_EFORMAT;
    if (o->unit != LTP_OPTION_FLAG && (value < o->least || (o->most != 0 && value > o->most)))
        return HELIO_EINVAL;
    ltp_option_put(o, span, value);
    return 0;
}

/* The switch's field, if it is one of these parts. */
static char *switch_at(const struct ltp_option *o, struct ltp_recovery *k, unsigned parts)
{
    return ((unsigned)o->part & parts) == 0
               ? NULL
               : (char *)k + (o->at - offsetof(struct ltp_span, recovery));
}

#define SWITCHES (LTP_OPTION_BOUND | LTP_OPTION_UNSEEN | LTP_OPTION_RECEIVER | LTP_OPTION_SENDER)

void ltp_recovery_keep(struct ltp_recovery *k, unsigned parts)
{
    for (const struct ltp_option *o = ltp_options; o->name != NULL; o++) {
        char *at = switch_at(o, k, SWITCHES & ~parts);
        if (at != NULL)
            memset(at, 0, o->size);
    }
}

bool ltp_recovery_has(const struct ltp_recovery *k, unsigned parts)
{
    static const char off[sizeof(uint64_t)];
    struct ltp_recovery copy = *k;
    for (const struct ltp_option *o = ltp_options; o->name != NULL; o++) {
        const char *at = switch_at(o, &copy, SWITCHES & parts);
        if (at != NULL && memcmp(at, off, o->size) != 0)
            return true;
    }
    return false;
}
