/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-bundle make: one bundle from options, its payload from a file or from the command line.
 * What can go wrong: an option's value (exit 2, with what would be right), a combination without
 * legal encoding, or a file (exit 1).
 */
#include <argp.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "bp/codec/qos.h"
#include "os/arguments.h"
#include "os/clock.h"
#include "tools/bundle/helio_bundle.h"

enum { BLOCK_BYTES_MAX = 65536 };

struct make_options {
    struct bundle bundle;
    const char *payload_path, *text, *output;
    bool timed;
    uint8_t *block_bytes; /* contents of --block, one after the other */
    size_t block_used;
};

enum {
    KEY_SEQUENCE = 256,
    KEY_TIME,
    KEY_CRC,
    KEY_PRIMARY_CRC,
    KEY_PREVIOUS,
    KEY_AGE,
    KEY_HOPS,
    KEY_BLOCK,
    KEY_FRAGMENT,
    KEY_TEXT,
    KEY_PRIORITY,
};

static const struct argp_option options[] = {
    {"destination", 'd', "EID", 0, "Destination (required): ipn:1.2 or dtn://node/demux", 0},
    {"source", 's', "EID", 0, "Source; without it the bundle is anonymous", 0},
    {"report-to", 'r', "EID", 0, "Where status reports go; dtn:none", 0},
    {"lifetime", 'l', "TIME", 0, "Lifetime; 1d", 0},
    {"flags", 'f', "NAME,...", 0,
     "admin, no-fragment, app-ack, report-time, report-reception, report-forwarding, "
     "report-delivery, report-deletion",
     0},
    {"time", KEY_TIME, "MS", 0, "Creation time, ms since 2000; the present time; 0 adds an age", 0},
    {"sequence", KEY_SEQUENCE, "N", 0, "Sequence number; 0", 0},
    {"crc", KEY_CRC, "none|16|32c", 0, "CRC of the payload and extension blocks; 32c", 0},
    {"primary-crc", KEY_PRIMARY_CRC, "none|16|32c", 0, "CRC of the primary block; 32c", 0},
    {"previous-node", KEY_PREVIOUS, "EID", 0, "Add a previous node block", 0},
    {"age", KEY_AGE, "TIME", 0, "Add a bundle age block", 0},
    {"hop-limit", KEY_HOPS, "N[:COUNT]", 0, "Add a hop count block", 0},
    {"priority", KEY_PRIORITY, "CLASS[:N]", 0,
     "Add a priority block (type 193): bulk, normal, expedited, or expedited:N with an ordinal, 0 "
     "to 254",
     0},
    {"block", KEY_BLOCK, "TYPE:FLAGS:HEX", 0, "Add an extension block; may be repeated", 0},
    {"fragment", KEY_FRAGMENT, "OFFSET:TOTAL", 0, "Make the payload a fragment", 0},
    {"payload", 'p', "FILE", 0, "Payload; \"-\" is standard input", 0},
    {"text", KEY_TEXT, "TEXT", 0, "Payload as text", 0},
    {"output", 'o', "FILE", 0, "Where the bundle goes; standard output", 0},
    {0}};

static void set_eid(struct argp_state *state, const char *option, const char *text, struct eid *out)
{
    if (eid_parse(text, out) != 0)
        argp_error(state,
                   "--%s %s: not an EID; ipn:NODE.SERVICE, ipn:ALLOCATOR.NODE.SERVICE, "
                   "dtn://NODE/DEMUX or dtn:none is expected",
                   option, text);
}

static uint64_t parse_number(struct argp_state *state, const char *option, const char *text)
{
    uint64_t value = 0;
    if (units_count(text, UINT64_MAX, &value) != 0)
        argp_error(state, "--%s %s: a number is expected", option, text);
    return value;
}

static uint64_t duration_ms(struct argp_state *state, const char *option, const char *text)
{
    tick value = 0;
    if (units_duration(text, &value) != 0)
        argp_error(state, "--%s %s: %s is expected", option, text, units_duration_hint);
    return value / TICK_MS;
}

static enum crc_type crc_value(struct argp_state *state, const char *option, const char *text)
{
    static const char *const names[] = {"none", "16", "32c"};
    for (unsigned i = 0; i < 3; i++) {
        if (strcmp(text, names[i]) == 0)
            return (enum crc_type)i;
    }
    argp_error(state, "--%s %s: none, 16 or 32c is expected", option, text);
    return CRC_NONE;
}

