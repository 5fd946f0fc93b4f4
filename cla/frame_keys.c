/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong is the user's: a frame that is too short or too long for its kind, numbers that
 * do not fit its fields, keys of one kind of frames or wire with another one. */
#include "cla/frame_keys.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "sle/sle.h"

enum { LENGTH_USUAL = 1115 };

static bool is_tc(int kind)
{
    return kind == FRAMES_TC || kind == FRAMES_CLTU;
}

static struct frame_way make_way(const struct frame_keys *k, int kind, uint64_t length,
                                 uint64_t vcid)
{
    static const enum frame_kind kinds[] = {FRAME_AOS, FRAME_TM, FRAME_USLP,
                                            FRAME_AOS, FRAME_TC, FRAME_TC};
    assert(k->wire >= FRAME_WIRE_UDP && k->wire <= FRAME_WIRE_SLE);
    assert(kind >= FRAMES_OFF && kind <= FRAMES_CLTU);
    if (length == 0)
        length = is_tc(kind) ? FRAME_TC_MAX : LENGTH_USUAL;
    struct frame_way w = {
        .format = {.kind = kinds[kind], .length = (uint32_t)length, .fecf = 2},
        .scid = (uint16_t)k->scid,
        .vcid = (uint8_t)vcid,
        .cltu = kind == FRAMES_CLTU,
        .randomise = kind == FRAMES_CLTU && k->randomise,
    };
    w.format.count_len = kind == FRAMES_USLP ? 3 : 0;
    w.format.ocf = k->clcw && !is_tc(kind);
    w.format.segments = k->segments && is_tc(kind);
    w.numbered = k->numbers && is_tc(kind);
    return w;
}

static enum frame_stream_mode mode_of(const struct frame_keys *k, int kind)
{
    return kind == FRAMES_CLTU ? FRAME_STREAM_CLTU
           : kind == FRAMES_TC ? FRAME_STREAM_TC
           : k->marker         ? FRAME_STREAM_MARKED
                               : FRAME_STREAM_FIXED;
}

void frame_keys_config(const struct frame_keys *k, struct frame_port_config *out)
{
    int in = k->kind_in == 0 ? k->kind : k->kind_in;
    uint64_t length_in = k->length_in == 0 && in == k->kind ? k->length : k->length_in;
    uint64_t vcid_in = k->vcid_in == FRAME_KEYS_SAME ? k->vcid : k->vcid_in;
    *out = (struct frame_port_config){.send = make_way(k, k->kind, k->length, k->vcid),
                                      .receive = make_way(k, in, length_in, vcid_in),
                                      .protocol = PACKET_LTP,
                                      .fill = k->fill,
                                      .idle = k->idle};
    out->wire = (struct frame_wire_config){.kind = (enum frame_wire_kind)k->wire,
                                           .mode = mode_of(k, in),
                                           .length = out->receive.format.length,
                                           .marked = k->marker && !is_tc(k->kind),
                                           .record = k->record,
                                           .replay = k->replay,
                                           .replay_rate = k->replay_rate,
                                           .sle_raf = k->sle_raf,
                                           .sle_cltu = k->sle_cltu,
                                           .sle_user = k->sle_user,
                                           .sle_provider = k->sle_provider,
                                           .sle_port = k->sle_port,
                                           .sle_version = (uint8_t)k->sle_version};
}

uint32_t frame_keys_mtu(const struct frame_keys *k)
{
    struct frame_port_config c;
    if (k->kind == FRAMES_OFF)
        return UDP_DATAGRAM_MAX;
    frame_keys_config(k, &c);
    return frame_way_mtu(&c.send);
}

bool frame_keys_share(const struct frame_keys *a, const struct frame_keys *b)
{
    return a->kind != FRAMES_OFF && a->kind == b->kind && a->kind_in == b->kind_in &&
           a->length == b->length && a->length_in == b->length_in && a->scid == b->scid &&
           a->idle == b->idle && a->segments == b->segments && a->numbers == b->numbers &&
           a->randomise == b->randomise && a->clcw == b->clcw && a->wire == b->wire &&
           a->marker == b->marker;
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
    return wrong(key,
                 format ? (in ? "frame_length_in" : "frame_length") : (in ? "frames_in" : "frames"),
                 why, why_cap, problem);
}

