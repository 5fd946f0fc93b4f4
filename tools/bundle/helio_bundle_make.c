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

static void set_eid(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    if (eid_parse(arg, argument_field(o, base)) != 0)
        argument_want(state, arg,
                      "ipn:NODE.SERVICE, ipn:ALLOCATOR.NODE.SERVICE, dtn://NODE/DEMUX or dtn:none, "
                      "such as ipn:1.2");
}

static void set_previous(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    struct make_options *m = base;
    m->bundle.has_previous = true;
    set_eid(state, o, arg, base);
}

/* Milliseconds. */
static void set_duration(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    *(uint64_t *)argument_field(o, base) = argument_number(state, o, arg) / TICK_MS;
}

static void set_age(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    struct make_options *m = base;
    m->bundle.has_age = true;
    set_duration(state, o, arg, base);
}

static void set_time(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    struct make_options *m = base;
    m->timed = true;
    m->bundle.id.time_ms = argument_number(state, o, arg);
}

static void add_flags(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    uint64_t *flags = argument_field(o, base);
    for (char *rest, *name = strtok_r(arg, ",", &rest); name != NULL;
         name = strtok_r(NULL, ",", &rest)) {
        const struct flag_name *f = bundle_flag_names;
        while (f->bit != 0 && (f->bit == BUNDLE_IS_FRAGMENT || strcmp(f->name, name) != 0))
            f++;
        if (f->bit == 0)
            argument_wrong(state,
                           "\"%s\" is not known; write a list of the flags in --help, such as "
                           "no-fragment,app-ack",
                           name);
        *flags |= f->bit;
    }
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

/* As it was written, for a message. */
static void join_parts(char *second)
{
    if (second != NULL)
        second[-1] = ':';
}

static void set_fragment(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    struct bundle *b = &((struct make_options *)base)->bundle;
    char *total = after_colon(arg);
    if (total == NULL) {
        argument_want(state, arg, "OFFSET:TOTAL, such as 0:1000");
        return;
    }
    b->flags |= BUNDLE_IS_FRAGMENT;
    b->id.fragment = true;
    b->id.offset = argument_number(state, o, arg);
    b->id.total = argument_number(state, o, total);
}

static void set_hops(struct argp_state *state, const struct argument *o, char *arg, void *base)
{
    static const struct argument hop_count = {.name = "hop-limit", .type = OPTION_COUNT};
    struct bundle *b = &((struct make_options *)base)->bundle;
    char *count = after_colon(arg);
    b->has_hops = true;
    b->hop_limit = argument_number(state, o, arg);
    b->hop_count = count == NULL ? 0 : argument_number(state, &hop_count, count);
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

static void add_block(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    struct make_options *o = base;
    struct bundle *b = &o->bundle;
    char *flags = after_colon(arg), *hex = flags == NULL ? NULL : after_colon(flags);
    size_t start = o->block_used;
    if (hex == NULL || !put_hex(o, hex)) {
        join_parts(flags);
        join_parts(hex);
        argument_want(state, arg, "TYPE:FLAGS:HEX, such as 200:0:0a1f, with at most 64 KiB in all");
        return;
    }
    if (b->others_len == BUNDLE_INLINE_MAX) {
        argp_error(state, "--block: at most %d extension blocks can be made", BUNDLE_INLINE_MAX);
        return;
    }
    b->others[b->others_len++] =
        (struct bundle_block){.type = argument_number(state, row, arg),
                              .flags = argument_number(state, row, flags),
                              .crc = CRC_32C,
                              .data = slice_of(o->block_bytes + start, o->block_used - start)};
}

static void add_priority(struct argp_state *state, const struct argument *row, char *arg,
                         void *base)
{
    struct make_options *o = base;
    struct bundle *b = &o->bundle;
    struct bundle_qos q = {.priority = BUNDLE_PRIORITIES};
    char *ordinal = after_colon(arg);
    for (int p = 0; p < BUNDLE_PRIORITIES; p++)
        if (strcmp(arg, bundle_priority_word((enum bundle_priority)p)) == 0)
            q.priority = (enum bundle_priority)p;
    uint64_t n = ordinal == NULL ? 0 : argument_number(state, row, ordinal);
    if (q.priority == BUNDLE_PRIORITIES || n > QOS_ORDINAL_MAX ||
        (ordinal != NULL && q.priority != BUNDLE_EXPEDITED)) {
        join_parts(ordinal);
        argument_want(state, arg, "bulk, normal, expedited, or expedited:N with N from 0 to 254");
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

static void refuse_word(struct argp_state *state, char *arg, void *base)
{
    (void)base;
    argp_error(state, "\"%s\" is not an option", arg);
}

static void check_options(struct argp_state *state, void *base)
{
    const struct make_options *o = base;
    if (eid_is_none(&o->bundle.destination))
        argp_error(state, "--destination is missing: the receiver's endpoint, such as ipn:2.7");
    if ((o->payload_path == NULL) == (o->text == NULL))
        argp_error(state, "write one of --payload and --text");
}

#define FIELD(member) ARGUMENT_FIELD(struct make_options, member)
#define CRC .type = OPTION_CHOICE, .choices = "none|16|32c"

static const struct argument options[] = {
    {"destination", 'd', "EID", .help = "Destination (required): ipn:1.2 or dtn://node/demux",
     .own = set_eid, FIELD(bundle.destination)},
    {"source", 's', "EID", .help = "Source; without it the bundle is anonymous", .own = set_eid,
     FIELD(bundle.id.source)},
    {"report-to", 'r', "EID", .help = "Where status reports go; dtn:none", .own = set_eid,
     FIELD(bundle.report_to)},
    {"lifetime", 'l', "TIME", .help = "Lifetime; 1d", .type = OPTION_DURATION, .own = set_duration,
     FIELD(bundle.lifetime_ms)},
    {"flags", 'f', "NAME,...",
     .help = "admin, no-fragment, app-ack, report-time, report-reception, report-forwarding, "
             "report-delivery, report-deletion",
     .own = add_flags, FIELD(bundle.flags)},
    {"time", 0, "MS", .help = "Creation time, ms since 2000; the present time; 0 adds an age",
     .type = OPTION_COUNT, .own = set_time},
    {"sequence", 0, "N", .help = "Sequence number; 0", .type = OPTION_COUNT,
     FIELD(bundle.id.sequence)},
    {"crc", 0, "none|16|32c", .help = "CRC of the payload and extension blocks; 32c", CRC,
     FIELD(bundle.payload_crc)},
    {"primary-crc", 0, "none|16|32c", .help = "CRC of the primary block; 32c", CRC,
     FIELD(bundle.crc)},
    {"previous-node", 0, "EID", .help = "Add a previous node block", .own = set_previous,
     FIELD(bundle.previous)},
    {"age", 0, "TIME", .help = "Add a bundle age block", .type = OPTION_DURATION, .own = set_age,
     FIELD(bundle.age_ms)},
    {"hop-limit", 0, "N[:COUNT]", .help = "Add a hop count block", .type = OPTION_COUNT, .min = 1,
     .max = 255 /* RFC 9171 §4.4.3 */, .own = set_hops},
    {"priority", 0, "CLASS[:N]",
     .help = "Add a priority block (type 193): bulk, normal, expedited, or expedited:N with an "
             "ordinal, 0 to 254",
     .type = OPTION_COUNT, .own = add_priority},
    {"block", 0, "TYPE:FLAGS:HEX", .help = "Add an extension block; may be repeated",
     .type = OPTION_COUNT, .own = add_block},
    {"fragment", 0, "OFFSET:TOTAL", .help = "Make the payload a fragment", .type = OPTION_COUNT,
     .own = set_fragment},
    {"payload", 'p', "FILE", .help = "Payload; \"-\" is standard input", FIELD(payload_path)},
    {"text", 0, "TEXT", .help = "Payload as text", FIELD(text)},
    {"output", 'o', "FILE", .help = "Where the bundle goes; standard output", FIELD(output)},
    {0}};

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
    static const struct argument_table table = {
        .options = options,
        .word = refuse_word,
        .end = check_options,
        .doc = "Makes a bundle.\vexamples:\n"
               "  helio-bundle make -s ipn:1.5 -d ipn:2.7 --text hello -o b.cbor\n"
               "  helio-bundle make -d ipn:2.7 -p data.bin --crc 16 -o data.cbor\n\n"
               "Exit code: 0 done, 1 failed, 2 usage."};
    if (o.block_bytes == NULL)
        return EXIT_FAILED;
    bundle_init(&o.bundle);
    argument_table_parse(&table, argc, argv, &o);
    int code = make_bundle(&o);
    free(o.block_bytes);
    return code;
}
