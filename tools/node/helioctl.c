/* SPDX-License-Identifier: Apache-2.0 */
/* helioctl: asks a running node, and tells it what an operator wants. One request line, one answer
 * line, shown as a table or as the JSON that it is. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/units.h"
#include "conf/conf_section.h"
#include "tools/aap2/aap2_wire.h"
#include "tools/node/config.h"
#include "tools/node/ctl_table.h"
#include "tools/node/helioctl_plan.h"
#include "tools/node/local_socket.h"

static const char help[] =
    "usage: helioctl (--socket PATH | CONFIG.yaml) [--json] COMMAND\n"
    "\n"
    "  status             the node: uptime, bundles, store\n"
    "  links              each link: state, bundles, rate, open sessions\n"
    "  sessions           open LTP sessions\n"
    "  bundles            what waits at the node\n"
    "  counters           everything that is counted and not 0 (--json: all)\n"
    "  link NAME up|down  tells the node that a link is up or down\n"
    "  link add NAME KEY=VALUE… | FILE\n"
    "                     adds a link to the running node: the keys of a link of its\n"
    "                     configuration, or a file with the map of them\n"
    "  link set NAME KEY=VALUE…\n"
    "                     changes a link's keys; one that cannot change says so\n"
    "  link remove NAME   removes a link; what waits for it goes another way, or waits\n"
    "  route add|remove PATTERN LINK\n"
    "                     adds or removes a route; what waits is placed anew\n"
    "  plan               the contact plan: what it is, this node's contacts from now on\n"
    "  plan reload [FILE] reads the plan's file again, or another one; what is wrong with\n"
    "                     it is told, and the old plan stays\n"
    "  contact add KEY=VALUE…, range add KEY=VALUE…\n"
    "                     adds contacts or a light time: keys as in a plan's YAML file;\n"
    "                     times are dates, or count from now\n"
    "  contact remove FROM TO [AT], range remove FROM TO [AT]\n"
    "                     removes the one in force at AT (a date, a time from now; now)\n"
    "  delete KEY         deletes a bundle (KEY as bundles shows it) and its session\n"
    "  cancel LINK SESSION\n"
    "                     cancels a session: NUMBER, or ORIGINATOR:NUMBER when the\n"
    "                     peer opened it; a bundle of ours then goes again\n"
    "  flush              the logs hold all up to now when this is done\n"
    "\n"
    "  -s, --socket PATH  the node's control socket (control: in its configuration)\n"
    "  -j, --json         the answer as JSON\n"
    "  -h, --help         this text\n"
    "  -V, --version      the version\n"
    "\n"
    "examples:\n"
    "  helioctl node1.yaml status\n"
    "  helioctl --socket /tmp/helio-1.sock.ctl --json links\n"
    "  helioctl node1.yaml link to-2 down\n"
    "  helioctl node1.yaml link add to-3 adapter=ltp-udp peer=ipn:3.0 \\\n"
    "           local=127.0.0.1:1113 remote=127.0.0.1:3113 rto=30ms\n"
    "  helioctl node1.yaml link set to-3 rate=100Mbit/s\n"
    "  helioctl node1.yaml contact add from=1 to=2 start=10s end=70s rate=1Gbit/s \\\n"
    "           owlt=10ms both=yes\n"
    "\n"
    "exit codes: 0 done, 1 failed, 2 usage\n";

#define WORDS_MAX 130
#define KEYS_FILE_MAX 24576

struct request {
    const char *socket, *config;
    const char *words[WORDS_MAX]; /* the command and its arguments */
    size_t words_len;
    bool json;
};

static int usage(const char *what, const char *which)
{
    fprintf(stderr, "helioctl: %s%s; see helioctl --help\n", what, which);
    return 2;
}

/* How many words follow a command; -1: there is no such command. */
static int arguments_of(const char *command)
{
    static const struct {
        const char *name;
        int arguments;
    } commands[] = {{"status", 0}, {"links", 0}, {"sessions", 0}, {"bundles", 0}, {"counters", 0},
                    {"link", 2},   {"route", 3}, {"delete", 1},   {"cancel", 2},  {"flush", 0}};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i].name, command) == 0)
            return commands[i].arguments;
    return -1;
}

/* link add, link set, link remove; a link by such a name is told up or down all the same. */
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
    if (r->socket == NULL && r->config == NULL)
        return usage("which node? write --socket PATH or its CONFIG.yaml", "");
    return -1;
}

