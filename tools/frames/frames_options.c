/* SPDX-License-Identifier: Apache-2.0 */
/* The words of helio-frames' command line. What can go wrong: a wrong option, or options that
 * contradict each other (exit 2). */
#include "tools/frames/frames_options.h"

#include <stdlib.h>
#include <string.h>

static int find_word(const char *text, const char *const *words, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(text, words[i]) == 0)
            return i;
    return -1;
}

static enum frame_kind parse_kind(struct argp_state *state, const char *text)
{
    static const char *const names[] = {"tm", "aos", "uslp", "tc"};
    int i = find_word(text, names, 4);
    if (i < 0)
        argument_want(state, "kind", text, "tm, aos, uslp or tc");
    return (enum frame_kind)i;
}

static enum content parse_content(struct argp_state *state, const char *option, const char *text)
{
    static const char *const names[CONTENTS] = {"frames", "cadu", "cltu", "packets", "modem"};
    bool read = strcmp(option, "from") == 0;
    int i = find_word(text, names, read ? CONTENT_MODEM : CONTENTS);
    if (i < 0)
        argument_want(state, option, text,
                      read ? "frames, cadu, cltu or packets"
                           : "frames, cadu, cltu, packets or modem");
    return (enum content)i;
}

static error_t parse_format(int key, char *arg, struct argp_state *state, struct parse *p)
{
    struct frame_format *f = &p->line.format;
    switch (key) {
    case 'k':
        f->kind = parse_kind(state, arg);
        return 0;
    case 'l':
        f->length = (uint32_t)argument_count(state, "length", arg, 1, FRAME_LENGTH_MAX);
        p->length = true;
        return 0;
    case KEY_NO_FECF:
        f->fecf = 0;
        return 0;
    case KEY_OCF:
        f->ocf = true;
        return 0;
    case KEY_FHEC:
        f->fhec = true;
        return 0;
    case KEY_INSERT:
        f->insert_len = (uint16_t)argument_count(state, "insert", arg, 0, 65535);
        return 0;
    case KEY_SECONDARY:
        f->secondary_len = (uint8_t)argument_count(state, "secondary", arg, 0, 64);
        return 0;
    case KEY_COUNT_OCTETS:
        f->count_len = (uint8_t)argument_count(state, "count-octets", arg, 0, 7);
        return 0;
    case KEY_CYCLE:
        f->count_cycle = true;
        return 0;
    case KEY_WIDE:
        f->wide_scid = true;
        return 0;
    case KEY_SEGMENTS:
        f->segments = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_packets(int key, char *arg, struct argp_state *state, struct frames_options *o)
{
    switch (key) {
    case 'n':
        o->frames = argument_count(state, "count", arg, 1, UINT32_MAX);
        return 0;
    case KEY_PACKET:
        o->payload = argument_count(state, "packet", arg, 8, PACKET_MAX - PACKET_HEADER_MAX);
        return 0;
    case KEY_SPACE:
        o->packets = PACKET_SPACE;
        o->apid = (uint16_t)argument_count(state, "space", arg, 0, PACKET_IDLE_APID - 1);
        return 0;
    case KEY_PROTOCOL:
        o->protocol = (uint8_t)argument_count(state, "protocol", arg, 1, 7);
        if (o->protocol == PACKET_EXTENDED)
            argument_want(state, "protocol", arg, "1 to 5, or 7");
        return 0;
    case KEY_PRBS:
        o->prbs = true;
        return 0;
    case KEY_NUMBERED:
        o->numbered = true;
        return 0;
    case KEY_IDLE:
        o->only_idle = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

double frames_parse_share(struct argp_state *state, const char *option, const char *arg)
{
    char *end;
    double share = strtod(arg, &end);
    if (end == arg || *end != '\0' || !(share >= 0 && share < 1))
        argument_want(state, option, arg, "a share from 0 to below 1, such as 0.01");
    return share;
}

static error_t parse_convolutional(int key, char *arg, struct argp_state *state,
                                   struct frames_options *o)
{
    static const char *const rates[CONV_RATES] = {"1/2", "2/3", "3/4", "5/6", "7/8"};
    int i;
    switch (key) {
    case KEY_CONV:
        if ((i = find_word(arg, rates, CONV_RATES)) < 0)
            argument_want(state, "convolutional", arg, "1/2, 2/3, 3/4, 5/6 or 7/8");
        o->coded = true;
        o->convolutional = conv_format_of((enum conv_rate)i);
        return 0;
    case KEY_SOFT:
        o->soft = true;
        return 0;
    case KEY_UPRIGHT:
        o->upright = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_code(int key, char *arg, struct argp_state *state, struct frames_options *o)
{
    static const char *const codes[] = {"223", "239"}, *const bases[] = {"dual", "conventional"};
    static const char *const rates[LDPC_RATES] = {"1/2", "2/3", "4/5"};
    int i;
    switch (key) {
    case KEY_RS:
        if ((i = find_word(arg, codes, 2)) < 0)
            argument_want(state, "rs", arg, "223 or 239");
        o->rs = i == 0 ? 223 : 239;
        return 0;
    case KEY_INTERLEAVE:
        o->depth = (unsigned)argument_count(state, "interleave", arg, 1, RS_DEPTH_MAX);
        return 0;
    case KEY_BASIS:
        if ((i = find_word(arg, bases, 2)) < 0)
            argument_want(state, "basis", arg, "dual or conventional");
        o->basis = i == 0 ? RS_DUAL : RS_CONVENTIONAL;
        return 0;
    case KEY_LDPC:
        if ((i = find_word(arg, rates, LDPC_RATES)) < 0)
            argument_want(state, "ldpc", arg, "1/2, 2/3 or 4/5");
        o->ldpc_coded = true;
        o->ldpc_rate = (enum ldpc_rate)i;
        o->marker = CADU_MARKER_64;
        return 0;
    case KEY_LONG:
        o->sequence = PN_TM_LONG;
        return 0;
    case KEY_MARKER_64:
        o->marker = CADU_MARKER_64;
        return 0;
    case KEY_MARKER:
        o->marker_errors =
            (unsigned)argument_count(state, "marker-errors", arg, 0, CADU_MARKER_ERRORS_MAX);
        return 0;
    case KEY_ERRED:
        o->keep_erred = true;
        return 0;
    case KEY_EACH:
        o->each = true;
        return 0;
    case KEY_ERRORS:
        o->errors = frames_parse_share(state, "bit-errors", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

struct cadu_format frames_cadu_format(const struct frames_options *o, struct rs *rs)
{
    struct cadu_format f = {.frame_len = o->format.length,
                            .randomised = o->randomised,
                            .sequence = o->sequence,
                            .marker = o->marker,
                            .ldpc = o->ldpc};
    if (o->rs != 0) {
        rs_init(rs, o->rs == 223 ? RS_255_223 : RS_255_239, o->basis);
        f.rs = rs;
        f.depth = o->depth;
    }
    return f;
}

static void check_ldpc(struct argp_state *state, const struct frames_options *o, bool cadus)
{
    if (o->ldpc_coded && !cadus)
        argp_error(state, "--ldpc: --from cadu or --to cadu is missing");
    if (o->ldpc_coded && (o->rs != 0 || o->coded))
        argp_error(state, "--ldpc: --rs and --convolutional are other codes");
    if (o->ldpc_coded && ldpc_problem(o->ldpc_rate, 8 * o->format.length) != NULL)
        argp_error(state, "--length %u: %s", o->format.length,
                   ldpc_problem(o->ldpc_rate, 8 * o->format.length));
}

static void check_codes(struct argp_state *state, struct frames_options *o)
{
    struct rs rs;
    bool cadus = o->from == CONTENT_CADU || o->to == CONTENT_CADU;
    struct cadu_format f = frames_cadu_format(o, &rs);
    if (o->upright)
        o->convolutional.inverted = false;
    if (!o->coded && (o->soft || o->upright))
        argp_error(state, "--soft and --no-inversion: --convolutional is missing");
    if (!cadus && o->coded)
        argp_error(state, "--convolutional: --from cadu or --to cadu is missing");
    if (!cadus && (o->rs != 0 || o->keep_erred))
        argp_error(state, "--rs and --erred are of CADUs: --from cadu or --to cadu is missing");
    check_ldpc(state, o, cadus);
    if (o->each && o->from != CONTENT_CADU)
        argp_error(state, "--each lists CADUs: --from cadu is missing");
    if (cadus && cadu_problem(&f) != NULL)
        argp_error(state, "%s: see --length and --interleave", cadu_problem(&f));
}

/* What no single option is wrong about. */
static void check_line(struct argp_state *state, struct parse *p)
{
    struct frames_options *o = &p->line;
    struct frame_format *f = &o->format;
    if (frames_is_cop(p->command)) {
        frames_check_cop(state, p);
        check_codes(state, o);
        return;
    }
    if (f->kind == FRAME_TC && !p->length)
        f->length = FRAME_TC_MAX;
    if (p->command->run != command_gen && o->input == NULL)
        argp_error(state, "FILE is expected; - is standard input");
    if (p->command->run == command_info && o->from == CONTENT_PACKETS)
        argp_error(state, "--from: frames, cadu or cltu is expected");
    if ((o->from == CONTENT_CLTU || o->to == CONTENT_CLTU) && f->kind != FRAME_TC)
        argp_error(state, "CLTUs carry TC frames: --kind tc is missing");
    if ((o->from == CONTENT_CADU || o->to == CONTENT_CADU) && f->kind == FRAME_TC)
        argp_error(state, "TC frames have no markers: they are in CLTUs");
    if (o->to == CONTENT_MODEM && f->kind == FRAME_TC)
        argp_error(state, "--to modem: the heads are of telemetry");
    if (frame_format_problem(f) != NULL)
        argp_error(state, "%s", frame_format_problem(f));
    check_codes(state, o);
    frames_check_security(state, p);
    struct mpdu_pack_config c = {.format = *f,
                                 .scid = (uint16_t)(o->scid < 0 ? 1 : o->scid),
                                 .vcid = (uint8_t)(o->vcid < 0 ? 0 : o->vcid),
                                 .map = o->map,
                                 .idle = PACKET_ENCAP};
    o->packs = p->command->run == command_gen || o->from == CONTENT_PACKETS;
    if (f->kind == FRAME_TC && (c.scid > 1023 || c.map > 63 || (c.map > 0 && !f->segments)))
        argp_error(state, "the spacecraft is 0 to 1023, the MAP 0 to 63 of frames with --segments");
    else if (f->kind != FRAME_TC && o->packs && mpdu_pack_problem(&c) != NULL)
        argp_error(state, "%s", mpdu_pack_problem(&c));
    else if (f->kind == FRAME_TM && o->vcid > 7)
        argp_error(state, "--vcid: TM frames have virtual channels 0 to 7");
}

error_t frames_parse_option(int key, char *arg, struct argp_state *state)
{
    struct parse *p = state->input;
    struct frames_options *o = &p->line;
    switch (key) {
    case 'o':
        o->output = arg;
        return 0;
    case 'j':
        o->json = true;
        return 0;
    case KEY_SCID:
        o->scid = (int32_t)argument_count(state, "scid", arg, 0, 65535);
        return 0;
    case KEY_VCID:
        o->vcid = (int32_t)argument_count(state, "vcid", arg, 0, VCS - 1);
        return 0;
    case KEY_MAP:
        o->map = (uint8_t)argument_count(state, "map", arg, 0, 63);
        return 0;
    case KEY_FROM:
        o->from = parse_content(state, "from", arg);
        return 0;
    case KEY_TO:
        o->to = parse_content(state, "to", arg);
        return 0;
    case KEY_RANDOMISED:
        o->randomised = true;
        return 0;
    case KEY_RANDOMISE:
        o->randomise = true;
        return 0;
    case KEY_ERASE:
        o->erase = frames_parse_share(state, "erase", arg);
        return 0;
    case KEY_SDLS:
        o->sdls = arg;
        return 0;
    case KEY_SECURED:
        o->secured = true;
        return 0;
    case KEY_SEED:
        o->seed = argument_count(state, "seed", arg, 0, UINT64_MAX);
        return 0;
    case ARGP_KEY_ARG:
        if (*p->command->args == '\0' || o->input != NULL)
            argp_error(state, "\"%s\" is one word too many", arg);
        o->input = arg;
        return 0;
    case ARGP_KEY_END:
        check_line(state, p);
        return 0;
    default:
        if (frames_is_cop(p->command) && frames_parse_cop(key, arg, state, o) == 0)
            return 0;
        if (parse_format(key, arg, state, p) == 0 || parse_code(key, arg, state, o) == 0 ||
            parse_convolutional(key, arg, state, o) == 0)
            return 0;
        return parse_packets(key, arg, state, o);
    }
}
