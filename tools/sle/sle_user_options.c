/* SPDX-License-Identifier: Apache-2.0 */
/* The options of helio-sle user, and the values that other commands have, too. What can go wrong: a
 * wrong option, or options that contradict each other (exit 2). */
#include <stdlib.h>
#include <string.h>

#include "os/secret_file.h"
#include "tools/sle/sle_options.h"

/* ---- values ---- */

int sle_word(struct argp_state *state, const char *option, const char *arg,
             const char *const *words, const char *hint)
{
    for (int i = 0; words[i] != NULL; i++)
        if (strcmp(arg, words[i]) == 0)
            return i;
    argument_want(state, option, arg, hint);
    return 0;
}

enum say_level sle_log_level(struct argp_state *state, const char *arg)
{
    static const char *const words[] = {"error", "warning", "info", NULL};
    return (enum say_level)sle_word(state, "log", arg, words, "error, warning or info");
}

const char *sle_name(struct argp_state *state, const char *option, const char *arg)
{
    if (!sle_authority_ok(arg))
        argument_want(state, option, arg, "3 to 16 characters without blanks");
    return arg;
}

#define PASSWORD_HINT "at most 64 octets, two hexadecimal digits each"

const char *sle_password_file(struct argp_state *state, const char *option, const char *path,
                              char room[SLE_PASSWORD_TEXT])
{
    struct sle_identity who;
    char why[512];
    if (secret_file_line(path, room, SLE_PASSWORD_TEXT, why, sizeof why) < 0)
        argp_error(state, "--%s: %s", option, why);
    else if (!sle_password_read(room, &who))
        argument_want(state, option, path, "a file with " PASSWORD_HINT);
    return room;
}

const char *sle_password_variable(struct argp_state *state, const char *name,
                                  char room[SLE_PASSWORD_TEXT])
{
    struct sle_identity who;
    const char *text = getenv(name);
    if (text == NULL)
        return "";
    if (strlen(text) >= SLE_PASSWORD_TEXT || !sle_password_read(text, &who))
        argp_error(state, "the variable %s: write " PASSWORD_HINT, name);
    else
        strcpy(room, text);
    return room;
}

const char *sle_instance_name(struct argp_state *state, const char *arg)
{
    struct sle_siid id;
    if (sle_siid_parse(arg, &id, NULL, NULL) < 0)
        argument_want(state, "instance", arg, "such as sagr=A.spack=B.rsl-fg=C.raf=onlc1");
    return arg;
}

static struct sle_when when_of(struct argp_state *state, const char *option, const char *arg)
{
    uint64_t ns = 0;
    if (!settings_time(arg, &ns))
        argument_want(state, option, arg, "a time in UTC such as 2026-11-22T18:00:00Z");
    return (struct sle_when){.known = true, .at = sle_time_of(ns)};
}

/* ---- what both ends must agree on ---- */