static int check_words(const struct request *r)
{
    if (r->words_len == 0)
        return usage("a command is missing", "");
    int want = arguments_of(r->words[0]);
    if (is_link_change(r))
        return check_link_change(r);
    if (ctl_plan_is(r->words[0])) {
        const char *wrong = ctl_plan_check(r->words, r->words_len);
        return wrong != NULL ? usage("write: ", wrong)
               : r->socket == NULL && r->config == NULL
                   ? usage("which node? write --socket PATH or its CONFIG.yaml", "")
                   : -1;
    }
    if (want < 0)
        return usage("unknown command ", r->words[0]);
    if (r->words_len != (size_t)want + 1)
        return usage(strcmp(r->words[0], "cancel") == 0 ? "write: cancel LINK SESSION"
                     : want == 3                        ? "write: route add|remove PATTERN LINK"
                     : want == 2                        ? "write: link NAME up|down"
                     : want == 1                        ? "write: delete KEY"
                                                        : "there are too many words after ",
                     want == 0 ? r->words[0] : "");
    uint64_t key;
    if (strcmp(r->words[0], "delete") == 0 && units_count(r->words[1], INT64_MAX, &key) < 0)
        return usage("a KEY is a number as bundles shows it, not ", r->words[1]);
    if (strcmp(r->words[0], "link") == 0 && strcmp(r->words[2], "up") != 0 &&
        strcmp(r->words[2], "down") != 0)
        return usage("a link is told up or down, not ", r->words[2]);
    if (strcmp(r->words[0], "route") == 0 && strcmp(r->words[1], "add") != 0 &&
        strcmp(r->words[1], "remove") != 0)
        return usage("a route is added or removed, not ", r->words[1]);
    if (r->socket == NULL && r->config == NULL)
        return usage("which node? write --socket PATH or its CONFIG.yaml", "");
    return -1;
}

static int parse_option(int argc, char **argv, struct request *r)
{
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (strcmp(a, "-h") == 0 || strcmp(a, "--help") == 0) {
            fputs(help, stdout);
            return 0;
        } else if (strcmp(a, "-V") == 0 || strcmp(a, "--version") == 0) {
            printf("helioctl %s\n", HELIO_VERSION);
            return 0;
        } else if (strcmp(a, "-j") == 0 || strcmp(a, "--json") == 0) {
            r->json = true;
        } else if (strcmp(a, "-s") == 0 || strcmp(a, "--socket") == 0) {
            if (++i == argc)
                return usage("a path is missing after ", a);
            r->socket = argv[i];
        } else if (*a == '-') {
            return usage("unknown option ", a);
        } else if (r->words_len == 0 && r->config == NULL && r->socket == NULL &&
                   arguments_of(a) < 0 && !ctl_plan_is(a)) {
            r->config = a;
        } else if (r->words_len < WORDS_MAX) {
            r->words[r->words_len++] = a;
        } else {
            return usage("too many words: ", a);
        }
    }
    return check_words(r);
}

/* The control socket's path from the node's own file; the caller's to free. */
static char *path_of(const struct request *r)
{
    if (r->socket != NULL)
        return strdup(r->socket);
    struct config c;
    struct conf_errors *errors = malloc(sizeof *errors);
    char *path = NULL;
    if (errors == NULL)
        return NULL;
    conf_errors_init(errors, r->config);
    if (config_load(&c, r->config, cla_at, errors) == 0) {
        path = strdup(c.control);
        config_fini(&c);
    }
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
        write_text(f, is + 1, strlen(is + 1));
    }
    if (f == NULL || fputc('}', f) == EOF || fclose(f) != 0)
        return NULL;
    return text;
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

static char *request_line(const struct request *r)
{
    if (is_link_change(r))
        return link_change_line(r);
    if (ctl_plan_is(r->words[0]))
        return ctl_plan_line(r->words, r->words_len);
    json_t *o = json_object();
    json_object_set_new(o, "cmd", json_string(r->words[0]));
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
    } else if (strcmp(r->words[0], "delete") == 0) {
        json_object_set_new(o, "key", json_integer(strtoll(r->words[1], NULL, 10)));
    }
    char *line = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    return line;
}

