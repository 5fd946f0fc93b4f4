/* SPDX-License-Identifier: Apache-2.0 */
/* The options of helio-sle user, and the values that other commands have, too. What can go wrong: a
 * wrong option, or options that contradict each other (exit 2). */
#include <stdlib.h>
#include <string.h>

#include "os/secret.h"
#include "tools/sle/sle_options.h"

/* ---- values ---- */

void sle_set_name(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    if (!sle_authority_ok(arg))
        argument_want(state, arg, "3 to 16 characters without blanks, such as STATION");
    argument_set_value(state, o, arg, base);
}

#define PASSWORD_HINT "at most 64 octets, two hexadecimal digits each"

static void set_password(struct argp_state *state, const struct argument *o, const char *path,
                         void *base, char room[SLE_PASSWORD_TEXT])
{
    struct sle_identity who;
    char why[512];
    if (secret_file_line(path, room, SLE_PASSWORD_TEXT, why, sizeof why) < 0)
        argument_wrong(state, "%s", why);
    else if (!sle_password_read(room, &who))
        argument_wrong(state, "%s: write a file with " PASSWORD_HINT, path);
    argument_set_value(state, o, room, base);
}

void sle_set_own_password(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    set_password(state, o, arg, base, ((struct options *)base)->own_password);
}

void sle_set_peer_password(struct argp_state *state, const struct argument *o, char *arg,
                           void *base)
{
    set_password(state, o, arg, base, ((struct options *)base)->peer_password);
}

void sle_password_variable(struct argp_state *state, const char *name, const char **password,
                           char room[SLE_PASSWORD_TEXT])
{
    struct sle_identity who;
    const char *text = getenv(name);
    if (**password != '\0' || text == NULL)
        return;
    if (strlen(text) >= SLE_PASSWORD_TEXT || !sle_password_read(text, &who))
        argp_error(state, "the variable %s: write " PASSWORD_HINT, name);
    else
        *password = strcpy(room, text);
}

void sle_set_instance(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    struct sle_siid id;
    if (sle_siid_parse(arg, &id, NULL, NULL) < 0)
        argument_want(state, arg,
                      "a service instance identifier, such as sagr=1.spack=1.rsl-fg=1.raf=onlc1");
    argument_set_value(state, o, arg, base);
}

static void set_when(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    uint64_t ns = 0;
    if (!user_time_parse(arg, &ns))
        argument_want(state, arg, "a time in UTC, such as 2026-11-22T18:00:00Z");
    *(struct sle_when *)argument_field(o, base) =
        (struct sle_when){.known = true, .at = sle_time_of(ns)};
}

/* ---- what both ends must agree on ---- */

#define TERM(member) ARGUMENT_FIELD(struct sle_terms, member)

const struct argument sle_terms_options[] = {
    {"authentication", 0, "LEVEL", .help = "none (default), bind or all", .type = OPTION_CHOICE,
     .choices = "none|bind|all", TERM(level)},
    {"hash", 0, "HASH", .help = "by-version (default), sha1 or sha256", .type = OPTION_CHOICE,
     .choices = "by-version|sha1|sha256", TERM(hash)},
    {"version-number", 'V', "N", .help = "SLE version, 2 to 5 (5; of bridge: any)",
     .type = OPTION_COUNT, .min = SLE_VERSION_MIN, .max = SLE_VERSION_MAX, TERM(version)},
    {0}};

/* ---- user ---- */

/* "ID" or "ID:QUALIFIER". */
static void add_event(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct user_options *o = &((struct options *)base)->user;
    uint8_t octets[SLE_QUALIFIER_MAX];
    char *colon = strchr(arg, ':');
    if (o->events_len == USER_EVENTS_MAX)
        argp_error(state, "--event: at most %d events", USER_EVENTS_MAX);
    struct user_event *e = &o->events[o->events_len < USER_EVENTS_MAX ? o->events_len++ : 0];
    e->qualifier = colon == NULL ? "0" : colon + 1;
    if (settings_qualifier(e->qualifier, octets, sizeof octets) == 0)
        argument_want(state, e->qualifier,
                      "a qualifier of 1 to 1024 octets: a text, a number, or 0x01ff");
    if (colon != NULL)
        *colon = '\0';
    e->id = (uint16_t)argument_number(state, row, arg);
}