static error_t parse_terms(int key, char *arg, struct argp_state *state)
{
    static const char *const levels[] = {"none", "bind", "all", NULL};
    static const char *const hashes[] = {"by-version", "sha1", "sha256", NULL};
    struct sle_terms *t = state->input;
    switch (key) {
    case KEY_AUTH:
        t->level = sle_word(state, "authentication", arg, levels, "none, bind or all");
        return 0;
    case KEY_HASH:
        t->hash = sle_word(state, "hash", arg, hashes, "by-version, sha1 or sha256");
        return 0;
    case 'V':
        t->version =
            (uint8_t)argument_count(state, "version-number", arg, SLE_VERSION_MIN, SLE_VERSION_MAX);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option terms_options[] = {
    {"authentication", KEY_AUTH, "LEVEL", 0, "none (default), bind or all", 0},
    {"hash", KEY_HASH, "HASH", 0, "by-version (default), sha1 or sha256", 0},
    {"version-number", 'V', "N", 0, "SLE version, 2 to 5 (5; of bridge: any)", 0},
    {0}};

const struct argp sle_terms_argp = {.options = terms_options, .parser = parse_terms};

/* ---- user ---- */

static error_t parse_identity(int key, char *arg, struct argp_state *state, struct options *all)
{
    struct user_options *o = &all->user;
    switch (key) {
    case KEY_INSTANCE:
        o->instance = sle_instance_name(state, arg);
        return 0;
    case KEY_ID:
        o->id = sle_name(state, "id", arg);
        return 0;
    case KEY_PASSWORD:
        o->password = sle_password_file(state, "password-file", arg, all->own_password);
        return 0;
    case KEY_RESPONDER:
        o->responder = sle_name(state, "responder", arg);
        return 0;
    case KEY_RESPONDER_PASSWORD:
        o->responder_password =
            sle_password_file(state, "responder-password-file", arg, all->peer_password);
        return 0;
    case KEY_PORT_NAME:
        o->port_name = arg;
        return 0;
    case KEY_HEARTBEAT:
        o->heartbeat_s = (uint16_t)argument_count(state, "heartbeat", arg, 1, 3600);
        return 0;
    case KEY_DEAD:
        o->dead_factor = (uint16_t)argument_count(state, "dead-factor", arg, 1, 1000);
        return 0;
    case KEY_REPEAT:
        o->repeat = (unsigned)argument_count(state, "repeat", arg, 1, 1024);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* "ID" or "ID:QUALIFIER". */
static void add_event(struct argp_state *state, char *arg, struct user_options *o)
{
    uint8_t octets[SLE_QUALIFIER_MAX];
    char *colon = strchr(arg, ':');
    if (o->events_len == USER_EVENTS_MAX)
        argp_error(state, "--event: at most %d events", USER_EVENTS_MAX);
    struct user_event *e = &o->events[o->events_len < USER_EVENTS_MAX ? o->events_len++ : 0];
    e->qualifier = colon == NULL ? "0" : colon + 1;
    if (settings_qualifier(e->qualifier, octets, sizeof octets) == 0)
        argument_want(state, "event", arg,
                      "a qualifier of 1 to 1024 octets: a text, a number, 0x01ff");
    if (colon != NULL)
        *colon = '\0';
    e->id = (uint16_t)argument_count(state, "event", arg, 1, UINT16_MAX);
}

static error_t parse_wish(int key, char *arg, struct argp_state *state, struct user_options *o)
{
    static const char *const qualities[] = {"good", "erred", "all", NULL};
    switch (key) {
    case KEY_FROM:
        o->start.start = when_of(state, "from", arg);
        return 0;
    case KEY_TO:
        o->start.stop = when_of(state, "to", arg);
        return 0;
    case KEY_QUALITY:
        o->start.quality =
            (enum sle_wanted)sle_word(state, "quality", arg, qualities, "good, erred or all");
        return 0;
    case KEY_GVCID:
        if (!settings_gvcid(arg, &o->start.gvcid))
            argument_want(state, "gvcid", arg, "VERSION.SCID.VCID, such as 1.171.5 or 0.22.*");
        o->gvcid = true;
        return 0;
    case 'n':
        o->frames = argument_count(state, "frames", arg, 1, UINT64_MAX);
        return 0;
    case 't':
        o->time = argument_time(state, "time", arg, TICK_MS);
        return 0;
    case KEY_END:
        o->until_end = true;
        return 0;
    case KEY_WAIT:
        o->wait = argument_time(state, "wait", arg, 0);
        o->wait_given = true;
        return 0;
    case KEY_PARAMETERS:
        o->parameters = true;
        return 0;
    case KEY_CLTUS:
        o->cltus = arg;
        return 0;
    case KEY_EVENT:
        add_event(state, arg, o);
        return 0;
    case KEY_WINDOW:
        o->window = (unsigned)argument_count(state, "window", arg, 1, 65535);
        return 0;
    case KEY_CONGESTION:
        o->congestion = arg;
        return 0;
    case KEY_WARMUP:
        o->warmup = argument_time(state, "warmup", arg, 0);
        return 0;
    case KEY_TCP:
        o->tcp_buffer = argument_size(state, "tcp-buffer", arg, 0, 1u << 30);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_tls(int key, char *arg, struct argp_state *state, struct user_options *o)
{
    static const char *const peers[] = {"ca", "host", "address", "none", NULL};
    switch (key) {
    case KEY_TLS:
        o->tls = true;
        return 0;
    case KEY_TLS_CERTIFICATE:
        o->tls_certificate = arg;
        return 0;
    case KEY_TLS_KEY:
        o->tls_key = arg;
        return 0;
    case KEY_TLS_CA:
        o->tls_ca = arg;
        return 0;
    case KEY_TLS_HOST:
        o->tls_host = arg;
        return 0;
    case KEY_TLS_PEER:
        o->tls_peer =
            (enum sle_tls_peer)sle_word(state, "tls-peer", arg, peers, "ca, host, address or none");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void check_tls(struct argp_state *state, const struct user_options *o)
{
    bool any = o->tls_certificate != NULL || o->tls_key != NULL || o->tls_ca != NULL ||
               o->tls_host != NULL || o->tls_peer != SLE_TLS_CA;
    if (any && !o->tls)
        argp_error(state, "--tls-... needs --tls");
    if (o->tls && o->tls_ca == NULL && o->tls_peer != SLE_TLS_NONE)
        argp_error(state, "--tls needs --tls-ca, or --tls-peer none");
    if (o->tls_peer == SLE_TLS_HOST && o->tls_host == NULL)
        argp_error(state, "--tls-peer host needs --tls-host");
    if ((o->tls_certificate == NULL) != (o->tls_key == NULL))
        argp_error(state, "--tls-certificate and --tls-key are needed together");
}

static error_t parse_sink(int key, char *arg, struct argp_state *state, struct user_options *o)
{
    switch (key) {
    case 'o':
        o->output = arg;
        return 0;
    case KEY_LENGTHS:
        o->lengths = true;
        return 0;
    case KEY_NUMBERED:
        o->numbered = true;
        return 0;
    case 'j':
        o->json = true;
        return 0;
    case KEY_CSV:
        o->csv = arg;
        return 0;
    case KEY_FRAMES_CSV:
        o->frames_csv = arg;
        return 0;
    case KEY_DATAGRAMS:
        o->udp = argument_address(state, "datagrams", arg);
        return 0;
    case KEY_DATAGRAM_RATE:
        o->udp_rate = argument_rate(state, "datagram-rate", arg);
        return 0;
    case 'l':
        o->log = sle_log_level(state, arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void check_user(struct argp_state *state, const struct user_options *o)
{
    enum sle_service service = SLE_RAF;
    if (o->time > 0 && o->warmup >= o->time)
        argp_error(state, "--warmup must be shorter than --time");
    check_tls(state, o);
    struct sle_siid id;
    if (!address_given(&o->to))
        argp_error(state, "the provider's address is missing");
    if (o->instance == NULL || o->id == NULL || o->responder == NULL)
        argp_error(state, "--instance, --id and --responder are needed");
    if (o->instance == NULL || sle_siid_parse(o->instance, &id, &service, NULL) < 0)
        return;
    if (o->terms.level != SLE_AUTH_NONE && (*o->password == '\0' || *o->responder_password == '\0'))
        argp_error(state, "--authentication needs --password-file and --responder-password-file");
    if ((service == SLE_RCF || service == SLE_ROCF) && !o->gvcid && o->script == NULL)
        argp_error(state, "RCF and ROCF need --gvcid");
    if (service == SLE_FCLTU && o->cltus == NULL && !address_given(&o->cltu_at) &&
        o->events_len == 0 && !o->bind_only && o->script == NULL)
        argp_error(state, "FCLTU needs --cltus, --cltu-datagrams, --event or --bind-only");
    sle_check_more(state, o, service);
    if (service != SLE_FCLTU && o->events_len > 0)
        argp_error(state, "--event is for FCLTU");
}

error_t sle_parse_user(int key, char *arg, struct argp_state *state)
{
    struct options *all = state->input;
    struct user_options *o = &all->user;
    if (key == ARGP_KEY_INIT) {
        state->child_inputs[0] = &o->terms;
        return 0;
    }
    if (key == ARGP_KEY_ARG) {
        sle_add_place(state, arg, o);
        return 0;
    }
    if (key == ARGP_KEY_END) {
        if (*o->password == '\0')
            o->password = sle_password_variable(state, "HELIO_SLE_PASSWORD", all->own_password);
        if (*o->responder_password == '\0')
            o->responder_password =
                sle_password_variable(state, "HELIO_SLE_PEER_PASSWORD", all->peer_password);
        if (address_given(&o->cltu_at) && !o->wait_given)
            o->wait = 0; /* telecommands are rare */
        check_user(state, o);
        return 0;
    }
    if (parse_identity(key, arg, state, all) == 0 || parse_wish(key, arg, state, o) == 0 ||
        parse_tls(key, arg, state, o) == 0 || sle_parse_more(key, arg, state, o) == 0)
        return 0;
    return parse_sink(key, arg, state, o);
}

int sle_run_user(const struct options *o)
{
    return user_run(&o->user, NULL);
}

const struct argp_option sle_user_options[] = {
    {"instance", KEY_INSTANCE, "ID", 0, "Service instance identifier", 1},
    {"id", KEY_ID, "NAME", 0, "Our authority identifier", 1},
    {"responder", KEY_RESPONDER, "NAME", 0, "The provider's authority identifier", 1},
    {"port-name", KEY_PORT_NAME, "NAME", 0, "Responder port identifier (PORT1)", 1},
    {"password-file", KEY_PASSWORD, "FILE", 0,
     "Our password, in hexadecimal digits ($HELIO_SLE_PASSWORD)", 2},
    {"responder-password-file", KEY_RESPONDER_PASSWORD, "FILE", 0,
     "The provider's ($HELIO_SLE_PEER_PASSWORD)", 2},
    {"heartbeat", KEY_HEARTBEAT, "SECONDS", 0, "Heartbeat interval (25)", 2},
    {"dead-factor", KEY_DEAD, "N", 0, "Intervals without a sign of life (5)", 2},
    {"repeat", KEY_REPEAT, "N", 0, "So many instances, the number at the id's end counts up", 2},
    {"from", KEY_FROM, "TIME", 0, "Earth receive time of the first frame", 3},
    {"to", KEY_TO, "TIME", 0, "Earth receive time behind the last frame", 3},
    {"quality", KEY_QUALITY, "WORD", 0, "RAF: good, erred or all (default)", 3},
    {"gvcid", KEY_GVCID, "CHANNEL", 0, "RCF, ROCF: VERSION.SCID.VCID, or * as VCID", 3},
    {"control-words", KEY_WORDS, "WORD", 0, "ROCF: all (default), clcw or not-clcw", 3},
    {"tc-vcid", KEY_TC_VCID, "N", 0, "ROCF: of CLCWs: of this TC virtual channel (any)", 3},
    {"update-mode", KEY_UPDATE, "WORD", 0, "ROCF: continuous (default) or change", 3},
    {"report-cycle", KEY_CYCLE, "SECONDS", 0, "Ask for a status report so often (none)", 3},
    {"script", KEY_SCRIPT, "FILE", 0, "Do the steps of FILE", 4},
    {"bind-only", KEY_BIND_ONLY, NULL, 0, "Bind, and start nothing until --time", 4},
    {"unbind", KEY_UNBIND, "WORD", 0, "Reason: end (default), suspend, version or other", 4},
    {"reconnect", KEY_RECONNECT, "TIME", 0, "So long after a failure connect again (never)", 2},
    {"listen", KEY_LISTEN, NULL, 0, "Listen at ADDRESS: the provider binds", 2},
    {"parameters", KEY_PARAMETERS, NULL, 0, "Ask for all parameters and a status report", 3},
    {"frames", 'n', "N", 0, "Stop after N frames", 4},
    {"time", 't', "TIME", 0, "Stop after that time", 4},
    {"warmup", KEY_WARMUP, "TIME", 0, "What comes earlier is not measured", 4},
    {"until-end", KEY_END, NULL, 0, "Stop at the end of the data", 4},
    {"wait", KEY_WAIT, "TIME", 0, "Give up when nothing comes for so long (60s; 0: never)", 4},
    {"output", 'o', "FILE", 0, "Write the frames to FILE", 5},
    {"lengths", KEY_LENGTHS, NULL, 0, "Each behind its length in four octets", 5},
    {"datagrams", KEY_DATAGRAMS, "ADDRESS", 0, "Send the frames there, each as a datagram", 5},
    {"datagram-rate", KEY_DATAGRAM_RATE, "RATE", 0,
     "At this rate at the most, such as 20Mbit/s; the provider waits", 5},
    {"numbered", KEY_NUMBERED, NULL, 0, "Frames are a generator's: check them, measure delay", 6},
    {"csv", KEY_CSV, "FILE", 0, "A line for each second", 6},
    {"frames-csv", KEY_FRAMES_CSV, "FILE", 0, "A line for each frame", 6},
    {"json", 'j', NULL, 0, "Print the result as JSON", 6},
    {"cltus", KEY_CLTUS, "FILE", 0, "FCLTU: send these, each behind its length in four octets", 7},
    {"cltu-datagrams", KEY_CLTU_DATAGRAMS, "ADDRESS", 0,
     "FCLTU: receive CLTUs there, each as a datagram, and send them", 7},
    {"cltu-source", KEY_CLTU_SOURCE, "HOST", 0, "Only datagrams of this host are taken", 7},
    {"encode", KEY_ENCODE, "WORD", 0,
     "Datagrams are telecommand frames, which become CLTUs: plain or randomised", 7},
    {"window", KEY_WINDOW, "N", 0, "FCLTU: at most N without an answer; 1 waits for each", 7},
    {"earliest", KEY_EARLIEST, "WHEN", 0,
     "FCLTU: radiate each not before: a time, or +2s from its sending", 7},
    {"latest", KEY_LATEST, "WHEN", 0, "FCLTU: radiate each then at the latest, or not at all", 7},
    {"delay", KEY_DELAY, "TIME", 0, "FCLTU: behind each, before the next (0)", 7},
    {"no-notification", KEY_QUIET, NULL, 0, "FCLTU: radiation is not notified", 7},
    {"event", KEY_EVENT, "ID[:QUALIFIER]", 0,
     "FCLTU: throw this event, before CLTUs; several times", 7},
    {"tls", KEY_TLS, NULL, 0, "TLS below the transport mapping", 9},
    {"tls-ca", KEY_TLS_CA, "FILE", 0, "CAs that are trusted, or the provider's own certificate", 9},
    {"tls-certificate", KEY_TLS_CERTIFICATE, "FILE", 0, "Our certificate", 9},
    {"tls-key", KEY_TLS_KEY, "FILE", 0, "Its private key", 9},
    {"tls-host", KEY_TLS_HOST, "NAME", 0, "DNS name of the provider", 9},
    {"tls-peer", KEY_TLS_PEER, "WORD", 0,
     "What the provider's certificate must be: of the ca (default), with host, with address; none",
     9},
    {"tcp-buffer", KEY_TCP, "SIZE", 0, "Of the socket (the system finds them)", 8},
    {"congestion", KEY_CONGESTION, "NAME", 0, "TCP's congestion control, such as cubic", 8},
    {"log", 'l', "LEVEL", 0, "error, warning (default) or info", 8},
    {0}};
