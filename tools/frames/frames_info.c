/* SPDX-License-Identifier: Apache-2.0 */
/* helio-frames info: what is in a file of frames, as text or JSON. What can go wrong: the file; no
 * good frame in it. */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "os/arguments.h"
#include "tools/frames/helio_frames.h"

struct info {
    const struct frames_options *o;
    struct source source;
    struct vcs vcs;
    struct numbered numbered;
};

static const char *const protocol_names[8] = {"idle", "ltp",        "ipe",      "cfdp",
                                              "bp",   "unassigned", "extended", "mission"};
static const char *const kind_names[] = {"TM", "AOS", "USLP", "TC"};

static bool count_packet(void *context, struct vc *v, const struct packet *p, struct slice payload)
{
    struct info *i = context;
    (void)v, (void)p;
    if (i->o->numbered)
        numbered_check(&i->numbered, i->o->prbs, payload);
    return true;
}

static json_t *make_number(uint64_t n)
{
    return json_integer((json_int_t)(n & INT64_MAX));
}

static json_t *describe_vc(const struct vc *v, unsigned vcid)
{
    const struct mpdu_counts *n = &v->extract.counts;
    json_t *o = json_object(), *protocols = json_object();
    json_object_set_new(o, "scid", make_number(v->scid));
    json_object_set_new(o, "vcid", make_number(vcid));
    json_object_set_new(o, "count_first", make_number(v->first));
    json_object_set_new(o, "count_last", make_number(v->last));
    json_object_set_new(o, "idle_frames", make_number(v->idle_frames));
    json_object_set_new(o, "payload_bytes", make_number(v->payload_bytes));
#define PUT_COUNT(name, text) json_object_set_new(o, #name, make_number(n->name));
    MPDU_COUNTS(PUT_COUNT)
#undef PUT_COUNT
    json_object_set_new(o, "frames", make_number(v->frames)); /* those not read, too */
    json_object_set_new(o, "tc_bad", make_number(v->tc_bad));
    for (int p = 1; p < 8; p++)
        if (v->protocols[p] > 0)
            json_object_set_new(protocols, protocol_names[p], make_number(v->protocols[p]));
    if (v->space > 0)
        json_object_set_new(protocols, "space", make_number(v->space));
    json_object_set_new(o, "protocols", protocols);
    return o;
}

static json_t *describe_numbered(const struct numbered *c)
{
    json_t *o = json_object();
    json_object_set_new(o, "packets", make_number(c->packets));
    json_object_set_new(o, "missing", make_number(c->missing));
    json_object_set_new(o, "damaged", make_number(c->damaged));
    return o;
}

static const char *const qualities[] = {"unknown", "good", "erred"};

static json_t *describe_cadus(const struct source *s)
{
    const struct cadu_counts *c = &s->cadus.counts;
    json_t *o = json_object(), *quality = json_object();
    for (int q = CADU_UNKNOWN; q <= CADU_ERRED; q++)
        json_object_set_new(quality, qualities[q], make_number(s->qualities[q]));
    json_object_set_new(o, "quality", quality);
    json_object_set_new(o, "symbols_corrected", make_number(c->corrected));
    json_object_set_new(o, "frames_corrected", make_number(s->corrected_frames));
    json_object_set_new(o, "most_of_a_codeword", make_number(s->worst));
    json_object_set_new(o, "codewords_failed", make_number(c->codewords_failed));
    json_object_set_new(o, "iterations", make_number(c->iterations));
    json_object_set_new(o, "resynchronised", make_number(c->resynchronised));
    json_object_set_new(o, "sync_losses", make_number(c->sync_losses));
    json_object_set_new(o, "slips", make_number(c->slips));
    json_object_set_new(o, "inversions", make_number(c->inversions));
    json_object_set_new(o, "markers_missing", make_number(c->markers_missing));
    json_object_set_new(o, "marker_errors", make_number(c->marker_errors));
    json_object_set_new(o, "skipped_bits", make_number(c->skipped_bits));
    return o;
}

static json_t *describe_symbols(const struct conv_reader *s)
{
    json_t *o = json_object();
    json_object_set_new(o, "symbols", make_number(s->count));
    json_object_set_new(o, "wrong", make_number(conv_reader_wrong(s)));
    json_object_set_new(o, "begins", make_number(s->begins));
    return o;
}