static void set_channel(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    (void)row;
    struct user_options *o = &((struct options *)base)->user;
    if (!settings_gvcid(arg, &o->start.gvcid))
        argument_want(state, arg, "VERSION.SCID.VCID, such as 1.171.5 or 0.22.*");
    o->gvcid = true;
}

static void set_wait(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    ((struct options *)base)->user.wait_given = true;
    argument_set_value(state, o, arg, base);
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

static void check_user(struct argp_state *state, const struct user_options *o)
{
    enum sle_service service = SLE_RAF;
    if (o->time > 0 && o->warmup >= o->time)
        argp_error(state, "--warmup must be shorter than --time");
    check_tls(state, o);
    struct sle_siid id;
    if (!address_given(&o->to))
        argp_error(state, "ADDRESS is missing: the provider's, such as 127.0.0.1:5100");
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

void sle_check_user(struct argp_state *state, void *base)
{
    struct options *all = base;
    struct user_options *o = &all->user;
    sle_password_variable(state, "HELIO_SLE_PASSWORD", &o->password, all->own_password);
    sle_password_variable(state, "HELIO_SLE_PEER_PASSWORD", &o->responder_password,
                          all->peer_password);
    if (address_given(&o->cltu_at) && !o->wait_given)
        o->wait = 0; /* telecommands are rare */
    check_user(state, o);
}

int sle_run_user(const struct options *o)
{
    return user_run(&o->user, NULL);
}

const struct argument sle_user_options[] = {
    {"instance", 0, "ID", .help = "Service instance identifier", .group = 1,
     .own = sle_set_instance, SLE_FIELD(user.instance)},
    {"id", 0, "NAME", .help = "Our authority identifier", .group = 1, .own = sle_set_name,
     SLE_FIELD(user.id)},
    {"responder", 0, "NAME", .help = "The provider's authority identifier", .group = 1,
     .own = sle_set_name, SLE_FIELD(user.responder)},
    {"port-name", 0, "NAME", .help = "Responder port identifier (PORT1)", .group = 1,
     SLE_FIELD(user.port_name)},
    {"password-file", 0, "FILE",
     .help = "Our password, in hexadecimal digits ($HELIO_SLE_PASSWORD)", .group = 2,
     .own = sle_set_own_password, SLE_FIELD(user.password)},
    {"responder-password-file", 0, "FILE", .help = "The provider's ($HELIO_SLE_PEER_PASSWORD)",
     .group = 2, .own = sle_set_peer_password, SLE_FIELD(user.responder_password)},
    {"heartbeat", 0, "SECONDS", .help = "Heartbeat interval (25)", .group = 2,
     SLE_COUNT(user.heartbeat_s, 1, 3600)},
    {"dead-factor", 0, "N", .help = "Intervals without a sign of life (5)", .group = 2,
     SLE_COUNT(user.dead_factor, 1, 1000)},
    {"repeat", 0, "N", .help = "So many instances, the number at the id's end counts up",
     .group = 2, SLE_COUNT(user.repeat, 1, 1024)},
    {"from", 0, "TIME", .help = "Earth receive time of the first frame", .group = 3,
     .own = set_when, SLE_FIELD(user.start.start)},
    {"to", 0, "TIME", .help = "Earth receive time behind the last frame", .group = 3,
     .own = set_when, SLE_FIELD(user.start.stop)},
    {"quality", 0, "WORD", .help = "RAF: good, erred or all (default)", .group = 3,
     SLE_WORD(user.start.quality, "good|erred|all")},
    {"gvcid", 0, "CHANNEL", .help = "RCF, ROCF: VERSION.SCID.VCID, or * as VCID", .group = 3,
     .own = set_channel},
    {"parameters", 0, .help = "Ask for all parameters and a status report", .group = 3,
     SLE_FLAG(user.parameters)},
    {"frames", 'n', "N", .help = "Stop after N frames", .group = 4, SLE_COUNT(user.frames, 1, 0)},
    {"time", 't', "TIME", .help = "Stop after that time", .group = 4, SLE_TIME(user.time, TICK_MS)},
    {"warmup", 0, "TIME", .help = "What comes earlier is not measured", .group = 4,
     SLE_TIME(user.warmup, 0)},
    {"until-end", 0, .help = "Stop at the end of the data", .group = 4, SLE_FLAG(user.until_end)},
    {"wait", 0, "TIME", .help = "Fail when nothing is received for this time (60s; 0: never)",
     .group = 4, .own = set_wait, SLE_TIME(user.wait, 0)},
    {"output", 'o', "FILE", .help = "Write the frames to FILE", .group = 5, SLE_FIELD(user.output)},
    {"lengths", 0, .help = "Each behind its length in four octets", .group = 5,
     SLE_FLAG(user.lengths)},
    {"datagrams", 0, "ADDRESS", .help = "Send the frames there, each as a datagram", .group = 5,
     SLE_ADDRESS(user.udp)},
    {"datagram-rate", 0, "RATE",
     .help = "At this rate at the most, such as 20Mbit/s; the provider waits", .group = 5,
     SLE_RATE(user.udp_rate)},
    {"numbered", 0, .help = "Frames are a generator's: check them, measure delay", .group = 6,
     SLE_FLAG(user.numbered)},
    {"csv", 0, "FILE", .help = "A line for each second", .group = 6, SLE_FIELD(user.csv)},
    {"frames-csv", 0, "FILE", .help = "A line for each frame", .group = 6,
     SLE_FIELD(user.frames_csv)},
    {"json", 'j', .help = "Print the result as JSON", .group = 6, SLE_FLAG(user.json)},
    {"cltus", 0, "FILE", .help = "FCLTU: send these, each behind its length in four octets",
     .group = 7, SLE_FIELD(user.cltus)},
    {"window", 0, "N", .help = "FCLTU: at most N without an answer; 1 waits for each", .group = 7,
     SLE_COUNT(user.window, 1, 65535)},
    {"event", 0, "ID[:QUALIFIER]", .help = "FCLTU: throw this event, before CLTUs; several times",
     .group = 7, .type = OPTION_COUNT, .min = 1, .max = UINT16_MAX, .own = add_event},
    {"tls", 0, .help = "TLS below the transport mapping", .group = 9, SLE_FLAG(user.tls)},
    {"tls-ca", 0, "FILE", .help = "CAs that are trusted, or the provider's own certificate",
     .group = 9, SLE_FIELD(user.tls_ca)},
    {"tls-certificate", 0, "FILE", .help = "Our certificate", .group = 9,
     SLE_FIELD(user.tls_certificate)},
    {"tls-key", 0, "FILE", .help = "Its private key", .group = 9, SLE_FIELD(user.tls_key)},
    {"tls-host", 0, "NAME", .help = "DNS name of the provider", .group = 9,
     SLE_FIELD(user.tls_host)},
    {"tls-peer", 0, "WORD",
     .help = "What the provider's certificate must be: of the ca (default), with host, with "
             "address; none",
     .group = 9, SLE_WORD(user.tls_peer, "ca|host|address|none")},
    {"tcp-buffer", 0, "SIZE", .help = "Of the socket (the system finds them)", .group = 8,
     SLE_BUFFER(user.tcp_buffer)},
    {"congestion", 0, "NAME", .help = "TCP's congestion control, such as cubic", .group = 8,
     SLE_FIELD(user.congestion)},
    {"log", 'l', "LEVEL", .help = "error, warning (default) or info", .group = 8,
     SLE_LOG(user.log)},
    {0}};
