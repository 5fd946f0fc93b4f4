/* SPDX-License-Identifier: Apache-2.0 */
/* helio-perf: generates traffic between two nodes and measures it (docs/helio-perf.md). */
#include <stdio.h>
#include <string.h>

#include "tools/perf_client.h"
#include "tools/perf_options.h"
#include "tools/perf_server.h"

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    struct perf_options o;
    if (strcmp(what, "--version") == 0) {
        printf("helio-perf %s\n", HELIO_VERSION);
        return 0;
    }
    bool help = strcmp(what, "--help") == 0;
    if (strcmp(what, "client") != 0 && strcmp(what, "server") != 0) {
        fprintf(
            help ? stdout : stderr,
            "usage: helio-perf client --socket PATH -d EID (-T S|-D N|-F FILE) (-W N|-R N) ...\n"
            "       helio-perf server --socket PATH ...\n"
            "helio-perf client --help and helio-perf server --help list the options.\n");
        return help ? 0 : 2;
    }
    perf_options_read(&o, argc, argv);
    return o.server ? perf_server_run(&o) : perf_client_run(&o);
}
