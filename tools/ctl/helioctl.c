/* SPDX-License-Identifier: Apache-2.0 */
/* helioctl: asks a running node for facts, and sends it an operator's commands. One request line,
 * one answer line, shown as a table or as the JSON that was received. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "base/words.h"
#include "cla/cla.h"
#include "conf/conf_arguments.h"
#include "conf/conf_section.h"
#include "node/config/config.h"
#include "node/config/config_link.h"
#include "os/arguments.h"
#include "tools/ctl/ctl_ask.h"
#include "tools/ctl/helioctl.h"
#include "tools/ctl/helioctl_order.h"

#define ADVICE_CAP 256
#define WORDS_MAX 130
#define KEYS_FILE_MAX 24576

struct request {
    const char *socket, *config;
    const char *words[WORDS_MAX]; /* the command and its arguments */
    size_t words_len;
    bool json;
    tick timeout, interval;
    uint64_t looks; /* of top; 0: until it is ended */
};

static const char *const bundle_words[] = {"destination", "source", "link", "state",
                                           "priority",    "sort",   "limit"};

static int usage(const char *what, const char *which)
{
    fprintf(stderr, "helioctl: %s%s; see helioctl --help\n", what, which);
    return 2;
}

/* Those that ctl_plan_is knows are among them, to be suggested when one is mistyped. */
static const char *const all_commands[] = {
    "status", "links",  "sessions", "bundles", "counters", "routes", "backlog",   "top",
    "watch",  "link",   "route",    "plan",    "contact",  "range",  "cancel",    "delete",
    "flush",  "reload", "security", "rules",   "why",      "names",  "neighbours"};

#define ALL_COMMANDS (sizeof all_commands / sizeof *all_commands)

static int refuse_command(const char *word)
{
    return argument_refuse("helioctl", word, all_commands, ALL_COMMANDS);
}

/* How many words follow a command; -1: there is no such command. */
static int arguments_of(const char *command)
{
    static const struct {
        const char *name;
        int arguments;
    } commands[] = {{"status", 0},   {"links", 0},  {"sessions", 0}, {"bundles", 0},
                    {"counters", 0}, {"routes", 0}, {"backlog", 0},  {"top", 0},
                    {"reload", 0},   {"watch", 0},  {"link", 2},     {"route", 3},
                    {"delete", 1},   {"cancel", 2}, {"flush", 0},    {"security", 0},
                    {"why", 1},      {"rules", 0},  {"names", 0},    {"neighbours", 0}};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i].name, command) == 0)
            return commands[i].arguments;
    return -1;
}

/* link add, link set, link remove; a link with such a name can be set up and down all the same. */
static bool is_link_change(const struct request *r)
{
    if (r->words_len < 2 || strcmp(r->words[0], "link") != 0)
        return false;
    const char *last = r->words[r->words_len - 1];
    bool told = r->words_len == 3 && (strcmp(last, "up") == 0 || strcmp(last, "down") == 0);
    return (strcmp(r->words[1], "add") == 0 || strcmp(r->words[1], "set") == 0 ||
            (strcmp(r->words[1], "remove") == 0)) &&
           !(told && strcmp(r->words[1], "remove") != 0);
}

static int check_node(const struct request *r)
{
    char text[ADVICE_CAP];
    const char *advice = ctl_order_node(r->socket, r->config, text, sizeof text);
    return advice != NULL ? usage(advice, "") : -1;
}

static int check_link_change(const struct request *r)
{
    bool add = strcmp(r->words[1], "add") == 0, remove = strcmp(r->words[1], "remove") == 0;
    bool file = add && r->words_len == 4 && strchr(r->words[3], '=') == NULL;
    if (remove && r->words_len != 3)
        return usage("write: link remove NAME", "");
    if (!remove && r->words_len < 4)
        return usage(add ? "write: link add NAME KEY=VALUE… or a file with the map of keys"
                         : "write: link set NAME KEY=VALUE…",
                     "");
    for (size_t i = 3; i < r->words_len && !file; i++) {
        const char *is = strchr(r->words[i], '=');
        if (is == NULL || is == r->words[i])
            return usage("write KEY=VALUE, not ", r->words[i]);
    }
    return check_node(r);
}

