/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each text (of the file or an option) becomes a tree that is applied to the settings: `both`
 * first, then `forward` and `return`, in any order of the file. All errors of a text are collected.
 * What can go wrong: unknown keys, invalid values, trace files that cannot be read, memory.
 */
#include "channel-emu/scenario/scenario.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/rng.h"

#define AT(field) offsetof(struct scenario, field)
#define KEY_PARTS_MAX 6
#define KEY_CAP 128

static const struct conf_option top[] = {
    {.key = "seed", .type = OPTION_COUNT, .offset = AT(seed), .initial = "1", .max = INT64_MAX},
    {.key = "overhead", .type = OPTION_SIZE, .offset = AT(overhead), .initial = "42", .max = 65535},
    {.key = "drop_log", .type = OPTION_TEXT, .offset = AT(drop_log), .initial = ""},
    {.key = "pcap_before", .type = OPTION_TEXT, .offset = AT(pcap_before), .initial = ""},
    {.key = "pcap_after", .type = OPTION_TEXT, .offset = AT(pcap_after), .initial = ""},
    {.key = "tolerance",
     .type = OPTION_DURATION,
     .offset = AT(tolerance),
     .initial = "0",
     .max = 3600 * TICK_S},
    {.key = "exempt",
     .type = OPTION_CHOICE,
     .offset = AT(exempt),
     .choices = "none|signalling",
     .initial = "none"},
    {.key = NULL},
};
static const char *const outputs[] = {"drop_log", "pcap_before", "pcap_after"};
static const char *const directions[] = {"both", "forward", "return", NULL};

int scenario_init(struct scenario *s)
{
    *s = (struct scenario){.seed = 0};
    int rc = conf_options_default(top, s, conf_option_set);
    for (int i = 0; i < 2 && rc == 0; i++)
        rc = scenario_direction_init(&s->directions[i]);
    if (rc < 0)
        scenario_fini(s);
    return rc;
}

void scenario_fini(struct scenario *s)
{
    conf_options_free(top, s);
    for (int i = 0; i < 2; i++)
        scenario_direction_fini(&s->directions[i]);
}

char *scenario_path(const char *directory, const char *path)
{
    size_t n = *path == '/' || *path == '\0' ? 0 : strlen(directory), m = strlen(path);
    char *out = malloc(n + m + 1);
    if (out == NULL)
        return NULL;
    memcpy(out, directory, n);
    memcpy(out + n, path, m + 1);
    return out;
}

/* Of those outputs that this map names. */
static void make_relative(struct scenario *s, const struct conf_tree *map, const char *directory,
                          struct conf_errors *errors)
{
    char **const texts[] = {&s->drop_log, &s->pcap_before, &s->pcap_after};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (conf_child(map, outputs[i]) == NULL || *texts[i] == NULL)
            continue;
        char *path = scenario_path(directory, *texts[i]);
        if (path == NULL) {
            conf_no_memory(errors, 0);
            return;
        }
        free(*texts[i]);
        *texts[i] = path;
    }
}

void scenario_apply_tree(struct scenario *s, const struct conf_tree *root, const char *outer,
                         const struct conf_part *more, const char *const *words,
                         const char *directory, struct conf_errors *errors)
{
    if (root->kind != CONF_MAP) {
        conf_error(errors, root->line, "%s is not expected here; write a map with the keys %s",
                   conf_kind_name(root->kind), "forward, return, both");
        return;
    }
    struct conf_part parts[2] = {{.options = top, .base = s}};
    if (more != NULL)
        parts[1] = *more;
    conf_section_read(root, outer, parts, more != NULL ? 2 : 1, words, errors);
    make_relative(s, root, directory, errors);
    for (int i = 0; i < 3; i++) {
        char where[64];
        const struct conf_tree *map = conf_map(root, outer, directions[i], errors);
        if (map == NULL)
            continue;
        snprintf(where, sizeof where, "%.50s%s.", outer, directions[i]);
        if (i != 2)
            scenario_direction_read(s, SCENARIO_FORWARD, map, where, directory, errors);
        if (i == 2 || (i == 0 && errors->total == 0)) /* an error of `both` is reported once */
            scenario_direction_read(s, SCENARIO_RETURN, map, where, directory, errors);
    }
}

static void apply_tree(struct scenario *s, const struct conf_tree *root, const char *directory,
                       struct conf_errors *errors)
{
    scenario_apply_tree(s, root, "", NULL, directions, directory, errors);
}

int scenario_apply(struct scenario *s, const char *data, size_t len, const char *directory,
                   struct conf_errors *errors)
{
    size_t before = errors->total;
    struct conf_tree *root = conf_tree_parse(
        data, len, "it needs at least one of the keys forward, return, both", errors);
    if (root != NULL && !conf_is_foreign(root, "helio-emu", errors))
        apply_tree(s, root, directory, errors);
    conf_tree_free(root);
    return errors->total == before ? 0 : conf_errors_code(errors);
}

char *scenario_directory(const char *path)
{
    size_t n = strlen(path);
    while (n > 0 && path[n - 1] != '/')
        n--;
    char *relative = n == 0 ? strdup(".") : strndup(path, n);
    char *real = relative == NULL ? NULL : realpath(relative, NULL);
    char *out = real == NULL ? NULL : malloc(strlen(real) + 2);
    if (out != NULL)
        sprintf(out, "%s/", real);
    free(relative);
    free(real);
    return out;
}

int scenario_load(struct scenario *s, const char *path, struct conf_errors *errors)
{
    size_t len;
    char *data = conf_file_read(path, &len, errors);
    char *directory = data == NULL ? NULL : scenario_directory(path);
    if (data != NULL && directory == NULL)
        conf_error(errors, 0, "its directory: %s", strerror(errno));
    const int rc = directory != NULL ? scenario_apply(s, data, len, directory, errors)
                                     : conf_errors_code(errors);
    free(directory);
    free(data);
    return rc;
}

