/* SPDX-License-Identifier: Apache-2.0 */
/* helio-emu: a channel emulator, between UDP sockets without root, or between Ethernet interfaces.
 * Exit codes: 0 done, 1 failed, 2 usage. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/emu_bridge.h"
#include "channel-emu/emu_relay.h"

const char *argp_program_version = "helio-emu " HELIO_VERSION;

static void usage(FILE *to)
{
    fprintf(
        to,
        "Usage: helio-emu relay --listen ADDR:PORT --to ADDR:PORT [OPTION...]\n"
        "       helio-emu bridge --a INTERFACE --b INTERFACE [OPTION...]\n"
        "       helio-emu relay|bridge --help\n"
        "       helio-emu --version\n"
        "Emulates a link with delay, rate and erasures, between UDP sockets or Ethernet "
        "interfaces.\n"
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

static int run_relay(const struct emu_options *o, FILE *json)
{
    struct emu_relay *r = calloc(1, sizeof *r);
    if (r == NULL)
        return HELIO_ENOMEM;
    int rc = emu_relay_init(r, o, stderr);
    if (rc == 0) {
        rc = emu_relay_run(r, stderr);
        emu_report_text(&r->link, stderr);
        if (o->json != NULL)
            emu_report_json(&r->link, json);
    }
    emu_relay_fini(r);
    free(r);
    return rc;
}

static int run_bridge(const struct emu_options *o, FILE *json)
{
    struct emu_bridge *b = calloc(1, sizeof *b);
    if (b == NULL)
        return HELIO_ENOMEM;
    int rc = emu_bridge_init(b, o, stderr);
    if (rc == 0) {
        rc = emu_bridge_run(b, stderr);
        emu_report_text(&b->link, stderr);
        if (o->json != NULL)
            emu_report_json(&b->link, json);
    }
    emu_bridge_fini(b);
    free(b);
    return rc;
}

static int run(const struct emu_options *o)
{
    FILE *json = open_json(o->json);
    if (json == NULL)
        return 1;
    int rc = o->bridge ? run_bridge(o, json) : run_relay(o, json);
    if (fclose(json) != 0 && rc == 0) {
        fprintf(stderr, "helio-emu: the counters cannot be written: %s\n", strerror(errno));
        rc = HELIO_EIO;
    }
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
    bool bridge = strcmp(command, "bridge") == 0;
    if (!bridge && strcmp(command, "relay") != 0) {
        if (*command != '\0')
            fprintf(stderr, "helio-emu: '%s' is unknown; right is relay or bridge\n", command);
        usage(stderr);
        return 2;
    }
    char relay_name[] = "helio-emu relay", bridge_name[] = "helio-emu bridge";
    argv[1] = bridge ? bridge_name : relay_name;
    emu_options_read(&o, bridge, argc - 1, argv + 1);
    int rc = run(&o);
    emu_options_fini(&o);
    return rc;
}
