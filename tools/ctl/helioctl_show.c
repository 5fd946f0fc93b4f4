/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of a node as tables: the columns, and the lines below. Values that the node does not send
 * are shown as "-". */
#include "tools/ctl/helioctl.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/ctl/ctl_table.h"

static const struct column link_columns[] = {
    {"NAME", "name", COLUMN_TEXT},
    {"ADAPTER", "adapter", COLUMN_TEXT},
    {"PEER", "peer", COLUMN_TEXT},
    {"STATE", "state", COLUMN_TEXT},
    {"WAITING", "backlog", COLUMN_TEXT}, /* bulk/normal/expedited */
    {"SENT", "sent", COLUMN_NUMBER},
    {"FAILED", "failed", COLUMN_NUMBER},
    {"RECEIVED", "received", COLUMN_NUMBER},
    {"OUT", "tx_bps", COLUMN_SPEED},
    {"IN", "rx_bps", COLUMN_SPEED},
    {"RATE", "rate_bps", COLUMN_RATE},
    {"RTO", "rto_in_force_ns", COLUMN_DURATION},
    {"TRIP", "round_trip_smoothed_ns", COLUMN_DURATION},
    {"HEARD", "heard_ns", COLUMN_DURATION},
    {"OLDEST", "oldest_ms", COLUMN_SPAN_MS},
    {"SESSIONS", "sessions_open", COLUMN_NUMBER},
    {"RESENT", "retransmitted_bytes", COLUMN_BYTES},
    {"LATE", "late_ns", COLUMN_DURATION},
};
static const struct column route_columns[] = {
    {"TO", "to", COLUMN_TEXT}, {"VIA", "via", COLUMN_TEXT}, {"STATE", "state", COLUMN_TEXT}};
static const struct column backlog_columns[] = {{"DESTINATION", "destination", COLUMN_TEXT},
                                                {"BUNDLES", "bundles", COLUMN_NUMBER},
                                                {"BYTES", "bytes", COLUMN_BYTES},
                                                {"OLDEST", "oldest_ms", COLUMN_SPAN_MS}};
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
    {"FOR GAPS", "output_seg_re_xmit_bytes", COLUMN_BYTES},
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
    {"AGE", "age_ms", COLUMN_SPAN_MS},
    {"EXPIRES", "expires_ms", COLUMN_DTN_TIME},
};

static const struct column why_columns[] = {
    {"KEY", "key", COLUMN_NUMBER},
    {"SOURCE", "source", COLUMN_TEXT},
    {"DESTINATION", "destination", COLUMN_TEXT},
    {"BYTES", "bytes", COLUMN_BYTES},
    {"STATE", "state", COLUMN_TEXT},
    {"PRIORITY", "priority", COLUMN_TEXT},
    {"LINK", "link", COLUMN_TEXT},
    {"AGE", "age_ms", COLUMN_SPAN_MS},
    {"EXPIRES", "expires_ms", COLUMN_DTN_TIME},
};

static const struct column rule_columns[] = {
    {"LINE", "line", COLUMN_NUMBER},     {"ROLE", "role", COLUMN_TEXT},
    {"FROM", "from", COLUMN_TEXT},       {"TO", "to", COLUMN_TEXT},
    {"TARGET", "target", COLUMN_TEXT},   {"CONTEXT", "context", COLUMN_TEXT},
    {"KEY", "key", COLUMN_TEXT},         {"GOOD", "good", COLUMN_NUMBER},
    {"FAILED", "failed", COLUMN_NUMBER},
};
static const struct column permit_columns[] = {
    {"LINE", "line", COLUMN_NUMBER},
    {"WAY", "way", COLUMN_TEXT},
    {"PEER", "peer", COLUMN_TEXT},
    {"USER", "user", COLUMN_TEXT},
    {"AT", "at", COLUMN_TEXT},
    {"FROM", "from", COLUMN_TEXT},
    {"TO", "to", COLUMN_TEXT},
    {"PRIORITY", "priority", COLUMN_TEXT},
    {"SIZE", "size_max", COLUMN_BYTES},
    {"RATE", "rate", COLUMN_NUMBER},
    {"DATA RATE", "data_rate", COLUMN_RATE},
    {"BUNDLES", "bundles", COLUMN_NUMBER},
    {"BYTES", "bytes", COLUMN_BYTES},
    {"ALLOWED", "allowed", COLUMN_NUMBER},
    {"LIMITED", "limited", COLUMN_NUMBER},
};
static const struct column key_columns[] = {
    {"KEY", "id", COLUMN_TEXT},
    {"ALGORITHM", "algorithm", COLUMN_TEXT},
    {"STATE", "state", COLUMN_TEXT},
    {"FROM", "from_ms", COLUMN_DTN_TIME},
    {"UNTIL", "until_ms", COLUMN_DTN_TIME},
    {"PEERS", "peers", COLUMN_TEXT},
    {"USES", "uses", COLUMN_NUMBER},
    {"WARNING", "warning", COLUMN_TEXT},
};
static const struct column failure_columns[] = {
    {"FAILED AT", "time_ms", COLUMN_DTN_TIME},   {"LINE", "line", COLUMN_NUMBER},
    {"REASON", "reason", COLUMN_TEXT},           {"SOURCE", "source", COLUMN_TEXT},
    {"DESTINATION", "destination", COLUMN_TEXT}, {"SEQUENCE", "sequence", COLUMN_NUMBER},
};

