/* SPDX-License-Identifier: Apache-2.0 */
/* helio-perf: generates traffic between two nodes and measures it (docs/helio-perf.md). */
#include <stdio.h>
#include <string.h>

#include "tools/perf/perf_client.h"
#include "tools/perf/perf_options.h"
#include "tools/perf/perf_server.h"

static const char help[] =
    "usage: helio-perf client --socket PATH -d EID (-T S|-D N|-F FILE) (-W N|-R N) ...\n"
    "       helio-perf server --socket PATH ...\n"
    "\n"
    "Generates traffic between two nodes and measures it. helio-perf client --help and\n"
    "helio-perf server --help list the options.\n"
    "\n"
    "  -h, --help       this text\n"
    "  -V, --version    the version\n"
    "\n"
    "examples:\n"
    "  helio-perf server --socket node2.sock\n"
    "  helio-perf client --socket node1.sock -d ipn:2.2000 -T 20 -W 20 -P 500kB\n";

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    struct perf_options o;
    if (strcmp(what, "--version") == 0 || strcmp(what, "-V") == 0) {
        printf("helio-perf %s\n", HELIO_VERSION);
        return 0;
    }
    if (strcmp(what, "--help") == 0 || strcmp(what, "-h") == 0) {
        fputs(help, stdout);
        return 0;
    }
    if (*what == '\0') {
        fputs("helio-perf: client or server is missing; see helio-perf --help\n", stderr);
        return 2;
    }
    if (strcmp(what, "client") != 0 && strcmp(what, "server") != 0) {
        fprintf(stderr,
                "helio-perf: %s \"%s\": client or server comes first; see helio-perf --help\n",
                *what == '-' ? "unknown option" : "unknown word", what);
        return 2;
    }
    perf_options_read(&o, argc, argv);
    return o.server ? perf_server_run(&o) : perf_client_run(&o);
}
