/* SPDX-License-Identifier: Apache-2.0 */
/* helio-emu: a channel emulator for UDP that needs no root. Exit codes: 0 done, 1 failed, 2 usage.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel-emu/emu_relay.h"

const char *argp_program_version = "helio-emu " HELIO_VERSION;

static void usage(FILE *to)
{
    fprintf(
        to,
        "Usage: helio-emu relay --listen ADDR:PORT --to ADDR:PORT [OPTION...]\n"
        "       helio-emu relay --help\n"
        "       helio-emu --version\n"
        "Emulates a link with delay, rate and erasures between UDP sockets.\n"
        "\n"
        "Example:\n"
        "  helio-emu relay --listen 127.0.0.1:5000 --to 127.0.0.1:6000 --delay 5ms --trace A\n");
}

/* Opened before the run, so that a wrong name is known at once. */
static FILE *open_json(const char *path)
{
    if (path == NULL || strcmp(path, "-") == 0)
        return stdout;
    FILE *f = fopen(path, "w");
    if (f == NULL)
        fprintf(stderr, "helio-emu: --json %s: cannot be created: %s\n", path, strerror(errno));
    return f;
}

static int relay(const struct emu_options *o)
{
    FILE *json = open_json(o->json);
    if (json == NULL)
        return 1;
    struct emu_relay *r = malloc(sizeof *r);
    if (r == NULL)
        return 1;
    int rc = emu_relay_init(r, o, stderr);
    if (rc == 0) {
        rc = emu_relay_run(r, stderr);
        emu_report_text(r, stderr);
        if (o->json != NULL)
            emu_report_json(r, json);
    }
    if (fclose(json) != 0 && rc == 0) {
        fprintf(stderr, "helio-emu: the counters cannot be written: %s\n", strerror(errno));
        rc = -1;
    }
    emu_relay_fini(r);
    free(r);
    return rc < 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct emu_options o;
    const char *command = argc > 1 ? argv[1] : "";
    argp_err_exit_status = 2;
    if (strcmp(command, "--help") == 0) {
        usage(stdout);
        return 0;
    }
    if (strcmp(command, "--version") == 0) {
        puts(argp_program_version);
        return 0;
    }
    if (strcmp(command, "relay") != 0) {
        if (*command != '\0')
            fprintf(stderr, "helio-emu: '%s' is unknown; right is relay\n", command);
        usage(stderr);
        return 2;
    }
    char name[] = "helio-emu relay";
    argv[1] = name;
    emu_options_read(&o, argc - 1, argv + 1);
    int rc = relay(&o);
    emu_options_fini(&o);
    return rc;
}
