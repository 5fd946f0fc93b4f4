/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are a scenario or a list of errors. What is a scenario, a channel can be made of, and
 * what is shown of it reads back to the same. */
#include <stdlib.h>
#include <string.h>

#include "channel-emu/scenario/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void read_back(const struct scenario *s, struct conf_errors *e)
{
    struct scenario again;
    char *shown = scenario_yaml(s);
    if (shown == NULL || scenario_init(&again) < 0)
        abort();
    conf_errors_init(e, "again");
    if (scenario_apply(&again, shown, strlen(shown), "", e) < 0)
        abort();
    char *second = scenario_yaml(&again);
    if (second == NULL || strcmp(shown, second) != 0)
        abort();
    free(second);
    free(shown);
    scenario_fini(&again);
}

/* The same bytes as a change in mid-run. */
static void change_now(const uint8_t *data, size_t len, struct conf_errors *e)
{
    static const char rate[] = "forward: {rate: 1Mbit/s}";
    struct scenario_change change;
    struct scenario s;
    conf_errors_init(e, "");
    if (scenario_init(&s) < 0 || scenario_apply(&s, rate, strlen(rate), "", e) < 0)
        abort();
    int rc = scenario_change_read(&change, &s, (const char *)data, len, e);
    if ((rc == 0) != (e->total == 0))
        abort();
    for (int i = 0; i < 2 && rc == 0; i++) {
        struct chan_config k = scenario_chan(&s, i, 1, UINT64_C(1) << 60);
        struct chan *c;
        k.live = true;
        if (chan_new(&c, &k) < 0 ||
            (change.directions[i].keys != 0 && chan_change(c, &change.directions[i], 7) < 0))
            abort();
        chan_free(c);
    }
    scenario_fini(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct scenario s;
    struct conf_errors *e = malloc(sizeof *e);
    if (e == NULL || scenario_init(&s) < 0)
        abort();
    conf_errors_init(e, "fuzz.yaml");
    /* No such directory: a trace's file is never found, only the presets are. */
    int rc = scenario_apply(&s, (const char *)data, len, "/nonexistent/", e);
    rc = rc < 0 ? rc : scenario_check(&s, e);
    if ((rc == 0) != (e->total == 0) || e->len > CONF_ERRORS_MAX)
        abort();
    for (int i = 0; i < 2 && rc == 0; i++) {
        struct chan_config k = scenario_chan(&s, i, 1, UINT64_C(1) << 60);
        struct chan *c;
        if (chan_new(&c, &k) < 0)
            abort();
        chan_free(c);
    }
    if (rc == 0)
        read_back(&s, e);
    change_now(data, len, e);
    scenario_fini(&s);
    free(e);
    return 0;
}
