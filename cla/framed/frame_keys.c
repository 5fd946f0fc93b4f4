/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong: a frame that is too short or too long for its kind, numbers that do not fit
 * its fields, keys of one kind of frame or wire with another one. */
#include "cla/framed/frame_keys.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "cla/framed/frame_wire.h"
#include "os/input_file.h"
#include "sle/sle.h"

enum { LENGTH_USUAL = 1115 };

static bool is_tc(int kind)
{
    return kind == FRAMES_TC || kind == FRAMES_CLTU;
}

/* The keys of received frames; where absent, those of sent frames. */
static struct frame_way_keys incoming(const struct frame_keys *k)
{
    struct frame_way_keys in = k->in;
    in.kind = in.kind == 0 ? k->out.kind : in.kind;
    in.length = in.length == 0 && in.kind == k->out.kind ? k->out.length : in.length;
    in.vcid = in.vcid == FRAME_KEYS_SAME ? k->out.vcid : in.vcid;
    return in;
}

static struct frame_code_config make_code(const struct frame_keys *k)
{
    struct frame_code_config c = {
        .kind = (enum frame_code_kind)k->cadu,
        .interleave = (unsigned)k->cadu_interleave,
        .basis = (enum rs_basis)k->cadu_basis,
        .randomiser = (enum frame_code_randomiser)k->cadu_randomise,
        .marker_errors = (unsigned)k->cadu_marker_errors,
        .soft = k->cadu_symbols != 0,
        .conv = (enum frame_code_conv)k->cadu_convolutional,
    };
    c.marker = k->cadu_marker == FRAME_MARKER_64   ? CADU_MARKER_64
               : k->cadu_marker == FRAME_MARKER_32 ? CADU_MARKER_32
                                                   : frame_code_marker(&c);
    return c;
}

static struct frame_way make_way(const struct frame_keys *k, const struct frame_way_keys *way)
{
    const int kind = way->kind;
    uint64_t length = way->length;
    static const enum frame_kind kinds[] = {FRAME_AOS, FRAME_TM, FRAME_USLP,
                                            FRAME_AOS, FRAME_TC, FRAME_TC};
    assert(k->wire >= FRAME_WIRE_UDP && k->wire <= FRAME_WIRE_SLE);
    assert(kind >= FRAMES_OFF && kind <= FRAMES_CLTU);
    if (length == 0)
        length = is_tc(kind) ? FRAME_TC_MAX : LENGTH_USUAL;
    struct frame_way w = {
        .format = {.kind = kinds[kind], .length = (uint32_t)length, .fecf = 2},
        .scid = (uint16_t)k->scid,
        .vcid = (uint8_t)way->vcid,
        .cltu = kind == FRAMES_CLTU,
        .randomise = kind == FRAMES_CLTU && k->randomise,
    };
    w.format.count_len = kind == FRAMES_USLP ? 3 : 0;
    w.format.ocf = k->clcw && !is_tc(kind);
    w.format.segments = k->segments && is_tc(kind);
    w.numbered = k->numbers && is_tc(kind);
    if (!is_tc(kind))
        w.code = make_code(k);
    return w;
}

static enum frame_stream_mode mode_of(const struct frame_keys *k, int kind)
{
    return kind == FRAMES_CLTU         ? FRAME_STREAM_CLTU
           : kind == FRAMES_TC         ? FRAME_STREAM_TC
           : k->cadu != FRAME_CODE_OFF ? FRAME_STREAM_OCTETS
           : k->marker                 ? FRAME_STREAM_MARKED
                                       : FRAME_STREAM_FIXED;
}

/* Octets of the longest thing that is sent, or arrives. Of keys that contradict each other those of
 * the frame. */
static uint32_t unit_len(const struct frame_way *w)
{
    const uint32_t len = w->format.length;
    return frame_code_problem(&w->code, len) == NULL ? frame_code_len(&w->code, len) : len;
}

