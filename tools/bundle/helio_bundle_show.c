/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-bundle show: the fields of a bundle, one per line, or as JSON. The bundle becomes a JSON
 * object first; the text is a walk over it. What can go wrong: a bundle that not even the lenient
 * mode can read; its findings are printed and the exit code is 1.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bp/codec/admin.h"
#include "bp/codec/qos.h"
#include "conf/json_number.h"
#include "os/arguments.h"
#include "tools/bundle/helio_bundle.h"

static json_t *eid_json(const struct eid *e)
{
    char text[EID_TEXT_MAX];
    eid_text(e, text);
    return json_string(text);
}

static json_t *flags_json(uint64_t flags, const struct flag_name *names)
{
    json_t *list = json_array();
    for (; names->bit != 0; names++) {
        if (flags & names->bit)
            json_array_append_new(list, json_string(names->name));
        flags &= ~names->bit;
    }
    if (flags != 0) {
        char rest[24];
        snprintf(rest, sizeof rest, "0x%" PRIx64, flags);
        json_array_append_new(list, json_string(rest));
    }
    return list;
}

static json_t *frame_json(uint64_t type, uint64_t number, uint64_t flags, enum crc_type crc)
{
    return json_pack("{s:o, s:o, s:o, s:s}", "type", json_number(type), "number",
                     json_number(number), "flags", flags_json(flags, block_flag_names), "crc",
                     crc_name(crc));
}

static json_t *known_json(uint64_t type, const struct bundle_frame *f)
{
    return frame_json(type, f->number, f->flags, f->crc);
}

static json_t *time_json(uint64_t ms)
{
    char text[40] = "unknown";
    time_t seconds = (time_t)(ms / 1000 + DTN_EPOCH_UNIX);
    struct tm utc;
    if (ms != 0 && ms / 1000 < UINT64_C(1) << 36 && gmtime_r(&seconds, &utc) != NULL)
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return json_string(text);
}

static json_t *id_json(const struct bundle_id *id)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "source", eid_json(&id->source), "created_ms",
                     json_number(id->time_ms), "created", time_json(id->time_ms), "sequence",
                     json_number(id->sequence));
}

static json_t *report_json(const struct status_report *r)
{
    static const char *const names[] = {"received", "forwarded", "delivered", "deleted"};
    json_t *o = json_object();
    for (size_t i = 0; i < STATUS_ITEMS; i++) {
        json_object_set_new(o, names[i], json_boolean(r->asserted[i]));
        if (r->timed[i]) {
            char key[24];
            snprintf(key, sizeof key, "%s_ms", names[i]);
            json_object_set_new(o, key, json_number(r->time_ms[i]));
        }
    }
    json_object_set_new(o, "reason", json_number(r->reason));
    json_object_set_new(o, "reason_text", json_string(status_reason_text(r->reason)));
    json_object_set_new(o, "subject", id_json(&r->subject));
    if (r->subject.fragment) {
        json_object_set_new(o, "offset", json_number(r->subject.offset));
        json_object_set_new(o, "bytes", json_number(r->subject_bytes));
    }
    return o;
}

/* What a priority block says, in either of its forms. */
static void set_qos(json_t *block, const struct bundle *b, size_t i)
{
    struct bundle_qos q;
    if (!bundle_qos_read(b, i, &q))
        return;
    json_object_set_new(block, "priority", json_string(bundle_priority_word(q.priority)));
    if (b->others[i].type != BLOCK_QOS)
        return;
    json_object_set_new(block, "ordinal", json_number(q.ordinal));
    json_object_set_new(block, "qos_flags", json_number(q.flags));
    json_object_set_new(block, "data_label", json_number(q.label));
}

static json_t *blocks_json(const struct bundle *b)
{
    json_t *list = json_array(), *block;
    if (b->has_previous) {
        block = known_json(BLOCK_PREVIOUS_NODE, &b->previous_frame);
        json_object_set_new(block, "previous_node", eid_json(&b->previous));
        json_array_append_new(list, block);
    }
    if (b->has_hops) {
        block = known_json(BLOCK_HOP_COUNT, &b->hops_frame);
        json_object_set_new(block, "hop_limit", json_number(b->hop_limit));
        json_object_set_new(block, "hop_count", json_number(b->hop_count));
        json_array_append_new(list, block);
    }
    if (b->has_age) {
        block = known_json(BLOCK_AGE, &b->age_frame);
        json_object_set_new(block, "age_ms", json_number(b->age_ms));
        json_array_append_new(list, block);
    }
    struct bundle_walk w = {0};
    struct bundle_block o;
    while (bundle_next(b, &w, &o)) {
        block = frame_json(o.type, o.number, o.flags, o.crc);
        json_object_set_new(block, "bytes", json_number(o.data.len));
        if (w.offset == 0)
            set_qos(block, b, w.at - 1);
        json_array_append_new(list, block);
    }
    block = frame_json(BLOCK_PAYLOAD, 1, b->payload_flags, b->payload_crc);
    json_object_set_new(block, "bytes", json_number(b->payload.len));
    json_array_append_new(list, block);
    return list;
}

