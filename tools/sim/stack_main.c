/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-sim --node: nodes by their configuration files, relays, clients and servers by the words of
 * helio-emu's and helio-perf's command lines. Options are gathered first, then made into a stack in
 * a fixed order: nodes, channels, clients, servers. What can go wrong is said with the file or the
 * option, and exits with 2; a log that cannot be written exits with 1.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "conf/conf_arguments.h"
#include "os/arguments.h"
#include "tools/sim/stack.h"
#include "tools/sim/stack_words.h"

#define LIST_MAX 1024

static const char doc[] =
    "The whole stack in virtual time: nodes, links, channels and traffic generators, with the "
    "files "
    "and options of heliod, helio-emu and helio-perf.\v"
    "The same options and seed give the same result and the same logs byte for byte. Ctrl-C prints "
    "the result so far.\n\nexamples:\n"
    "  helio-sim --node one.yaml --node two.yaml --channel link-a.yaml \\\n"
    "      --client '-d ipn:2.2000 -T 20 -W 30 -P 500kB'\n"
    "  helio-sim --node n1.yaml --node n2.yaml --log-dir out --json \\\n"
    "      --relay '--listen 127.0.0.1:5000 --to 127.0.0.1:6000 --delay 20min' \\\n"
    "      --client '-d ipn:2.2000 -D 1G -R 5M -l 1d --linger 3h'\n"
    "\nexit codes: 0 done, 1 bundles are missing or a log failed, 2 usage or configuration\n";

struct list_of {
    const char **text; /* room for all words of the command line */
    size_t len;
};

struct arguments {
    const char *links_file;
    struct list_of nodes, stations, relays, channels, clients, servers, pings, links;
    tick duration, least;
    uint64_t seed;
    const char *log_dir;
    bool gzip, json, check;
};

/* At most `max` of the row. */
static void add_word(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct list_of *l = argument_field(row, base);
    if (l->len == row->max)
        argument_wrong(state, "\"%s\" is one too many; at most %" PRIu64 " are possible", arg,
                       row->max);
    else
        l->text[l->len++] = arg;
}

static void set_links(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct arguments *a = base;
    (void)row;
    if (a->links_file != NULL)
        argument_wrong(state, "\"%s\" is one file too many; write all links into one", arg);
    a->links_file = arg;
}

static void check_words(struct argp_state *state, void *base)
{
    const struct arguments *a = base;
    if (a->nodes.len == 0)
        argp_error(state, "--node FILE is missing: the configuration of a node");
    if (a->clients.len + a->pings.len == 0 && a->duration == TICK_NEVER)
        argp_error(state,
                   "nothing would come to an end: --client, --ping or --duration is missing");
    struct stat st;
    if (a->log_dir == NULL || mkdir(a->log_dir, 0777) == 0)
        return;
    int why = errno;
    if (why != EEXIST || stat(a->log_dir, &st) != 0 || !S_ISDIR(st.st_mode))
        argp_error(state, "--log-dir: \"%s\": %s; write the path of a folder", a->log_dir,
                   strerror(why));
}

static void refuse_word(struct argp_state *state, char *arg, void *base)
{
    (void)base;
    argp_error(state, "unexpected argument '%s'", arg);
}

#define FIELD(member) ARGUMENT_FIELD(struct arguments, member)
#define LIST(member, most) .own = add_word, .max = (most), FIELD(member)