void frame_keys_config(const struct frame_keys *k, struct frame_port_config *out)
{
    struct frame_way_keys in = incoming(k);
    *out = (struct frame_port_config){
        .send = make_way(k, &k->out),
        .receive = make_way(k, &in),
        .protocol = PACKET_LTP,
        .fill = k->fill,
        .idle = k->idle,
        .secure = {.send = {k->sdls, k->sdls_numbers}, .receive = {k->sdls_in, k->sdls_received}}};
    out->wire = (struct frame_wire_config){.kind = (enum frame_wire_kind)k->wire,
                                           .mode = mode_of(k, in.kind),
                                           .length = unit_len(&out->receive),
                                           .marked = k->marker && !is_tc(k->out.kind),
                                           .record = k->record,
                                           .replay = k->replay,
                                           .replay_rate = k->replay_rate};
}

static void set_identity(struct sle_identity *who, const char *id, const char *password)
{
    snprintf(who->id, sizeof who->id, "%s", id == NULL ? "" : id);
    (void)sle_password_read(password == NULL ? "" : password, who);
}

void frame_keys_sle(const struct frame_keys *k, struct frame_wire_sle *out)
{
    struct frame_way_keys in = incoming(k);
    *out =
        (struct frame_wire_sle){.raf = k->sle_raf,
                                .rcf = k->sle_rcf,
                                .cltu = k->sle_cltu,
                                .channel = {.scid = (uint16_t)k->scid,
                                            .version = in.kind == FRAMES_AOS    ? 1
                                                       : in.kind == FRAMES_USLP ? SLE_VERSION_USLP
                                                                                : 0,
                                            .vcid = k->sle_master ? SLE_MASTER : (uint8_t)in.vcid},
                                .port = k->sle_port,
                                .level = (enum sle_auth_level)k->sle_auth,
                                .hash = (enum sle_hash)k->sle_hash,
                                .version = (uint8_t)k->sle_version,
                                .retry = k->sle_reconnect,
                                .retry_max = k->sle_reconnect_max};
    set_identity(&out->us, k->sle_user, k->sle_password);
    set_identity(&out->provider, k->sle_provider, k->sle_provider_password);
}

uint32_t frame_keys_mtu(const struct frame_keys *k)
{
    struct frame_port_config c;
    if (k->out.kind == FRAMES_OFF)
        return UDP_DATAGRAM_MAX;
    frame_keys_config(k, &c);
    if (frame_wire_given(k->sdls) && is_tc(k->out.kind))
        c.send.format.length -= c.send.format.length > SDLS_OVERHEAD_MAX ? SDLS_OVERHEAD_MAX : 0;
    return frame_way_problem(&c.send) == NULL ? frame_way_mtu(&c.send) : 0;
}

static bool same_code(const struct frame_keys *a, const struct frame_keys *b)
{
    struct frame_code_config one = make_code(a), other = make_code(b);
    return frame_code_same(&one, &other);
}

bool frame_keys_share(const struct frame_keys *a, const struct frame_keys *b)
{
    return a->out.kind != FRAMES_OFF && a->out.kind == b->out.kind && a->in.kind == b->in.kind &&
           a->out.length == b->out.length && a->in.length == b->in.length && a->scid == b->scid &&
           !a->one_channel && !b->one_channel && a->idle == b->idle && a->segments == b->segments &&
           a->numbers == b->numbers && a->randomise == b->randomise && a->clcw == b->clcw &&
           a->marker == b->marker && a->wire_mark == b->wire_mark &&
           frame_keys_wire_key(a, b) == NULL && same_code(a, b);
}

