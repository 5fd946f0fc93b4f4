/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of keys. A key "recovery.copies" of a table is written as `recovery: {copies: 3}` in a
 * file. If the table also has a key "recovery", that is the group's mode: `recovery: own` is a
 * short form of `recovery: {mode: own}`. No key has more than one dot.
 *
 * The name of a key is the part after its dot, or the whole key. A group's map is read as if its
 * keys were in the surrounding map, with their full names.
 */
#ifndef CONF_CONF_GROUPS_H
#define CONF_CONF_GROUPS_H

#include "conf/conf_section.h"

#define CONF_GROUP_MODE "mode"

/* What follows the dot, or the key. */
const char *conf_key_name(const char *key);

/* Length of the group's name in the key: of "recovery.copies", and of "recovery" if other keys of
 * the table are in that group. 0: the key is in no group. */
size_t conf_key_group(const struct conf_option *options, const char *key);

/* "recovery: {copies: …}"; returns out. */
#define CONF_PLACE_CAP 96
const char *conf_key_place(const char *key, char out[CONF_PLACE_CAP]);

/* The option that a person means by a word: its key, "recovery.mode", the name of one option alone
 * ("copies"), or GROUP_NAME ("tls_ca"). NULL: there is none, or more than one. */
const struct conf_option *conf_option_named(const struct conf_option *options, const char *word);

/* Where a key may be written. */
enum conf_places {
    CONF_PLACES_FILE, /* only in the map of its group; elsewhere it is an error */
    CONF_PLACES_ANY   /* a key may be written as conf_option_named knows it: commands */
};

/* A view of a map; it borrows values of the tree. */
struct conf_flat {
    struct conf_tree map;
    struct conf_tree *nodes; /* with keys of their own */
    size_t len;
};

/*
 * Makes a flat view of a map with the keys of `parts`; the last part's table has groups. Keys that
 * are in no table stay in the view. Misplaced keys, unknown keys of a group, and groups that are no
 * map are reported with `where` in front; the view lacks them. The caller must always call
 * conf_flat_fini.
 */
void conf_flat_init(struct conf_flat *f, const struct conf_tree *map, const char *where,
                    const struct conf_part *parts, size_t parts_len, enum conf_places places,
                    struct conf_errors *errors);
void conf_flat_fini(struct conf_flat *f);

/* Takes a key out of the view, which has it: it was reported. Its node stays as it is. */
void conf_flat_drop(struct conf_flat *f, const struct conf_tree *t);

#endif
