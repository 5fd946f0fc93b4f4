/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each line is split into words; its first word finds a command in a table. Commands act at the
 * world's present time; only `run` lets time pass. A command returns NULL, or a text that says what
 * is wrong with the line.
 */
#include "tests/sim/script.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "sim/sim_world.h"
#include "tests/sim/fate.h"
#include "tests/sim/ledger.h"
#include "tests/sim/options.h"
#include "tests/sim/trace.h"

#define WORDS_MAX 32

struct script;

struct node_sink {
    struct script *script;
    uint64_t node;
};

struct script {
    struct sim_world world;
    struct trace_text trace;
    struct fate fate;
    struct ledger ledger;
    struct pcap *pcap;
    struct ltp_config engines[SIM_NODES_MAX];
    struct node_sink sinks[SIM_NODES_MAX];
    struct ltp_span spans[SIM_NODES_MAX][SIM_NODES_MAX];
    uint64_t blocks;
    char *words[WORDS_MAX];
    size_t len; /* words on the present line */
};

static void on_event(void *context, const struct event *e)
{
    const struct node_sink *s = context;
    trace_event(&s->script->trace, s->node, e);
}

static void on_notice(void *context, size_t node, const struct ltp_notice *n)
{
    struct script *s = context;
    bool known = ledger_find(&s->ledger, n->id) != NULL;
    trace_notice(&s->trace, node + 1, n, known ? ledger_notice(&s->ledger, n) : NULL);
}

static void on_segment(void *context, size_t link, const uint8_t *data, size_t len)
{
    struct script *s = context;
    const struct sim_link *l = &s->world.links[link];
    if (s->pcap != NULL)
        pcap_segment(s->pcap, s->world.now, l->from + 1, l->to + 1, data, len);
    fate_segment(&s->fate, link, data, len);
}

static bool parse_node(const struct script *s, const char *word, size_t *node)
{
    char *end;
    unsigned long n = strtoul(word, &end, 10);
    *node = n - 1;
    return *end == '\0' && n >= 1 && n <= s->world.node_count;
}

/* "1->2" */
static bool parse_arrow(const struct script *s, const char *word, size_t *from, size_t *to)
{
    char *end;
    unsigned long a = strtoul(word, &end, 10);
    if (strncmp(end, "->", 2) != 0)
        return false;
    *from = a - 1;
    return a >= 1 && a <= s->world.node_count && parse_node(s, end + 2, to);
}

static const char *set_all(struct script *s, size_t first, const struct option_key *keys,
                           void *config)
{
    if ((s->len - first) % 2 != 0)
        return "a key without a value";
    for (size_t i = first; i < s->len; i += 2) {
        int rc = options_set(keys, config, s->words[i], s->words[i + 1]);
        if (rc <= 0)
            return rc == 0 ? "unknown key" : "wrong value";
    }
    return NULL;
}

static const char *make_node(struct script *s)
{
    size_t n = s->world.node_count;
    if (n == SIM_NODES_MAX)
        return "too many nodes";
    s->sinks[n] = (struct node_sink){s, n + 1};
    s->engines[n].engine = n + 1;
    s->engines[n].seed = s->engines[n].seed == 0 ? n + 1 : s->engines[n].seed;
    s->engines[n].sink = on_event;
    s->engines[n].sink_context = &s->sinks[n];
    return sim_node_add(&s->world, &s->engines[n], &n) == 0 ? NULL : "the engine refused";
}

static const char *make_span(struct script *s, size_t from, size_t to)
{
    s->spans[from][to].peer = to + 1;
    if (ltp_span_set(s->world.nodes[from].ltp, &s->spans[from][to], s->world.now) != 0)
        return "the engine refused the span";
    sim_touch(&s->world, from);
    return NULL;
}

static const char *make_line(struct script *s, size_t from, size_t to,
                             const struct chan_config *line)
{
    size_t index;
    return sim_link_add(&s->world, from, to, line, &index) == 0 ? NULL : "the line was refused";
}

static const char *set_up(struct script *s, size_t from, size_t to, bool up)
{
    if (ltp_link(s->world.nodes[from].ltp, to + 1, up, s->world.now) != 0)
        return "no such span";
    sim_touch(&s->world, from);
    return NULL;
}

static const char *cmd_node(struct script *s)
{
    if (s->world.node_count == SIM_NODES_MAX)
        return "too many nodes";
    if (s->len < 2 || strtoul(s->words[1], NULL, 10) != s->world.node_count + 1)
        return "node NUMBER KEY VALUE… (numbers from 1 on)";
    const char *wrong = set_all(s, 2, options_engine, &s->engines[s->world.node_count]);
    return wrong != NULL ? wrong : make_node(s);
}

