/* SPDX-License-Identifier: Apache-2.0 */
/* The command `helio-emu relay`, from options to report. */
#include <stdlib.h>

#include "base/err.h"
#include "channel-emu/emu/emu_commands.h"
#include "channel-emu/emu/emu_relay.h"

static int run_relay(const struct emu_relay_options *o)
{
    FILE *json = emu_json_open(o->settings.json);
    struct emu_relay *r = malloc(sizeof *r);
    if (json == NULL || r == NULL) {
        free(r);
        return 1;
    }
    int rc = emu_relay_init(r, o, stderr);
    if (rc == 0) {
        rc = emu_relay_run(r, stderr);
        if (!emu_report_end(&r->link, "relay", json))
            rc = -1;
    }
    emu_relay_fini(r);
    free(r);
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