static json_t *bundle_json(const struct bundle *b, const struct bundle_findings *f)
{
    struct status_report report;
    json_t *o = id_json(&b->id);
    json_object_set_new(o, "destination", eid_json(&b->destination));
    json_object_set_new(o, "report_to", eid_json(&b->report_to));
    json_object_set_new(o, "lifetime_ms", json_number(b->lifetime_ms));
    json_object_set_new(o, "flags", flags_json(b->flags, bundle_flag_names));
    json_object_set_new(o, "crc", json_string(crc_name(b->crc)));
    if (b->id.fragment) {
        json_object_set_new(o, "fragment_offset", json_number(b->id.offset));
        json_object_set_new(o, "total_bytes", json_number(b->id.total));
    }
    json_object_set_new(o, "blocks", blocks_json(b));
    if ((b->flags & BUNDLE_IS_ADMIN) &&
        status_report_decode(b->payload.data, b->payload.len, &report) == 0)
        json_object_set_new(o, "status_report", report_json(&report));
    json_object_set_new(o, "findings", findings_json(f));
    return o;
}

/* Members of an object, nested ones indented; lists of texts on one line. */
static void print_text(json_t *o, int indent)
{
    const char *key;
    json_t *value, *item;
    size_t i;
    json_object_foreach(o, key, value)
    {
        printf("%*s%s:", indent, "", key);
        if (json_is_object(value)) {
            putchar('\n');
            print_text(value, indent + 4);
            continue;
        }
        if (!json_is_array(value)) {
            char *text = json_dumps(value, JSON_ENCODE_ANY);
            printf(" %s\n", json_is_string(value) ? json_string_value(value) : text);
            free(text);
            continue;
        }
        json_array_foreach(value, i, item)
        {
            if (json_is_string(item)) {
                printf(" %s", json_string_value(item));
                continue;
            }
            putchar('\n');
            print_text(item, indent + 4);
        }
        puts(json_array_size(value) == 0 ? " none" : "");
    }
}

static int show_file(const char *path, const struct bundle_files *o)
{
    struct bundle b;
    struct bundle_findings f;
    struct buf *in = bundle_file_read(path, o->hex);
    if (in == NULL)
        return argument_file_code(path, false);
    int rc =
        bundle_decode(buf_data(in), in->len, o->strict ? BUNDLE_STRICT : BUNDLE_LENIENT, &b, &f);
    json_t *out = rc == 0 ? bundle_json(&b, &f) : json_pack("{s:o}", "findings", findings_json(&f));
    json_object_set_new(out, "file", json_string(path));
    if (o->json) {
        json_dumpf(out, stdout, JSON_COMPACT);
        putchar('\n');
    } else if (rc == 0) {
        print_text(out, 0);
    } else {
        findings_print(stdout, path, &f);
    }
    json_decref(out);
    buf_drop(in);
    return rc == 0 ? EXIT_DONE : EXIT_FAILED;
}

static const struct argument options[] = {
    BUNDLE_FILES_OPTIONS,
    {"strict", 's', .help = "Read in strict mode; the default is lenient", .type = OPTION_BOOL,
     ARGUMENT_FIELD(struct bundle_files, strict)},
    {0}};

int command_show(int argc, char **argv)
{
    struct bundle_files o = {.json = false};
    const struct argument_table table = {
        .options = options,
        .word = bundle_files_take,
        .end = bundle_files_check,
        .args_doc = "FILE...",
        .doc = "Prints the fields of bundles.\vexamples:\n"
               "  helio-bundle show bundle.cbor\n"
               "  helio-bundle show --json bundle.cbor\n\n"
               "Exit code: 0 done, 1 unreadable, 2 usage, or a file is not there."};
    argument_table_parse(&table, argc, argv, &o);
    int code = EXIT_DONE;
    for (int i = 0; i < o.count; i++) {
        int shown = show_file(o.files[i], &o);
        code = shown > code ? shown : code;
    }
    return code;
}