/* link NAME add|set|remove …: the first two words are exchanged. */
static bool is_exchanged(const struct request *r)
{
    return r->words_len > 2 && strcmp(r->words[0], "link") == 0 && !is_link_change(r) &&
           (strcmp(r->words[2], "add") == 0 || strcmp(r->words[2], "set") == 0 ||
            strcmp(r->words[2], "remove") == 0);
}

static int refuse_exchanged(const struct request *r)
{
    const bool remove = strcmp(r->words[2], "remove") == 0;
    fprintf(stderr, "helioctl: write the name behind the word: link %s %s%s; see helioctl --help\n",
            r->words[2], r->words[1], remove ? "" : " KEY=VALUE…");
    return 2;
}

/* bundles and delete with words KEY=VALUE. */
static bool is_choice(const struct request *r)
{
    return r->words_len > 1 && strchr(r->words[1], '=') != NULL &&
           (strcmp(r->words[0], "bundles") == 0 || strcmp(r->words[0], "delete") == 0);
}

/* False: no word is near. */
static bool refuse_choice(const char *word, size_t len, size_t known)
{
    char key[32];
    snprintf(key, sizeof key, "%.*s", (int)(len < sizeof key ? len : sizeof key - 1), word);
    const char *closest = words_closest(key, bundle_words, known);
    if (closest != NULL)
        fprintf(stderr, "helioctl: '%s' is unknown; did you mean %s=? See helioctl --help\n", key,
                closest);
    return closest != NULL;
}

static int check_choice(const struct request *r)
{
    bool gone = strcmp(r->words[0], "delete") == 0, to = false;
    for (size_t i = 1; i < r->words_len; i++) {
        const char *word = r->words[i], *is = strchr(word, '=');
        size_t k = 0, known = sizeof bundle_words / sizeof *bundle_words - (gone ? 2 : 0);
        while (is != NULL && k < known &&
               (strlen(bundle_words[k]) != (size_t)(is - word) ||
                strncmp(bundle_words[k], word, (size_t)(is - word)) != 0))
            k++;
        if (is != NULL && k == known && refuse_choice(word, (size_t)(is - word), known))
            return 2;
        if (is == NULL || k == known)
            return usage("write destination=, source=, link=, state=, priority=, sort= or limit=, "
                         "not ",
                         word);
        uint64_t number;
        if (strcmp(bundle_words[k], "limit") == 0 &&
            (units_count(is + 1, 100000, &number) < 0 || number == 0))
            return usage("limit: write a number from 1 to 100000, not ", is + 1);
        to = to || k == 0;
    }
    return gone && !to ? usage("write whose bundles: delete destination=PATTERN", "") : -1;
}

static bool is_event_watch(const struct request *r)
{
    return r->words_len > 1 && strcmp(r->words[0], "watch") == 0 &&
           strcmp(r->words[1], "bundles") == 0;
}

/* The only word was taken for the configuration, and may be a mistyped command. */
static int refuse_none(const struct request *r)
{
    if (r->config == NULL || access(r->config, F_OK) == 0)
        return refuse_command("");
    const char *why = strerror(errno);
    if (strchr(r->config, '/') == NULL &&
        words_closest(r->config, all_commands, ALL_COMMANDS) != NULL)
        return refuse_command(r->config);
    fprintf(stderr, "helioctl: %s: %s, and a command is missing; see helioctl --help\n", r->config,
            why);
    return 2;
}

