/* SPDX-License-Identifier: Apache-2.0 */
/* One line goes to the daemon, lines come back until it closes. What can go wrong: there is no
 * daemon, or it says what is wrong. */
#include "tools/cfdp/cfdp_ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"
#include "os/net/local_socket.h"

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text == NULL ? "" : text;
}

/* A text of a peer, without what a terminal should not see. */
static void print_text(const char *text)
{
    char shown[256 * PRINTABLE_EACH];
    printable(text, strnlen(text, 255), shown, sizeof shown);
    fputs(shown, stdout);
}

static long long number_of(const json_t *o, const char *key)
{
    return (long long)json_integer_value(json_object_get(o, key));
}

static void print_list(const char *text)
{
    for (const char *end; *text != '\0'; text = *end == '\0' ? end : end + 1) {
        char line[300];
        end = text + strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)(end - text < 290 ? end - text : 290), text);
        print_text(line);
        putchar('\n');
    }
}

static void print_transaction(const json_t *t)
{
    printf("%-12s %-8s entity %-6lld class %lld  %s%s%s  %lld of %lld octets  ", text_of(t, "id"),
           text_of(t, "role"), number_of(t, "entity"), number_of(t, "class"), text_of(t, "phase"),
           json_is_true(json_object_get(t, "suspended")) ? ", suspended" : "",
           json_is_true(json_object_get(t, "frozen")) ? ", link down" : "", number_of(t, "octets"),
           number_of(t, "size"));
    print_text(text_of(t, "source"));
    fputs(" -> ", stdout);
    print_text(text_of(t, "name"));
    putchar('\n');
}

static void print_status(const json_t *o)
{
    size_t i;
    json_t *t;
    const json_t *all = json_object_get(o, "transactions"), *c = json_object_get(o, "counts");
    json_array_foreach(all, i, t) print_transaction(t);
    printf("entity %lld: %zu transactions; %lld finished, %lld with an error, %lld abandoned; "
           "%lld PDUs received, %lld sent\n",
           number_of(o, "entity"), json_array_size(all), number_of(c, "finished"),
           number_of(c, "cancelled"), number_of(c, "abandoned"), number_of(c, "pdus_in"),
           number_of(c, "pdus_out"));
}

static void print_result(const json_t *o)
{
    size_t i;
    json_t *r;
    printf("%s: %s, %lld octets, file %s", text_of(o, "id"), text_of(o, "condition"),
           number_of(o, "octets"), text_of(o, "file"));
    if (*text_of(o, "name") != '\0') {
        fputs(": ", stdout);
        print_text(text_of(o, "name"));
    }
    putchar('\n');
    json_array_foreach(json_object_get(o, "responses"), i, r)
    {
        printf("  %s ", text_of(r, "action"));
        print_text(text_of(r, "name"));
        printf(": status %lld\n", number_of(r, "status"));
    }
}

/* `ids`: also that of a transaction that begins. */
static void print_answer(const json_t *o, bool ids)
{
    if (json_object_get(o, "list") != NULL)
        print_list(text_of(o, "list"));
    else if (json_object_get(o, "transactions") != NULL)
        print_status(o);
    else if (json_object_get(o, "condition") != NULL)
        print_result(o);
    else if (ids && json_object_get(o, "id") != NULL)
        printf("%s\n", text_of(o, "id"));
    fflush(stdout);
}

static bool is_good(const json_t *o)
{
    size_t i;
    json_t *r;
    json_array_foreach(json_object_get(o, "responses"), i,
                       r) if (number_of(r, "status") != 0) return false;
    return json_is_true(json_object_get(o, "done"));
}

/* 0, 1, or -1: another line follows. */
static int take_line(const char *line, bool as_json, bool ids)
{
    json_t *o = json_loads(line, 0, NULL);
    const char *error = json_string_value(json_object_get(o, "error"));
    int code = json_object_get(o, "done") == NULL ? -1 : is_good(o) ? 0 : 1;
    if (o == NULL || error != NULL) {
        char shown[256 * PRINTABLE_EACH];
        const char *why = error == NULL ? "the daemon's answer is not understood" : error;
        printable(why, strnlen(why, 255), shown, sizeof shown);
        fprintf(stderr, "helio-cfdp: %s\n", shown);
        code = 1;
    } else if (as_json) {
        puts(line);
        fflush(stdout);
    } else {
        print_answer(o, ids);
    }
    json_decref(o);
    return code;
}

static int read_answers(FILE *in, bool as_json, bool ids)
{
    char *line = NULL;
    size_t cap = 0;
    int code = -1;
    while (code < 0 && getline(&line, &cap, in) > 0) {
        line[strcspn(line, "\n")] = '\0';
        code = take_line(line, as_json, ids);
    }
    free(line);
    if (code < 0)
        fputs("helio-cfdp: the daemon has ended\n", stderr);
    return code < 0 ? 1 : code;
}

int ask_daemon(const char *control, json_t *request, bool as_json)
{
    char why[256];
    char *text = json_dumps(request, JSON_COMPACT);
    const bool ids = strcmp(text_of(request, "do"), "ls") != 0;
    const int fd = local_socket_connect(control, why, sizeof why);
    FILE *stream = fd < 0 ? NULL : fdopen(fd, "r+");
    int code = fd < 0 && access(control, F_OK) != 0 ? 2 : 1; /* a name that is wrong */
    json_decref(request);
    if (fd < 0)
        fprintf(stderr, "helio-cfdp: %s\n", why);
    else if (text == NULL || stream == NULL)
        fputs("helio-cfdp: out of memory, or a name is no UTF-8\n", stderr);
    else if (fprintf(stream, "%s\n", text) < 0 || fflush(stream) != 0)
        fputs("helio-cfdp: the daemon has ended\n", stderr);
    else
        code = read_answers(stream, as_json, ids);
    if (stream != NULL)
        fclose(stream);
    else if (fd >= 0)
        close(fd);
    free(text);
    return code;
}