const char *frame_keys_conflict(const struct frame_keys *k, const struct frame_keys *other,
                                const char **key)
{
    *key = "frames";
    if (!frame_keys_share(k, other))
        return "local is the same, and frames, cadu or sle have other keys; write the same ones, "
               "or another local";
    *key = "frames.vcid";
    if (k->out.vcid == other->out.vcid)
        return "local is the same, and so is the virtual channel; write another one, or another "
               "local";
    *key = "frames.vcid_in";
    if (incoming(k).vcid == incoming(other).vcid)
        return "local is the same, and so is the virtual channel of received frames; write "
               "another one, or another local";
    return NULL;
}

static int wrong(const char **key, const char *which, char *why, size_t why_cap, const char *text)
{
    *key = which;
    snprintf(why, why_cap, "%s", text);
    assert(why_cap == 0 || why[0] != '\0');
    return HELIO_EINVAL;
}

static int check_way(const struct frame_way *w, bool in, const char **key, char *why,
                     size_t why_cap)
{
    const char *problem = frame_way_problem(w);
    if (problem == NULL)
        return 0;
    bool format = frame_format_problem(&w->format) != NULL;
    return wrong(
        key, format ? (in ? "frames.length_in" : "frames.length") : (in ? "frames.in" : "frames"),
        why, why_cap, problem);
}

/* A wrong identifier would keep the link down for ever. */
static int check_service(const char *id, enum sle_service wanted)
{
    enum sle_service service = wanted;
    struct sle_siid parsed;
    return !frame_wire_given(id) ||
                   (sle_siid_parse(id, &parsed, &service, NULL) == 0 && service == wanted)
               ? 0
               : HELIO_EINVAL;
}

static int check_services(const struct frame_keys *k, const char **key, char *why, size_t why_cap)
{
    int in = incoming(k).kind;
    bool raf = frame_wire_given(k->sle_raf), rcf = frame_wire_given(k->sle_rcf),
         cltu = frame_wire_given(k->sle_cltu);
    if (!raf && !rcf && !cltu)
        return wrong(key, "frames.port", why, why_cap,
                     "none of sle.raf, sle.rcf and sle.cltu names a service instance");
    if (check_service(k->sle_raf, SLE_RAF) != 0)
        return wrong(key, "sle.raf", why, why_cap,
                     "write an instance of RAF such as sagr=1.spack=1.rsl-fg=1.raf=onlc1");
    if (check_service(k->sle_rcf, SLE_RCF) != 0)
        return wrong(key, "sle.rcf", why, why_cap,
                     "write an instance of RCF such as sagr=1.spack=1.rsl-fg=1.rcf=onlc1");
    if (check_service(k->sle_cltu, SLE_FCLTU) != 0)
        return wrong(key, "sle.cltu", why, why_cap,
                     "write an instance of FCLTU such as sagr=1.spack=1.fsl-fg=1.cltu=cltu1");
    if (raf && rcf)
        return wrong(key, "sle.rcf", why, why_cap,
                     "frames would come twice; write this or sle.raf, not both");
    if (k->sle_master && !rcf)
        return wrong(key, "sle.master", why, why_cap,
                     "counts only with sle.rcf; write that, or remove this key");
    if (cltu && k->out.kind != FRAMES_CLTU)
        return wrong(key, "sle.cltu", why, why_cap, "CLTUs leave; write frames: cltu");
    if ((raf || rcf) && in != FRAMES_AOS && in != FRAMES_TM && in != FRAMES_USLP)
        return wrong(key, "frames.in", why, why_cap,
                     "write aos, tm or uslp: telecommand does not come by RAF and RCF");
    return 0;
}

static int check_password(const char *text)
{
    struct sle_identity who;
    return !frame_wire_given(text) || sle_password_read(text, &who) ? 0 : HELIO_EINVAL;
}