static int check_words(const struct request *r)
{
    if (r->words_len == 0)
        return refuse_none(r);
    char text[ADVICE_CAP];
    int want = arguments_of(r->words[0]);
    const char *advice = ctl_order_advice(r->words, r->words_len, text, sizeof text);
    if (advice != NULL)
        return usage(advice, "");
    if (is_link_change(r))
        return check_link_change(r);
    if (is_exchanged(r))
        return refuse_exchanged(r);
    if (is_event_watch(r))
        return check_node(r);
    if (is_choice(r)) {
        int code = check_choice(r);
        return code >= 0 ? code : check_node(r);
    }
    if (ctl_plan_is(r->words[0])) {
        const char *wrong = ctl_plan_check(r->words, r->words_len);
        return wrong != NULL ? usage("write: ", wrong) : check_node(r);
    }
    if (want < 0)
        return refuse_command(r->words[0]);
    if (r->words_len != (size_t)want + 1)
        return usage(strcmp(r->words[0], "cancel") == 0  ? "write: cancel LINK SESSION"
                     : want == 3                         ? "write: route add|remove PATTERN LINK"
                     : want == 2                         ? "write: link NAME up|down"
                     : strcmp(r->words[0], "why") == 0   ? "write: why KEY, or why "
                                                           "SOURCE,CREATED,SEQUENCE"
                     : want == 1                         ? "write: delete KEY"
                     : strcmp(r->words[0], "watch") == 0 ? "write: watch, or watch bundles TEXT…"
                                                         : "there are too many words after ",
                     want == 0 && strcmp(r->words[0], "watch") != 0 ? r->words[0] : "");
    uint64_t key;
    if (strcmp(r->words[0], "delete") == 0 && units_count(r->words[1], INT64_MAX, &key) < 0)
        return usage("a KEY is a number as bundles shows it, not ", r->words[1]);
    if (strcmp(r->words[0], "link") == 0 && strcmp(r->words[2], "up") != 0 &&
        strcmp(r->words[2], "down") != 0)
        return strcmp(r->words[1], "up") == 0 || strcmp(r->words[1], "down") == 0
                   ? usage("the link's name comes first; write: link NAME ", r->words[1])
                   : usage("write: link NAME up|down, not ", r->words[2]);
    if (strcmp(r->words[0], "route") == 0 && strcmp(r->words[1], "add") != 0 &&
        strcmp(r->words[1], "remove") != 0)
        return usage("a route is added or removed, not ", r->words[1]);
    return check_node(r);
}

/* A bare number is one of seconds, as of helio-ping and helio-perf. */
static void set_time(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    tick *out = argument_field(o, base);
    char seconds[32];
    snprintf(seconds, sizeof seconds, "%.28ss", arg);
    if ((units_duration(arg, out) < 0 && units_duration(seconds, out) < 0) || *out < TICK_MS)
        argument_want(state, arg, "a time such as 3s, 500ms or, in seconds, 0.5");
}

/* The first word may be the configuration; all others are the command and its arguments. */
static void take_word(struct argp_state *state, char *arg, void *base)
{
    struct request *r = base;
    if (r->words_len == 0 && r->config == NULL && r->socket == NULL && arguments_of(arg) < 0 &&
        !ctl_plan_is(arg))
        r->config = arg;
    else if (r->words_len < WORDS_MAX)
        r->words[r->words_len++] = arg;
    else
        argp_error(state, "\"%s\" is one word too many", arg);
}

#define FIELD(member) ARGUMENT_FIELD(struct request, member)

static const struct argument options[] = {
    {"socket", 's', "PATH", .help = "The node's control socket (control: in its configuration)",
     FIELD(socket)},
    {"json", 'j', .help = "The answer as JSON", .type = OPTION_BOOL, FIELD(json)},
    {"timeout", 't', "TIME", .help = "How long to wait for the node's answer (3s)", .own = set_time,
     FIELD(timeout)},
    {"interval", 'i', "TIME",
     .help = "Time between two lines or pictures of top and watch, in seconds or with a unit (2s)",
     .own = set_time, FIELD(interval)},
    {"count", 'n', "NUMBER", .help = "top and watch end after this number of them",
     .type = OPTION_COUNT, .max = UINT32_MAX, FIELD(looks)},
    {"h", 'h', .flags = OPTION_HIDDEN, .own = argument_show_help},
    {0}};

