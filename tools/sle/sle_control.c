/* SPDX-License-Identifier: Apache-2.0 */
/* A name with “=” is an instance's, others are sources'. What can go wrong: words and values that
 * are unknown, reported with the known ones. */
#include "tools/sle/sle_control.h"

#include <stdio.h>
#include <string.h>

struct word {
    const char *text;
    unsigned value;
};

static const struct word lock_values[] = {
    {"yes", SLE_IN_LOCK}, {"no", SLE_OUT_OF_LOCK}, {"unknown", SLE_LOCK_UNKNOWN}, {NULL, 0}};
static const struct word subcarrier_values[] = {{"yes", SLE_IN_LOCK},
                                                {"no", SLE_OUT_OF_LOCK},
                                                {"unknown", SLE_LOCK_UNKNOWN},
                                                {"not-in-use", SLE_NOT_IN_USE},
                                                {NULL, 0}};
static const struct word production_values[] = {
    {"running", SLE_RUNNING}, {"interrupted", SLE_INTERRUPTED}, {"halted", SLE_HALTED}, {NULL, 0}};
static const struct word uplink_production_values[] = {{"operational", SLE_OPERATIONAL},
                                                       {"configured", SLE_CONFIGURED},
                                                       {"interrupted", SLE_UP_INTERRUPTED},
                                                       {"halted", SLE_UP_HALTED},
                                                       {NULL, 0}};
static const struct word uplink_values[] = {{"nominal", SLE_NOMINAL},
                                            {"no-rf", SLE_NO_RF},
                                            {"no-bit-lock", SLE_NO_BIT_LOCK},
                                            {"not-available", SLE_UPLINK_UNKNOWN},
                                            {NULL, 0}};

/* What there is, and of what: of sources, or of instances. */
static const struct {
    const char *text;
    bool instance;
    enum control_what what;
    const struct word *values; /* NULL: none */
} whats[] = {{"frame-lock", false, CONTROL_FRAME_LOCK, lock_values},
             {"symbol-lock", false, CONTROL_SYMBOL_LOCK, lock_values},
             {"subcarrier-lock", false, CONTROL_SUBCARRIER_LOCK, subcarrier_values},
             {"carrier-lock", false, CONTROL_CARRIER_LOCK, lock_values},
             {"production", false, CONTROL_PRODUCTION, production_values},
             {"end-of-data", false, CONTROL_END, NULL},
             {"production", true, CONTROL_UPLINK_PRODUCTION, uplink_production_values},
             {"uplink", true, CONTROL_UPLINK, uplink_values}};

/* The next word, NUL behind it; false: there is none, or it is too long. */
static bool take_word(struct slice *rest, char *out, size_t cap)
{
    size_t len = 0;
    while (len < rest->len && rest->data[len] != ' ')
        len++;
    if (len == 0 || len >= cap || memchr(rest->data, '\0', len) != NULL)
        return false;
    memcpy(out, rest->data, len);
    out[len] = '\0';
    const size_t used = len + (len < rest->len);
    *rest = slice_of(rest->data + used, rest->len - used);
    return true;
}

static bool want_text(char *why, size_t cap, const char *text)
{
    snprintf(why, cap, "%s", text);
    return false;
}

static bool want_value(char *why, size_t cap, const char *what, const struct word *values)
{
    size_t at = (size_t)snprintf(why, cap, "%s: expected", what);
    for (size_t i = 0; values[i].text != NULL && at < cap; i++)
        at += (size_t)snprintf(why + at, cap - at, "%s %s", i > 0 ? "," : "", values[i].text);
    return false;
}

bool control_parse(struct slice line, struct control_order *out, char *why, size_t why_cap)
{
    char word[32] = "", value[32] = "";
    struct slice rest = line;
    size_t k = 0;
    if (!take_word(&rest, out->name, sizeof out->name) || !take_word(&rest, word, sizeof word))
        return want_text(why, why_cap, "expected NAME WORD VALUE, such as modem carrier-lock no");
    const bool instance = strchr(out->name, '=') != NULL;
    while (k < sizeof whats / sizeof *whats &&
           (whats[k].instance != instance || strcmp(whats[k].text, word) != 0))
        k++;
    if (k == sizeof whats / sizeof *whats)
        return want_text(why, why_cap,
                         instance ? "of an instance: production, uplink"
                                  : "of a source: frame-lock, symbol-lock, subcarrier-lock, "
                                    "carrier-lock, production, end-of-data");
    out->what = whats[k].what;
    out->value = 0;
    const struct word *v = whats[k].values;
    if (v == NULL)
        return rest.len == 0 || want_text(why, why_cap, "end-of-data has no value");
    if (!take_word(&rest, value, sizeof value) || rest.len > 0)
        return want_value(why, why_cap, word, v);
    while (v->text != NULL && strcmp(v->text, value) != 0)
        v++;
    out->value = v->value;
    return v->text != NULL || want_value(why, why_cap, word, whats[k].values);
}

void control_lock(struct sle_locks *locks, enum control_what stage, enum sle_lock lock)
{
    enum sle_lock *const stages[] = {&locks->frame, &locks->symbol, &locks->subcarrier,
                                     &locks->carrier};
    const size_t at = (size_t)stage;
    *stages[at] = lock;
    for (size_t k = 0; k < sizeof stages / sizeof *stages; k++) {
        const bool follows = (lock == SLE_IN_LOCK && k > at) || (lock == SLE_OUT_OF_LOCK && k < at);
        if (follows && *stages[k] != SLE_NOT_IN_USE)
            *stages[k] = lock;
    }
}
