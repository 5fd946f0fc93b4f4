/* SPDX-License-Identifier: Apache-2.0 */
/* helio-trace: makes, converts and describes erasure traces. The sub-command is the first argument
 * and has its own options. Exit codes: 0 done, 1 failed, 2 usage or malformed input. */
#include <stdio.h>

#include "base/err.h"
#include "channel-emu/trace/trace_command.h"
#include "os/arguments.h"
#include "os/process/process.h"

const char *argp_program_version = "helio-trace " HELIO_VERSION;

static const struct command {
    const char *name; /* what messages begin with */
    int (*run)(int argc, char **argv);
} commands[] = {
    {"helio-trace gen", trace_command_gen},         {"helio-trace from-power", trace_command_power},
    {"helio-trace convert", trace_command_convert}, {"helio-trace info", trace_command_info},
    {"helio-trace sites", trace_command_sites},     {"helio-trace acm", trace_command_acm},
};

int trace_command_fail(int rc, const char *error)
{
    fprintf(stderr, "helio-trace: %s\n", error);
    return rc == HELIO_EFORMAT || rc == HELIO_EINVAL ? 2 : argument_open_code(helio_errno(rc));
}

static const char usage[] =
    "Usage: helio-trace gen --preset NAME [OPTION...] [-o FILE]\n"
    "       helio-trace from-power FILE --mean-margin DB [OPTION...] [-o FILE]\n"
    "       helio-trace convert IN OUT [--format FORM]\n"
    "       helio-trace info FILE|NAME [--json]\n"
    "       helio-trace sites --cloud SHARE,DURATION [OPTION...] -o PREFIX\n"
    "       helio-trace acm FILE --esn0 DB --symbols N [OPTION...] -o PREFIX\n"
    "       helio-trace COMMAND --help\n"
    "       helio-trace --version\n"
    "Makes, converts and describes erasure traces of optical links.\n"
    "\n"
    "Examples:\n"
    "  helio-trace info A\n"
    "  helio-trace gen --preset H --seed 7 -o H7.htr\n"
    "  helio-trace convert H7.htr H7.csv\n";

int main(int argc, char **argv)
{
    file_limit_report();
    size_t i = argument_command(argc, argv, commands, sizeof commands / sizeof *commands,
                                sizeof *commands, usage);
    int rc = commands[i].run(argc - 1, argv + 1);
    return fflush(stdout) != 0 && rc == 0 ? 1 : rc;
}
