/* SPDX-License-Identifier: Apache-2.0 */
/* A map of the file against tables of options: the part that every section shares. */
#ifndef CONF_CONF_SECTION_H
#define CONF_CONF_SECTION_H

#include "conf/conf_tree.h"
#include "conf/conf_value.h"

/* One table with the struct that its offsets mean. */
struct conf_part {
    const struct conf_option *options;
    void *base;
    conf_setter *set; /* NULL: conf_option_set */
};

#define CONF_FILE_MAX (UINT32_C(1) << 20)

/* All of a file of at most CONF_FILE_MAX bytes, the caller's to free; its length in *len. It may be
 * a pipe (os/input_file.h). NULL with an error. */
char *conf_file_read(const char *path, size_t *len, struct conf_errors *errors);

/* The map under the key, or NULL: there is none, it is empty, or it is no map (an error). */
const struct conf_tree *conf_map(const struct conf_tree *root, const char *where, const char *key,
                                 struct conf_errors *errors);

/* The first item of the list of maps under the key, and their number in *n; NULL: there is none, it
 * is empty, or it is wrong or longer than `max` (an error). */
const struct conf_tree *conf_list(const struct conf_tree *root, const char *where, const char *key,
                                  size_t max, size_t *n, struct conf_errors *errors);

/*
 * Sets options from the map. An option of several parts is set in each of them. `words` (NULL or
 * ended by NULL) are keys that the caller reads itself; `where` precedes keys in messages
 * ("store.", "links[to-2]."). Unknown, duplicate, missing and wrong keys are reported, and a list
 * or a value in the map's place. Defaults must have been set before. HELIO_ENOMEM is reported as an
 * error, too.
 */
void conf_section_read(const struct conf_tree *map, const char *where,
                       const struct conf_part *parts, size_t parts_len, const char *const *words,
                       struct conf_errors *errors);

/* Is this the file of another program of these: heliod, helio-lab, helio-campaign, helio-emu? Then
 * that is reported. program: whose files these should be. */
bool conf_is_foreign(const struct conf_tree *root, const char *program, struct conf_errors *errors);

/* Stands a key of that name before t in its map? Then it is reported, with `where` in front. */
bool conf_is_second(const struct conf_tree *map, const struct conf_tree *t, const char *where,
                    struct conf_errors *errors);

#endif