static const struct argument options[] = {
    {"node", 0, "FILE", .help = "A node by its configuration, as of heliod; once for each",
     LIST(nodes, STACK_NODES_MAX)},
    {"station", 0, "FILE",
     .help = "A ground station by its configuration, as of helio-sle provider; its number is "
             "behind the nodes'",
     LIST(stations, STACK_STATIONS_MAX)},
    {"relay", 0, "OPTIONS", .help = "A channel with addresses: the options of helio-emu relay",
     LIST(relays, STACK_CHANNELS_MAX / 2)},
    {"channel", 0, "[I-J=]FILE",
     .help = "A scenario between all that nodes I and J (in their order, from 1; then stations) "
             "send to each other [1-2=]",
     LIST(channels, STACK_CHANNELS_MAX / 2)},
    {"links", 0, "FILE",
     .help = "Channels with addresses as the file of helio-emu links has them: hops, shared "
             "transmitters, hand-over",
     .own = set_links},
    {"client", 0, "[@TIME] OPTIONS",
     .help = "A traffic generator: the options of helio-perf client; without --socket at the first "
             "node; with @TIME it begins then",
     LIST(clients, LIST_MAX)},
    {"server", 0, "OPTIONS",
     .help = "The same for helio-perf server; a client's destination gets one by itself",
     LIST(servers, LIST_MAX)},
    {"ping", 0, "[@TIME] [I=]EID[,N[,TIME[,LIFETIME]]]",
     .help = "N bundles to an echo endpoint from node number I (1), one each TIME [5,1s,1d]; with "
             "@TIME they begin then",
     LIST(pings, LIST_MAX)},
    {"link", 0, "TIME NODE LINK up|down|set KEYS",
     .help = "As helioctl at that time, in one word: '10s ipn:1.0 to-2 down', '10s ipn:1.0 to-2 "
             "set {rate: 1Mbit/s}'",
     LIST(links, STACK_SCRIPT_MAX)},
    {"duration", 0, "TIME", .help = "End there in any case [when all clients are done]",
     .type = OPTION_DURATION, .min = 1, FIELD(duration)},
    {"at-least", 0, "TIME", .help = "Without --duration: do not end before [0]",
     .type = OPTION_DURATION, FIELD(least)},
    {"seed", 0, "N", .help = "Of session numbers and the like; channels have their own [1]",
     .type = OPTION_COUNT, .max = INT64_MAX, FIELD(seed)},
    {"log-dir", 0, "DIR", .help = "Write each node's segment log and each channel's drop log",
     FIELD(log_dir)},
    {"gzip", 0, .help = "Compress them", .type = OPTION_BOOL, FIELD(gzip)},
    {"json", 0, .help = "Print the result as JSON", .type = OPTION_BOOL, FIELD(json)},
    {"check", 0,
     .help = "Assert all that the parts promise of themselves after each step: slow, for tests",
     .type = OPTION_BOOL, FIELD(check)},
    {0}};

static void wrong(const char *option, const char *text, const char *why)
{
    fprintf(stderr, "helio-sim: --%s '%s': %s\n", option, text, why);
}

static char **words_of(const char *option, const char *const *first, const char *text, int *count)
{
    char **words = stack_words(first, text, count);
    if (words == NULL)
        wrong(option, text, *count < 0 ? "a quote is not closed" : "out of memory");
    return words;
}

/* ---- channels ---- */

static struct stack_channel *channel_new(struct stack *s)
{
    struct stack_channel *c = calloc(1, sizeof *c);
    if (c != NULL)
        c->stack = s;
    return c;
}

static int add_relay(struct stack *s, const char *text)
{
    static const char *const first[] = {"helio-sim --relay", NULL};
    int count;
    char **words = words_of("relay", first, text, &count);
    struct stack_channel *c = words == NULL ? NULL : channel_new(s);
    if (c == NULL) {
        stack_words_free(words);
        return HELIO_EINVAL;
    }
    emu_relay_options_read(&c->options, count, words);
    c->kind = STACK_RELAY;
    c->words = words;
    s->channels[s->channels_len++] = c;
    return 0;
}

/* "I-J=": the file after it; NULL: the numbers are wrong. */
static const char *read_ends(const struct stack *s, const char *text, size_t ends[2])
{
    const char *equals = strchr(text, '=');
    unsigned i = 1, j = 2;
    int used = 0;
    if (equals != NULL && sscanf(text, "%u-%u=%n", &i, &j, &used) == 2 && used > 0)
        text = equals + 1;
    ends[0] = i - 1;
    ends[1] = j - 1;
    size_t most = s->hosts_len + s->stations_len;
    return i != j && i >= 1 && j >= 1 && i <= most && j <= most ? text : NULL;
}

