/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file has the keys of one relay, and for its directions `both`, `forward` and `return`: the
 * latter two override the first. What can go wrong: unknown keys, invalid values, a missing or
 * unknown address, memory.
 */
#include "channel-emu/wan/wan_settings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define LIMIT_MOST (UINT64_C(64) << 30)

static const struct conf_option top_table[] = {
    {"listen", OPTION_TEXT, offsetof(struct wan_settings, listen), "", 0, 0, NULL, NULL},
    {"to", OPTION_TEXT, offsetof(struct wan_settings, to), "", 0, 0, NULL, NULL},
    {"connections", OPTION_COUNT, offsetof(struct wan_settings, connections), "16", 1,
     WAN_CONNECTIONS_MAX, NULL, NULL},
    {NULL, OPTION_COUNT, 0, NULL, 0, 0, NULL, NULL},
};
static const char *const top_words[] = {"both", "forward", "return", NULL};
static const struct conf_option direction_table[] = {
    {"rate", OPTION_RATE, offsetof(struct wan_config, rate_bps), "unlimited", 1, 0, "unlimited",
     NULL},
    {"delay", OPTION_DURATION, offsetof(struct wan_config, delay), "0", 0, WAN_DELAY_MAX, NULL,
     NULL},
    {"limit", OPTION_SIZE, offsetof(struct wan_config, limit_bytes), "auto", WAN_LIMIT_LEAST,
     LIMIT_MOST, "auto", NULL},
    {NULL, OPTION_COUNT, 0, NULL, 0, 0, NULL, NULL},
};
static const char *const direction_words[] = {"stalls", NULL};
struct window {
    tick from, to;
};
static const struct conf_option window_table[] = {
    {"from", OPTION_DURATION, offsetof(struct window, from), NULL, 0, 0, NULL,
     "when the line stops"},
    {"to", OPTION_DURATION, offsetof(struct window, to), NULL, 0, 0, NULL, "when it goes on"},
    {NULL, OPTION_COUNT, 0, NULL, 0, 0, NULL, NULL},
};

int wan_settings_init(struct wan_settings *s)
{
    *s = (struct wan_settings){.realtime = true};
    int r = conf_options_default(top_table, s, conf_option_set);
    for (int i = 0; i < 2 && r == 0; i++)
        r = conf_options_default(direction_table, &s->directions[i], conf_option_set);
    return r;
}

void wan_settings_fini(struct wan_settings *s)
{
    conf_options_free(top_table, s);
    for (int i = 0; i < 2; i++)
        wan_stalls_fini(&s->directions[i].stalls);
}

/* ---- stalls ---- */

static void read_windows(const struct conf_tree *list, const char *where, struct wan_stalls *out,
                         struct conf_errors *errors)
{
    const struct conf_part part = {window_table, NULL, NULL};
    wan_stalls_fini(out);
    for (const struct conf_tree *t = list->first; t != NULL; t = t->next) {
        struct window w = {0, 0};
        struct conf_part here = part;
        size_t before = errors->total;
        here.base = &w;
        if (t->kind != CONF_MAP) {
            conf_error(errors, t->line, "%sstalls: write a map such as {from: 2s, to: 2200ms}",
                       where);
            return;
        }
        conf_section_read(t, where, &here, 1, NULL, errors);
        int r = errors->total == before ? wan_stalls_add(out, w.from, w.to) : 0;
        if (r == HELIO_ENOMEM)
            conf_no_memory(errors, t->line);
        else if (r < 0)
            conf_error(errors, t->line,
                       "%sstalls: each window ends after it begins and begins after the one before "
                       "it ends; at most %u of them",
                       where, WAN_WINDOWS_MAX);
    }
}

static void read_stalls(const struct conf_tree *direction, const char *where,
                        struct wan_stalls *out, struct conf_errors *errors)
{
    const struct conf_tree *t = conf_child(direction, "stalls");
    const char *hint = "";
    if (t == NULL)
        return;
    if (t->kind == CONF_LIST) {
        read_windows(t, where, out, errors);
        return;
    }
    int r = t->kind == CONF_SCALAR ? wan_stalls_parse(out, t->text, &hint) : HELIO_EFORMAT;
    if (r == HELIO_ENOMEM)
        conf_no_memory(errors, t->line);
    else if (t->kind != CONF_SCALAR)
        conf_error(errors, t->line, "%sstalls: a map is not expected here; write a list of windows",
                   where);
    else if (r < 0)
        conf_error(errors, t->line, "%sstalls: \"%s\" is not understood; %s", where, t->text, hint);
}