static bool is_given(const char *text)
{
    return text != NULL && *text != '\0';
}

/* One wrong identifier would be a link that never comes up. */
static int check_sle(const struct frame_keys *k, const char **key, char *why, size_t why_cap)
{
    enum sle_service raf = SLE_RAF, cltu = SLE_FCLTU;
    struct sle_siid id;
    if (!is_given(k->sle_raf) && !is_given(k->sle_cltu))
        return wrong(key, "frame_port", why, why_cap,
                     "neither sle_raf nor sle_cltu names a service instance");
    if (is_given(k->sle_raf) &&
        (sle_siid_parse(k->sle_raf, &id, &raf, NULL) != 0 || raf != SLE_RAF))
        return wrong(key, "sle_raf", why, why_cap,
                     "write an instance of RAF such as sagr=1.spack=1.rsl-fg=1.raf=onlc1");
    if (is_given(k->sle_cltu) &&
        (sle_siid_parse(k->sle_cltu, &id, &cltu, NULL) != 0 || cltu != SLE_FCLTU))
        return wrong(key, "sle_cltu", why, why_cap,
                     "write an instance of FCLTU such as sagr=1.spack=1.fsl-fg=1.cltu=cltu1");
    if (is_given(k->sle_cltu) && k->kind != FRAMES_CLTU)
        return wrong(key, "sle_cltu", why, why_cap, "CLTUs leave; write frames: cltu");
    if (!is_given(k->sle_user) || !sle_authority_ok(k->sle_user))
        return wrong(key, "sle_user", why, why_cap, "write 3 to 16 characters without blanks");
    if (!is_given(k->sle_provider) || !sle_authority_ok(k->sle_provider))
        return wrong(key, "sle_provider", why, why_cap, "write 3 to 16 characters without blanks");
    if (!is_given(k->sle_port) || !sle_port_name_ok(k->sle_port))
        return wrong(key, "sle_port", why, why_cap, "write 1 to 128 characters without blanks");
    return 0;
}

static int check_wire(const struct frame_keys *k, const char **key, char *why, size_t why_cap)
{
    bool file = k->wire == FRAME_WIRE_FILE;
    if (!file && (is_given(k->record) || is_given(k->replay)))
        return wrong(key, is_given(k->record) ? "frame_record" : "frame_replay", why, why_cap,
                     "counts only with frame_port: file; write that, or leave this away");
    if (file && !is_given(k->record) && !is_given(k->replay))
        return wrong(key, "frame_port", why, why_cap,
                     "neither frame_record nor frame_replay names a file");
    if (k->wire == FRAME_WIRE_SLE)
        return check_sle(k, key, why, why_cap);
    if (k->marker && k->wire == FRAME_WIRE_UDP)
        return wrong(key, "frame_marker", why, why_cap,
                     "a datagram is a frame: there are markers by TCP and in files only");
    return 0;
}

int frame_keys_check(const struct frame_keys *k, const char **key, char *why, size_t why_cap)
{
    struct frame_port_config c;
    if (k->kind == FRAMES_OFF && k->kind_in != 0)
        return wrong(key, "frames_in", why, why_cap,
                     "nothing is sent in frames; write frames: too, such as cltu");
    if (k->kind == FRAMES_OFF)
        return 0;
    frame_keys_config(k, &c);
    int r = check_way(&c.send, false, key, why, why_cap);
    if (r == 0)
        r = check_way(&c.receive, true, key, why, why_cap);
    if (r == 0)
        r = check_wire(k, key, why, why_cap);
    if (r == 0 && k->kind == FRAMES_TM && k->idle > 0 && k->vcid == 7)
        r = wrong(key, "frame_vcid", why, why_cap,
                  "7 is where frame_idle sends its TM frames; write another one");
    return r;
}
