/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_scenarios [--update] [--pcap OUT] FILE…: runs each scenario and compares its trace with the
 * text that stands below its line of dashes. --update writes the trace there instead; read it
 * before you believe it. --pcap also records what the engines radiate.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/script.h"

static const char divider[] = "\n----\n";

static char *read_all(const char *path)
{
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return NULL;
    char *text = NULL;
    size_t cap = 0;
    ssize_t len = getdelim(&text, &cap, '\0', f);
    fclose(f);
    if (len < 0) {
        free(text);
        return NULL;
    }
    return text;
}

static void print_lines(const char *mark, const char *text, int max)
{
    while (*text != '\0' && max-- > 0) {
        int len = (int)strcspn(text, "\n");
        printf("%s %.*s\n", mark, len, text);
        text += len + (text[len] == '\n');
    }
}

/* Prints the first difference with the lines around it. */
static void print_difference(const char *expected, const char *got)
{
    const char *start[4] = {expected, expected, expected, expected}; /* of the last lines */
    while (*expected != '\0') {
        size_t len = strcspn(expected, "\n") + 1;
        if (strncmp(expected, got, len) != 0)
            break;
        expected += len;
        got += len;
        memmove(start, start + 1, 3 * sizeof *start);
        start[3] = expected;
    }
    for (int i = 0; i < 3; i++) {
        if (start[i] != start[i + 1])
            print_lines(" ", start[i], 1);
    }
    print_lines("-", expected, 12);
    print_lines("+", got, 12);
}

static bool write_back(const char *path, const char *text, size_t script, const char *trace)
{
    FILE *f = fopen(path, "w");
    if (f == NULL)
        return false;
    fprintf(f, "%.*s%s%s", (int)script, text, divider, trace);
    return fclose(f) == 0;
}

static bool run_file(const char *path, bool update, struct pcap *pcap)
{
    char *text = read_all(path);
    if (text == NULL) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return false;
    }
    char *split = strstr(text, divider);
    size_t script = split != NULL ? (size_t)(split - text) : strlen(text);
    const char *expected = split != NULL ? split + strlen(divider) : "";
    char *trace = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&trace, &size);
    bool ok = out != NULL && script_run(path, text, script, out, pcap) == 0;
    if (out != NULL)
        fclose(out);
    if (ok && update) {
        ok = write_back(path, text, script, trace);
    } else if (ok && strcmp(trace, expected) != 0) {
        printf("%s: the trace differs (- expected, + got):\n", path);
        print_difference(expected, trace);
        ok = false;
    }
    free(trace);
    free(text);
    return ok;
}

static int usage(void)
{
    fprintf(stderr, "usage: sim_scenarios [--update] [--pcap OUT] FILE…\n");
    return 2;
}

int main(int argc, char **argv)
{
    bool update = false;
    const char *record = NULL;
    int next = 1;
    for (; next < argc && strncmp(argv[next], "--", 2) == 0; next++) {
        if (strcmp(argv[next], "--update") == 0)
            update = true;
        else if (strcmp(argv[next], "--pcap") == 0 && next + 1 < argc)
            record = argv[++next];
        else
            return usage();
    }
    if (next == argc)
        return usage();
    struct pcap pcap;
    if (record != NULL && !pcap_open(&pcap, record)) {
        perror(record);
        return 1;
    }
    int failed = 0;
    for (; next < argc; next++)
        failed += !run_file(argv[next], update, record != NULL ? &pcap : NULL);
    if (record != NULL && !pcap_close(&pcap)) {
        perror(record);
        failed++;
    }
    return failed != 0;
}
