/* SPDX-License-Identifier: Apache-2.0 */
/* The tables describe single keys; the functions compute values from several keys. ltp_link_check
 * reports what can go wrong: a value that contradicts another one. */
#include "cla/ltp/ltp_config.h"

#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/hex.h"
#include "cla/ltp/auth.h"
#include "os/net/udp_io.h"

#define AT(field) offsetof(struct ltp_link_config, field)
#define HOUR (3600 * TICK_S)
#define SEGMENT_LEAST 64
#define REQUEST_PAUSE (20 * TICK_MS) /* behind the time of the last repair segment */

/* Lines of ltp/options.h as keys. */
#define LTP_LINK_KIND_TIME OPTION_DURATION
#define LTP_LINK_KIND_BYTES OPTION_SIZE
#define LTP_LINK_KIND_COUNT OPTION_COUNT
#define LTP_LINK_KIND_FLAG OPTION_BOOL
#define LTP_LINK_ROW(group, name, unit, field, part, initial, least, most, word, help)             \
    {group #name, LTP_LINK_KIND_##unit, AT(name), initial, least, most, word, help},
#define LTP_ENGINE_ROW(key, name, unit, field, initial, least, most, help)                         \
    {key, LTP_LINK_KIND_##unit, AT(name), initial, least, most, NULL, help},

/* clang-format off */
const struct conf_option ltp_link_options[] = {
    UDP_KEYS_ADDRESSES(AT(udp), 0),
    {"source", OPTION_CHOICE, AT(source), "address", 0, 0, "address|exact|any",
     "which datagrams of the peer are accepted: address: those from the address of remote, from any "
     "port; exact: from its port too; any: from anywhere"},
    {"engine", OPTION_COUNT, AT(engine), "0", 0, 0, NULL,
     "LTP engine number of this node; 0: its ipn node number"},
    {"peer_engine", OPTION_COUNT, AT(peer_engine), "0", 0, 0, NULL,
     "LTP engine number of the peer; 0: its ipn node number"},
    PACE_KEYS_RATE(AT(pace)),
    {"owlt", OPTION_DURATION, AT(owlt), "0", 0, 1000 * HOUR, NULL,
     "one-way light time to the peer"},
    {"recovery", OPTION_CHOICE, AT(recovery), "default", 0, 0, "plain|default|own",
     "plain: RFC 5326 with a fixed timer; default: the switches that measure best; own: each switch as its own key says"},
    {"recovery.peer_profile", OPTION_CHOICE, AT(peer_profile), "auto", 0, 0, "heliograph|hdtn|ion|plain|auto",
     "which of the switches the peer's receiver supports: heliograph, hdtn: all; ion: those that it "
     "cannot see; plain: none; auto: as it is found to behave"},
    {"recovery.margin", OPTION_DURATION, AT(margin), "20ms", 0, HOUR, NULL,
     "added to 2 x owlt: queueing and processing at both ends"},
    LTP_OPTIONS(LTP_LINK_ROW)
    {"colour", OPTION_CHOICE, AT(colour), "red", 0, 0, "red|green|orange",
     "red: reliable; green: sent once; orange: sent once, and the peer reports the outcome"},
    {"recovery.resend", OPTION_COUNT, AT(resend), "3", 0, 1000000, NULL,
     "times that a bundle is sent again whose orange block was lost; then it is deleted"},
    {"recovery.answer_orange", OPTION_BOOL, AT(answer_orange), "yes", 0, 0, NULL,
     "report to the peer the outcome of its orange blocks; no: they are green"},
    {"aggregate", OPTION_SIZE, AT(aggregate), "0", 0, 1 << 30, NULL,
     "longest block of several bundles (client service 2); 0: one bundle per block"},
    {"aggregate_time", OPTION_DURATION, AT(aggregate_time), "0", 0, HOUR, NULL,
     "a bundle waits for others at most so long; 0: only while the link is busy"},
    LTP_ENGINE_OPTIONS(LTP_ENGINE_ROW)
    PACE_KEYS_BURST(AT(pace)),
    {"pacing.gather", OPTION_DURATION, AT(gather), "100us", 0, 10 * TICK_MS, NULL,
     "frequent data without need of an answer wait in the socket for so long, so "
             "that many are read at once; 0: none waits"},
    UDP_KEYS_SOCKET(AT(udp)),
    FRAME_KEYS(AT(frames)),
    {"erasure", OPTION_CHOICE, AT(erasure), "off", 0, CONF_MODE_NEEDED, "off|rs|rs8",
     "repair segments follow each matrix of segments, so that losses cost no retransmission; rs: Reed-Solomon "
     "over GF(2^16), one codeword a matrix; rs8: over GF(2^8), interleaved codewords. Both ends need the same erasure keys"},
    {"erasure.rate", OPTION_SHARE, AT(erasure_rate), "0.8", 0, 0, NULL,
     "share of segments among all, repair segments included: 0.05 to 0.99"},
    {"erasure.span", OPTION_COUNT, AT(erasure_span), "1024", 1, 65535, NULL,
     "segments of a matrix"},
    {"erasure.interleave", OPTION_COUNT, AT(erasure_interleave), "0", 0, ERASURE_DEPTH_MAX, NULL,
     "codewords of a matrix (rs8); 0: as few as the code allows"},
    {"erasure.time", OPTION_DURATION, AT(erasure_time), "0", 0, HOUR, NULL,
     "a matrix that is not full ends after so long; 0: 1.1 x the time of its segments at rate"},
    {"erasure.requests", OPTION_BOOL, AT(erasure_requests), "no", 0, 0, NULL,
     "codec rs: the receiver asks for more repair segments when those of a matrix were too few"},
    {"erasure.adaptive", OPTION_BOOL, AT(erasure_adaptive), "no", 0, 0, NULL,
     "with requests: a matrix gets as many repair segments as recent ones needed, with a margin; at most as many as erasure.rate says"},
    {"erasure.matrices", OPTION_COUNT, AT(erasure_matrices), "0", 0, ERASURE_MATRICES_MAX, NULL,
     "matrices that the receiver keeps; each needs the memory of its segments and repair segments. 0: "
     "4, with requests 3 and those of 1.25 x the time of an answer"},
    {"auth", OPTION_CHOICE, AT(auth), "off", 0, 0, "off|accept|require",
     "RFC 5327: accept: authenticate sent segments, refuse wrongly authenticated ones; require: also "
     "those without"},
    {"auth.suite", OPTION_CHOICE, AT(auth_suite), "hmac-sha1-80", 0, 0,
     "hmac-sha1-80|rsa-sha256|null", "ciphersuite, in both directions"},
    {"auth.key_file", OPTION_FILE, AT(auth_key_file), "", 0, 0, NULL,
     "hmac-sha1-80: file with the key in hexadecimal digits; rsa-sha256: with our private key (PEM)"},
    {"auth.peer_key_file", OPTION_FILE, AT(auth_peer_key_file), "", 0, 0, NULL,
     "rsa-sha256: file with the peer's public key (PEM)"},
    {"auth.key_id", OPTION_TEXT, AT(auth_key_id), "", 0, 0, NULL,
     "name of the key, sent and expected with each segment; empty: none"},
    {"auth.cookie", OPTION_SECRET, AT(cookie), "", 0, 0, NULL,
     "RFC 5327: hexadecimal digits, sent and expected with each segment; empty: none"},
    {"state", OPTION_CHOICE, AT(state), "up", 0, 0, "up|down",
     "state of the link at the start"},
    {NULL, OPTION_COUNT, 0, NULL, 0, 0, NULL, NULL},
};
/* clang-format on */

const struct cla_renamed ltp_link_renamed[] = {
    FRAME_KEYS_RENAMED, {"accept_unknown", "unknown.accept"}, {NULL, NULL}};

static bool erases(const struct ltp_link_config *k)
{
    return k->erasure != LTP_LINK_ERASURE_OFF;
}

__attribute__((format(printf, 5, 6))) static int
wrong(const char **key, const char *which, char *why, size_t cap, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, cap, format, args);
    va_end(args);
    *key = which;
    return HELIO_EINVAL;
}

int ltp_link_auth(const struct ltp_link_config *k, struct ltp_auth **out, const char **key,
                  char *why, size_t why_cap)
{
    static const enum ltp_auth_suite suites[] = {LTP_HMAC_SHA1_80, LTP_RSA_SHA256, LTP_AUTH_NULL};
    struct auth_config c = {.suite = suites[k->auth_suite],
                            .key_file = k->auth_key_file,
                            .peer_key_file = k->auth_peer_key_file,
                            .key_id = k->auth_key_id};
    *out = NULL;
    return k->auth == LTP_LINK_AUTH_OFF ? 0 : auth_open(out, &c, key, why, why_cap);
}

/* The longest segment that fits a frame. */
static uint32_t segment_room(const struct ltp_link_config *k)
{
    uint32_t mtu = frame_keys_mtu(&k->frames), beyond = erases(k) ? ERASURE_BEYOND : 0;
    return mtu > beyond ? mtu - beyond : 0;
}

uint32_t ltp_link_segment(const struct ltp_link_config *k)
{
    uint32_t mtu = segment_room(k);
    return k->segment < mtu ? (uint32_t)k->segment : mtu;
}

uint32_t ltp_link_extra(const struct ltp_link_config *k)
{
    uint32_t segment = ltp_link_segment(k), mtu = segment_room(k);
    uint32_t most = (uint32_t)k->checkpoint_extra;
    if (k->frames.out.kind == FRAMES_OFF)
        return udp_beyond(segment, most);
    return mtu - segment < most ? mtu - segment : most;
}

static bool given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static int cookie_of(const struct ltp_link_config *k, uint8_t out[LTP_COOKIE_MAX])
{
    return k->cookie == NULL ? 0 : hex_parse(k->cookie, strlen(k->cookie), out, LTP_COOKIE_MAX);
}

/* The first of the keys that count only with auth, if any is given; NULL. */
static const char *auth_key(const struct ltp_link_config *k)
{
    return given(k->auth_key_file)        ? "auth.key_file"
           : given(k->auth_peer_key_file) ? "auth.peer_key_file"
           : given(k->auth_key_id)        ? "auth.key_id"
                                          : NULL;
}

static int check_auth(const struct ltp_link_config *k, const char **key, char *why, size_t why_cap)
{
    uint8_t cookie[LTP_COOKIE_MAX];
    struct ltp_auth *a;
    const char *unused = k->auth == LTP_LINK_AUTH_OFF ? auth_key(k) : NULL;
    if (unused != NULL)
        return wrong(key, unused, why, why_cap,
                     "is given, and auth is off: nothing is authenticated; write auth: require, or "
                     "remove this key");
    if (cookie_of(k, cookie) < 0)
        return wrong(key, "auth.cookie", why, why_cap,
                     "write at most %d bytes as hexadecimal digits, such as 5f0ac7",
                     LTP_COOKIE_MAX);
    int r = ltp_link_auth(k, &a, key, why, why_cap);
    if (r == 0 && a != NULL && ltp_link_segment(k) < LTP_SEGMENT_AUTH_MIN + (uint64_t)a->value_len)
        r = wrong(key, "segment", why, why_cap,
                  "is too short for authentication; write at least %uB",
                  LTP_SEGMENT_AUTH_MIN + (unsigned)a->value_len);
    else if (r == 0 && given(k->cookie) && ltp_link_segment(k) < LTP_SEGMENT_COOKIE_MIN)
        r = wrong(key, "segment", why, why_cap, "is too short for a cookie; write at least %dB",
                  LTP_SEGMENT_COOKIE_MIN);
    auth_close(a);
    return r;
}

/* Is the line of ltp/options.h one of the switches of recovery: own? */
static bool is_switch(enum ltp_option_part part)
{
    return part != LTP_OPTION_AGREED;
}

#define BACK_CAP 224

/* The first of the keys that count only with recovery: own, if any is given; NULL. `back`: what
 * takes all of them back, such as " copies=0 rto_auto=no". */
static const char *own_key(const struct ltp_link_config *k, char back[BACK_CAP])
{
    const char *first = NULL;
    size_t used = 0;
    back[0] = '\0';
#define IF_GIVEN(group, name, unit, field, part, initial, least, most, word, help)                 \
    if (is_switch(LTP_OPTION_##part) && k->name != 0 && used < BACK_CAP) {                         \
        first = first == NULL ? group #name : first;                                               \
        used += (size_t)snprintf(back + used, BACK_CAP - used, " " #name "=%s", initial);          \
    }
    LTP_OPTIONS(IF_GIVEN)
#undef IF_GIVEN
    return first;
}

const char *ltp_link_needs(const char *key)
{
    const char *dot = strchr(key, '.');
    const struct ltp_option *o = ltp_option_find(dot != NULL ? dot + 1 : key);
    return o != NULL && is_switch(o->part) ? "recovery: own" : NULL;
}

static int check_recovery(const struct ltp_link_config *k, const char **key, char *why, size_t cap)
{
    char back[BACK_CAP];
    const char *own = k->recovery != LTP_LINK_OWN ? own_key(k, back) : NULL;
    if (own != NULL)
        return wrong(key, own, why, cap,
                     "counts only with recovery: {mode: own}; write that, or remove the key. "
                     "helioctl link set takes all such keys back at once: recovery=%s%s",
                     k->recovery == LTP_LINK_PLAIN ? "plain" : "default", back);
    if (k->rto_max != 0 && k->rto_min > k->rto_max)
        return wrong(key, "recovery.rto_min", why, cap,
                     "is above recovery.rto_max; raise that or lower this");
    return 0;
}

static int check_unknown(const struct ltp_link_config *k, const char **key, char *why, size_t cap)
{
    if (k->accept_unknown == 0 && (k->unknown_sessions != 0 || k->unknown_bytes != 0))
        return wrong(key, k->unknown_sessions != 0 ? "unknown.sessions" : "unknown.bytes", why, cap,
                     "nobody unknown is accepted; write unknown: {accept: 64} too");
    if (k->unknown_sessions > k->import_sessions_all)
        return wrong(key, "unknown.sessions", why, cap,
                     "is above limits.import_sessions_all (%llu); raise that or lower this",
                     (unsigned long long)k->import_sessions_all);
    if (k->unknown_bytes > k->held_bytes)
        return wrong(key, "unknown.bytes", why, cap,
                     "is above limits.held_bytes (%llu bytes); raise that or lower this",
                     (unsigned long long)k->held_bytes);
    return 0;
}

bool ltp_link_warn(const void *config, const struct eid *node, int64_t now, const char **key,
                   char *why, size_t cap)
{
    const struct ltp_link_config *k = config;
    char local[ADDRESS_TEXT_MAX];
    (void)node;
    (void)now;
    *key = "auth.mode";
    if (k->frames.out.kind != FRAMES_OFF || k->auth != LTP_LINK_AUTH_OFF ||
        !address_is_any(&k->udp.local))
        return false;
    snprintf(why, cap,
             "listens at %s, at all addresses of this machine, without auth: %s can send in the "
             "name of the peer; auth: require with a key keeps such senders out",
             address_write(&k->udp.local, local),
             k->source == ADDRESS_CHECK_ANY ? "anyone who reaches it"
                                            : "anyone who can forge the address of remote");
    return true;
}

static int check_erasure(const struct ltp_link_config *k, const char **key, char *why, size_t cap)
{
    struct erasure_config c;
    if (!erases(k))
        return 0;
    if (k->pace.rate == 0 && k->erasure_time == 0)
        return wrong(key, "erasure.time", why, cap,
                     "neither rate nor erasure.time is given: the time of a matrix is not known; "
                     "write one of them");
    if (k->accept_unknown != 0)
        return wrong(
            key, "unknown.accept", why, cap,
            "a link with erasure code has one peer; remove this key, or write erasure: off");
    if (k->erasure == LTP_LINK_ERASURE_RS && k->erasure_interleave > 1)
        return wrong(key, "erasure.interleave", why, cap,
                     "one codeword is a matrix of rs; remove this key, or write erasure: rs8");
    if (k->erasure_requests && k->erasure != LTP_LINK_ERASURE_RS)
        return wrong(key, "erasure.requests", why, cap,
                     "only codec rs has requests; remove this key, or write erasure: rs");
    if (k->erasure_adaptive && !k->erasure_requests)
        return wrong(key, "erasure.adaptive", why, cap,
                     "only a code with requests is adaptive; remove this key, or write "
                     "erasure.requests: yes");
    const char *problem = ltp_link_erasure(k, &c);
    if (problem != NULL && k->erasure_requests && c.kept > ERASURE_MATRICES_MAX)
        return wrong(key, "erasure.requests", why, cap,
                     "more than %d matrices would be kept for a round trip; raise erasure.span, or "
                     "remove this key",
                     ERASURE_MATRICES_MAX);
    if (problem != NULL)
        return wrong(
            key, k->erasure_rate < 0.05 || k->erasure_rate > 0.99 ? "erasure.rate" : "erasure.span",
            why, cap, "%s", problem);
    c.math16 = gf16_fastest(); /* memory depends on it */
    uint64_t bytes = erasure_decoder_bytes(&c) + erasure_encoder_bytes(&c);
    if (bytes > k->held_bytes)
        return wrong(key, "erasure.matrices", why, cap,
                     "the matrices need %llu bytes, limits.held_bytes allows %llu; lower "
                     "erasure.matrices or erasure.span, or raise limits.held_bytes",
                     (unsigned long long)bytes, (unsigned long long)k->held_bytes);
    return 0;
}

int ltp_link_check(const void *config, const char **key, char *why, size_t why_cap)
{
    const struct ltp_link_config *k = config;
    if (udp_keys_check(&k->udp, key, why, why_cap) != 0)
        return HELIO_EINVAL;
    if (k->frames.out.kind != FRAMES_OFF && host_address_is_name(&k->udp.remote))
        return wrong(key, "remote", why, why_cap,
                     "is a host name; a link with frames needs a numeric address");
    if (k->rto == 0 && k->owlt == 0)
        return wrong(key, "rto", why, why_cap,
                     "neither rto nor owlt is given; write the retransmission timer (rto: 30ms) or "
                     "the one-way light time (owlt: 5ms)");
    if (ltp_link_rto(k) < 100 * TICK_US)
        return wrong(key, k->rto != 0 ? "rto" : "recovery.margin", why, why_cap,
                     "the retransmission timer is below 100us; write at least 100us");
    if (k->rto != 0 && k->rto <= tick_add(k->owlt, k->owlt))
        return wrong(key, "rto", why, why_cap,
                     "is not above 2 x owlt: every checkpoint would be sent again; leave rto away, "
                     "or write more than twice the owlt");
    if (check_recovery(k, key, why, why_cap) != 0)
        return HELIO_EINVAL;
    if (k->import_sessions > k->import_sessions_all)
        return wrong(key, "limits.import_sessions", why, why_cap,
                     "is above limits.import_sessions_all (%llu); raise that or lower this",
                     (unsigned long long)k->import_sessions_all);
    if (k->block_max > k->held_bytes)
        return wrong(key, "limits.block_max", why, why_cap,
                     "is above limits.held_bytes (%llu bytes): no such block could be received",
                     (unsigned long long)k->held_bytes);
    if (k->sessions != 0 && (k->sessions_bytes != 0 || k->sessions_age != 0))
        return wrong(key, k->sessions_bytes != 0 ? "limits.sessions_bytes" : "limits.sessions_age",
                     why, why_cap,
                     "counts only with sessions: auto; write that, or remove this key");
    if (check_unknown(k, key, why, why_cap) != 0 ||
        frame_keys_check(&k->frames, key, why, why_cap) != 0)
        return HELIO_EINVAL;
    if (ltp_link_segment(k) < SEGMENT_LEAST)
        return wrong(
            key, "frames.length", why, why_cap,
            "a segment has to fit a TC frame; write a longer one, or frames: {segments: yes}");
    if (k->frames.out.kind != FRAMES_OFF && k->accept_unknown != 0)
        return wrong(key, "unknown.accept", why, why_cap,
                     "a link with frames has one peer; remove this key, or write frames: off");
    if (k->source != ADDRESS_CHECK_HOST && k->frames.out.kind != FRAMES_OFF &&
        k->frames.wire != FRAME_WIRE_UDP)
        return wrong(
            key, "source", why, why_cap,
            "counts only for datagrams; remove this key, or write frames: {port: datagrams}");
    if (check_erasure(k, key, why, why_cap) != 0)
        return HELIO_EINVAL;
    if (k->aggregate_time != 0 && k->aggregate == 0)
        return wrong(key, "aggregate_time", why, why_cap,
                     "bundles wait for nothing without aggregation; write aggregate: 64kB too");
    return check_auth(k, key, why, why_cap);
}

/* So many packets of a matrix at the link's rate. */
static tick packets_time(const struct ltp_link_config *k, uint64_t packets)
{
    uint64_t bits = 8 * packets * (k->segment + ERASURE_BEYOND + k->pace.overhead);
    return k->pace.rate == 0 ? 0 : (tick)((double)bits * 1e9 / (double)k->pace.rate);
}

/* A matrix that is not full waits for so long. */
static tick matrix_wait(const struct ltp_link_config *k)
{
    tick full = packets_time(k, k->erasure_span);
    return k->erasure_time != 0 ? k->erasure_time : full + full / 10 + TICK_MS;
}

static tick repair_time(const struct ltp_link_config *k, const struct erasure_config *c)
{
    return packets_time(k, (uint64_t)c->rows * c->depth) + TICK_MS;
}

/* Full matrices that begin in a quarter more than this time. */
static unsigned matrices_in(const struct ltp_link_config *k, const struct erasure_config *c,
                            tick time)
{
    tick full = k->pace.rate != 0 ? packets_time(k, c->span + c->rows) : c->wait;
    return (unsigned)(tick_min(tick_add(time, time / 4) / (full + 1), 1000) + 1);
}

/* A request is sent after the last repair segment, or a pause after its expected time. The answer
 * arrives a round trip later and has typically a quarter of the rows. */
static void set_requests(const struct ltp_link_config *k, struct erasure_config *c)
{
    tick round = k->owlt != 0 ? tick_add(k->owlt, k->owlt) : k->rto;
    tick copies = ERASURE_REQUEST_COPIES * ERASURE_REQUEST_SPACING;
    c->pause = REQUEST_PAUSE;
    c->each = packets_time(k, 1);
    round = tick_add(round, c->pause + copies);
    c->answer = tick_add(round, packets_time(k, c->rows / 4) + REQUEST_PAUSE);
    c->kept = 2 + matrices_in(k, c, round);
    unsigned matrices = 3 + matrices_in(k, c, c->answer);
    if (k->erasure_matrices == 0)
        c->matrices = matrices < ERASURE_MATRICES_MAX ? matrices : ERASURE_MATRICES_MAX;
}

const char *ltp_link_erasure(const struct ltp_link_config *k, struct erasure_config *out)
{
    assert(erases(k));
    *out = (struct erasure_config){
        .codec = k->erasure == LTP_LINK_ERASURE_RS ? ERASURE_RS : ERASURE_RS8,
        .segment_max = (size_t)ltp_link_segment(k) + ltp_link_extra(k),
        .matrices = k->erasure_matrices != 0 ? (unsigned)k->erasure_matrices : 4,
        .wait = matrix_wait(k),
        .requests = k->erasure_requests,
        .adaptive = k->erasure_adaptive,
        .kept = k->erasure_requests ? 1 : 0,
    };
    const char *problem = erasure_config_set(out, (unsigned)k->erasure_span, k->erasure_rate,
                                             (unsigned)k->erasure_interleave);
    if (problem != NULL)
        return problem;
    out->hold = tick_add(out->wait, repair_time(k, out));
    if (k->erasure_requests)
        set_requests(k, out);
    return erasure_config_problem(out);
}

tick ltp_link_matrix_time(const struct ltp_link_config *k)
{
    struct erasure_config c;
    return erases(k) && ltp_link_erasure(k, &c) == NULL
               ? tick_add(c.hold, c.requests ? c.pause + c.answer : 0)
               : 0;
}

uint32_t ltp_link_window(const struct ltp_link_config *k, uint32_t sessions)
{
    uint64_t all = k->aggregate == 0 ? sessions : (uint64_t)sessions * LTP_LINK_CAPSULES;
    return (uint32_t)(all < 65536 ? all : 65536);
}

uint64_t ltp_link_engine(const struct eid *node)
{
    if (node->scheme != EID_IPN || node->allocator > UINT32_MAX || node->node > UINT32_MAX)
        return 0;
    return node->allocator << 32 | node->node;
}

tick ltp_link_rto(const struct ltp_link_config *k)
{
    tick rto = k->rto != 0 ? k->rto : tick_add(tick_add(k->owlt, k->owlt), k->margin);
    return tick_add(rto, ltp_link_matrix_time(k));
}

/* The values of the file, field by field. */
static struct ltp_span written_span(const struct ltp_link_config *k)
{
    struct ltp_span s = {0};
    const struct ltp_option *o = ltp_options;
#define TAKE(group, name, unit, field, part, initial, least, most, word, help)                     \
    ltp_option_put(o++, &s, k->name);
    LTP_OPTIONS(TAKE)
#undef TAKE
    s.recovery.sessions_auto = k->sessions == 0;
    return s;
}

struct ltp_recovery ltp_link_recovery(const struct ltp_link_config *k)
{
    const struct ltp_recovery all = written_span(k).recovery;
    struct ltp_recovery r = k->recovery == LTP_LINK_OWN       ? all
                            : k->recovery == LTP_LINK_DEFAULT ? ltp_recovery_default
                                                              : ltp_recovery_plain;
    r.sessions_auto = all.sessions_auto;
    r.sessions_bytes = all.sessions_bytes;
    r.sessions_age = all.sessions_age;
    return r;
}

/* Without a rate the data in transmission is limited by sessions x block; a block is assumed to
 * have 1 MB. */
uint64_t ltp_link_buffer(const struct ltp_link_config *k)
{
    uint64_t sessions = k->sessions == 0 ? LTP_LINK_SESSIONS_MAX : k->sessions;
    return udp_keys_buffer(&k->udp, &k->pace, ltp_link_rto(k), sessions << 20);
}

/* Sessions of a sender that has disappeared must not stay open for ever. A slow sender reaches its
 * own retry limit before. */
static tick red_patience(const struct ltp_link_config *k)
{
    tick rto = ltp_link_rto(k);
    tick all = rto > TICK_NEVER / (k->retries + 2) ? TICK_NEVER : rto * (k->retries + 2);
    return k->idle_timeout != 0 ? k->idle_timeout : all < 60 * TICK_S ? 60 * TICK_S : all;
}

struct ltp_span ltp_link_span(const struct ltp_link_config *k, uint64_t peer, uint64_t bundle_max,
                              bool confirm)
{
    struct ltp_span s = written_span(k);
    s.peer = peer;
    s.segment_max = ltp_link_segment(k);
    s.checkpoint_extra = ltp_link_extra(k);
    s.export_sessions = (uint32_t)(k->sessions == 0 ? LTP_LINK_SESSIONS_MAX : k->sessions);
    s.block_max = k->block_max != 0 ? k->block_max : bundle_max;
    s.rto = ltp_link_rto(k);
    s.recovery = ltp_link_recovery(k);
    s.profile = (enum ltp_profile)k->peer_profile;
    s.report_defer = tick_add(s.report_defer, ltp_link_matrix_time(k));
    s.idle_timeout = red_patience(k);
    s.green_timeout = k->idle_timeout != 0 ? k->idle_timeout : 10 * s.rto;
    s.confirm_import = confirm;
    s.orange_deaf = !k->answer_orange;
    s.auth_mode = k->auth == LTP_LINK_AUTH_REQUIRE ? LTP_AUTH_REQUIRE : LTP_AUTH_ACCEPT;
    int cookie = cookie_of(k, s.cookie);
    s.cookie_len = (uint8_t)(cookie < 0 ? 0 : cookie);
    return s;
}
