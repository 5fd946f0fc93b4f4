/* SPDX-License-Identifier: Apache-2.0 */
/* Each command is a function that fills the answer. What can go wrong: a line that is not JSON, an
 * unknown command, a name that nothing has. */
#include "node/control/control.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/words.h"
#include "conf/json_number.h"
#include "node/config/config_link.h"
#include "node/control/control_list.h"
#include "node/control/control_words.h"
#include "node/node_log.h"
#include "node/node_meter.h"
#include "node/node_names.h"
#include "node/node_values.h"

#define REFUSALS_TOLD 20 /* lines of the log in … */
#define REFUSALS_PAUSE (10 * TICK_S)
#define FLUSH_MS 200 /* the loop waits at most so long for the log's medium */

/* A word of the request may be cut inside a character: then only ASCII is left. */
static json_t *error_text(const char *why)
{
    char plain[512];
    json_t *text = json_string(why);
    if (text != NULL)
        return text;
    snprintf(plain, sizeof plain, "%s", why);
    for (char *c = plain; *c != '\0'; c++)
        *c = (unsigned char)*c < 0x80 ? *c : '?';
    return json_string(plain);
}

bool control_refuse(struct json_t *out, bool wrong, const char *why)
{
    json_object_set_new(out, "ok", json_false());
    json_object_set_new(out, "error", error_text(why));
    if (wrong)
        json_object_set_new(out, "usage", json_true());
    return false;
}

/* What the node cannot do now. */
static void fail_request(json_t *out, const char *why)
{
    control_refuse(out, false, why);
}

static void fail_words(json_t *out, const char *why)
{
    control_refuse(out, true, why);
}

static void fill_store(const struct node *n, const struct node_sample *sample, json_t *out)
{
    static const char *const words[] = {"sync", "async", "none"};
    json_t *s = json_object();
    json_put_text(s, "durability", words[n->config->store.durability]);
    if (n->storage != NULL)
        json_put_text(s, "path", n->config->store.path);
    node_values_put(sample, IN_STORE, s);
    json_object_set_new(out, "store", s);
}

static void do_status(struct node *n, const json_t *in, json_t *out)
{
    (void)in;
    struct node_sample sample;
    struct link_tally tally;
    node_sample_take(n, &sample);
    node_link_tally(n, &tally);
    json_put_text(out, "version", HELIO_VERSION);
    control_put_eid(n, out, "node", &n->config->node);
    json_object_set_new(out, "clock_step_ms", json_integer(n->clock.step_ms));
    node_values_put(&sample, IN_STATUS, out);
    control_share(n, AGENT_OWN, out);
    control_tally(&tally, out);
    if (n->has_echo)
        control_put_eid(n, out, "echo", &n->echo);
    control_security_counters(n, &sample, out);
    fill_store(n, &sample, out);
}

static void set_ends(json_t *o, const char *key, const uint64_t ended[END_COUNT])
{
    json_t *by_reason = json_object();
    for (int e = 0; e < END_COUNT; e++)
        json_put_number(by_reason, agent_end_text((enum agent_end)e), ended[e]);
    json_object_set_new(o, key, by_reason);
}

static void fill_reasons(const struct agent_counters *c, json_t *o)
{
    json_t *refused = json_object();
    for (int r = 1; r < REFUSE_COUNT; r++)
        if (c->refused[r] > 0)
            json_put_number(refused, agent_refusal_text((enum agent_refusal)r), c->refused[r]);
    set_ends(o, "ended", c->ended);
    set_ends(o, "fragments_ended", c->fragments_ended);
    set_ends(o, "reassemblies_ended", c->reassemblies_ended);
    for (int e = 0; e < END_COUNT; e++) /* also by their own names; of bundles, but delivered */
        if (e != END_DELIVERED && e != END_NOT_STORED)
            json_put_number(o, agent_end_text((enum agent_end)e), c->ended[e]);
    json_object_set_new(o, "refused", refused);
}

/* The balances of struct agent_counters: in = here + ended by reason, each in its own unit. */
static void do_counters(struct node *n, const json_t *in, json_t *out)
{
    (void)in;
    json_t *agent = json_object(), *apps = json_object(), *node = json_object();
    struct node_sample sample;
    node_sample_take(n, &sample);
    node_values_put(&sample, IN_AGENT, agent);
    fill_reasons(sample.c, agent);
    node_values_put(&sample, IN_APPLICATIONS, apps);
    json_put_number(node, "control_gave_way", control_gave_way(n->control));
    node_values_put(&sample, IN_NODE, node);
    json_object_set_new(out, "agent", agent);
    json_object_set_new(out, "applications", apps);
    json_object_set_new(out, "node", node);
}