static const struct argument_table table = {
    options, .word = take_word, .args_doc = "[CONFIG.yaml] COMMAND [WORD...]",
    .flags = ARGP_IN_ORDER,
    .doc = "Asks a running node for facts, and sends it commands of its operator. The node is that "
           "of --socket or of CONFIG.yaml.\n"
           "\n"
           "  top                links, store, memory and queues, live: q ends it, h\n"
           "                     shows the keys; not on a terminal: lines, as watch\n"
           "  watch              a line for the node and each busy link every interval\n"
           "  watch bundles [TEXT…]\n"
           "                     events of bundles as they happen; TEXT: only lines that\n"
           "                     contain it\n"
           "  status             uptime, bundles, store\n"
           "  links              each link: state, bundles, rates, timer and round trip\n"
           "                     in force, when its peer was heard last, open sessions\n"
           "  sessions           open LTP sessions\n"
           "  routes             static routes, the most specific first\n"
           "  names              names of nodes, to be written in place of ids\n"
           "  neighbours         nodes that discovery has heard on the local network\n"
           "  security           bundle security: rules, keys, counters, failures\n"
           "  rules              rules of ingress and egress\n"
           "  backlog            queued bundles for each link and endpoint\n"
           "  bundles [KEY=VALUE…]\n"
           "                     bundles at the node; destination=PATTERN,\n"
           "                     source=PATTERN, link=NAME, state=WORD, priority=WORD\n"
           "                     choose; sort=age (or key, bytes, expires, priority,\n"
           "                     destination, source), limit=NUMBER\n"
           "  why BUNDLE         where one bundle is, why it waits, the failed tries,\n"
           "                     what comes next: KEY as bundles shows it, or\n"
           "                     SOURCE,CREATED,SEQUENCE\n"
           "  counters           everything that is counted and not 0 (--json: all)\n"
           "  link NAME up|down  sets a link up or down\n"
           "  link add NAME KEY=VALUE… | FILE\n"
           "                     adds a link to the running node: the keys of a link of\n"
           "                     its configuration, or a file with the map of them\n"
           "  link set NAME KEY=VALUE…\n"
           "                     changes a link's keys; one that cannot change says so\n"
           "  link remove NAME   removes a link; its bundles take another route, or wait\n"
           "  route add|remove PATTERN LINK\n"
           "                     adds or removes a route; waiting bundles are routed\n"
           "                     again\n"
           "  plan               the contact plan: what it is, this node's contacts from\n"
           "                     now on\n"
           "  plan reload [FILE] reads the plan's file again, or another one; errors are\n"
           "                     shown, and the old plan stays\n"
           "  contact add KEY=VALUE…, range add KEY=VALUE…\n"
           "                     adds contacts or a light time: keys as in a plan's YAML\n"
           "                     file; times are dates, or count from now\n"
           "  contact remove FROM TO [AT], range remove FROM TO [AT]\n"
           "                     removes the one in force at AT (a date, a time from\n"
           "                     now; now)\n"
           "  delete KEY         deletes a bundle (KEY as bundles shows it) and its\n"
           "                     session\n"
           "  delete destination=PATTERN [KEY=VALUE…]\n"
           "                     deletes all that bundles would show with these words\n"
           "  cancel LINK SESSION\n"
           "                     cancels a session: NUMBER, or ORIGINATOR:NUMBER when\n"
           "                     the peer opened it; a bundle of this node is sent again\n"
           "  reload             the node reads its file again (as with SIGHUP): changed\n"
           "                     keys are applied; keys that cannot change are named,\n"
           "                     and the exit code is 1\n"
           "  flush              writes all events up to now to the log files\v"
           "examples:\n"
           "  helioctl node1.yaml status\n"
           "  helioctl node1.yaml top\n"
           "  helioctl node1.yaml bundles 'destination=ipn:2.*' sort=age limit=20\n"
           "  helioctl --socket /tmp/helio-1.sock.ctl --json links\n"
           "  helioctl node1.yaml link to-2 down\n"
           "  helioctl node1.yaml link add to-3 adapter=ltp-udp peer=ipn:3.0 \\\n"
           "           local=127.0.0.1:1113 remote=127.0.0.1:3113 rto=30ms\n"
           "  helioctl node1.yaml link set to-3 rate=100Mbit/s\n"
           "  helioctl node1.yaml contact add from=1 to=2 start=10s end=70s rate=1Gbit/s \\\n"
           "           owlt=10ms both=yes\n"
           "\n"
           "exit codes: 0 done, 1 failed (no answer; there is no such bundle or session;\n"
           "reload: a part was not applied), 2 usage: a wrong word, name or file"};

/* The control socket's path from the node's own file; the caller's to free. */
static char *path_of(const struct request *r)
{
    if (r->socket != NULL)
        return strdup(r->socket);
    struct conf_errors *errors = malloc(sizeof *errors);
    if (errors == NULL)
        return NULL;
    conf_errors_init(errors, r->config);
    char *path = config_control(r->config, errors);
    for (size_t i = 0; i < errors->len; i++)
        fprintf(stderr, "%s\n", errors->text[i]);
    free(errors);
    return path;
}