static const char *cmd_span(struct script *s)
{
    size_t from, to;
    if (s->len < 2 || !parse_arrow(s, s->words[1], &from, &to))
        return "span FROM->TO KEY VALUE…";
    int rc = s->len % 2 == 0 ? 1 : -1;
    for (size_t i = 2; i + 1 < s->len && rc > 0; i += 2)
        rc = options_span(&s->spans[from][to], s->words[i], s->words[i + 1]);
    return rc == 0 ? "unknown key" : rc < 0 ? "wrong value" : make_span(s, from, to);
}

static const char *cmd_line(struct script *s)
{
    size_t from, to;
    struct chan_config line = {0};
    if (s->len < 2 || !parse_arrow(s, s->words[1], &from, &to))
        return "line FROM->TO KEY VALUE…";
    const char *wrong = set_all(s, 2, options_line, &line);
    return wrong != NULL ? wrong : make_line(s, from, to, &line);
}

/* Two nodes with the same span and line both ways, links up. */
static const char *cmd_pair(struct script *s)
{
    struct chan_config line = {.delay = 5 * TICK_MS};
    struct ltp_span span = {.segment_max = 120, .rto = 30 * TICK_MS};
    if (s->len % 2 == 0 || s->world.node_count != 0)
        return "pair KEY VALUE… (first of all)";
    for (size_t i = 1; i < s->len; i += 2) {
        int rc = options_span(&span, s->words[i], s->words[i + 1]);
        if (rc == 0)
            rc = options_set(options_line, &line, s->words[i], s->words[i + 1]);
        if (rc <= 0)
            return rc == 0 ? "unknown key" : "wrong value";
    }
    const char *wrong = make_node(s);
    wrong = wrong != NULL ? wrong : make_node(s);
    for (size_t i = 0; i < 2 && wrong == NULL; i++) {
        s->spans[i][1 - i] = span;
        wrong = make_line(s, i, 1 - i, &line);
        wrong = wrong != NULL ? wrong : make_span(s, i, 1 - i);
        wrong = wrong != NULL ? wrong : set_up(s, i, 1 - i, true);
    }
    return wrong;
}

static const char *cmd_link(struct script *s)
{
    size_t from, to;
    if (s->len != 3 || !parse_arrow(s, s->words[1], &from, &to) ||
        (strcmp(s->words[2], "up") != 0 && strcmp(s->words[2], "down") != 0))
        return "link FROM->TO up|down";
    return set_up(s, from, to, strcmp(s->words[2], "up") == 0);
}

static const char *cmd_outage(struct script *s)
{
    size_t from, to;
    if (s->len != 3 || !parse_arrow(s, s->words[1], &from, &to) ||
        (strcmp(s->words[2], "begin") != 0 && strcmp(s->words[2], "end") != 0))
        return "outage FROM->TO begin|end";
    size_t link = sim_link_find(&s->world, from, to);
    if (link == SIZE_MAX)
        return "no such line";
    trace_line(&s->trace, "%s outage %s", s->words[1], s->words[2]);
    chan_outage(s->world.links[link].chan, s->words[2][0] == 'b', s->world.now);
    return NULL;
}

static const char *parse_send(const struct script *s, uint64_t *red, uint64_t *green,
                              uint64_t *orange, uint64_t *service)
{
    for (size_t i = 2; i < s->len; i += 2) {
        uint64_t *at = NULL;
        if (strcmp(s->words[i], "red") == 0)
            at = red;
        else if (strcmp(s->words[i], "green") == 0)
            at = green;
        else if (strcmp(s->words[i], "orange") == 0)
            at = orange;
        else if (strcmp(s->words[i], "service") == 0)
            at = service;
        if (at == NULL || i + 1 == s->len || units_count(s->words[i + 1], 1 << 24, at) != 0)
            return "wrong";
    }
    return NULL;
}

static const char *cmd_send(struct script *s)
{
    size_t from, to;
    uint64_t red = 0, green = 0, orange = 0, service = 1;
    if (s->len < 4 || !parse_arrow(s, s->words[1], &from, &to) ||
        parse_send(s, &red, &green, &orange, &service) != NULL)
        return "send FROM->TO [red BYTES] [green BYTES] [orange BYTES] [service N]";
    struct ltp_block block = {.peer = to + 1,
                              .client_service = service,
                              .data = ledger_block(++s->blocks, red + green + orange),
                              .red_len = red,
                              .orange = orange > 0,
                              .tag = s->blocks};
    struct ltp_session_id id;
    int rc = ltp_send(s->world.nodes[from].ltp, &block, s->world.now, &id);
    if (rc != 0) {
        trace_line(&s->trace, "%zu refused: %s", from + 1, helio_strerror(rc));
        buf_drop(block.data);
    } else {
        struct ledger_entry *e = ledger_add(&s->ledger, id, block.data);
        e->from = from;
        e->to = to;
        e->red_len = red;
    }
    sim_touch(&s->world, from);
    return NULL;
}