static int check_credentials(const struct frame_keys *k, const char **key, char *why,
                             size_t why_cap)
{
    static const char hex[] = "write at most 64 octets, two hexadecimal digits each";
    bool ours = frame_wire_given(k->sle_password),
         theirs = frame_wire_given(k->sle_provider_password);
    if (check_password(k->sle_password) != 0)
        return wrong(key, "sle.password", why, why_cap, hex);
    if (check_password(k->sle_provider_password) != 0)
        return wrong(key, "sle.provider_password", why, why_cap, hex);
    if (k->sle_auth == SLE_AUTH_NONE && (ours || theirs))
        return wrong(key, ours ? "sle.password" : "sle.provider_password", why, why_cap,
                     "counts only with sle: {auth: bind} or all; write that, or remove this key");
    if (k->sle_auth != SLE_AUTH_NONE && (!ours || !theirs))
        return wrong(key, "sle.auth", why, why_cap,
                     "needs sle.password and sle.provider_password, in hexadecimal");
    return 0;
}

static int check_sle(const struct frame_keys *k, const char **key, char *why, size_t why_cap)
{
    static const char authority[] = "write 3 to 16 characters without blanks";
    int r = check_services(k, key, why, why_cap);
    if (r != 0)
        return r;
    if (!frame_wire_given(k->sle_user) || !sle_authority_ok(k->sle_user))
        return wrong(key, "sle.user", why, why_cap, authority);
    if (!frame_wire_given(k->sle_provider) || !sle_authority_ok(k->sle_provider))
        return wrong(key, "sle.provider", why, why_cap, authority);
    if (!frame_wire_given(k->sle_port) || !sle_port_name_ok(k->sle_port))
        return wrong(key, "sle.port", why, why_cap, "write 1 to 128 characters without blanks");
    if (k->sle_reconnect_max < k->sle_reconnect)
        return wrong(key, "sle.reconnect_max", why, why_cap, "is shorter than sle.reconnect");
    return check_credentials(k, key, why, why_cap);
}

/* These keys have no effect here, so they are errors. */
static int check_no_sle(const struct frame_keys *k, const char **key, char *why, size_t why_cap)
{
    const struct {
        const char *key, *value;
    } given[] = {{"sle.raf", k->sle_raf},
                 {"sle.rcf", k->sle_rcf},
                 {"sle.cltu", k->sle_cltu},
                 {"sle.user", k->sle_user},
                 {"sle.provider", k->sle_provider},
                 {"sle.password", k->sle_password},
                 {"sle.provider_password", k->sle_provider_password}};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (frame_wire_given(given[i].value))
            return wrong(key, given[i].key, why, why_cap,
                         "counts only with frames: {port: sle}; write that, or remove this key");
    return 0;
}

/* Reading a pipe would wait for a writer. */
static int check_replay(const struct frame_keys *k, const char **key, char *why, size_t why_cap)
{
    char reason[128];
    FILE *f =
        frame_wire_given(k->replay) ? input_file_regular(k->replay, reason, sizeof reason) : NULL;
    if (f != NULL)
        (void)fclose(f);
    if (f != NULL || !frame_wire_given(k->replay))
        return 0;
    *key = "frames.replay";
    snprintf(why, why_cap, "%s: %s; write the name of a recording, or remove this key", k->replay,
             reason);
    return HELIO_EINVAL;
}

static int check_wire(const struct frame_keys *k, const char **key, char *why, size_t why_cap)
{
    bool file = k->wire == FRAME_WIRE_FILE;
    if (!file && (frame_wire_given(k->record) || frame_wire_given(k->replay)))
        return wrong(key, frame_wire_given(k->record) ? "frames.record" : "frames.replay", why,
                     why_cap,
                     "counts only with frames: {port: file}; write that, or remove this key");
    if (file && !frame_wire_given(k->record) && !frame_wire_given(k->replay))
        return wrong(key, "frames.port", why, why_cap,
                     "neither frames.record nor frames.replay names a file");
    if (k->wire == FRAME_WIRE_SLE)
        return check_sle(k, key, why, why_cap);
    if (k->marker && k->wire == FRAME_WIRE_UDP)
        return wrong(key, "frames.marker", why, why_cap,
                     "a datagram is a frame: there are markers by TCP and in files only");
    if (file && check_replay(k, key, why, why_cap) != 0)
        return HELIO_EINVAL;
    return check_no_sle(k, key, why, why_cap);
}