/* NULL: said. */
static char *keys_of_file(const char *path)
{
    struct conf_errors *errors = malloc(sizeof *errors);
    size_t len = 0;
    if (errors == NULL)
        return NULL;
    conf_errors_init(errors, path);
    char *text = conf_file_read(path, &len, errors);
    if (text != NULL && len > KEYS_FILE_MAX)
        conf_error(errors, 0, "is too long for a link: %d bytes at most", KEYS_FILE_MAX);
    const char *secret =
        text == NULL || errors->exposed == 0 ? NULL : config_link_secret(text, len, cla_at);
    if (secret != NULL)
        conf_error(errors, 0,
                   "%s: it is secret, and all users may read or write this file (mode %03o); "
                   "chmod o= it",
                   secret, errors->exposed);
    for (size_t i = 0; i < errors->len; i++)
        fprintf(stderr, "%s\n", errors->text[i]);
    char *whole = text != NULL && errors->len == 0 ? strndup(text, len) : NULL;
    free(text);
    free(errors);
    return whole;
}

static void write_text(FILE *f, const char *text, size_t len)
{
    json_t *o = json_stringn(text, len);
    json_dumpf(o, f, JSON_ENCODE_ANY);
    json_decref(o);
}

/* A group's map, {…}, is one in the line, too. */
static bool is_map(const char *value)
{
    const size_t len = strlen(value);
    return len >= 2 && value[0] == '{' && value[len - 1] == '}';
}

/* The keys as a YAML map, each as often as it was written. */
static char *keys_of_words(const struct request *r)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    for (size_t i = 3; f != NULL && i < r->words_len; i++) {
        const char *word = r->words[i], *is = strchr(word, '=');
        fputs(i == 3 ? "{" : ", ", f);
        write_text(f, word, (size_t)(is - word));
        fputs(": ", f);
        if (is_map(is + 1))
            fputs(is + 1, f);
        else
            write_text(f, is + 1, strlen(is + 1));
    }
    if (f == NULL || fputc('}', f) == EOF || fclose(f) != 0)
        return NULL;
    const char *secret = config_link_secret(text, len, cla_at);
    if (secret == NULL)
        return text;
    fprintf(stderr,
            "helioctl: %s is secret, and all users can see a command line; write the keys in a "
            "file: link add %s FILE\n",
            secret, r->words[2]);
    free(text);
    return NULL;
}

static char *link_change_line(const struct request *r)
{
    bool add = strcmp(r->words[1], "add") == 0, remove = strcmp(r->words[1], "remove") == 0;
    bool file = add && r->words_len == 4 && strchr(r->words[3], '=') == NULL;
    char *keys = remove ? NULL : file ? keys_of_file(r->words[3]) : keys_of_words(r);
    if (!remove && keys == NULL)
        return NULL;
    json_t *o = json_pack("{s:s s:s}", "cmd",
                          add      ? "link-add"
                          : remove ? "link-remove"
                                   : "link-set",
                          "name", r->words[2]);
    if (keys != NULL)
        json_object_set_new(o, "keys", json_string(keys));
    if (file)
        json_object_set_new(o, "file", json_string(r->words[3]));
    char *line = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    free(keys);
    return line;
}

/* bundles and delete by what they are. */
static char *choice_line(const struct request *r)
{
    json_t *o = json_pack("{s:s}", "cmd", r->words[0]);
    for (size_t i = 1; i < r->words_len; i++) {
        const char *is = strchr(r->words[i], '=');
        char *key = strndup(r->words[i], (size_t)(is - r->words[i]));
        if (key != NULL)
            json_object_set_new(o, key,
                                strcmp(key, "limit") == 0 ? json_integer(strtoll(is + 1, NULL, 10))
                                                          : json_string(is + 1));
        free(key);
    }
    char *line = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    return line;
}