static const char *parse_session(struct script *s, size_t *node, struct ltp_session_id *id)
{
    if (s->len < 3 || !parse_node(s, s->words[1], node))
        return "NODE SESSION expected";
    const struct ltp_session_id *found = trace_session(&s->trace, s->words[2]);
    if (found == NULL)
        return "no such session in the trace so far";
    *id = *found;
    return NULL;
}

static void say(struct script *s, size_t node, int rc)
{
    if (rc != 0)
        trace_line(&s->trace, "%zu refused: %s", node + 1, helio_strerror(rc));
    sim_touch(&s->world, node);
}

static const char *cmd_cancel(struct script *s)
{
    size_t node;
    struct ltp_session_id id;
    const char *wrong = parse_session(s, &node, &id);
    if (wrong != NULL)
        return wrong;
    say(s, node, ltp_cancel(s->world.nodes[node].ltp, id, LTP_USR_CNCLD, s->world.now));
    return NULL;
}

static const char *cmd_accept(struct script *s)
{
    size_t node;
    struct ltp_session_id id;
    const char *wrong = parse_session(s, &node, &id);
    if (wrong != NULL)
        return wrong;
    say(s, node, ltp_accept(s->world.nodes[node].ltp, id, s->world.now));
    return NULL;
}

static const char *cmd_service(struct script *s)
{
    size_t node;
    uint64_t service;
    if (s->len != 3 || !parse_node(s, s->words[1], &node) ||
        units_count(s->words[2], UINT64_MAX, &service) != 0)
        return "service NODE NUMBER";
    say(s, node, ltp_service_open(s->world.nodes[node].ltp, service));
    return NULL;
}

/* drop|dup|hold|swap FROM->TO KIND NTH [COUNT|all] [DELAY] */
static const char *cmd_fate(struct script *s)
{
    static const char usage[] = "drop FROM->TO KIND NTH [COUNT|all] · dup|hold FROM->TO KIND NTH "
                                "DELAY · swap FROM->TO KIND NTH";
    static const char *const names[] = {"drop", "dup", "hold", "swap"};
    struct fate_rule r = {.count = 1};
    while (strcmp(names[r.action], s->words[0]) != 0)
        r.action++;
    size_t from, to;
    uint64_t nth;
    if (s->len < 4 || s->len > 5 || !parse_arrow(s, s->words[1], &from, &to) ||
        units_count(s->words[3], 1 << 20, &nth) != 0 || nth == 0)
        return usage;
    r.types = fate_kind(s->words[2]);
    r.link = sim_link_find(&s->world, from, to);
    r.skip = nth - 1;
    if (r.types == 0 || r.link == SIZE_MAX)
        return "unknown kind or line";
    bool delayed = r.action == FATE_DUP || r.action == FATE_HOLD;
    if (delayed && (s->len != 5 || units_duration(s->words[4], &r.delay) != 0))
        return usage;
    if (r.action == FATE_DROP && s->len == 5) {
        r.count = UINT64_MAX;
        if (strcmp(s->words[4], "all") != 0 && units_count(s->words[4], 1 << 20, &r.count) != 0)
            return usage;
    }
    return fate_add(&s->fate, &r) == 0 ? NULL : "too many rules";
}

static const char *cmd_inject(struct script *s)
{
    uint8_t bytes[1024];
    size_t node, len = 0;
    if (s->len < 3 || !parse_node(s, s->words[1], &node))
        return "inject NODE HEX…";
    for (size_t i = 2; i < s->len; i++) {
        for (const char *p = s->words[i]; *p != '\0'; p += 2) {
            if (!isxdigit((unsigned char)p[0]) || !isxdigit((unsigned char)p[1]) ||
                len == sizeof bytes)
                return "pairs of hexadecimal digits expected";
            bytes[len++] = (uint8_t)strtoul((char[]){p[0], p[1], '\0'}, NULL, 16);
        }
    }
    ltp_input(s->world.nodes[node].ltp, bytes, len, s->world.now);
    sim_touch(&s->world, node);
    return NULL;
}