/* Adds the names of the links, for a request with an unknown name. */
static void fail_link(const struct node *n, json_t *out, const char *name)
{
    char text[512];
    size_t used = (size_t)snprintf(text, sizeof text, "there is no link \"%.64s\"; ", name);
    used += (size_t)snprintf(text + used, sizeof text - used,
                             node_links_count(n) == 0 ? "this node has no links" : "there are:");
    for (size_t i = 0; i < n->links_len && used + 72 < sizeof text; i++)
        if (n->links[i] != NULL)
            used += (size_t)snprintf(text + used, sizeof text - used, " %.64s",
                                     n->links[i]->config->name);
    fail_words(out, text);
}

struct node_link *control_find_link(struct node *n, const char *name, struct json_t *out)
{
    struct node_link *l = node_link_find(n, name);
    if (l == NULL)
        fail_link(n, out, name);
    else if (l->cla == NULL || n->stopping)
        fail_request(out, "the link is closed: the node is stopping");
    return l != NULL && l->cla != NULL && !n->stopping ? l : NULL;
}

static void do_link_remove(struct node *n, const json_t *in, json_t *out)
{
    const char *name = json_string_value(json_object_get(in, "name"));
    struct node_link *l = name == NULL ? NULL : control_find_link(n, name, out);
    if (name == NULL)
        fail_words(out, "link-remove needs a name");
    else if (l != NULL)
        node_link_remove(l);
}

/* Of one that could not be changed none is. */
static int change_routes(struct node *n, const struct node_link *l, const struct eid_patterns *p,
                         bool remove)
{
    int err = 0;
    size_t done = 0;
    for (; done < p->len && err == 0; done += err == 0)
        err = remove ? agent_route_remove(n->agent, &p->at[done], l->index)
                     : agent_route_add(n->agent, &p->at[done], l->index);
    while (err != 0 && done-- > 0)
        (void)(remove ? agent_route_add(n->agent, &p->at[done], l->index)
                      : agent_route_remove(n->agent, &p->at[done], l->index));
    return err;
}

/* Adds or removes a route over a link; waiting bundles are placed again. */
static void do_route(struct node *n, const json_t *in, json_t *out)
{
    const char *what = json_string_value(json_object_get(in, "do"));
    const char *to = json_string_value(json_object_get(in, "to"));
    const char *via = json_string_value(json_object_get(in, "via"));
    bool remove = what != NULL && strcmp(what, "remove") == 0;
    struct eid_patterns p;
    if (what == NULL || to == NULL || via == NULL || (!remove && strcmp(what, "add") != 0)) {
        fail_words(out, "route needs what to do (add or remove), to and via");
        return;
    }
    struct node_link *l = control_find_link(n, via, out);
    if (l == NULL)
        return;
    char why[256];
    if (control_patterns(n, to, &p, why, sizeof why) != 0) {
        fail_words(out, why);
        return;
    }
    int err = change_routes(n, l, &p, remove);
    if (err == 0)
        say(&n->say, LEVEL_INFO, "route to %.64s via %s was %s", to, via,
            remove ? "removed" : "added");
    else
        control_refuse(out, remove,
                       remove ? "there is no such route over this link" : helio_strerror(err));
    node_names_changed(n);
    agent_expire(n->agent, node_now(n));
    node_wake(n);
}

static void do_link(struct node *n, const json_t *in, json_t *out)
{
    const char *name = json_string_value(json_object_get(in, "name"));
    const char *state = json_string_value(json_object_get(in, "state"));
    if (name == NULL || state == NULL || (strcmp(state, "up") != 0 && strcmp(state, "down") != 0)) {
        fail_words(out, "link needs a name and the state up or down");
        return;
    }
    struct node_link *l = control_find_link(n, name, out);
    if (l == NULL)
        return;
    bool up = strcmp(state, "up") == 0;
    l->cla->ops->set_link(l->cla, up);
    /* The adapter reports it later; after "down" no more bundles are given to it. */
    agent_link(n->agent, l->index, up && l->up, node_now(n));
    node_wake(n);
}