static char *request_line(const struct request *r)
{
    if (is_choice(r))
        return choice_line(r);
    if (is_link_change(r))
        return link_change_line(r);
    if (ctl_plan_is(r->words[0]))
        return ctl_plan_line(r->words, r->words_len);
    json_t *o = json_object();
    json_object_set_new(o, "cmd",
                        json_string(strcmp(r->words[0], "watch") == 0 ? "top" : r->words[0]));
    if (strcmp(r->words[0], "link") == 0) {
        json_object_set_new(o, "name", json_string(r->words[1]));
        json_object_set_new(o, "state", json_string(r->words[2]));
    } else if (strcmp(r->words[0], "route") == 0) {
        json_object_set_new(o, "do", json_string(r->words[1]));
        json_object_set_new(o, "to", json_string(r->words[2]));
        json_object_set_new(o, "via", json_string(r->words[3]));
    } else if (strcmp(r->words[0], "cancel") == 0) {
        json_object_set_new(o, "link", json_string(r->words[1]));
        json_object_set_new(o, "session", json_string(r->words[2]));
    } else if (strcmp(r->words[0], "why") == 0) {
        json_object_set_new(o, "bundle", json_string(r->words[1]));
    } else if (strcmp(r->words[0], "delete") == 0) {
        json_object_set_new(o, "key", json_integer(strtoll(r->words[1], NULL, 10)));
    }
    char *line = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    return line;
}

static json_t *ask_after(const struct request *r, const char *path, const char *line,
                         const json_t *after)
{
    json_t *o = json_loads(line, 0, NULL);
    json_object_set(o, "after", (json_t *)(uintptr_t)after);
    char *text = json_dumps(o, JSON_COMPACT);
    json_t *answer = text == NULL ? NULL : ctl_ask("helioctl", path, text, r->timeout, false);
    free(text);
    json_decref(o);
    return answer;
}

/* A deletion is repeated until all bundles were examined: the node does a limited part of it at a
 * time. When a part fails, the answer is that failure, with the number of bundles that the earlier
 * parts have deleted. */
static json_t *ask_on(const struct request *r, const char *path, const char *line)
{
    json_t *answer = ctl_ask("helioctl", path, line, r->timeout, false), *after;
    json_int_t deleted = json_integer_value(json_object_get(answer, "deleted"));
    bool parts = json_object_get(answer, "deleted") != NULL;
    while ((after = json_object_get(answer, "after")) != NULL) {
        json_t *next = ask_after(r, path, line, after);
        if (next == NULL)
            next = json_pack("{s:b s:s}", "ok", 0, "error",
                             "the deletion is not complete; repeat it for the other bundles");
        deleted += json_integer_value(json_object_get(next, "deleted"));
        parts = true;
        json_decref(answer);
        answer = next;
    }
    if (parts)
        json_object_set_new(answer, "deleted", json_integer(deleted));
    return answer;
}

static int run_command(const struct request *r, const char *path, const char *line)
{
    json_t *answer = ask_on(r, path, line);
    if (answer == NULL)
        return 1;
    bool ok = json_is_true(json_object_get(answer, "ok"));
    if (!ok)
        fprintf(stderr, "helioctl: %s\n", json_string_value(json_object_get(answer, "error")));
    if (r->json) {
        json_dumpf(answer, stdout, JSON_INDENT(2));
        putchar('\n');
    } else if (ok) {
        ctl_show(r->words[0], answer);
    } else if (json_object_get(answer, "deleted") != NULL) {
        printf("%-44s %" JSON_INTEGER_FORMAT "\n", "deleted",
               json_integer_value(json_object_get(answer, "deleted")));
    }
    bool wrong = json_is_true(json_object_get(answer, "usage"));
    bool part = json_array_size(json_object_get(answer, "refused")) > 0; /* of a reload */
    json_decref(answer);
    return ok && !part ? 0 : wrong ? 2 : 1;
}

int main(int argc, char **argv)
{
    struct request r = {
        .words = {"", "", ""}, .timeout = 3 * TICK_S, .interval = 2 * TICK_S, .looks = 0};
    argp_err_exit_status = 2;
    argp_program_version = "helioctl " HELIO_VERSION;
    argument_table_parse(&table, argc, argv, &r);
    int code = check_words(&r);
    if (code >= 0)
        return code;
    bool top = strcmp(r.words[0], "top") == 0;
    char *path = path_of(&r), *line = path == NULL ? NULL : request_line(&r);
    if (line == NULL) {
        free(path);
        return 2;
    }
    if (is_event_watch(&r))
        code =
            ctl_events(path, r.words + 2, r.words_len - 2, r.json, r.interval, r.timeout, r.looks);
    else if (!r.json && (top || strcmp(r.words[0], "watch") == 0))
        code = ctl_top(path, !top, r.interval, r.timeout, r.looks);
    else
        code = run_command(&r, path, line);
    free(line);
    free(path);
    return code;
}