static const char *cmd_restart(struct script *s)
{
    size_t node;
    bool same = s->len == 3 && strcmp(s->words[2], "same") == 0;
    if ((s->len != 2 && !same) || !parse_node(s, s->words[1], &node))
        return "restart NODE [same]";
    s->engines[node].seed += same ? 0 : 100;
    trace_line(&s->trace, "%zu restart", node + 1);
    if (sim_node_restart(&s->world, node, &s->engines[node]) != 0)
        return "the engine refused";
    const char *wrong = NULL;
    for (size_t to = 0; to < s->world.node_count && wrong == NULL; to++) {
        if (s->spans[node][to].peer == 0)
            continue;
        wrong = make_span(s, node, to);
        wrong = wrong != NULL ? wrong : set_up(s, node, to, true);
    }
    return wrong;
}

/* Lets time pass up to `until` (what is due then is not done yet), or until all is quiet. */
static bool advance(struct script *s, tick until, bool stop_idle)
{
    for (;;) {
        if (stop_idle && fate_deadline(&s->fate) == TICK_NEVER && sim_idle(&s->world))
            return true;
        tick late = fate_deadline(&s->fate);
        tick due = sim_deadline(&s->world);
        if (tick_min(late, due) >= until)
            break;
        if (late <= due) {
            sim_run(&s->world, late);
            fate_enter(&s->fate);
        } else {
            sim_step(&s->world);
        }
    }
    sim_run(&s->world, until);
    return false;
}

static const char *cmd_run(struct script *s)
{
    static const char usage[] = "run DURATION · run to TIME · run until idle [WITHIN]";
    tick time = TICK_S * 3600;
    if (s->len >= 3 && strcmp(s->words[1], "until") == 0 && strcmp(s->words[2], "idle") == 0) {
        if (s->len == 4 && units_duration(s->words[3], &time) != 0)
            return usage;
        bool idle = advance(s, s->world.now + time, true);
        trace_line(&s->trace, idle ? "idle" : "NOT IDLE");
        return NULL;
    }
    bool absolute = s->len == 3 && strcmp(s->words[1], "to") == 0;
    if ((s->len != 2 && !absolute) || units_duration(s->words[s->len - 1], &time) != 0)
        return usage;
    advance(s, absolute ? time : s->world.now + time, false);
    return NULL;
}

static const struct command {
    const char *name;
    const char *(*run)(struct script *s);
} commands[] = {{"node", cmd_node},       {"span", cmd_span},     {"line", cmd_line},
                {"pair", cmd_pair},       {"link", cmd_link},     {"outage", cmd_outage},
                {"send", cmd_send},       {"cancel", cmd_cancel}, {"accept", cmd_accept},
                {"service", cmd_service}, {"drop", cmd_fate},     {"dup", cmd_fate},
                {"hold", cmd_fate},       {"swap", cmd_fate},     {"inject", cmd_inject},
                {"restart", cmd_restart}, {"run", cmd_run}};

static const char *run_line(struct script *s, char *line)
{
    line[strcspn(line, "#")] = '\0';
    s->len = 0;
    char *rest;
    for (char *w = strtok_r(line, " \t\r", &rest); w != NULL; w = strtok_r(NULL, " \t\r", &rest)) {
        if (s->len == WORDS_MAX)
            return "too many words";
        s->words[s->len++] = w;
    }
    if (s->len == 0)
        return NULL;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(commands[i].name, s->words[0]) == 0)
            return commands[i].run(s);
    }
    return "unknown command";
}

int script_run(const char *name, const char *text, size_t len, FILE *out, struct pcap *pcap)
{
    struct script *s = calloc(1, sizeof *s);
    char *copy = strndup(text, len);
    if (s == NULL || copy == NULL ||
        sim_init(&s->world, &(struct sim_hooks){s, on_notice, on_segment}) != 0)
        abort();
    s->world.check_every = 1;
    s->trace.out = out;
    s->pcap = pcap;
    s->trace.now = &s->world.now;
    fate_init(&s->fate, &s->world, &s->trace);
    ledger_init(&s->ledger);
    const char *wrong = NULL;
    int number = 0;
    for (char *line = copy; line != NULL && wrong == NULL;) {
        char *next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        number++;
        wrong = run_line(s, line);
        line = next;
    }
    if (wrong != NULL)
        fprintf(stderr, "%s:%d: %s\n", name, number, wrong);
    ledger_fini(&s->ledger);
    fate_fini(&s->fate);
    sim_fini(&s->world);
    free(copy);
    free(s);
    return wrong != NULL ? number : 0;
}
