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
    for (unsigned v = 0; v < FRAME_VERDICT_COUNT; v++)
        json_object_set_new(verdicts, frame_verdict_name((enum frame_verdict)v),
                            make_number(i->vcs.channel.verdicts[v]));
    json_object_set_new(o, "verdicts", verdicts);
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

static void print_text(const struct info *i)
{
    static const char *const what[CONTENTS] = {"frames", "CADUs", "CLTUs", "packets"};
    printf("%" PRIu64 " %s frames in %" PRIu64 " octets of %s\n", i->source.frames,
           kind_names[i->o->format.kind], i->source.octets, what[i->o->from]);
    for (unsigned v = 0; v < FRAME_VERDICT_COUNT; v++)
        if (i->vcs.channel.verdicts[v] > 0)
            printf("  %-12s %" PRIu64 "\n", frame_verdict_name((enum frame_verdict)v),
                   i->vcs.channel.verdicts[v]);
    if (i->source.skipped > 0)
        printf("  %" PRIu64 " octets belong to no frame\n", i->source.skipped);
    if (i->vcs.channel.corrected > 0)
        printf("  %" PRIu64 " symbols of headers were corrected\n", i->vcs.channel.corrected);
    if (i->source.corrected > 0)
        printf("  %" PRIu64 " codeblocks were corrected\n", i->source.corrected);
    if (i->source.bad_cltus > 0)
        printf("  %" PRIu64 " CLTUs were not read to their end\n", i->source.bad_cltus);
    for (unsigned v = 0; v < VCS; v++)
        if (i->vcs.vc[v] != NULL)
            print_vc(i->vcs.vc[v], v);
    if (i->o->numbered)
        printf("\nnumbered packets: %" PRIu64 ", %" PRIu64 " missing between them, %" PRIu64
               " damaged\n",
               i->numbered.packets, i->numbered.missing, i->numbered.damaged);
}

int command_info(const struct frames_options *o)
{
    struct info i = {.o = o};
    struct slice frame;
    bool good = true;
    if (frames_source_open(&i.source, o) != 0)
        return argument_file_code(o->input, false);
    vcs_init(&i.vcs, o);
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