static json_t *describe_security(const uint64_t *counts)
{
    json_t *o = json_object();
    for (unsigned v = 0; v < SDLS_VERDICT_COUNT; v++)
        json_object_set_new(o, sdls_verdict_name((enum sdls_verdict)v), make_number(counts[v]));
    return o;
}

static void print_json(const struct info *i)
{
    json_t *o = json_object(), *verdicts = json_object(), *channels = json_array();
    json_object_set_new(o, "kind", json_string(kind_names[i->o->format.kind]));
    json_object_set_new(o, "octets", make_number(i->source.octets));
    json_object_set_new(o, "frames", make_number(i->source.frames));
    json_object_set_new(o, "skipped_octets", make_number(i->source.skipped));
    json_object_set_new(o, "header_symbols_corrected", make_number(i->vcs.channel.corrected));
    json_object_set_new(o, "codeblocks_corrected", make_number(i->source.corrected));
    json_object_set_new(o, "bad_cltus", make_number(i->source.bad_cltus));
    if (i->o->from == CONTENT_CADU)
        json_object_set_new(o, "cadus", describe_cadus(&i->source));
    if (i->o->coded)
        json_object_set_new(o, "convolutional", describe_symbols(i->source.symbols));
    for (unsigned v = 0; v < FRAME_VERDICT_COUNT; v++)
        json_object_set_new(verdicts, frame_verdict_name((enum frame_verdict)v),
                            make_number(i->vcs.channel.verdicts[v]));
    json_object_set_new(o, "verdicts", verdicts);
    if (security_counts(i->o) != NULL)
        json_object_set_new(o, "security", describe_security(security_counts(i->o)));
    for (unsigned v = 0; v < VCS; v++)
        if (i->vcs.vc[v] != NULL)
            json_array_append_new(channels, describe_vc(i->vcs.vc[v], v));
    json_object_set_new(o, "channels", channels);
    if (i->o->numbered)
        json_object_set_new(o, "numbered", describe_numbered(&i->numbered));
    json_dumpf(o, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(o);
}

static void print_vc(const struct vc *v, unsigned vcid)
{
    const struct mpdu_counts *n = &v->extract.counts;
    printf("\nspacecraft %u, virtual channel %u\n", v->scid, vcid);
    printf("  %-12" PRIu64 " frames, with counts from %" PRIu64 " to %" PRIu64 "\n", v->frames,
           v->first, v->last);
    if (v->idle_frames > 0)
        printf("  %-12" PRIu64 " of them with only idle data\n", v->idle_frames);
#define PRINT_COUNT(name, text)                                                                    \
    if (n->name > 0 && strcmp(#name, "frames") != 0)                                               \
        printf("  %-12" PRIu64 " %s\n", n->name, text);
    MPDU_COUNTS(PRINT_COUNT)
#undef PRINT_COUNT
    if (v->tc_bad > 0)
        printf("  %-12" PRIu64 " frames that are not whole packets\n", v->tc_bad);
    for (int p = 1; p < 8; p++)
        if (v->protocols[p] > 0)
            printf("  %-12" PRIu64 " encapsulation packets of protocol %d (%s)\n", v->protocols[p],
                   p, protocol_names[p]);
    if (v->space > 0)
        printf("  %-12" PRIu64 " space packets\n", v->space);
    printf("  %-12" PRIu64 " octets of payload\n", v->payload_bytes);
}

static void print_count(uint64_t n, const char *text)
{
    if (n > 0)
        printf("  %" PRIu64 " %s\n", n, text);
}

static void print_cadus(const struct source *s)
{
    const struct cadu_counts *c = &s->cadus.counts;
    print_count(s->qualities[CADU_ERRED], "frames could not be decoded");
    print_count(s->corrected_frames, "frames were corrected");
    print_count(c->corrected, s->o->ldpc_coded || s->o->turbo_coded ? "bits were corrected"
                                                                    : "symbols were corrected");
    print_count(c->iterations, s->o->turbo_coded ? "iterations of the turbo decoder"
                                                 : "iterations of the LDPC decoder");
    print_count(c->slips, "markers that were a few bits early or late");
    print_count(c->inversions, "changes of polarity");
    print_count(c->markers_missing, "markers had too many errors");
    print_count(c->resynchronised, "markers were found by searching");
}

static void print_security(const uint64_t *counts)
{
    if (counts == NULL)
        return;
    puts("security");
    for (unsigned v = 0; v < SDLS_VERDICT_COUNT; v++)
        if (counts[v] > 0)
            printf("  %-12s %" PRIu64 "\n", sdls_verdict_name((enum sdls_verdict)v), counts[v]);
}

static void print_text(const struct info *i)
{
    static const char *const what[CONTENTS] = {"frames", "CADUs", "CLTUs", "packets", "frames"};
    printf("%" PRIu64 " %s frames in %" PRIu64 " octets of %s\n", i->source.frames,
           kind_names[i->o->format.kind], i->source.octets, what[i->o->from]);
    for (unsigned v = 0; v < FRAME_VERDICT_COUNT; v++)
        if (i->vcs.channel.verdicts[v] > 0)
            printf("  %-12s %" PRIu64 "\n", frame_verdict_name((enum frame_verdict)v),
                   i->vcs.channel.verdicts[v]);
    print_security(security_counts(i->o));
    print_count(i->source.skipped, "octets belong to no frame");
    print_count(i->vcs.channel.corrected, "symbols of headers were corrected");
    print_count(i->source.corrected, "codeblocks were corrected");
    print_count(i->source.bad_cltus, "CLTUs were not read to their end");
    if (i->o->from == CONTENT_CADU)
        print_cadus(&i->source);
    if (i->o->coded)
        print_count(conv_reader_wrong(i->source.symbols), "symbols were wrong");
    for (unsigned v = 0; v < VCS; v++)
        if (i->vcs.vc[v] != NULL)
            print_vc(i->vcs.vc[v], v);
    if (i->o->numbered)
        printf("\nnumbered packets: %" PRIu64 ", %" PRIu64 " missing between them, %" PRIu64
               " damaged\n",
               i->numbered.packets, i->numbered.missing, i->numbered.damaged);
}

/* Columns of --each; erred ones are in it. */
static void print_each(const struct source *s)
{
    const struct cadu *u = &s->unit;
    printf("%" PRIu64 ",%s,%u,%u,%u,%d,%d,%u,%d,%d,%u\n", s->cadus.counts.frames - 1,
           qualities[u->quality], u->rs.corrected + u->ldpc.corrected + u->turbo.corrected,
           u->rs.worst,
           u->rs.failed + (u->ldpc.iterations > 0 && !u->ldpc.decoded) +
               (u->turbo.iterations > 0 && !u->turbo.decoded),
           u->inverted, u->slip, u->marker_errors, u->marker_missing, u->resynchronised,
           u->ldpc.iterations + u->turbo.iterations);
}

static int list_cadus(const struct frames_options *o)
{
    struct frames_options all = *o;
    struct source s;
    struct slice frame;
    all.keep_erred = true;
    if (frames_source_open(&s, &all) != 0)
        return argument_file_code(o->input, false);
    puts("number,quality,corrected,most_of_a_codeword,codewords_failed,inverted,slip,marker_errors,"
         "marker_missing,resynchronised,iterations");
    while (source_frame(&s, &frame))
        print_each(&s);
    bool good = !s.failed && s.cadus.counts.frames > 0;
    if (!good && !s.failed)
        frames_error("there is no CADU of this format; see --length, --rs, --ldpc, --turbo and "
                     "what follows");
    source_close(&s);
    return good ? EXIT_DONE : EXIT_FAILED;
}

int command_info(const struct frames_options *o)
{
    struct info i = {.o = o};
    struct slice frame;
    bool good = true;
    if (o->each)
        return list_cadus(o);
    if (frames_source_open(&i.source, o) != 0)
        return argument_file_code(o->input, false);
    good = vcs_init(&i.vcs, o);
    while (good && source_frame(&i.source, &frame))
        good = vcs_input(&i.vcs, frame, count_packet, &i);
    good = good && !i.source.failed;
    if (good && o->json)
        print_json(&i);
    else if (good)
        print_text(&i);
    uint64_t read = i.vcs.channel.verdicts[FRAME_OK_VERDICT] +
                    i.vcs.channel.verdicts[FRAME_IDLE_VERDICT] +
                    i.vcs.channel.verdicts[FRAME_CHANNEL_VERDICT];
    if (good && read == 0)
        frames_error(
            "there is no good frame of this format; see --kind, --length and what follows");
    vcs_fini(&i.vcs);
    source_close(&i.source);
    return good && read > 0 ? EXIT_DONE : EXIT_FAILED;
}