static void forget_lines(struct conf_tree *t)
{
    for (; t != NULL; t = t->next) {
        t->line = 0;
        forget_lines(t->first);
    }
}

/* ---- the file ---- */

static void read_direction(const struct conf_tree *root, const char *key, struct wan_config *out,
                           struct conf_errors *errors)
{
    char where[16];
    const struct conf_tree *map = conf_map(root, "", key, errors);
    const struct conf_part part = {direction_table, out, NULL};
    if (map == NULL)
        return;
    snprintf(where, sizeof where, "%s.", key);
    conf_section_read(map, where, &part, 1, direction_words, errors);
    read_stalls(map, where, &out->stalls, errors);
}

static void read_root(struct wan_settings *s, const struct conf_tree *root,
                      struct conf_errors *errors)
{
    const struct conf_part part = {top_table, s, NULL};
    if (root->kind != CONF_MAP) {
        conf_error(errors, root->line, "%s is not expected here; write a map of settings",
                   conf_kind_name(root->kind));
        return;
    }
    conf_section_read(root, "", &part, 1, top_words, errors);
    size_t before = errors->total;
    for (int i = 0; i < 2; i++)
        if (errors->total == before)
            read_direction(root, "both", &s->directions[i], errors);
    read_direction(root, "forward", &s->directions[WAN_FORWARD], errors);
    read_direction(root, "return", &s->directions[WAN_RETURN], errors);
}

/* ---- a change ---- */

struct stall {
    tick lasts;
};
static const struct conf_option stall_table[] = {
    {"stall", OPTION_DURATION, offsetof(struct stall, lasts), "0", 0, WAN_DELAY_MAX, NULL, NULL},
    {NULL, OPTION_COUNT, 0, NULL, 0, 0, NULL, NULL},
};
static const char change_lacks[] = "write a change such as forward: {rate: 50Mbit/s}";

static void read_change(struct wan_change *c, int i, const struct conf_tree *root, const char *key,
                        struct conf_errors *errors)
{
    char where[16];
    const struct conf_tree *map = conf_map(root, "", key, errors);
    struct stall stall = {c->stall[i]};
    const struct conf_part parts[] = {{direction_table, &c->directions[i], NULL},
                                      {stall_table, &stall, NULL}};
    if (map == NULL)
        return;
    snprintf(where, sizeof where, "%s.", key);
    conf_section_read(map, where, parts, 2, direction_words, errors);
    c->stall[i] = stall.lasts;
    c->stalls[i] = c->stalls[i] || conf_child(map, "stalls") != NULL;
    read_stalls(map, where, &c->directions[i].stalls, errors);
}

void wan_change_read(struct wan_change *c, const struct wan_settings *s, const char *text,
                     size_t len, struct conf_errors *errors)
{
    struct conf_tree *root = conf_tree_parse(text, len, change_lacks, errors);
    for (int i = 0; i < 2; i++) {
        c->directions[i] = s->directions[i];
        c->directions[i].stalls = (struct wan_stalls){.len = 0};
        c->stalls[i] = false;
        c->stall[i] = TICK_NEVER;
    }
    forget_lines(root);
    if (root != NULL && root->kind != CONF_MAP)
        conf_error(errors, 0, "%s is not expected here; %s", conf_kind_name(root->kind),
                   change_lacks);
    if (root != NULL && root->kind == CONF_MAP) {
        conf_section_read(root, "", NULL, 0, top_words, errors);
        size_t before = errors->total;
        for (int i = 0; i < 2; i++)
            if (errors->total == before)
                read_change(c, i, root, "both", errors);
        read_change(c, WAN_FORWARD, root, "forward", errors);
        read_change(c, WAN_RETURN, root, "return", errors);
    }
    conf_tree_free(root);
}

void wan_change_lay(struct wan_change *c, struct wan_settings *s)
{
    for (int i = 0; i < 2; i++) {
        struct wan_stalls before = s->directions[i].stalls;
        struct wan_stalls *spare = c->stalls[i] ? &before : &c->directions[i].stalls;
        struct wan_stalls then = c->stalls[i] ? c->directions[i].stalls : before;
        wan_stalls_fini(spare);
        s->directions[i] = c->directions[i];
        s->directions[i].stalls = then;
        c->directions[i].stalls = (struct wan_stalls){.len = 0};
    }
}

