/* SPDX-License-Identifier: Apache-2.0 */
/* helio-emu: an emulator of space links; its commands, and that of one relay. Exit codes: 0 done, 1
 * failed, 2 usage. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/emu/emu_commands.h"
#include "channel-emu/emu/emu_loop.h"
#include "os/arguments.h"
#include "os/process/process.h"

const char *argp_program_version = "helio-emu " HELIO_VERSION;

static const struct command {
    const char *name; /* what messages begin with */
    int (*run)(int argc, char **argv);
} commands[] = {{"helio-emu relay", emu_relay_main},     {"helio-emu bridge", emu_bridge_main},
                {"helio-emu links", emu_links_main},     {"helio-emu stream", emu_stream_main},
                {"helio-emu change", emu_change_main},   {"helio-emu status", emu_status_main},
                {"helio-emu metrics", emu_metrics_main}, {"helio-emu check", emu_check_main}};

static const char usage[] =
    "Usage: helio-emu relay --listen ADDR:PORT --to ADDR:PORT [OPTION...]\n"
    "       helio-emu bridge --a INTERFACE --b INTERFACE [OPTION...]\n"
    "       helio-emu links FILE [OPTION...]\n"
    "       helio-emu stream [FILE] [OPTION...]\n"
    "       helio-emu change SOCKET CHANGE\n"
    "       helio-emu status SOCKET [LINK]\n"
    "       helio-emu metrics [--listen ADDRESS] SOCKET...\n"
    "       helio-emu check SCENARIO [OPTION...]\n"
    "       helio-emu COMMAND --help\n"
    "       helio-emu --version\n"
    "Emulates a space link: delay, rate, contacts and losses, clocked in time.\n"
    "  relay    between UDP sockets; needs no root\n"
    "  bridge   between Ethernet interfaces\n"
    "  links    several relays of one file: hops, a shared transmitter, hand-over\n"
    "  stream   between TCP connections: a wide area network\n"
    "  change   alters a running link at once\n"
    "  status   prints what a running one has counted\n"
    "  metrics  prints them for Prometheus, or serves them over HTTP\n"
    "  check    reads a scenario file and prints what would be in effect\n"
    "\n"
    "Examples:\n"
    "  helio-emu relay --listen 127.0.0.1:5000 --to 127.0.0.1:6000 \\\n"
    "      --delay 5ms --trace A\n"
    "  helio-emu relay --listen 127.0.0.1:5000 --to 127.0.0.1:6000 \\\n"
    "      --scenario link-a.yaml\n"
    "  helio-emu bridge --a eth1 --b eth2 --scenario leo-pass.yaml\n"
    "  helio-emu check link-a.yaml\n";

FILE *emu_json_open(const char *path)
{
    if (path == NULL || strcmp(path, "-") == 0)
        return stdout;
    FILE *f = fopen(path, "w");
    if (f == NULL)
        fprintf(stderr, "helio-emu: --json %s: cannot be created: %s\n", path, strerror(errno));
    return f;
}

bool emu_report_end(const struct emu_link *l, const char *command, FILE *json)
{
    emu_report_text(l, stderr);
    if (l->settings->json != NULL)
        emu_report_json(l, command, json);
    if (fclose(json) == 0)
        return emu_report_whole(l);
    fprintf(stderr, "helio-emu: the counters cannot be written: %s\n", strerror(errno));
    return false;
}

/* ---- helio-emu relay, from options to report: a loop of one ---- */

static void report_all(const struct emu_loop *loop, FILE *say)
{
    emu_report_text(&loop->at[0].link, say);
}

static void report_line(const struct emu_loop *loop, FILE *say)
{
    emu_report_line(&loop->at[0].link, say);
}

static int open_relay(struct emu_loop *loop, const struct emu_relay_options *o, FILE *say)
{
    char text[ADDRESS_TEXT_MAX], to[ADDRESS_TEXT_MAX];
    struct emu_relay *r = loop->at;
    loop->count = 1;
    loop->face = (struct emu_face){emu_control_link, &r->link, report_all, report_line};
    int rc = emu_relay_init(r, loop, 0, NULL, o, say);
    rc = rc < 0 ? rc : emu_loop_begin(loop, say);
    if (rc < 0)
        return rc;
    fprintf(say, "helio-emu: relay %s to %s, ready\n", address_write(&r->listen, text),
            address_write(&o->to, to));
    fflush(say);
    return 0;
}

static int run_relay(const struct emu_relay_options *o)
{
    struct emu_loop loop;
    FILE *json = emu_json_open(o->settings.json);
    if (json == NULL)
        return 1;
    int rc = emu_loop_init(&loop, &o->settings, 1, stderr);
    rc = rc < 0 ? rc : open_relay(&loop, o, stderr);
    if (rc == 0) {
        rc = emu_loop_run(&loop, stderr);
        if (!emu_report_end(&loop.at[0].link, "relay", json))
            rc = -1;
    }
    emu_loop_fini(&loop);
    return rc == HELIO_EFORMAT ? 2 : rc < 0 ? 1 : 0;
}

int emu_relay_main(int argc, char **argv)
{
    struct emu_relay_options o;
    emu_relay_options_read(&o, argc, argv);
    int rc = run_relay(&o);
    emu_settings_fini(&o.settings);
    return rc;
}

int main(int argc, char **argv)
{
    file_limit_report();
    if (argc > 1 && strcmp(argv[1], "--check") == 0) /* as heliod has it */
        argv[1] += 2;
    size_t i = argument_command(argc, argv, commands, sizeof commands / sizeof *commands,
                                sizeof *commands, usage);
    return commands[i].run(argc - 1, argv + 1);
}