/* The tree of one key: a chain of maps that ends in the value. */
int scenario_set(struct scenario *s, const char *key, const char *value, bool plain,
                 struct conf_errors *errors)
{
    char words[KEY_CAP], text[4096];
    struct conf_tree chain[KEY_PARTS_MAX + 1] = {{.kind = CONF_MAP}}, *parsed = NULL;
    size_t depth = 0, before = errors->total;
    snprintf(words, sizeof words, "%s", key);
    snprintf(text, sizeof text, "%s", value);
    if (strlen(key) >= sizeof words || strlen(value) >= sizeof text) {
        conf_error(errors, 0, "too long; use a scenario file");
        return HELIO_EFORMAT;
    }
    char *rest = words;
    for (char *word; depth < KEY_PARTS_MAX && (word = strsep(&rest, ".")) != NULL; depth++) {
        chain[depth].first = &chain[depth + 1];
        chain[depth + 1] = (struct conf_tree){.kind = CONF_MAP, .key = word};
    }
    struct conf_tree *last = &chain[depth];
    if (!plain && *value != '\0') {
        parsed = conf_tree_parse(value, strlen(value), "it needs a value", errors);
        if (parsed == NULL)
            return HELIO_EFORMAT;
        last->kind = parsed->kind;
        last->text = parsed->text;
        last->first = parsed->first;
    } else {
        last->kind = CONF_SCALAR;
        last->text = text;
    }
    apply_tree(s, &chain[0], "", errors);
    conf_tree_free(parsed);
    return errors->total == before ? 0 : conf_errors_code(errors);
}

static void check_direction(const struct scenario_direction *w,
                            const struct scenario_direction *other, const char *where,
                            struct conf_errors *errors)
{
    scenario_queue_suit(w, other, where, errors);
    if (w->off == 1 && w->window_count == 0)
        conf_error(errors, w->line.off_contact,
                   "%soff_contact: hold needs contacts or outages; write %scontacts", where, where);
    if ((w->burst.good == 0) != (w->burst.bad == 0))
        conf_error(errors, w->line.burst,
                   "%serasures.gilbert_elliott: good and bad need a mean duration each", where);
    if (w->trace.source.on && !w->trace.loop &&
        w->trace.offset > w->trace.source.trace.steps * w->trace.source.trace.step)
        conf_error(errors, w->line.offset,
                   "%serasures.trace.offset: beyond the end of the trace; write a shorter one",
                   where);
    scenario_changes_suit(w, where, errors);
    scenario_power_suit(w, where, errors);
}

static void check_outputs(const struct scenario *s, struct conf_errors *errors)
{
    const char *const paths[] = {s->drop_log, s->pcap_before, s->pcap_after};
    for (size_t i = 1; i < sizeof paths / sizeof *paths; i++) {
        for (size_t j = 0; j < i; j++) {
            if (*paths[i] != '\0' && strcmp(paths[i], paths[j]) == 0)
                conf_error(errors, 0, "%s: the file of %s; write another one", outputs[i],
                           outputs[j]);
        }
    }
}

int scenario_check(const struct scenario *s, struct conf_errors *errors)
{
    size_t before = errors->total;
    check_outputs(s, errors);
    check_direction(&s->directions[SCENARIO_FORWARD], &s->directions[SCENARIO_RETURN], "forward.",
                    errors);
    check_direction(&s->directions[SCENARIO_RETURN], &s->directions[SCENARIO_FORWARD], "return.",
                    errors);
    return errors->total == before ? 0 : conf_errors_code(errors);
}

tick scenario_origin(const struct scenario_direction *w, tick started, tick wall)
{
    /* A time of day before the clock's zero becomes zero. */
    tick since = w->start_time - wall, ago = wall - w->start_time;
    return w->start == START_AFTER ? tick_add(started, w->start_time)
           : w->start_time >= wall ? tick_add(started, since)
           : ago <= started        ? started - ago
                                   : 0;
}

struct chan_config scenario_chan(const struct scenario *s, int direction, tick started, tick wall)
{
    const struct scenario_direction *w = &s->directions[direction];
    return (struct chan_config){
        .rate_bps = w->rate_bps,
        .overhead = (uint32_t)s->overhead,
        .queue_bytes = w->queue_bytes,
        .queue_time = w->queue_time,
        .codel_target = w->codel.target,
        .codel_interval = w->rate_bps > 0 ? w->codel.interval : 0,
        .codel_marks = w->codel.ecn,
        .mark_above = w->rate_bps > 0 ? w->mark : 0,
        .delay = w->delay,
        .points = w->points,
        .point_count = w->point_count,
        .jitter = w->jitter,
        .jitter_in_order = !w->reorder,
        .jitter_law = w->law.on ? &w->law.values : NULL,
        .origin = scenario_origin(w, started, wall),
        .origin_first = w->start == START_FIRST,
        .windows = w->windows,
        .window_count = w->window_count,
        .windows_off = w->windows_off,
        .hold = w->off == 1,
        .trace = w->trace.source.on ? &w->trace.source.trace : NULL,
        .trace_offset = w->trace.offset,
        .trace_no_loop = !w->trace.loop,
        .start_only = w->frame == 1,
        .power = w->power.power.len > 0 ? &w->power.power : NULL,
        .burst = w->burst,
        .loss = w->iid,
        .duplicate = w->duplicate,
        .corrupt = w->corrupt,
        .bit_error_rate = w->bit_errors,
        .seed = rng_named(s->seed, directions[1 + direction]),
        .changes = w->changes,
        .change_count = w->change_count,
    };
}