void wan_change_fini(struct wan_change *c)
{
    for (int i = 0; i < 2; i++)
        wan_stalls_fini(&c->directions[i].stalls);
}

/* ---- the file as a whole ---- */

static const char lacks[] = "it needs at least the keys listen and to";

void wan_settings_lay(struct wan_settings *s, const char *text, struct conf_errors *errors)
{
    struct conf_tree *root = conf_tree_parse(text, strlen(text), lacks, errors);
    forget_lines(root);
    if (root != NULL)
        read_root(s, root, errors);
    conf_tree_free(root);
}

void wan_settings_load(struct wan_settings *s, const char *path, struct conf_errors *errors)
{
    size_t len = 0;
    char *text = conf_file_read(path, &len, errors);
    struct conf_tree *root = text == NULL ? NULL : conf_tree_parse(text, len, lacks, errors);
    s->file = path;
    if (root != NULL)
        read_root(s, root, errors);
    conf_tree_free(root);
    free(text);
}

static void resolve_one(const char *text, const char *key, struct address *out,
                        struct conf_errors *errors)
{
    char why[256];
    if (text == NULL || *text == '\0')
        conf_error(errors, 0, "%s is missing; write ADDRESS:PORT, such as 127.0.0.1:5100", key);
    else if (address_resolve(text, out, why, sizeof why) < 0)
        conf_error(errors, 0, "%s: \"%s\" %s", key, text, why);
    else if (address_port(out) == 0)
        conf_error(errors, 0, "%s: \"%s\" has no port; write one from 1 to 65535", key, text);
}

void wan_settings_check(struct wan_settings *s, struct conf_errors *errors)
{
    size_t before = errors->total;
    resolve_one(s->listen, "listen", &s->listen_at, errors);
    resolve_one(s->to, "to", &s->to_at, errors);
    if (errors->total == before && address_equal(&s->listen_at, &s->to_at))
        conf_error(errors, 0, "to is the address of listen; streams would go round for ever");
}

/* Beside the limit a flow holds a chunk that is partly taken, and one that is partly filled. */
uint64_t wan_settings_memory(const struct wan_settings *s)
{
    uint64_t sum = 0;
    for (int i = 0; i < 2; i++)
        sum += wan_config_limit(&s->directions[i]) + 2 * WAN_CHUNK_BYTES;
    return sum * s->connections + WAN_POOL_SPARE * WAN_CHUNK_BYTES;
}

/* ---- as a text ---- */

static void print_stalls(const struct wan_stalls *s, FILE *out)
{
    char a[CONF_NUMBER_CAP], b[CONF_NUMBER_CAP];
    if (s->every != 0)
        fprintf(out, "every %s for %s", conf_number_text(OPTION_DURATION, s->every, a),
                conf_number_text(OPTION_DURATION, s->lasts, b));
    else if (s->len == 0)
        fputs("none", out);
    else
        fputc('[', out);
    for (size_t i = 0; i < s->len; i++)
        fprintf(out, "%s{from: %s, to: %s}", i > 0 ? ", " : "",
                conf_number_text(OPTION_DURATION, s->windows[i].from, a),
                conf_number_text(OPTION_DURATION, s->windows[i].to, b));
    if (s->len > 0)
        fputc(']', out);
}

static void print_direction(const struct wan_config *c, const char *name, FILE *out)
{
    char rate[CONF_NUMBER_CAP], delay[CONF_NUMBER_CAP], limit[CONF_NUMBER_CAP];
    fprintf(out, "%s: {rate: %s, delay: %s, limit: %s, stalls: ", name,
            c->rate_bps == 0 ? "unlimited" : conf_number_text(OPTION_RATE, c->rate_bps, rate),
            conf_number_text(OPTION_DURATION, c->delay, delay),
            conf_number_text(OPTION_SIZE, wan_config_limit(c), limit));
    print_stalls(&c->stalls, out);
    fputs("}\n", out);
}

void wan_settings_print(const struct wan_settings *s, FILE *out)
{
    fprintf(out, "listen: \"%s\"\nto: \"%s\"\nconnections: %" PRIu64 "\n", s->listen, s->to,
            s->connections);
    print_direction(&s->directions[WAN_FORWARD], "forward", out);
    print_direction(&s->directions[WAN_RETURN], "return", out);
    fprintf(out, "# memory of octets under way: at most %.1f MB\n",
            (double)wan_settings_memory(s) / 1e6);
}
