/* SPDX-License-Identifier: Apache-2.0 */
/* helio-perf: generates traffic between two nodes and measures it (docs/helio-perf.md). */
#include "os/arguments.h"
#include "os/process/process.h"
#include "tools/perf/perf_client.h"
#include "tools/perf/perf_monitor.h"
#include "tools/perf/perf_options.h"
#include "tools/perf/perf_reverse.h"
#include "tools/perf/perf_server.h"

static const char help[] =
    "usage: helio-perf client --socket PATH -d EID (-T S|-D N|-n N|-F FILE) (-W N|-R N) ...\n"
    "       helio-perf server --socket PATH ...\n"
    "       helio-perf monitor --socket PATH ...\n"
    "\n"
    "Generates traffic between two nodes and measures it; a monitor takes status reports. "
    "helio-perf\n"
    "client --help, server --help and monitor --help list the options.\n"
    "\n"
    "  -h, --help       this text\n"
    "  -V, --version    the version\n"
    "\n"
    "examples:\n"
    "  helio-perf server --socket node2.sock\n"
    "  helio-perf client --socket node1.sock -d ipn:2.2000 -T 20 -W 20 -P 500kB\n";

int main(int argc, char **argv)
{
    file_limit_report();
    static const char *const commands[] = {"helio-perf client", "helio-perf server",
                                           "helio-perf monitor"};
    struct perf_options o;
    argp_program_version = "helio-perf " HELIO_VERSION;
    (void)argument_command(argc, argv, commands, 3, sizeof *commands, help);
    perf_options_read(&o, argc, argv);
    if (o.monitor)
        return perf_monitor_run(&o);
    if (!o.server && o.reverse)
        return perf_reverse_run(&o);
    return o.server ? perf_server_run(&o) : perf_client_run(&o);
}
