/* SPDX-License-Identifier: Apache-2.0 */
/* Private: what the files that read a provider's configuration share. */
#ifndef TOOLS_SLE_SETTINGS_PRIVATE_H
#define TOOLS_SLE_SETTINGS_PRIVATE_H

#include "tools/sle/sle_settings.h"

struct reading {
    struct settings *s;
    struct conf_errors *errors;
};

/* An error at the line of the key: what it has, and what it should have. */
void settings_wrong(struct reading *r, const struct conf_tree *map, const char *where,
                    const char *key, const char *value, const char *want);
/* Cuts the text at blanks; how many words there are, `max` at most are in `out`. */
size_t settings_cut(char *text, const char **out, size_t max);
/* One of an instance's events (struct settings_event), whose keys are set. */
void settings_read_event(struct reading *r, const struct conf_tree *map, void *item);
void settings_free_events(struct settings_instance *i);

/* The keys, by section (sle_settings_tables.c). */
extern const struct conf_option settings_top[], settings_tml[], settings_http[], settings_users[],
    settings_sources[], settings_instances[], settings_events[];

#endif
