/* SPDX-License-Identifier: Apache-2.0 */
/* The command `helio-emu change`: sends a change to a running emulator and shows its answer. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "channel-emu/emu/emu_commands.h"
#include "channel-emu/emu/emu_control.h"
#include "conf/conf_arguments.h"
#include "os/arguments.h"
#include "os/signals.h"

#define ANSWER_MS 5000

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
    if (strlen(c->path) >= sizeof((struct sockaddr_un *)0)->sun_path)
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

/* Binds a name for the answer, beside the emulator's: the kernel's automatic names belong to one
 * network namespace, and the emulator may be in another one, or belong to another user; a chmod
 * after bind could meet a file of somebody else. Empty, and an automatic name, if there is no
 * room. */
static int bind_beside(int fd, const char *path, struct sockaddr_un *own)
{
    *own = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(own->sun_path, sizeof own->sun_path, "%s.%ld", path, (long)getpid());
    mode_t before = umask(0);
    int rc = n > 0 && (size_t)n < sizeof own->sun_path
                 ? bind(fd, (const struct sockaddr *)own, sizeof *own)
                 : -1;
    umask(before);
    if (rc == 0)
        return 0;
    own->sun_path[0] = '\0';
    return bind(fd, (const struct sockaddr *)own, sizeof own->sun_family);
}

/* Returns 0, or -1 with errno: timeout, or a signal arrived. */
static int wait_for(int fd, short events, int signals)
{
    struct pollfd wait[2] = {{.fd = fd, .events = events}, {.fd = signals, .events = POLLIN}};
    int rc = poll(wait, 2, ANSWER_MS);
    if (rc == 0)
        errno = ETIMEDOUT;
    else if (rc > 0 && wait[1].revents != 0)
        errno = EINTR;
    return rc > 0 && wait[1].revents == 0 ? 0 : -1;
}

/* Bytes of the answer, or -1 with errno. */
static ssize_t talk_to_emulator(int fd, const struct change *c, char *answer, size_t cap,
                                int signals)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    memcpy(at.sun_path, c->path, strlen(c->path));
    if (connect(fd, (const struct sockaddr *)&at, sizeof at) < 0 ||
        wait_for(fd, POLLOUT, signals) < 0 || send(fd, c->text, strlen(c->text), 0) < 0 ||
        wait_for(fd, POLLIN, signals) < 0)
        return -1;
    return recv(fd, answer, cap, 0);
}

/* A signal meanwhile ends the program, after the name was removed. */
static ssize_t ask_emulator(int fd, const struct change *c, char *answer, size_t cap)
{
    struct sockaddr_un own;
    sigset_t mask;
    int signals = signals_open((const int[]){SIGINT, SIGTERM, SIGHUP, 0}, &mask);
    if (signals < 0) {
        errno = EMFILE;
        return -1;
    }
    int bound = bind_beside(fd, c->path, &own);
    ssize_t n = bound < 0 ? -1 : talk_to_emulator(fd, c, answer, cap, signals);
    int error = errno;
    if (bound == 0 && own.sun_path[0] != '\0')
        (void)unlink(own.sun_path);
    int came = signals_take(signals);
    signals_close(signals, &mask);
    if (came != 0)
        raise(came);
    errno = error;
    return n;
}

/* Asks, and prints what is answered, which begins with `good` unless something is wrong. */
static int ask_and_print(const struct change *asked, const char *good)
{
    const struct change c = *asked;
    char answer[EMU_CONTROL_ANSWER_MAX + 1];
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ssize_t n = fd < 0 ? -1 : ask_emulator(fd, &c, answer, sizeof answer - 1);
    int error = errno;
    if (fd >= 0)
        close(fd);
    if (n < 0) {
        fprintf(stderr, "helio-emu: %s: no answer: %s; is there an emulator with --control?\n",
                c.path, strerror(error));
        return 1;
    }
    answer[n] = '\0';
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