static int add_channel(struct stack *s, const char *text)
{
    static const struct argument none[] = {{0}};
    static const struct argument_part parts[] = {EMU_SETTINGS_PARTS(0), {0}};
    static const struct argument_table table = {.options = none, .parts = parts};
    static const char *const first[] = {"helio-sim --channel", "--scenario", NULL};
    struct stack_channel *c = channel_new(s);
    const char *file = c == NULL ? NULL : read_ends(s, text, c->ends);
    int count;
    if (file == NULL) {
        wrong("channel", text,
              "expected FILE or I-J=FILE, with two of the nodes' and stations' numbers from 1");
        free(c);
        return HELIO_EINVAL;
    }
    char quoted[4200];
    snprintf(quoted, sizeof quoted, "\"%.4096s\"", file);
    c->words = words_of("channel", first, quoted, &count);
    if (c->words == NULL) {
        free(c);
        return HELIO_EINVAL;
    }
    emu_settings_init(&c->options.settings, 42, count, c->words);
    argument_table_parse(&table, count, c->words, &c->options.settings);
    s->channels[s->channels_len++] = c;
    return 0;
}

/* ---- applications ---- */

static struct stack_app *app_new(struct stack *s, enum stack_kind kind)
{
    struct stack_app *a = calloc(1, sizeof *a);
    if (a == NULL)
        return NULL;
    a->stack = s;
    a->kind = kind;
    list_add_tail(&s->apps, &a->node);
    return a;
}

static struct stack_host *host_with(const struct stack *s, const char *socket)
{
    for (size_t i = 0; i < s->hosts_len; i++)
        if (strcmp(s->hosts[i]->config.socket, socket) == 0)
            return s->hosts[i];
    return NULL;
}

/* "@TIME …": the rest, and the time; NULL: there is no time. */
static const char *read_start(const char *text, tick *start)
{
    char word[64];
    *start = 0;
    if (text[0] != '@')
        return text;
    size_t len = strcspn(text, " ");
    if (len >= sizeof word || text[len] == '\0')
        return NULL;
    memcpy(word, text + 1, len - 1);
    word[len - 1] = '\0';
    return units_duration(word, start) == 0 ? text + len + 1 : NULL;
}

/* A client or server; `home` is its node without --socket. NULL: it cannot be; that was said. */
static struct stack_app *add_perf(struct stack *s, enum stack_kind kind, const char *given,
                                  const struct stack_host *home)
{
    const char *what = kind == STACK_CLIENT ? "client" : "server";
    tick start = 0;
    const char *text = given;
    if (kind == STACK_CLIENT && (text = read_start(given, &start)) == NULL) {
        wrong(what, given, "what follows @ is a time, as in @10s -d ipn:2.2000 …");
        return NULL;
    }
    const char *const bare[] = {"helio-sim", what, NULL};
    const char *const first[] = {"helio-sim", what, "--socket", home->config.socket, NULL};
    int count;
    char **words = words_of(what, bare, text, &count);
    if (words != NULL && !stack_words_have(words, "socket")) {
        stack_words_free(words);
        words = words_of(what, first, text, &count);
    }
    struct stack_app *a = words == NULL ? NULL : app_new(s, kind);
    if (a == NULL) {
        stack_words_free(words);
        return NULL;
    }
    a->words = words;
    a->start = start;
    perf_options_read(&a->options, count, words);
    a->host = host_with(s, a->options.socket);
    if (a->options.reverse && kind == STACK_CLIENT)
        a->kind = STACK_REVERSE;
    if (a->host != NULL)
        return a;
    wrong(what, text, "--socket: none of the nodes has this socket");
    return NULL;
}

/* With --parallel several, each a client of its own. */
static int add_client(struct stack *s, const char *text)
{
    uint64_t n = 1;
    for (uint64_t i = 0; i < n; i++) {
        const struct stack_app *a = add_perf(s, STACK_CLIENT, text, s->hosts[0]);
        if (a == NULL)
            return HELIO_EINVAL;
        n = a->options.parallel > 0 ? a->options.parallel : 1;
        if (n > 1 && a->options.json != NULL) {
            wrong("client", text,
                  "--parallel: not with --json, which would be a file of each of "
                  "them; helio-sim --json reports all");
            return HELIO_EINVAL;
        }
    }
    return 0;
}