/* *first: the answer's first byte, which tells another protocol. */
static json_t *read_answer(int fd, uint8_t *first)
{
    FILE *f = fdopen(fd, "r");
    char *line = NULL;
    size_t cap = 0;
    json_error_t error;
    if (f == NULL) {
        close(fd);
        return NULL;
    }
    int c = getc(f);
    *first = c == EOF ? 0 : (uint8_t)c;
    if (c == AAP2_MAGIC) { /* a line would never end */
        fclose(f);
        return NULL;
    }
    (void)ungetc(c, f);
    ssize_t n = getline(&line, &cap, f);
    json_t *answer = n > 0 ? json_loadb(line, (size_t)n, 0, &error) : NULL;
    free(line);
    fclose(f);
    return answer;
}

static json_t *ask_node(const char *line, const char *path)
{
    char why[256];
    int fd = local_socket_connect(path, why, sizeof why);
    if (fd < 0) {
        fprintf(stderr, "helioctl: no node answers at %s\n", why);
        return NULL;
    }
    bool sent =
        send(fd, line, strlen(line), MSG_NOSIGNAL) >= 0 && send(fd, "\n", 1, MSG_NOSIGNAL) == 1;
    json_t *answer = NULL;
    uint8_t foreign = 0;
    if (sent)
        answer = read_answer(fd, &foreign);
    else
        close(fd);
    if (answer == NULL && foreign == AAP2_MAGIC)
        fprintf(stderr,
                "helioctl: %s is the application socket; the control socket is %s.ctl (or what "
                "control: says in the node's configuration)\n",
                path, path);
    else if (answer == NULL)
        fprintf(stderr, "helioctl: %s: the node ended the connection\n", path);
    return answer;
}

static const struct column link_columns[] = {
    {"NAME", "name", COLUMN_TEXT},
    {"ADAPTER", "adapter", COLUMN_TEXT},
    {"PEER", "peer", COLUMN_TEXT},
    {"STATE", "state", COLUMN_TEXT},
    {"WAITING", "backlog", COLUMN_TEXT}, /* bulk/normal/expedited */
    {"SENT", "sent", COLUMN_NUMBER},
    {"FAILED", "failed", COLUMN_NUMBER},
    {"RECEIVED", "received", COLUMN_NUMBER},
    {"RATE", "rate_bps", COLUMN_RATE},
    {"RTO", "rto_ns", COLUMN_DURATION},
    {"SESSIONS", "sessions_open", COLUMN_NUMBER},
    {"RETRANSMITTED", "retransmitted_bytes", COLUMN_BYTES},
    {"LATE", "late_ns", COLUMN_DURATION},
};
static const struct column unknown_columns[] = {
    {"LINK", "link", COLUMN_TEXT},
    {"UNKNOWN ENGINE", "engine", COLUMN_NUMBER},
    {"ADDRESS", "address", COLUMN_TEXT},
    {"SESSIONS", "sessions", COLUMN_NUMBER},
    {"SILENT", "silent_ns", COLUMN_DURATION},
};
static const struct column span_columns[] = {
    {"LINK", "link", COLUMN_TEXT},
    {"CHECKPOINTS", "output_ckpt_xmit_count", COLUMN_NUMBER},
    {"AGAIN", "output_ckpt_re_xmit_count", COLUMN_NUMBER},
    {"WITH GAPS", "output_neg_ack_recv_count", COLUMN_NUMBER},
    {"WITHOUT", "output_pos_ack_recv_count", COLUMN_NUMBER},
    {"CYCLES", "output_cycles_count", COLUMN_NUMBER},
    {"RESENT", "output_seg_re_xmit_bytes", COLUMN_BYTES},
    {"DONE", "output_complete_count", COLUMN_NUMBER},
    {"PEER'S DATA", "input_seg_recv_red_bytes", COLUMN_BYTES},
    {"REDUNDANT", "input_seg_redundant_count", COLUMN_NUMBER},
    {"REPORTED GAPS", "input_neg_ack_xmit_count", COLUMN_NUMBER},
    {"PEER'S DONE", "input_complete_count", COLUMN_NUMBER},
};
static const struct column session_columns[] = {
    {"LINK", "link", COLUMN_TEXT},
    {"DIRECTION", "direction", COLUMN_TEXT},
    {"ORIGINATOR", "originator", COLUMN_NUMBER},
    {"NUMBER", "number", COLUMN_NUMBER},
    {"LENGTH", "length", COLUMN_BYTES},
    {"DONE", "done", COLUMN_BYTES},
    {"HELD", "held", COLUMN_BYTES},
    {"AGE", "age_ns", COLUMN_DURATION},
};
static const struct column bundle_columns[] = {
    {"KEY", "key", COLUMN_NUMBER},
    {"SOURCE", "source", COLUMN_TEXT},
    {"DESTINATION", "destination", COLUMN_TEXT},
    {"CREATED", "created_ms", COLUMN_DTN_TIME},
    {"SEQUENCE", "sequence", COLUMN_NUMBER},
    {"BYTES", "bytes", COLUMN_BYTES},
    {"STATE", "state", COLUMN_TEXT},
    {"PRIORITY", "priority", COLUMN_TEXT},
    {"LINK", "link", COLUMN_TEXT},
    {"EXPIRES", "expires_ms", COLUMN_DTN_TIME},
};