static const struct column name_columns[] = {{"NAME", "name", COLUMN_TEXT},
                                             {"NODE", "node", COLUMN_TEXT}};

static const struct column frame_columns[] = {
    {"FRAMES OF", "link", COLUMN_TEXT},  {"PORT", "port", COLUMN_TEXT},
    {"OUT", "out", COLUMN_NUMBER},       {"IN", "in", COLUMN_NUMBER},
    {"LOST", "lost", COLUMN_NUMBER},     {"GAPS", "gaps", COLUMN_NUMBER},
    {"CUT", "cut", COLUMN_NUMBER},       {"FECF", "fecf", COLUMN_NUMBER},
    {"OTHERS", "others", COLUMN_NUMBER}, {"DROPPED", "dropped", COLUMN_NUMBER},
};

static const struct column tls_columns[] = {
    {"TLS OF", "link", COLUMN_TEXT},  {"WANTED", "wanted", COLUMN_TEXT},
    {"ROLE", "role", COLUMN_TEXT},    {"PEER SAYS", "peer", COLUMN_TEXT},
    {"IN FORCE", "now", COLUMN_TEXT}, {"CERTIFICATE NAMES", "names", COLUMN_TEXT},
    {"BY", "by", COLUMN_TEXT},        {"SUBJECT", "subject", COLUMN_TEXT},
};

static const struct column state_columns[] = {
    {"ATTENTION", "name", COLUMN_TEXT},
    {"STATE", "state", COLUMN_TEXT},
    {"SINCE", "down_because_ns", COLUMN_DURATION},
    {"WHY", "state_why", COLUMN_TEXT},
};

static const struct column neighbour_columns[] = {
    {"NODE", "node", COLUMN_TEXT},          {"ADDRESS", "address", COLUMN_TEXT},
    {"STATE", "state", COLUMN_TEXT},        {"LINK", "link", COLUMN_TEXT},
    {"HEARD", "heard_ns", COLUMN_DURATION}, {"KNOWN", "known_ns", COLUMN_DURATION},
    {"BEACONS", "beacons", COLUMN_NUMBER},  {"TRIES", "tries", COLUMN_NUMBER},
    {"FORMAT", "format", COLUMN_TEXT},
};

#define LEN(a) (sizeof(a) / sizeof *(a))

/* What their LTP engines count of each link's peer. */
static void show_spans(json_t *links, FILE *out, bool colour)
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
        putc('\n', out);
        table_print(out, span_columns, LEN(span_columns), spans, colour);
    }
    json_decref(spans);
}

/* Of links with CCSDS frames. */
static json_t *frames_row(const json_t *link, const json_t *frames)
{
    static const char *const from[][3] = {
        {"out", "sent", "frames"},     {"in", "received", "frames"},
        {"lost", "received", "lost"},  {"gaps", "received", "gaps"},
        {"cut", "received", "cut"},    {"fecf", "verdicts", "fecf"},
        {"port", "line", "port"},      {"others", "verdicts", "channel"},
        {"dropped", "line", "dropped"}};
    json_t *row = json_object();
    json_object_set(row, "link", json_object_get(link, "name"));
    for (size_t i = 0; i < LEN(from); i++)
        json_object_set(row, from[i][0],
                        json_object_get(json_object_get(frames, from[i][1]), from[i][2]));
    return row;
}

static void show_frames(const json_t *links, FILE *out, bool colour)
{
    json_t *rows = json_array(), *l, *frames;
    size_t at;
    json_array_foreach(links, at, l)
    {
        frames = json_object_get(l, "frames");
        if (frames != NULL)
            json_array_append_new(rows, frames_row(l, frames));
    }
    if (json_array_size(rows) > 0) {
        putc('\n', out);
        table_print(out, frame_columns, LEN(frame_columns), rows, colour);
    }
    json_decref(rows);
}

