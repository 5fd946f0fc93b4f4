/* SPDX-License-Identifier: Apache-2.0 */
/* The command `helio-emu stream`: a relay of TCP streams, from options to account. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/emu/emu_commands.h"
#include "channel-emu/emu/emu_control.h"
#include "channel-emu/wan/wan_relay.h"
#include "os/process/process.h"
#include "os/uv_signals.h"
#include "os/uv_world.h"

#define CONTROL_PAUSE (10 * TICK_MS)

struct run {
    struct wan_settings settings;
    struct wan_relay relay;
    struct world *world;
    struct uv_signals *signals;
    struct emu_control control;
    struct alarm look; /* at the control */
    struct alarm end;
    FILE *json;
    bool over, written;
};

static void write_account(struct run *run)
{
    json_t *o = wan_relay_json(&run->relay);
    wan_relay_text(&run->relay, stderr);
    bool good =
        run->settings.json == NULL ||
        (o != NULL && json_dumpf(o, run->json, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) == 0 &&
         fputc('\n', run->json) != EOF);
    json_decref(o);
    run->written = fclose(run->json) == 0 && good;
    if (!run->written)
        fprintf(stderr, "helio-emu: the account cannot be written: %s\n", strerror(errno));
}

/* The account is that of the moment; then all is closed. */
static void stop_run(void *context)
{
    struct run *run = context;
    if (run->over)
        return;
    run->over = true;
    if (run->relay.listener != NULL)
        write_account(run);
    wan_relay_close(&run->relay);
    alarm_fini(&run->end);
    alarm_fini(&run->look);
    uv_signals_close(run->signals);
    emu_control_close(&run->control);
    uv_world_end(run->world);
}

static void on_signal(void *context, int number)
{
    struct run *run = context;
    if (number == SIGUSR1)
        wan_relay_text(&run->relay, stderr);
    else
        stop_run(run);
}

/* What is wrong changes nothing. */
static int change_relay(struct wan_relay *r, const char *text, size_t len, FILE *say, tick now,
                        char answer[EMU_CONTROL_ANSWER_MAX])
{
    struct wan_change c;
    struct conf_errors *e = malloc(sizeof *e);
    const double after = (double)(now - r->began) / 1e9;
    if (e == NULL)
        return HELIO_ENOMEM;
    conf_errors_init(e, "");
    wan_change_read(&c, r->settings, text, len, e);
    if (e->total > 0) {
        emu_control_refuse(e, answer);
    } else {
        wan_relay_change(r, &c);
        snprintf(answer, EMU_CONTROL_ANSWER_MAX, "ok, %.6f s after the start", after);
        fprintf(say, "helio-emu: changed %.6f s after the start: %.*s\n", after,
                (int)strcspn(text, "\n"), text);
    }
    wan_change_fini(&c);
    free(e);
    return 0;
}

static int obey(void *whom, const char *text, size_t len, FILE *say, tick now,
                char answer[EMU_CONTROL_ANSWER_MAX])
{
    struct wan_relay *r = whom;
    if (strcmp(text, EMU_CONTROL_NOW) == 0)
        snprintf(answer, EMU_CONTROL_ANSWER_MAX,
                 "helio-emu stream has no channel; ask for `status`");
    else if (strcmp(text, EMU_CONTROL_STATUS) == 0)
        emu_control_show(wan_relay_json(r), answer);
    else
        return change_relay(r, text, len, say, now, answer);
    return 0;
}

/* A question waits for CONTROL_PAUSE at most. */
static void look_at_control(void *context)
{
    struct run *run = context;
    tick now = world_now(run->world);
    for (int i = 0; i < EMU_CONTROL_BURST; i++)
        if (emu_control_serve(&run->control, obey, &run->relay, now, stderr) == 0)
            break;
    alarm_set(&run->look, now + CONTROL_PAUSE);
}

static int open_control(struct run *run)
{
    int rc = emu_control_open(&run->control, run->settings.control, stderr);
    if (run->control.fd >= 0)
        alarm_set(&run->look, world_now(run->world) + CONTROL_PAUSE);
    return rc;
}

/* 0 when it runs; else nothing does, and all is closed when the loop has run. */
static int begin_run(struct run *run)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
    struct wan_settings *s = &run->settings;
    char listen[ADDRESS_TEXT_MAX], to[ADDRESS_TEXT_MAX];
    int rc = wan_relay_open(&run->relay, s, run->world, stderr);
    alarm_init(&run->end, run->world, ALARM_APP, stop_run, run);
    alarm_init(&run->look, run->world, ALARM_APP, look_at_control, run);
    rc = rc < 0 ? rc : open_control(run);
    run->signals = rc < 0 ? NULL : uv_signals_open(run->world, numbers, 4, on_signal, run);
    if (rc < 0 || run->signals == NULL)
        return rc < 0 ? rc : HELIO_ENOMEM;
    if (s->duration != 0)
        alarm_set(&run->end, tick_add(world_now(run->world), s->duration));
    fprintf(stderr, "helio-emu: octets under way take at most %.1f MB of memory\n",
            (double)wan_settings_memory(s) / 1e6);
    fprintf(stderr, "helio-emu: stream %s to %s, ready\n", address_write(&s->listen_at, listen),
            address_write(&s->to_at, to));
    fflush(stderr);
    return 0;
}

static int run_relay(struct run *run)
{
    run->json = emu_json_open(run->settings.json);
    if (run->json == NULL)
        return 1;
    descriptors_raise();
    int rc = uv_world_open(&run->world);
    if (rc < 0) {
        fprintf(stderr, "helio-emu: %s\n", helio_strerror(rc));
        return 1;
    }
    rc = begin_run(run);
    if (rc < 0)
        stop_run(run);
    uv_world_run(run->world);
    (void)uv_world_free(run->world);
    return rc == HELIO_EFORMAT ? 2 : rc < 0 || !run->written ? 1 : 0;
}

int emu_stream_main(int argc, char **argv)
{
    struct run run = {.control = {.fd = -1}};
    int rc = wan_settings_init(&run.settings) < 0 ? 1 : 0;
    if (rc == 0)
        wan_options_read(&run.settings, argc, argv);
    if (rc == 0 && run.settings.check)
        wan_settings_print(&run.settings, stdout);
    else if (rc == 0)
        rc = run_relay(&run);
    wan_settings_fini(&run.settings);
    return rc;
}