/* NUMBER (a session that this node opened), or ORIGINATOR:NUMBER. */
static bool parse_session(const char *text, uint64_t *originator, uint64_t *number)
{
    char first[24] = "0";
    const char *colon = strchr(text, ':');
    if (colon != NULL && (size_t)(colon - text) < sizeof first)
        snprintf(first, sizeof first, "%.*s", (int)(colon - text), text);
    return (colon == NULL || (size_t)(colon - text) < sizeof first) &&
           units_count(first, UINT64_MAX, originator) == 0 && (colon == NULL || *originator != 0) &&
           units_count(colon != NULL ? colon + 1 : text, UINT64_MAX, number) == 0;
}

static void do_cancel(struct node *n, const json_t *in, json_t *out)
{
    const char *name = json_string_value(json_object_get(in, "link"));
    const char *session = json_string_value(json_object_get(in, "session"));
    uint64_t originator = 0, number = 0;
    if (name == NULL || session == NULL || !parse_session(session, &originator, &number)) {
        fail_words(out, "cancel needs a link and a session: its NUMBER, or ORIGINATOR:NUMBER");
        return;
    }
    struct node_link *l = control_find_link(n, name, out);
    if (l == NULL)
        return;
    const int rc = cla_cancel_session(l->cla, originator, number);
    if (rc == HELIO_EINVAL)
        fail_request(out, "this link has no sessions");
    else if (rc != 0)
        fail_request(out, "the link has no such session open");
    node_wake(n);
}

static void do_flush(struct node *n, const json_t *in, json_t *out)
{
    (void)in;
    if (!node_log_any(n))
        fail_request(out, "this node writes no log of segments or bundles");
    else if (node_log_sync(n, FLUSH_MS) < 0)
        fail_request(out, "the log's medium is slow; not all is written yet");
}

static void do_nothing(struct node *n, const json_t *in, json_t *out)
{
    (void)n;
    (void)in;
    (void)out;
}

/* The words of a request, by command; control_words.h. */
static const struct control_word no_words[] = {{0}};
static const struct control_word of_link[] = {{"link", CONTROL_TEXT, 0}, {0}};
static const struct control_word of_bundles[] = {
    {"destination", CONTROL_TEXT, 0}, {"source", CONTROL_TEXT, 0},
    {"link", CONTROL_TEXT, 0},        {"state", CONTROL_TEXT, 0},
    {"sort", CONTROL_TEXT, 0},        {"priority", CONTROL_TEXT, 0},
    {"limit", CONTROL_COUNT, 0},      {0}};
static const struct control_word of_backlog[] = {{"limit", CONTROL_COUNT, 0}, {0}};
static const struct control_word of_events[] = {{"after", CONTROL_NUMBER, 0}, {0}};
static const struct control_word of_why[] = {{"bundle", CONTROL_TEXT, 0}, {0}};
static const struct control_word of_state[] = {
    {"name", CONTROL_TEXT, 0}, {"state", CONTROL_TEXT, 0}, {0}};
static const struct control_word of_delete[] = {
    {"key", CONTROL_NUMBER, 1},    {"destination", CONTROL_TEXT, 2},
    {"source", CONTROL_TEXT, 2},   {"link", CONTROL_TEXT, 2},
    {"priority", CONTROL_TEXT, 2}, {"state", CONTROL_TEXT, 2},
    {"after", CONTROL_COUNT, 2},   {0}};
static const struct control_word of_cancel[] = {
    {"link", CONTROL_TEXT, 0}, {"session", CONTROL_TEXT, 0}, {0}};
static const struct control_word of_route[] = {
    {"do", CONTROL_TEXT, 0}, {"to", CONTROL_TEXT, 0}, {"via", CONTROL_TEXT, 0}, {0}};
static const struct control_word of_change[] = {
    {"name", CONTROL_TEXT, 0}, {"keys", CONTROL_TEXT, 0}, {"file", CONTROL_TEXT, 0}, {0}};
static const struct control_word of_one[] = {{"of", CONTROL_TEXT, 2}, {0}};
static const struct control_word of_name[] = {{"name", CONTROL_TEXT, 0}, {0}};
static const struct control_word of_file[] = {{"file", CONTROL_TEXT, 0}, {0}};
static const struct control_word of_item[] = {{"do", CONTROL_TEXT, 0},   {"keys", CONTROL_TEXT, 1},
                                              {"from", CONTROL_TEXT, 2}, {"to", CONTROL_TEXT, 2},
                                              {"at", CONTROL_TEXT, 2},   {0}};