static bool has_server(const struct stack *s, const struct stack_host *h, const char *service)
{
    bool dtn = h->config.node.scheme == EID_DTN;
    list_for_each (l, &s->apps) {
        const struct stack_app *a = container_of(l, struct stack_app, node);
        const char *own = a->options.service != NULL ? a->options.service : dtn ? "perf" : "2000";
        if (a->kind == STACK_SERVER && a->host == h && strcmp(own, service) == 0)
            return true;
    }
    return false;
}

/* A client's destination has a server, unless it is an echo endpoint. */
static int add_server_for(struct stack *s, const struct stack_app *client)
{
    struct eid to, echo;
    const char *text = client->options.destination;
    struct stack_host *h = eid_parse(text, &to) < 0 ? NULL : stack_host_of(s, &to);
    if (h == NULL) {
        wrong("client", text, "-d: none of the nodes has this endpoint");
        return HELIO_EINVAL;
    }
    const char *service = strrchr(text, to.scheme == EID_DTN ? '/' : '.') + 1;
    char options_text[EID_TEXT_MAX + 64];
    if ((config_echo(&h->config, &echo) && eid_equal(&echo, &to)) || has_server(s, h, service))
        return 0;
    snprintf(options_text, sizeof options_text,
             "--service '%s' -l %" PRIu64 "ms --reverse-max 365d", service,
             client->options.lifetime_ms);
    return add_perf(s, STACK_SERVER, options_text, h) != NULL ? 0 : HELIO_EINVAL;
}

/* The values between commas, of which those that are not there stay as they are; false when there
 * are too many or one is too long. */
static bool split_word(const char *text, char part[][EID_TEXT_MAX], size_t most)
{
    for (size_t i = 0;; i++) {
        size_t len = strcspn(text, ",");
        if (i == most || len >= EID_TEXT_MAX)
            return false;
        memcpy(part[i], text, len);
        part[i][len] = '\0';
        if (text[len] == '\0')
            return true;
        text += len + 1;
    }
}

/* "I=": the rest, and the node; NULL: there is no node with this number. */
static const char *read_home(const struct stack *s, const char *text, struct stack_host **home)
{
    unsigned i = 1;
    int used = 0;
    if (sscanf(text, "%u=%n", &i, &used) != 1 || used == 0)
        i = 1;
    *home = i >= 1 && i <= s->hosts_len ? s->hosts[i - 1] : NULL;
    return *home == NULL ? NULL : text + used;
}

static bool read_ping(struct ping_options *o, char part[][EID_TEXT_MAX])
{
    struct eid to;
    o->size = 64;
    return eid_parse(part[0], &to) == 0 && units_count(part[1], 1000000000, &o->count) == 0 &&
           o->count > 0 && units_duration(part[2], &o->interval) == 0 &&
           units_duration(part[3], &o->lifetime) == 0 && o->lifetime >= TICK_MS;
}

static int add_ping(struct stack *s, const char *given)
{
    struct stack_app *a = app_new(s, STACK_PING);
    char part[4][EID_TEXT_MAX] = {"", "5", "1s", "1d"};
    if (a == NULL)
        return HELIO_ENOMEM;
    const char *text = read_start(given, &a->start);
    if (text != NULL)
        text = read_home(s, text, &a->host);
    if (text == NULL || !split_word(text, part, 4) || !read_ping(&a->ping_options, part)) {
        wrong("ping", given,
              "expected an endpoint, a number and two times, as in ipn:2.128,5,1s,1h, or "
              "@10s 3=ipn:2.128,5 from node number 3 on");
        return HELIO_EINVAL;
    }
    a->destination = strdup(part[0]);
    return a->destination == NULL ? HELIO_ENOMEM : 0;
}

/* ---- all of it ---- */

