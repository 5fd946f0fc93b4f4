/* SPDX-License-Identifier: Apache-2.0 */
/* More options of helio-sle user: addresses, connections, ROCF, times of CLTUs. What can go wrong:
 * a wrong option, or options that contradict each other (exit 2). */
#include <string.h>

#include "tools/sle/sle_options.h"

void sle_take_place(struct argp_state *state, char *arg, void *base)
{
    struct user_options *o = &((struct options *)base)->user;
    const struct address a = argument_address(state, arg);
    if (!address_given(&o->to))
        o->to = a;
    else if (o->more_len < USER_PLACES_MAX - 1)
        o->more[o->more_len++] = a;
    else
        argp_error(state, "at most %d addresses", USER_PLACES_MAX);
}

static void set_when(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    if (!user_when_parse(arg, argument_field(o, base)))
        argument_want(state, arg, USER_WHEN_HINT);
}

static void set_rocf(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    ((struct options *)base)->user.rocf = true;
    argument_set_value(state, o, arg, base);
}

static void set_tc_vcid(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    struct user_options *u = &((struct options *)base)->user;
    if (strcmp(arg, "any") != 0)
        argument_set_value(state, o, arg, base);
    else
        u->start.tc_vcid = SLE_TC_VC_NONE;
    u->rocf = true;
}

static void set_source(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    if (address_of(arg, 0, argument_field(o, base)) < 0)
        argument_want(state, arg, "a numeric address without a port, such as 192.0.2.1");
}

/* Microseconds. */
static void set_delay(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    *(uint32_t *)argument_field(o, base) = (uint32_t)(argument_number(state, o, arg) / TICK_US);
}

static void set_unbind(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    static const enum sle_unbind reasons[] = {SLE_UNBIND_END, SLE_UNBIND_SUSPEND,
                                              SLE_UNBIND_VERSION, SLE_UNBIND_OTHER};
    *(enum sle_unbind *)argument_field(o, base) = reasons[argument_choice(state, o, arg)];
}

const struct argument sle_more_options[] = {
    {"control-words", 0, "WORD", .help = "ROCF: all (default), clcw or not-clcw", .group = 3,
     .own = set_rocf, SLE_WORD(user.start.word, "all|clcw|not-clcw")},
    {"tc-vcid", 0, "N", .help = "ROCF: of CLCWs: of this TC virtual channel (any)", .group = 3,
     .own = set_tc_vcid, .choices = "any", SLE_COUNT(user.start.tc_vcid, 0, 63)},
    {"update-mode", 0, "WORD", .help = "ROCF: continuous (default) or change", .group = 3,
     .own = set_rocf, SLE_WORD(user.start.update, "continuous|change")},
    {"report-cycle", 0, "SECONDS", .help = "Ask for a status report so often (none)", .group = 3,
     SLE_COUNT(user.cycle_s, 2, 600)},
    {"script", 0, "FILE", .help = "Do the steps of FILE", .group = 4, SLE_FIELD(user.script)},
    {"bind-only", 0, .help = "Bind, and start nothing until --time", .group = 4,
     SLE_FLAG(user.bind_only)},
    {"unbind", 0, "WORD", .help = "Reason: end (default), suspend, version or other", .group = 4,
     .own = set_unbind, SLE_WORD(user.unbind, "end|suspend|version|other")},
    {"reconnect", 0, "TIME", .help = "So long after a failure connect again (never)", .group = 2,
     SLE_TIME(user.reconnect, TICK_MS)},
    {"listen", 0, .help = "Listen at ADDRESS: the provider binds", .group = 2,
     SLE_FLAG(user.listen)},
    {"cltu-datagrams", 0, "ADDRESS",
     .help = "FCLTU: receive CLTUs there, each as a datagram, and send them", .group = 7,
     SLE_ADDRESS(user.cltu_at)},
    {"cltu-source", 0, "HOST", .help = "Only datagrams of this host are taken", .group = 7,
     .own = set_source, SLE_FIELD(user.cltu_source)},
    {"encode", 0, "WORD",
     .help = "Datagrams are telecommand frames, which become CLTUs: plain or randomised",
     .group = 7, SLE_WORD(user.encoding, "plain|randomised"), .min = USER_FRAMES},
    {"earliest", 0, "WHEN",
     .help = "FCLTU: radiate each not before: a time, or +2s from its sending", .group = 7,
     .own = set_when, SLE_FIELD(user.earliest)},
    {"latest", 0, "WHEN", .help = "FCLTU: radiate each then at the latest, or not at all",
     .group = 7, .own = set_when, SLE_FIELD(user.latest)},
    {"delay", 0, "TIME", .help = "FCLTU: behind each, before the next (0)", .group = 7,
     .own = set_delay, SLE_TIME(user.delay_us, 0), .max = UINT32_MAX * TICK_US},
    {"no-notification", 0, .help = "FCLTU: radiation is not notified", .group = 7,
     SLE_FLAG(user.quiet)},
    {0}};

/* All that can send to that address command the spacecraft. */
static void check_live(struct argp_state *state, const struct user_options *o,
                       enum sle_service service)
{
    const bool given = address_given(&o->cltu_at);
    if ((address_given(&o->cltu_source) || o->encoding != USER_CLTUS) && !given)
        argp_error(state, "--cltu-source and --encode need --cltu-datagrams");
    if (!given)
        return;
    if (service != SLE_FCLTU)
        argp_error(state, "--cltu-datagrams is for FCLTU");
    if (o->cltus != NULL || o->repeat > 1 || o->script != NULL || o->bind_only || o->quiet)
        argp_error(state, "--cltu-datagrams is without --cltus, --repeat, --script, --bind-only "
                          "and --no-notification");
    if (!address_is_loopback(&o->cltu_at) && !address_given(&o->cltu_source))
        argp_error(state, "--cltu-datagrams at an address of the network needs --cltu-source");
}

void sle_check_more(struct argp_state *state, const struct user_options *o,
                    enum sle_service service)
{
    const bool times = o->earliest.given || o->latest.given || o->delay_us > 0 || o->quiet;
    if (o->rocf && service != SLE_ROCF)
        argp_error(state, "--control-words, --tc-vcid and --update-mode are for ROCF");
    if (o->start.tc_vcid != SLE_TC_VC_NONE && o->start.word != SLE_CLCW)
        argp_error(state, "--tc-vcid needs --control-words clcw");
    check_live(state, o, service);
    if (o->udp_rate > 0 && !address_given(&o->udp))
        argp_error(state, "--datagram-rate needs --datagrams");
    if (times && o->cltus == NULL && !address_given(&o->cltu_at))
        argp_error(state, "--earliest, --latest, --delay and --no-notification need --cltus or "
                          "--cltu-datagrams");
    if (service == SLE_FCLTU && o->listen)
        argp_error(state, "--listen is not for FCLTU");
    if (service == SLE_FCLTU && o->reconnect > 0 && !address_given(&o->cltu_at))
        argp_error(state, "of FCLTU, --reconnect needs --cltu-datagrams");
    if (o->listen && o->more_len > 0)
        argp_error(state, "--listen has one address");
    if (o->script != NULL && (o->listen || o->reconnect > 0 || o->more_len > 0 || o->repeat > 1 ||
                              o->cltus != NULL || o->events_len > 0 || o->parameters))
        argp_error(state, "--script does what it says: without --listen, --reconnect, --repeat, "
                          "--cltus, --event, --parameters and a second address");
    if (o->bind_only && o->time == 0)
        argp_error(state, "--bind-only needs --time");
}
