/* SPDX-License-Identifier: Apache-2.0 */
/* The command `helio-emu relay`, from options to report: a loop of one. */
#include <stdlib.h>

#include "base/err.h"
#include "channel-emu/emu/emu_commands.h"
#include "channel-emu/emu/emu_loop.h"

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