static const struct command {
    const char *name;
    void (*run)(struct node *n, const json_t *in, json_t *out);
    bool changes; /* the node: for administrators, and logged */
    struct control_list *(*list)(struct node *n, const json_t *in, json_t *out); /* NULL: none */
    /* Instead of both, of a change that may take long; logged when it is made. NULL: it was not
     * begun, which `out` says. */
    struct control_list *(*later)(struct node *n, const struct control_who *who, const json_t *in,
                                  json_t *out);
    const struct control_word *words;
} commands[] = {
    {"status", do_status, false, NULL, NULL, no_words},
    {"links", do_nothing, false, control_links, NULL, of_link},
    {"sessions", do_nothing, false, control_sessions, NULL, of_link},
    {"bundles", do_nothing, false, control_bundles, NULL, of_bundles},
    {"backlog", do_nothing, false, control_backlog, NULL, of_backlog},
    {"routes", control_routes, false, NULL, NULL, no_words},
    {"top", control_top, false, NULL, NULL, no_words},
    {"why", control_why, false, NULL, NULL, of_why},
    {"events", control_events, false, NULL, NULL, of_events},
    {"names", control_names, false, NULL, NULL, of_one},
    {"neighbours", control_neighbours, false, NULL, NULL, no_words},
    {"security", control_security, false, NULL, NULL, no_words},
    {"rules", control_rules, false, NULL, NULL, no_words},
    {"reload", do_nothing, true, NULL, control_reload, no_words},
    {"counters", do_counters, false, control_link_counters, NULL, of_link},
    {"link", do_link, true, NULL, NULL, of_state},
    {"delete", control_delete, true, control_delete_fitting, NULL, of_delete},
    {"cancel", do_cancel, true, NULL, NULL, of_cancel},
    {"flush", do_flush, false, NULL, NULL, no_words},
    {"route", do_route, true, NULL, NULL, of_route},
    {"link-add", do_nothing, true, NULL, control_link_add, of_change},
    {"link-set", do_nothing, true, NULL, control_link_set, of_change},
    {"link-remove", do_link_remove, true, NULL, NULL, of_name},
    {"plan", do_nothing, false, control_plan, NULL, no_words},
    {"plan-reload", do_nothing, true, NULL, control_plan_reload, of_file},
    {"contact", control_contact, true, NULL, NULL, of_item},
    {"range", control_range, true, NULL, NULL, of_item},
};
#define COMMANDS (sizeof commands / sizeof *commands)