static int build_stack(struct stack *s, const struct arguments *a)
{
    int rc = 0;
    for (size_t i = 0; i < a->nodes.len; i++) {
        int r = stack_host_new(s, a->nodes.text[i]); /* errors of all files */
        rc = rc < 0 ? rc : r;
    }
    for (size_t i = 0; i < a->stations.len; i++) {
        int r = stack_station_new(s, a->stations.text[i]);
        rc = rc < 0 ? rc : r;
    }
    for (size_t i = 0; i < a->relays.len && rc == 0; i++)
        rc = add_relay(s, a->relays.text[i]);
    for (size_t i = 0; i < a->channels.len && rc == 0; i++)
        rc = add_channel(s, a->channels.text[i]);
    if (a->links_file != NULL && rc == 0)
        rc = stack_links_add(s, a->links_file);
    for (size_t i = 0; i < a->servers.len && rc == 0; i++)
        if (add_perf(s, STACK_SERVER, a->servers.text[i], s->hosts[s->hosts_len - 1]) == NULL)
            rc = HELIO_EINVAL;
    for (size_t i = 0; i < a->clients.len && rc == 0; i++)
        rc = add_client(s, a->clients.text[i]);
    for (struct list *l = s->apps.next; l != &s->apps && rc == 0; l = l->next) {
        const struct stack_app *app = container_of(l, struct stack_app, node);
        if (app->kind == STACK_CLIENT || app->kind == STACK_REVERSE)
            rc = add_server_for(s, app);
    }
    for (size_t i = 0; i < a->pings.len && rc == 0; i++)
        rc = add_ping(s, a->pings.text[i]);
    for (size_t i = 0; i < a->links.len && rc == 0; i++)
        rc = stack_script_add(s, a->links.text[i]);
    return rc;
}

static int run_stack(struct stack *s, const struct arguments *a)
{
    stack_init(s, a->seed);
    s->until = a->duration;
    s->least = tick_min(a->least, a->duration);
    s->log_dir = a->log_dir;
    s->gzip = a->gzip;
    s->check = a->check;
    if (build_stack(s, a) < 0)
        return 2;
    int rc = stack_open(s);
    if (rc < 0)
        return rc == HELIO_EIO || rc == HELIO_ENOMEM ? 1 : 2;
    stack_run(s, isatty(STDERR_FILENO) == 1);
    int code = stack_report(s, a->json);
    return stack_finish_logs(s) < 0 ? 1 : code;
}

bool stack_wanted(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--node") == 0 || strncmp(argv[i], "--node=", 7) == 0)
            return true;
    return argc > 1 && strcmp(argv[1], "stack") == 0;
}

/* NULL: out of memory. */
static const char **make_lists(struct arguments *a, size_t words)
{
    struct list_of *const lists[] = {&a->nodes,   &a->stations, &a->relays, &a->channels,
                                     &a->clients, &a->servers,  &a->pings,  &a->links};
    const size_t n = sizeof lists / sizeof *lists;
    const char **all = calloc(n * words, sizeof *all);
    for (size_t i = 0; i < n && all != NULL; i++)
        lists[i]->text = all + i * words;
    return all;
}

int stack_main(int argc, char **argv)
{
    static const struct argument_table table = {
        .options = options, .word = refuse_word, .end = check_words, .doc = doc};
    struct arguments a = {.duration = TICK_NEVER, .seed = 1};
    char name[] = "helio-sim stack";
    if (argc > 1 && strcmp(argv[1], "stack") == 0) {
        argc--;
        argv++;
    }
    argv[0] = name;
    argp_err_exit_status = 2;
    argp_program_version = "helio-sim " HELIO_VERSION;
    const char **lists = make_lists(&a, (size_t)argc);
    if (lists != NULL)
        argument_table_parse(&table, argc, argv, &a);
    struct stack *s = lists == NULL ? NULL : calloc(1, sizeof *s);
    int code = 1;
    if (s != NULL) {
        code = run_stack(s, &a);
        stack_fini(s);
    } else
        fprintf(stderr, "helio-sim: out of memory\n");
    free(s);
    free(lists);
    return code;
}