static uint64_t flags_value(struct argp_state *state, char *text)
{
    uint64_t flags = 0;
    for (char *rest, *name = strtok_r(text, ",", &rest); name != NULL;
         name = strtok_r(NULL, ",", &rest)) {
        const struct flag_name *f = bundle_flag_names;
        while (f->bit != 0 && (f->bit == BUNDLE_IS_FRAGMENT || strcmp(f->name, name) != 0))
            f++;
        if (f->bit == 0)
            argp_error(state, "--flags: no flag \"%s\"; see --help", name);
        flags |= f->bit;
    }
    return flags;
}

/* Splits "A:B" in place; NULL when there is no colon. */
static char *after_colon(char *text)
{
    char *colon = strchr(text, ':');
    if (colon == NULL)
        return NULL;
    *colon = '\0';
    return colon + 1;
}

static void set_fragment(struct argp_state *state, struct bundle *b, char *arg)
{
    char *total = after_colon(arg);
    if (total == NULL) {
        argp_error(state, "--fragment %s: OFFSET:TOTAL is expected", arg);
        return;
    }
    b->flags |= BUNDLE_IS_FRAGMENT;
    b->id.fragment = true;
    b->id.offset = parse_number(state, "fragment", arg);
    b->id.total = parse_number(state, "fragment", total);
}

static void set_hops(struct argp_state *state, struct bundle *b, char *arg)
{
    char *count = after_colon(arg);
    b->has_hops = true;
    b->hop_limit = parse_number(state, "hop-limit", arg);
    b->hop_count = count == NULL ? 0 : parse_number(state, "hop-limit", count);
    if (b->hop_limit < 1 || b->hop_limit > 255)
        argp_error(state, "--hop-limit %s: 1 to 255 is expected (RFC 9171 §4.4.3)", arg);
}

static bool put_hex(struct make_options *o, const char *hex)
{
    for (; *hex != '\0'; hex += 2) {
        unsigned byte;
        if (!isxdigit((unsigned char)hex[0]) || !isxdigit((unsigned char)hex[1]) ||
            o->block_used == BLOCK_BYTES_MAX || sscanf(hex, "%2x", &byte) != 1)
            return false;
        o->block_bytes[o->block_used++] = (uint8_t)byte;
    }
    return true;
}

static void add_block(struct argp_state *state, struct make_options *o, char *arg)
{
    struct bundle *b = &o->bundle;
    char *flags = after_colon(arg), *hex = flags == NULL ? NULL : after_colon(flags);
    size_t start = o->block_used;
    if (hex == NULL || !put_hex(o, hex)) {
        argp_error(state, "--block: TYPE:FLAGS:HEX with at most 64 KiB in all is expected");
        return;
    }
    if (b->others_len == BUNDLE_INLINE_MAX) {
        argp_error(state, "--block: at most %d extension blocks can be made", BUNDLE_INLINE_MAX);
        return;
    }
    b->others[b->others_len++] =
        (struct bundle_block){.type = parse_number(state, "block", arg),
                              .flags = parse_number(state, "block", flags),
                              .crc = CRC_32C,
                              .data = slice_of(o->block_bytes + start, o->block_used - start)};
}

static void add_priority(struct argp_state *state, struct make_options *o, char *arg)
{
    struct bundle *b = &o->bundle;
    struct bundle_qos q = {.priority = BUNDLE_PRIORITIES};
    char *ordinal = after_colon(arg);
    for (int p = 0; p < BUNDLE_PRIORITIES; p++)
        if (strcmp(arg, bundle_priority_word((enum bundle_priority)p)) == 0)
            q.priority = (enum bundle_priority)p;
    uint64_t n = ordinal == NULL ? 0 : parse_number(state, "priority", ordinal);
    if (q.priority == BUNDLE_PRIORITIES || n > QOS_ORDINAL_MAX ||
        (ordinal != NULL && q.priority != BUNDLE_EXPEDITED)) {
        argp_error(state,
                   "--priority: bulk, normal, expedited, or expedited:N with N from 0 to 254");
        return;
    }
    if (b->others_len == BUNDLE_INLINE_MAX || o->block_used > BLOCK_BYTES_MAX - QOS_CONTENT_MAX) {
        argp_error(state, "--priority: the bundle has too many extension blocks");
        return;
    }
    q.ordinal = (uint8_t)n;
    uint8_t *content = o->block_bytes + o->block_used;
    const size_t len = qos_encode(&q, content);
    o->block_used += len;
    b->others[b->others_len++] = (struct bundle_block){.type = BLOCK_QOS,
                                                       .flags = BLOCK_REPLICATE,
                                                       .crc = CRC_32C,
                                                       .data = slice_of(content, len)};
}

