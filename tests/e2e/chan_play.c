/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays frames through the forward channel of a scenario in virtual time: each line of the standard
 * input is `T_NS LENGTH ECN`, in order of time; each line of the output `NUMBER WHAT T_NS ECN`,
 * where WHAT is `out` with the time at which it was due, or a fate with the time at which the line
 * took it.
 *
 * usage: chan_play SCENARIO < FRAMES
 */
#include <inttypes.h>
#include <stdio.h>

#include "channel-emu/scenario/scenario.h"

static void tell_fates(struct chan *c)
{
    struct chan_fate f;
    while (chan_fate(c, &f) == 1)
        printf("%" PRIu64 " %s %" PRIu64 " 0\n", f.number, chan_reason_name(f.reason), f.air_start);
}

static void tell_until(struct chan *c, tick now)
{
    struct chan_out out;
    while (chan_output(c, now, &out) == 1)
        printf("%" PRIu64 " out %" PRIu64 " %u\n", out.number, out.due, (unsigned)out.ecn);
    tell_fates(c);
}

int main(int argc, char **argv)
{
    static uint8_t data[65536];
    static struct conf_errors errors;
    struct scenario s;
    struct chan *c;
    uint64_t at, len;
    unsigned ecn;
    if (argc != 2 || scenario_init(&s) < 0)
        return 2;
    conf_errors_init(&errors, argv[1]);
    if (scenario_load(&s, argv[1], &errors) < 0 || scenario_check(&s, &errors) < 0) {
        fprintf(stderr, "%s\n", errors.text[0]);
        return 2;
    }
    struct chan_config k = scenario_chan(&s, SCENARIO_FORWARD, 0, 0);
    if (chan_new(&c, &k) < 0)
        return 1;
    while (scanf("%" SCNu64 " %" SCNu64 " %u", &at, &len, &ecn) == 3 && len <= sizeof data) {
        tell_until(c, at);
        chan_input_as(c, data, len, 0, at, ecn & CHAN_ECN);
        tell_fates(c);
    }
    tell_until(c, TICK_NEVER - 1);
    chan_free(c);
    scenario_fini(&s);
    return 0;
}