/* NULL: there is no such command. */
static const struct command *find_command(const char *name)
{
    for (size_t i = 0; name != NULL && i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static void fail_command(json_t *out, const char *name)
{
    char text[512] = "the request needs a command: cmd";
    const char *names[COMMANDS];
    for (size_t i = 0; i < COMMANDS; i++)
        names[i] = commands[i].name;
    const char *closest = name == NULL ? NULL : words_closest(name, names, COMMANDS);
    size_t used = strlen(text);
    if (name != NULL)
        used = (size_t)snprintf(text, sizeof text, "unknown command \"%.64s\"", name);
    if (closest != NULL)
        used += (size_t)snprintf(text + used, sizeof text - used, "; did you mean %s?", closest);
    for (size_t i = 0; closest == NULL && i < COMMANDS && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                 i > 0 ? ", " : "; there are ", names[i]);
    fail_words(out, text);
}

/* The request's own words, without its name: as JSON, of which a line shows so much. */
#define REQUEST_SHOWN 400

/* Keys of a link, without those that are secret; NULL: not understood. */
static json_t *shown_keys(struct node *n, const json_t *words)
{
    const char *keys = json_string_value(json_object_get(words, "keys"));
    const char *name = json_string_value(json_object_get(words, "name"));
    const struct node_link *l = name != NULL ? node_link_find(n, name) : NULL;
    char *text = keys == NULL ? NULL
                              : config_link_shown(keys, strlen(keys),
                                                  l != NULL ? l->config->ops : NULL, cla_at);
    json_t *shown = text != NULL ? json_string(text) : NULL;
    free(text);
    return shown;
}

/* Values of words that the command does not take, or not with this type, and secret keys of a link,
 * also misspelt ones. */
static void hide_values(struct node *n, const struct command *c, json_t *words)
{
    const bool link = c->later == control_link_add || c->later == control_link_set;
    json_t *keys = link ? shown_keys(n, words) : NULL, *value;
    const char *key;
    void *next;
    json_object_foreach_safe(words, next, key, value)
    {
        const bool is_keys = link && strcmp(key, "keys") == 0;
        const bool good = control_words_has(c->words, key, value) && !is_keys;
        json_t *instead = is_keys && keys != NULL ? json_incref(keys) : json_string("***");
        if (good)
            json_decref(instead);
        else if (json_object_set_new(words, key, instead) != 0)
            json_object_del(words, key);
    }
    json_decref(keys);
}

void control_tell_change(struct node *n, const char *command, const char *who,
                         const struct json_t *in, const char *what)
{
    json_t *words = json_copy((json_t *)(uintptr_t)in);
    json_object_del(words, "cmd");
    hide_values(n, find_command(command), words);
    char *text = words != NULL && json_object_size(words) > 0 ? json_dumps(words, 0) : NULL;
    say(&n->say, LEVEL_INFO, "control: %s %s: %s%s%.*s%s", who, what, command,
        text != NULL ? " " : "", text != NULL ? REQUEST_SHOWN : 0, text != NULL ? text : "",
        text != NULL && strlen(text) > REQUEST_SHOWN ? " …" : "");
    free(text);
    json_decref(words);
}

/* Refused requests must not fill the log. */
static void tell_refusal(struct node *n, const struct command *c, const struct control_who *who)
{
    tick now = node_now(n).now;
    n->refusals.all++;
    if (now - n->refusals.since > REFUSALS_PAUSE) {
        n->refusals.since = now;
        n->refusals.told = 0;
    }
    if (n->refusals.told++ < REFUSALS_TOLD)
        say(&n->say, LEVEL_WARNING, "control: %s was refused: %s (%llu so far)", who->name, c->name,
            (unsigned long long)n->refusals.all);
}

/* False: said. */
static bool may_run(struct node *n, const struct command *c, const struct control_who *who,
                    json_t *out)
{
    char text[320];
    if (!c->changes || who->admin)
        return true;
    snprintf(text, sizeof text,
             "%.96s may ask this node, but not change it (%s): that is for root, the node's own "
             "user and members of the group %.64s (control_admin_group)",
             who->name, c->name, n->config->control_admin_group);
    fail_request(out, text);
    tell_refusal(n, c, who);
    return false;
}

/* NULL: `out` is the whole answer. */
static struct control_list *run_command(struct node *n, const struct command *c,
                                        const struct control_who *who, const json_t *in,
                                        json_t *out)
{
    struct control_list *list = NULL;
    if (!may_run(n, c, who, out))
        return NULL;
    if (!control_words_check(c->name, c->words, in, out))
        ; /* said */
    else if (c->later != NULL)
        list = c->later(n, who, in, out);
    else
        c->run(n, in, out);
    const bool good = json_is_true(json_object_get(out, "ok"));
    if (c->changes && list == NULL)
        control_tell_change(n, c->name, who->name, in, good ? "changed" : "failed");
    return good && c->list != NULL ? c->list(n, in, out) : list;
}

struct json_t *control_ask(struct node *n, const struct control_who *who, const char *line,
                           size_t len, struct control_list **list)
{
    json_error_t error;
    json_t *out = json_object();
    json_t *in = json_loadb(line, len, JSON_REJECT_DUPLICATES, &error);
    const char *cmd = json_string_value(json_object_get(in, "cmd"));
    const struct command *found = find_command(cmd);
    *list = NULL;
    json_object_set_new(out, "ok", json_true());
    if (in == NULL && json_error_code(&error) == json_error_out_of_memory)
        fail_request(out, "out of memory");
    else if (in == NULL)
        fail_words(out, json_error_code(&error) == json_error_duplicate_key
                            ? "the request has a word twice"
                            : "the request is not JSON");
    else if (found == NULL)
        fail_command(out, cmd);
    else
        *list = run_command(n, found, who, in, out);
    json_decref(in);
    return out;
}

struct json_t *control_answer(struct node *n, const struct control_who *who, const char *line,
                              size_t len)
{
    struct control_list *list;
    json_t *out = control_ask(n, who, line, len, &list);
    if (list != NULL)
        control_list_all(list, out);
    return out;
}
