/* SPDX-License-Identifier: Apache-2.0 */
/* The command `helio-emu change`: sends a change to a running emulator and shows its answer. */
#include <errno.h>
#include <string.h>

#include "channel-emu/emu/emu_commands.h"
#include "channel-emu/emu/emu_control.h"
#include "conf/conf_arguments.h"
#include "os/arguments.h"

struct change {
    const char *path, *text;
    const char *word; /* of a question */
};

static const char doc[] =
    "Changes a running link (helio-emu relay or bridge with --control SOCKET) at once, and says "
    "when that was."
    "\vCHANGE is YAML with the keys of a scenario's `changes` under forward, return or both: rate, "
    "delay, iid, duplicate, corrupt, bit_errors; and link: up or down. Of helio-emu stream: rate, "
    "delay, stalls, limit, and stall: how long the line stands still from now on.\n"
    "Examples:\n"
    "  helio-emu change /tmp/link 'forward: {rate: 50Mbit/s, bit_errors: 1e-6}'\n"
    "  helio-emu change /tmp/link 'both: {link: down}'\n"
    "  helio-emu change /tmp/wan 'return: {delay: 20ms, stall: 2s}'\n"
    "Exit codes: 0 done, 1 nobody answers, 2 the change is wrong.";

static void check_path(struct argp_state *state, const struct change *c)
{
    if (!emu_ask_path_ok(c->path))
        argp_error(state, "'%s' is too long for a socket's path", c->path);
}

static void take_change(struct argp_state *state, char *arg, void *base)
{
    struct change *c = base;
    if (state->arg_num > 1)
        argp_error(state, "'%s' is one argument too many; quote the change", arg);
    *(state->arg_num == 0 ? &c->path : &c->text) = arg;
}

static void check_change(struct argp_state *state, void *base)
{
    const struct change *c = base;
    if (c->text == NULL)
        argp_error(state, "the change is missing; write SOCKET 'forward: {rate: 5Mbit/s}'");
    else
        check_path(state, c);
}

/* Asks, and prints what is answered, which begins with `good` unless something is wrong. */
static int ask_and_print(const struct change *asked, const char *good)
{
    char answer[EMU_CONTROL_ANSWER_MAX + 1];
    if (emu_ask(asked->path, asked->text, answer) < 0) {
        fprintf(stderr, "helio-emu: %s: no answer: %s; is there an emulator with --control?\n",
                asked->path, strerror(errno));
        return 1;
    }
    if (strncmp(answer, good, strlen(good)) != 0) {
        fprintf(stderr, "helio-emu: %s\n", answer);
        return 2;
    }
    printf("%s\n", answer);
    return fflush(stdout) != 0;
}

int emu_change_main(int argc, char **argv)
{
    static const struct argument none[] = {{0}};
    static const struct argument_table table = {.options = none,
                                                .word = take_change,
                                                .end = check_change,
                                                .args_doc = "SOCKET CHANGE",
                                                .doc = doc};
    struct change c = {.text = NULL};
    argp_err_exit_status = 2;
    argument_table_parse(&table, argc, argv, &c);
    return ask_and_print(&c, "ok");
}

static const char status_doc[] =
    "Prints what a running emulator (relay, bridge or links with --control SOCKET) has counted, as "
    "JSON; of one link in full."
    "\vExamples:\n"
    "  helio-emu status /tmp/links\n"
    "  helio-emu status /tmp/links uplink-1\n"
    "  helio-emu status --now /tmp/links uplink-1\n"
    "Exit codes: 0 done, 1 nobody answers, 2 there is no such link.";

static void take_status(struct argp_state *state, char *arg, void *base)
{
    struct change *c = base;
    if (state->arg_num > 1)
        argp_error(state, "'%s' is one argument too many", arg);
    *(state->arg_num == 0 ? &c->path : &c->text) = arg;
}

static void check_status(struct argp_state *state, void *base)
{
    const struct change *c = base;
    if (c->path == NULL)
        argp_error(state, "the socket is missing");
    else
        check_path(state, c);
}

static const struct argument status_options[] = {
    {"now", 'n', .help = "what each direction is like in the last second, and losses by reason",
     .without = EMU_CONTROL_NOW, ARGUMENT_FIELD(struct change, word)},
    {0}};

int emu_status_main(int argc, char **argv)
{
    static const struct argument_table table = {.options = status_options,
                                                .word = take_status,
                                                .end = check_status,
                                                .args_doc = "SOCKET [LINK]",
                                                .doc = status_doc};
    struct change c = {.word = EMU_CONTROL_STATUS};
    char question[EMU_CONTROL_TEXT_MAX];
    argp_err_exit_status = 2;
    argument_table_parse(&table, argc, argv, &c);
    snprintf(question, sizeof question, "%s%s%s", c.word, c.text == NULL ? "" : " ",
             c.text == NULL ? "" : c.text);
    c.text = question;
    return ask_and_print(&c, "{");
}