/* Keys that do nothing, and the files of associations. */
static int check_security(const struct frame_keys *k, const struct frame_port_config *c,
                          const char **key, char *why, size_t why_cap)
{
    const struct frame_secure_use use = {.send = &c->send.format,
                                         .receive = &c->receive.format,
                                         .send_vcid = c->send.vcid,
                                         .receive_vcid = c->receive.vcid,
                                         .idle = k->idle > 0};
    const bool sends = frame_wire_given(k->sdls), receives = frame_wire_given(k->sdls_in);
    if (!sends && frame_wire_given(k->sdls_numbers))
        return wrong(key, "frames.sdls_numbers", why, why_cap,
                     "counts only with frames.sdls; write that, or remove this key");
    if (!receives && frame_wire_given(k->sdls_received))
        return wrong(key, "frames.sdls_received", why, why_cap,
                     "counts only with frames.sdls_in; write that, or remove this key");
    if (!sends && !receives)
        return 0;
    const char *which = frame_secure_problem(&c->secure, &use, why, why_cap);
    if (which == NULL)
        return 0;
    *key = which;
    return HELIO_EINVAL;
}

/* Without frames the keys for secured frames have no effect, so they are errors. */
static int check_unframed(const struct frame_keys *k, const char **key, char *why, size_t why_cap)
{
    const struct {
        const char *key, *value;
    } given[] = {{"frames.sdls", k->sdls},
                 {"frames.sdls_in", k->sdls_in},
                 {"frames.sdls_numbers", k->sdls_numbers},
                 {"frames.sdls_received", k->sdls_received}};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (frame_wire_given(given[i].value))
            return wrong(key, given[i].key, why, why_cap,
                         "nothing is sent in frames; write frames: too, such as aos");
    return check_no_sle(k, key, why, why_cap);
}

/* A frame of one direction, in its CADU. */
static int check_code(const struct frame_way *w, bool in, const char **key, char *why,
                      size_t why_cap)
{
    const uint32_t len = w->format.length;
    const char *problem = frame_code_problem(&w->code, len);
    if (problem == NULL)
        return 0;
    *key = in ? "frames.length_in" : "frames.length";
    const uint32_t fits = frame_code_fitting(&w->code, len);
    if (frame_code_is_block(&w->code))
        snprintf(why, why_cap, "%s, and frames have %u: write %uB", problem, len, fits);
    else
        snprintf(why, why_cap, "%s, %u: write %uB, or another cadu.interleave", problem,
                 w->code.interleave, fits);
    return HELIO_EINVAL;
}

static int check_marker(const struct frame_code_config *code, const char **key, char *why,
                        size_t why_cap)
{
    const enum cadu_marker own = frame_code_marker(code);
    if (own == CADU_MARKER_32 || code->marker == own)
        return 0;
    *key = "cadu.marker";
    snprintf(why, why_cap, "codewords of this code have a marker of %zu bits; %sremove this key",
             8 * cadu_marker_len(own), own == CADU_MARKER_64 ? "write 64, or " : "");
    return HELIO_EINVAL;
}

/* Its decoder decides a symbol when it has those behind it. */
static int check_convolutional(const struct frame_keys *k, const struct frame_code_config *code,
                               const char **key, char *why, size_t why_cap)
{
    if (code->conv == FRAME_CODE_CONV_OFF)
        return 0;
    if (frame_code_is_block(code))
        return wrong(key, "cadu.convolutional", why, why_cap,
                     "counts only for uncoded CADUs and Reed-Solomon; remove this key, or write "
                     "another code for cadu");
    if (!is_tc(k->out.kind) && k->idle == 0)
        return wrong(key, "cadu.convolutional", why, why_cap,
                     "needs frames.idle: a CADU is decoded when symbols follow it; write frames: "
                     "{idle: 10ms}, for example");
    return 0;
}