/* "ipn:2.0, two.example"; without a verified certificate they prove nothing, and there are none. */
static json_t *join_names(const json_t *tls)
{
    char all[256] = "";
    size_t at, used = 0;
    json_t *name;
    if (!json_is_true(json_object_get(tls, "verified")))
        return json_string("not verified");
    json_array_foreach(json_object_get(tls, "names"), at, name)
    {
        int n = snprintf(all + used, sizeof all - used, "%s%s", at > 0 ? ", " : "",
                         json_string_value(name));
        if (n < 0 || (size_t)n >= sizeof all - used) {
            snprintf(all + sizeof all - 4, 4, "...");
            break;
        }
        used += (size_t)n;
    }
    return json_string(used > 0 ? all : "none");
}

/* Of a session, or of a link that has none (NULL). */
static json_t *tls_row(const json_t *link, const json_t *session)
{
    const json_t *tls = json_object_get(session, "tls");
    json_t *row = json_object();
    json_object_set(row, "link", json_object_get(link, "name"));
    json_object_set(row, "wanted", json_object_get(link, "tls"));
    if (session == NULL)
        return row;
    const char *said = json_string_value(json_object_get(session, "peer"));
    json_object_set(row, "role", json_object_get(session, "role"));
    if (said != NULL && said[0] != '\0')
        json_object_set_new(row, "peer", json_string(said));
    if (!json_is_object(tls)) {
        json_object_set_new(row, "now", json_string("no"));
        return row;
    }
    json_object_set(row, "now", json_object_get(tls, "version"));
    json_object_set(row, "by", json_object_get(tls, "authenticated_by"));
    json_object_set(row, "subject", json_object_get(tls, "subject"));
    json_object_set_new(row, "names", join_names(tls));
    return row;
}

/* Of links whose adapter can have TLS: a row for each session, begun by either end. */
static void show_tls(const json_t *links, FILE *out, bool colour)
{
    json_t *rows = json_array(), *l, *session;
    size_t at, i;
    json_array_foreach(links, at, l)
    {
        const json_t *sessions = json_object_get(l, "sessions");
        if (!json_is_string(json_object_get(l, "tls")))
            continue;
        if (json_array_size(sessions) == 0)
            json_array_append_new(rows, tls_row(l, NULL));
        json_array_foreach(sessions, i, session) json_array_append_new(rows, tls_row(l, session));
    }
    if (json_array_size(rows) > 0) {
        putc('\n', out);
        table_print(out, tls_columns, LEN(tls_columns), rows, colour);
    }
    json_decref(rows);
}

/* Its state is not up, or it is, and nothing that was sent over it is confirmed. */
static bool is_in_trouble(const json_t *link)
{
    const char *state = json_string_value(json_object_get(link, "state"));
    return state != NULL &&
           (strcmp(state, "up") != 0 || json_is_true(json_object_get(link, "one_way")));
}

/* Links in trouble, and why that is so. */
static void show_states(json_t *links, FILE *out, bool colour)
{
    json_t *rows = json_array(), *l;
    size_t at;
    json_array_foreach(links, at, l)
    {
        if (is_in_trouble(l))
            json_array_append(rows, l);
    }
    if (json_array_size(rows) > 0) {
        putc('\n', out);
        table_print(out, state_columns, LEN(state_columns), rows, colour);
    }
    json_decref(rows);
}

/* The links, and the senders of no link that they have accepted. */
static void show_links(json_t *links, FILE *out, bool colour)
{
    json_t *unknown = json_array(), *l, *item;
    size_t at, i;
    table_print(out, link_columns, LEN(link_columns), links, colour);
    show_states(links, out, colour);
    show_spans(links, out, colour);
    show_frames(links, out, colour);
    show_tls(links, out, colour);
    json_array_foreach(links, at, l)
    {
        json_array_foreach(json_object_get(l, "unknown"), i, item)
        {
            json_object_set(item, "link", json_object_get(l, "name"));
            json_array_append(unknown, item);
        }
    }
    if (json_array_size(unknown) > 0) {
        putc('\n', out);
        table_print(out, unknown_columns, LEN(unknown_columns), unknown, colour);
    }
    json_decref(unknown);
}

static void show_security(json_t *answer, FILE *out, bool colour)
{
    const json_t *failures = json_object_get(answer, "failures");
    table_print(out, rule_columns, LEN(rule_columns), json_object_get(answer, "rules"), colour);
    putc('\n', out);
    table_print(out, key_columns, LEN(key_columns), json_object_get(answer, "keys"), colour);
    putc('\n', out);
    if (json_array_size(failures) > 0) {
        table_print(out, failure_columns, LEN(failure_columns), failures, colour);
        putc('\n', out);
    }
    list_print(out, json_object_get(answer, "security"), "", false);
}

static void show_rules(json_t *answer, FILE *out, bool colour)
{
    table_print(out, permit_columns, LEN(permit_columns), json_object_get(answer, "rules"), colour);
    putc('\n', out);
    list_print(out, json_object_get(answer, "counters"), "", false);
}