static error_t parse_extension(int key, char *arg, struct argp_state *state)
{
    struct make_options *o = state->input;
    struct bundle *b = &o->bundle;
    switch (key) {
    case KEY_PREVIOUS:
        b->has_previous = true;
        set_eid(state, "previous-node", arg, &b->previous);
        return 0;
    case KEY_AGE:
        b->has_age = true;
        b->age_ms = duration_ms(state, "age", arg);
        return 0;
    case KEY_HOPS:
        set_hops(state, b, arg);
        return 0;
    case KEY_BLOCK:
        add_block(state, o, arg);
        return 0;
    case KEY_PRIORITY:
        add_priority(state, o, arg);
        return 0;
    case KEY_FRAGMENT:
        set_fragment(state, b, arg);
        return 0;
    case 'p':
        o->payload_path = arg;
        return 0;
    case KEY_TEXT:
        o->text = arg;
        return 0;
    case 'o':
        o->output = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void check_end(struct argp_state *state, const struct make_options *o)
{
    if (eid_is_none(&o->bundle.destination))
        argp_error(state, "--destination is missing");
    if ((o->payload_path == NULL) == (o->text == NULL))
        argp_error(state, "one of --payload and --text is expected");
}

static error_t parse_make(int key, char *arg, struct argp_state *state)
{
    struct make_options *o = state->input;
    struct bundle *b = &o->bundle;
    switch (key) {
    case 'd':
        set_eid(state, "destination", arg, &b->destination);
        return 0;
    case 's':
        set_eid(state, "source", arg, &b->id.source);
        return 0;
    case 'r':
        set_eid(state, "report-to", arg, &b->report_to);
        return 0;
    case 'l':
        b->lifetime_ms = duration_ms(state, "lifetime", arg);
        return 0;
    case 'f':
        b->flags |= flags_value(state, arg);
        return 0;
    case KEY_TIME:
        o->timed = true;
        b->id.time_ms = parse_number(state, "time", arg);
        return 0;
    case KEY_SEQUENCE:
        b->id.sequence = parse_number(state, "sequence", arg);
        return 0;
    case KEY_CRC:
        b->payload_crc = crc_value(state, "crc", arg);
        return 0;
    case KEY_PRIMARY_CRC:
        b->crc = crc_value(state, "primary-crc", arg);
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "\"%s\" is not an option", arg);
        return 0;
    case ARGP_KEY_END:
        check_end(state, o);
        return 0;
    default:
        return parse_extension(key, arg, state);
    }
}

static void finish_options(struct make_options *o)
{
    struct bundle *b = &o->bundle;
    if (!o->timed)
        b->id.time_ms = dtn_ms_of(clock_wall());
    if (b->id.time_ms == 0)
        b->has_age = true;
    if (eid_is_none(&b->id.source))
        b->flags |= BUNDLE_NO_FRAGMENT; /* §4.2.3 */
    b->previous_frame.crc = b->age_frame.crc = b->hops_frame.crc = b->payload_crc;
    for (size_t i = 0; i < b->others_len; i++)
        b->others[i].crc = b->payload_crc;
}

static int make_bundle(struct make_options *o)
{
    struct buf *payload = NULL;
    finish_options(o);
    if (o->text != NULL)
        o->bundle.payload = slice_of(o->text, strlen(o->text));
    else if ((payload = bundle_file_read(o->payload_path, false)) == NULL)
        return argument_file_code(o->payload_path, false);
    else
        o->bundle.payload = buf_slice(payload);
    struct buf *wire = bundle_encode_copy(&o->bundle);
    buf_drop(payload);
    if (wire == NULL) {
        fputs("helio-bundle make: these options give no legal bundle: a fragment ends within its "
              "total, a block's type is not 1 (payload)\n",
              stderr);
        return EXIT_USAGE;
    }
    int code = bundle_file_write("helio-bundle make", o->output, wire);
    buf_drop(wire);
    return code;
}

int command_make(int argc, char **argv)
{
    struct make_options o = {.text = NULL, .block_bytes = malloc(BLOCK_BYTES_MAX)};
    const struct argp argp = {
        .options = options,
        .parser = parse_make,
        .doc = "Makes a bundle.\vexamples:\n"
               "  helio-bundle make -s ipn:1.5 -d ipn:2.7 --text hello -o b.cbor\n"
               "  helio-bundle make -d ipn:2.7 -p data.bin --crc 16 -o data.cbor\n\n"
               "Exit code: 0 done, 1 failed, 2 usage."};
    if (o.block_bytes == NULL)
        return EXIT_FAILED;
    bundle_init(&o.bundle);
    argument_parse(&argp, argc, argv, 0, &o);
    int code = make_bundle(&o);
    free(o.block_bytes);
    return code;
}