/* What there are no CADUs of. */
static int check_cadu(const struct frame_keys *k, const struct frame_port_config *c,
                      const char **key, char *why, size_t why_cap)
{
    const int in = incoming(k).kind;
    if (k->cadu == FRAME_CODE_OFF)
        return 0;
    if (is_tc(k->out.kind) && is_tc(in))
        return wrong(key, "cadu", why, why_cap,
                     "counts only for TM, USLP and AOS frames; write one of these for frames or "
                     "frames.in, or remove this key");
    if (k->wire == FRAME_WIRE_SLE)
        return wrong(key, "cadu", why, why_cap,
                     "SLE transfers frames without their CADUs: the provider has the modem; remove "
                     "this key, or write another frames.port");
    if (k->marker)
        return wrong(key, "frames.marker", why, why_cap,
                     "CADUs have markers; remove this key, or write cadu: off");
    const struct frame_code_config code = make_code(k);
    if (code.kind == FRAME_CODE_TURBO_1_3 && !code.soft)
        return wrong(key, "cadu.symbols", why, why_cap,
                     "codewords of turbo1/3 are no whole octets; write soft");
    int r = check_convolutional(k, &code, key, why, why_cap);
    if (r == 0)
        r = check_marker(&code, key, why, why_cap);
    if (r == 0)
        r = check_code(&c->send, false, key, why, why_cap);
    if (r == 0)
        r = check_code(&c->receive, true, key, why, why_cap);
    return r;
}

/* Each unit is a datagram. */
static int check_datagram(const struct frame_port_config *c, const char **key, char *why,
                          size_t why_cap)
{
    const uint32_t unit = unit_len(&c->send), frame = c->send.format.length;
    const uint32_t of_octet = c->send.code.soft ? 8 : 1; /* at least */
    if (c->wire.kind != FRAME_WIRE_UDP || unit <= UDP_DATAGRAM_MAX)
        return 0;
    *key = "frames.length";
    snprintf(why, why_cap,
             "a CADU would have %u octets, a datagram has at most %u; write %uB, or frames: {port: "
             "connect}",
             unit, UDP_DATAGRAM_MAX, frame - (unit - UDP_DATAGRAM_MAX + of_octet - 1) / of_octet);
    return HELIO_EINVAL;
}

int frame_keys_check(const struct frame_keys *k, const char **key, char *why, size_t why_cap)
{
    struct frame_port_config c;
    if (k->out.kind == FRAMES_OFF && k->in.kind != 0)
        return wrong(key, "frames.in", why, why_cap,
                     "nothing is sent in frames; write frames: too, such as cltu");
    if (k->out.kind == FRAMES_OFF && k->cadu != FRAME_CODE_OFF)
        return wrong(key, "cadu", why, why_cap,
                     "nothing is sent in frames; write frames: too, such as aos");
    if (k->out.kind == FRAMES_OFF)
        return check_unframed(k, key, why, why_cap);
    frame_keys_config(k, &c);
    int r = check_way(&c.send, false, key, why, why_cap);
    if (r == 0)
        r = check_way(&c.receive, true, key, why, why_cap);
    if (r == 0)
        r = check_cadu(k, &c, key, why, why_cap);
    if (r == 0)
        r = check_datagram(&c, key, why, why_cap);
    if (r == 0)
        r = check_wire(k, key, why, why_cap);
    if (r == 0)
        r = check_security(k, &c, key, why, why_cap);
    if (r == 0 && k->out.kind == FRAMES_TM && k->idle > 0 && k->out.vcid == 7)
        r = wrong(key, "frames.vcid", why, why_cap,
                  "7 is where frames.idle sends its TM frames; write another one");
    return r;
}
