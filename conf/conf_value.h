/* SPDX-License-Identifier: Apache-2.0 */
/* What a key of a configuration, or an option of a command line, means, and one value by that
 * description. */
#ifndef CONF_CONF_VALUE_H
#define CONF_CONF_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tick.h"

/* Kinds of configuration values; the type of the field at `offset` is given in brackets. */
enum option_type {
    OPTION_TEXT,     /* [char *] owned by the configuration */
    OPTION_DURATION, /* [tick] */
    OPTION_RATE,     /* [uint64_t] bit/s, 0 = unlimited, which only the word of that name writes:
                        its min is 1, and `choices` "unlimited" where that is allowed */
    OPTION_SIZE,     /* [uint64_t] bytes */
    OPTION_COUNT,    /* [uint64_t] */
    OPTION_BOOL,     /* [bool] yes/no, true/false */
    OPTION_CHOICE,   /* [int] index into choices, separated by "|" */
    OPTION_EID,      /* [struct eid]; read by the program's own setter */
    OPTION_ADDRESS,  /* [struct address] HOST:PORT or [V6]:PORT, numeric; likewise. The port may
                        be left away when min has one */
    OPTION_HOST,     /* [struct host_address] likewise, or NAME:PORT */
    OPTION_SHARE,    /* [double] a share or a probability, 0 to 1; max SHARE_BELOW_1: not 1 */
    OPTION_TIME,     /* [tick] a moment; read by the program's own setter */
    OPTION_FILE,     /* as OPTION_TEXT: path of a file that is read */
    OPTION_SECRET,   /* likewise: a text that not all users may read, and so its file */
    OPTION_PLACE,    /* likewise: path of a file or folder that the program creates or writes */
    OPTION_SOCKET,   /* likewise: path of a UNIX socket that the program creates */
    OPTION_WORDS,    /* likewise: one value, or a list of values, which get blanks between them */
};

static inline bool option_is_text(enum option_type type)
{
    return type == OPTION_TEXT || type == OPTION_FILE || type == OPTION_PLACE ||
           type == OPTION_SOCKET || type == OPTION_SECRET || type == OPTION_WORDS;
}

/* As `max` of a choice that is a group's mode (conf_groups.h), and "off" if it is not given: keys
 * of the group without a mode would do nothing, and are a mistake. */
#define CONF_MODE_NEEDED 1
/* As `max` of a share, such as one of losses. */
#define SHARE_BELOW_1 1

struct conf_option {
    const char *key;
    enum option_type type;
    size_t offset;       /* of the field in the configuration struct */
    const char *initial; /* default as a person would write it; NULL: the key is required */
    uint64_t min, max;   /* of durations (ns), rates, sizes, counts; max 0 = no limit */
    const char *choices; /* of a number: a word that means 0, also outside the range; several, as
                            a|b, are read by the program's own setter */
    const char *help;    /* one line for the reference; NULL: of a command line */
};

/* Writes the value of `text` into the field of `base`. Returns 0; HELIO_EFORMAT with what is wrong
 * and what would be right in why[cap], the field unchanged; HELIO_ENOMEM. An earlier text of the
 * field is freed. */
typedef int conf_setter(const struct conf_option *o, void *base, const char *text, char *why,
                        size_t cap);

/* The setter of all types but those that a program reads itself. */
conf_setter conf_option_set;

/* Every option with a default gets it. The tables' defaults are ours: a wrong one is asserted. 0 or
 * HELIO_ENOMEM. */
int conf_options_default(const struct conf_option *options, void *base, conf_setter *set);

/* Frees the texts. */
void conf_options_free(const struct conf_option *options, void *base);

const struct conf_option *conf_option_find(const struct conf_option *options, const char *key);

/* A number in the unit that gives the smallest whole figure: 30ms, 500Mbit/s. */
#define CONF_NUMBER_CAP 32
char *conf_number_text(enum option_type type, uint64_t v, char out[CONF_NUMBER_CAP]);

#endif
