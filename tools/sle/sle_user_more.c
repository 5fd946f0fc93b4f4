/* SPDX-License-Identifier: Apache-2.0 */
/* More options of helio-sle user: addresses, connections, ROCF, times of CLTUs. What can go wrong:
 * a wrong option, or options that contradict each other (exit 2). */
#include <string.h>

#include "tools/sle/sle_options.h"

void sle_add_place(struct argp_state *state, const char *arg, struct user_options *o)
{
    const struct address a = argument_address(state, "ADDRESS", arg);
    if (!address_given(&o->to))
        o->to = a;
    else if (o->more_len < USER_PLACES_MAX - 1)
        o->more[o->more_len++] = a;
    else
        argp_error(state, "at most %d addresses", USER_PLACES_MAX);
}

static struct user_when when_of(struct argp_state *state, const char *option, const char *arg)
{
    struct user_when w = {0};
    if (!user_when_parse(arg, &w))
        argument_want(state, option, arg, "a time such as +2s or 2026-11-22T18:00:00Z");
    return w;
}

static error_t parse_rocf(int key, char *arg, struct argp_state *state, struct user_options *o)
{
    static const char *const words[] = {"all", "clcw", "not-clcw", NULL};
    static const char *const updates[] = {"continuous", "change", NULL};
    switch (key) {
    case KEY_WORDS:
        o->start.word = (enum sle_control_word)sle_word(state, "control-words", arg, words,
                                                        "all, clcw or not-clcw");
        o->rocf = true;
        return 0;
    case KEY_TC_VCID:
        o->start.tc_vcid = strcmp(arg, "any") == 0
                               ? SLE_TC_VC_NONE
                               : (uint8_t)argument_count(state, "tc-vcid", arg, 0, 63);
        o->rocf = true;
        return 0;
    case KEY_UPDATE:
        o->start.update =
            (enum sle_update)sle_word(state, "update-mode", arg, updates, "continuous or change");
        o->rocf = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_live(int key, char *arg, struct argp_state *state, struct user_options *o)
{
    static const char *const words[] = {"plain", "randomised", NULL};
    switch (key) {
    case KEY_CLTU_DATAGRAMS:
        o->cltu_at = argument_address(state, "cltu-datagrams", arg);
        return 0;
    case KEY_CLTU_SOURCE:
        if (address_of(arg, 0, &o->cltu_source) < 0)
            argument_want(state, "cltu-source", arg, "a numeric address, such as 192.0.2.1");
        return 0;
    case KEY_ENCODE:
        o->encoding = sle_word(state, "encode", arg, words, "plain or randomised") == 0
                          ? USER_FRAMES
                          : USER_FRAMES_RANDOMISED;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

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

static error_t parse_cltus(int key, char *arg, struct argp_state *state, struct user_options *o)
{
    switch (key) {
    case KEY_EARLIEST:
        o->earliest = when_of(state, "earliest", arg);
        return 0;
    case KEY_LATEST:
        o->latest = when_of(state, "latest", arg);
        return 0;
    case KEY_DELAY: {
        const tick delay = argument_time(state, "delay", arg, 0);
        if (delay / TICK_US > UINT32_MAX)
            argument_want(state, "delay", arg, "at most 4294 s");
        o->delay_us = (uint32_t)(delay / TICK_US);
        return 0;
    }
    case KEY_QUIET:
        o->quiet = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

error_t sle_parse_more(int key, char *arg, struct argp_state *state, struct user_options *o)
{
    static const char *const reasons[] = {"end", "suspend", "version", "other", NULL};
    static const enum sle_unbind values[] = {SLE_UNBIND_END, SLE_UNBIND_SUSPEND, SLE_UNBIND_VERSION,
                                             SLE_UNBIND_OTHER};
    switch (key) {
    case KEY_RECONNECT:
        o->reconnect = argument_time(state, "reconnect", arg, TICK_MS);
        return 0;
    case KEY_LISTEN:
        o->listen = true;
        return 0;
    case KEY_SCRIPT:
        o->script = arg;
        return 0;
    case KEY_BIND_ONLY:
        o->bind_only = true;
        return 0;
    case KEY_UNBIND:
        o->unbind =
            values[sle_word(state, "unbind", arg, reasons, "end, suspend, version or other")];
        return 0;
    case KEY_CYCLE:
        o->cycle_s = (uint32_t)argument_count(state, "report-cycle", arg, 2, 600);
        return 0;
    default:
        break;
    }
    return parse_rocf(key, arg, state, o) == 0   ? 0
           : parse_live(key, arg, state, o) == 0 ? 0
                                                 : parse_cltus(key, arg, state, o);
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