#define LEN(a) (sizeof(a) / sizeof *(a))

/* What their LTP engines count of each link's peer. */
static void show_spans(json_t *links, bool colour)
{
    json_t *spans = json_array(), *l;
    size_t at;
    json_array_foreach(links, at, l)
    {
        json_t *span = json_object_get(l, "span");
        if (span == NULL)
            continue;
        json_object_set(span, "link", json_object_get(l, "name"));
        json_array_append(spans, span);
    }
    if (json_array_size(spans) > 0) {
        putchar('\n');
        table_print(stdout, span_columns, LEN(span_columns), spans, colour);
    }
    json_decref(spans);
}

/* The links, and the senders of no link that they have accepted. */
static void show_links(json_t *links, bool colour)
{
    json_t *unknown = json_array(), *l, *item;
    size_t at, i;
    table_print(stdout, link_columns, LEN(link_columns), links, colour);
    show_spans(links, colour);
    json_array_foreach(links, at, l)
    {
        json_array_foreach(json_object_get(l, "unknown"), i, item)
        {
            json_object_set(item, "link", json_object_get(l, "name"));
            json_array_append(unknown, item);
        }
    }
    if (json_array_size(unknown) > 0) {
        putchar('\n');
        table_print(stdout, unknown_columns, LEN(unknown_columns), unknown, colour);
    }
    json_decref(unknown);
}

static void show_answer(const struct request *r, json_t *answer)
{
    const char *command = r->words[0];
    bool colour = isatty(STDOUT_FILENO) == 1;
    json_object_del(answer, "ok");
    if (strcmp(command, "links") == 0) {
        show_links(json_object_get(answer, "links"), colour);
    } else if (strcmp(command, "sessions") == 0) {
        table_print(stdout, session_columns, LEN(session_columns),
                    json_object_get(answer, "sessions"), colour);
    } else if (strcmp(command, "bundles") == 0) {
        const json_t *list = json_object_get(answer, "bundles");
        json_int_t total = json_integer_value(json_object_get(answer, "total"));
        table_print(stdout, bundle_columns, LEN(bundle_columns), list, colour);
        if (total > (json_int_t)json_array_size(list))
            printf("… %lld in all\n", (long long)total);
    } else if (strcmp(command, "plan") == 0) {
        ctl_plan_show(answer, colour);
    } else {
        size_t at;
        json_t *l;
        list_print(stdout, answer, "", strcmp(command, "status") == 0);
        json_array_foreach(json_object_get(answer, "links"), at, l)
        {
            char path[128];
            snprintf(path, sizeof path, "links.%s", json_string_value(json_object_get(l, "name")));
            list_print(stdout, l, path, false);
        }
    }
}

int main(int argc, char **argv)
{
    struct request r = {.words = {"", "", ""}};
    int code = parse_option(argc, argv, &r);
    if (code >= 0)
        return code;
    char *path = path_of(&r), *line = path == NULL ? NULL : request_line(&r);
    if (line == NULL) {
        free(path);
        return 2;
    }
    json_t *answer = ask_node(line, path);
    free(line);
    free(path);
    if (answer == NULL)
        return 1;
    bool ok = json_is_true(json_object_get(answer, "ok"));
    if (r.json) {
        json_dumpf(answer, stdout, JSON_INDENT(2));
        putchar('\n');
    } else if (ok) {
        show_answer(&r, answer);
    }
    if (!ok)
        fprintf(stderr, "helioctl: %s\n", json_string_value(json_object_get(answer, "error")));
    bool wrong = json_is_true(json_object_get(answer, "usage"));
    json_decref(answer);
    return ok ? 0 : wrong ? 2 : 1;
}