static void show_bundles(json_t *answer, FILE *out, bool colour)
{
    const json_t *list = json_object_get(answer, "bundles");
    json_int_t fit = json_integer_value(json_object_get(answer, "fit"));
    json_int_t total = json_integer_value(json_object_get(answer, "total"));
    table_print(out, bundle_columns, LEN(bundle_columns), list, colour);
    if (fit > (json_int_t)json_array_size(list))
        fprintf(out, "… %lld in all\n", (long long)fit);
    if (fit < total)
        fprintf(out, "%lld of %lld bundles here\n", (long long)fit, (long long)total);
}

static void show_counters(json_t *answer, FILE *out)
{
    size_t at;
    json_t *l;
    json_t *links = json_incref(json_object_get(answer, "links"));
    json_object_del(answer, "links");
    list_print(out, answer, "", false);
    json_array_foreach(links, at, l)
    {
        char path[128];
        snprintf(path, sizeof path, "links.%s", json_string_value(json_object_get(l, "name")));
        json_object_del(l, "name");
        list_print(out, l, path, false);
    }
    json_decref(links);
}

static void show_changes(const json_t *list, const char *word, FILE *out)
{
    size_t at;
    json_t *text;
    json_array_foreach((json_t *)(uintptr_t)list, at, text)
        fprintf(out, "%s %s\n", word, json_string_value(text));
}

/* The file is the node's own, which may be another one than CONFIG. */
static void show_reload(const json_t *answer, FILE *out)
{
    const json_t *applied = json_object_get(answer, "applied");
    const json_t *refused = json_object_get(answer, "refused");
    const char *file = json_string_value(json_object_get(answer, "file"));
    if (file == NULL) /* of an earlier version */
        file = "the file";
    if (json_array_size(applied) + json_array_size(refused) == 0)
        fprintf(out, "nothing to apply: %s is as it was\n", file);
    else
        fprintf(out, "the node read %s\n", file);
    show_changes(applied, "applied:", out);
    show_changes(refused, "not applied:", out);
}

/* A sentence for each of the questions. */
static void show_why(json_t *answer, FILE *out, bool colour)
{
    static const char *const questions[] = {"where", "why", "tried", "next"};
    json_t *bundle = json_object_get(answer, "bundle"), *rows = json_pack("[O?]", bundle);
    if (bundle != NULL)
        table_print(out, why_columns, LEN(why_columns), rows, colour);
    json_decref(rows);
    for (size_t i = 0; i < LEN(questions); i++) {
        const char *text = json_string_value(json_object_get(answer, questions[i]));
        if (text != NULL)
            fprintf(out, "%s%-6s %s\n", i == 0 && bundle != NULL ? "\n" : "", questions[i], text);
    }
}

/* What became of beacons follows the table. */
static void show_neighbours(json_t *answer, FILE *out, bool colour)
{
    table_print(out, neighbour_columns, LEN(neighbour_columns),
                json_object_get(answer, "neighbours"), colour);
    putc('\n', out);
    list_print(out, json_object_get(answer, "beacons"), "", false);
}

void ctl_show_at(FILE *out, bool colour, const char *command, struct json_t *answer)
{
    json_object_del(answer, "ok");
    if (strcmp(command, "links") == 0)
        show_links(json_object_get(answer, "links"), out, colour);
    else if (strcmp(command, "sessions") == 0)
        table_print(out, session_columns, LEN(session_columns), json_object_get(answer, "sessions"),
                    colour);
    else if (strcmp(command, "routes") == 0)
        table_print(out, route_columns, LEN(route_columns), json_object_get(answer, "routes"),
                    colour);
    else if (strcmp(command, "names") == 0)
        table_print(out, name_columns, LEN(name_columns), json_object_get(answer, "names"), colour);
    else if (strcmp(command, "neighbours") == 0)
        show_neighbours(answer, out, colour);
    else if (strcmp(command, "backlog") == 0)
        table_print(out, backlog_columns, LEN(backlog_columns), json_object_get(answer, "backlog"),
                    colour);
    else if (strcmp(command, "bundles") == 0)
        show_bundles(answer, out, colour);
    else if (strcmp(command, "why") == 0)
        show_why(answer, out, colour);
    else if (strcmp(command, "security") == 0)
        show_security(answer, out, colour);
    else if (strcmp(command, "rules") == 0)
        show_rules(answer, out, colour);
    else if (strcmp(command, "plan") == 0)
        ctl_plan_show(answer, colour);
    else if (strcmp(command, "reload") == 0)
        show_reload(answer, out);
    else if (strcmp(command, "counters") == 0)
        show_counters(answer, out);
    else
        list_print(out, answer, "", strcmp(command, "status") == 0);
}

void ctl_show(const char *command, struct json_t *answer)
{
    ctl_show_at(stdout, isatty(STDOUT_FILENO) == 1, command, answer);
}
