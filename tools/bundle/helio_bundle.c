/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-bundle COMMAND: bundles in files, outside of any node. This file has the choice of
 * the command, the reading of files and `lint`. What can go wrong: a file that cannot be read or is
 * no hexadecimal text (exit 1), a wrong option (exit 2).
 */
#include "tools/bundle/helio_bundle.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "os/arguments.h"
#include "os/process/process.h"
#include "tools/bundle/helio_bundle_secure.h"

#define FILE_MAX (UINT64_C(1) << 30) /* longest bundle that is read */

const char *argp_program_version = "helio-bundle " HELIO_VERSION;

const struct flag_name bundle_flag_names[] = {{BUNDLE_IS_FRAGMENT, "fragment"},
                                              {BUNDLE_IS_ADMIN, "admin"},
                                              {BUNDLE_NO_FRAGMENT, "no-fragment"},
                                              {BUNDLE_APP_ACK, "app-ack"},
                                              {BUNDLE_REPORT_TIME, "report-time"},
                                              {BUNDLE_REPORT_RECEPTION, "report-reception"},
                                              {BUNDLE_REPORT_FORWARDING, "report-forwarding"},
                                              {BUNDLE_REPORT_DELIVERY, "report-delivery"},
                                              {BUNDLE_REPORT_DELETION, "report-deletion"},
                                              {0, NULL}};
const struct flag_name block_flag_names[] = {{BLOCK_REPLICATE, "replicate"},
                                             {BLOCK_REPORT_IF_UNKNOWN, "report-if-unknown"},
                                             {BLOCK_DELETE_BUNDLE_IF_UNKNOWN, "delete-if-unknown"},
                                             {BLOCK_DROP_IF_UNKNOWN, "drop-if-unknown"},
                                             {0, NULL}};

const char *crc_name(enum crc_type crc)
{
    return crc == CRC_NONE ? "none" : crc == CRC_16 ? "crc16" : "crc32c";
}

static struct buf *read_stream(FILE *in)
{
    size_t room = 1 << 16;
    struct buf *b = buf_new(0, room);
    while (b != NULL) {
        b->len += fread(b->mem + b->len, 1, b->cap - b->len, in);
        if (b->len < b->cap)
            break;
        room *= 2;
        struct buf *larger = room > FILE_MAX * 2 ? NULL : buf_new(0, room);
        if (larger != NULL)
            memcpy(buf_append(larger, b->len), buf_data(b), b->len);
        buf_drop(b);
        b = larger;
    }
    return b;
}

/* In place: two digits give one byte. */
static bool from_hex(struct buf *b)
{
    size_t digits = 0;
    uint8_t *out = b->mem;
    for (size_t i = 0; i < b->len; i++) {
        int c = tolower(b->mem[i]);
        if (isspace(c))
            continue;
        if (!isxdigit(c))
            return false;
        unsigned value = (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
        out[digits / 2] =
            (uint8_t)(digits % 2 == 0 ? value << 4 : (unsigned)out[digits / 2] | value);
        digits++;
    }
    b->len = digits / 2;
    return digits % 2 == 0;
}

struct buf *bundle_file_read(const char *path, bool hex)
{
    FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (in == NULL) {
        fprintf(stderr, "helio-bundle: %s: %s\n", path, strerror(errno));
        return NULL;
    }
    struct buf *b = read_stream(in);
    bool failed = ferror(in) != 0;
    if (in != stdin)
        fclose(in);
    const char *why = b == NULL             ? "longer than 1 GiB, or no memory"
                      : failed              ? "cannot be read"
                      : hex && !from_hex(b) ? "not hexadecimal text: pairs of 0-9 a-f are expected"
                                            : NULL;
    if (why == NULL)
        return b;
    fprintf(stderr, "helio-bundle: %s: %s\n", path, why);
    buf_drop(b);
    return NULL;
}

int bundle_file_write(const char *command, const char *path, const struct buf *b)
{
    const bool standard = path == NULL || strcmp(path, "-") == 0;
    FILE *out = standard ? stdout : fopen(path, "wb");
    const bool opened = out != NULL;
    bool ok = opened && fwrite(b->mem + b->off, 1, b->len, out) == b->len;
    if (opened && (out == stdout ? fflush(out) : fclose(out)) != 0)
        ok = false;
    if (!ok)
        fprintf(stderr, "%s: %s: %s\n", command, standard ? "standard output" : path,
                strerror(errno));
    return ok ? EXIT_DONE : opened ? EXIT_FAILED : argument_file_code(path, true);
}

void findings_print(FILE *out, const char *path, const struct bundle_findings *f)
{
    for (size_t i = 0; i < f->len; i++)
        fprintf(out, "%s:%zu: %s: %s [%s]\n", path, f->at[i].at, f->at[i].fatal ? "error" : "note",
                f->at[i].text, f->at[i].section);
}

json_t *findings_json(const struct bundle_findings *f)
{
    json_t *list = json_array();
    for (size_t i = 0; i < f->len; i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:b}", "section", f->at[i].section,
                                              "text", f->at[i].text, "offset",
                                              (json_int_t)f->at[i].at, "error", f->at[i].fatal));
    return list;
}

void bundle_files_take(struct argp_state *state, char *arg, void *base)
{
    struct bundle_files *o = base;
    (void)arg;
    o->files = state->argv + state->next - 1;
    o->count = state->argc - state->next + 1;
    state->next = state->argc;
}

void bundle_files_check(struct argp_state *state, void *base)
{
    const struct bundle_files *o = base;
    if (o->count == 0)
        argp_error(state, "FILE is missing; \"-\" is standard input");
}

static const struct argument lint_options[] = {BUNDLE_FILES_OPTIONS, {0}};

static int worst(int a, int b)
{
    return a > b ? a : b;
}

int command_lint(int argc, char **argv)
{
    struct bundle_files o = {.json = false};
    const struct argument_table table = {
        .options = lint_options,
        .word = bundle_files_take,
        .end = bundle_files_check,
        .args_doc = "FILE...",
        .doc = "Names every rule of RFC 9171 and its companions that a bundle breaks, with its "
               "section and byte offset.\vexamples:\n"
               "  helio-bundle lint bundle.cbor\n"
               "  helio-bundle lint --json --hex capture.txt\n"
               "\nexit codes: 0 nothing found, 1 findings, 2 usage, or a file is not there"};
    argument_table_parse(&table, argc, argv, &o);
    int code = EXIT_DONE;
    for (int i = 0; i < o.count; i++) {
        struct bundle_findings f;
        struct buf *b = bundle_file_read(o.files[i], o.hex);
        if (b == NULL) {
            code = worst(code, argument_file_code(o.files[i], false));
            continue;
        }
        if (bundle_lint(buf_data(b), b->len, &f) > 0)
            code = worst(code, EXIT_FAILED);
        buf_drop(b);
        if (!o.json) {
            findings_print(stdout, o.files[i], &f);
            continue;
        }
        json_t *line = json_pack("{s:s, s:b, s:o}", "file", o.files[i], "clean", f.len == 0,
                                 "findings", findings_json(&f));
        json_dumpf(line, stdout, JSON_COMPACT);
        putchar('\n');
        json_decref(line);
    }
    return code;
}

static const char usage[] =
    "Usage: helio-bundle lint FILE...    check against the standards\n"
    "       helio-bundle show FILE...    print the fields\n"
    "       helio-bundle make OPTION...  make a bundle\n"
    "       helio-bundle sign FILE       add a block integrity block (BPSec)\n"
    "       helio-bundle verify FILE     verify the integrity blocks\n"
    "       helio-bundle encrypt FILE    encrypt blocks (BPSec)\n"
    "       helio-bundle decrypt FILE    decrypt them\n"
    "       helio-bundle explain FILE    print the security blocks\n"
    "       helio-bundle --version\n"
    "`helio-bundle COMMAND --help` shows more.\n"
    "\n"
    "examples:\n"
    "  helio-bundle make -s ipn:1.5 -d ipn:2.7 --text hello -o b.cbor\n"
    "  helio-bundle show b.cbor\n"
    "  helio-bundle lint b.cbor\n";

int main(int argc, char **argv)
{
    file_limit_report();
    static const struct {
        const char *name; /* what messages begin with */
        int (*run)(int argc, char **argv);
    } commands[] = {
        {"helio-bundle lint", command_lint},       {"helio-bundle show", command_show},
        {"helio-bundle make", command_make},       {"helio-bundle sign", command_sign},
        {"helio-bundle verify", command_verify},   {"helio-bundle encrypt", command_encrypt},
        {"helio-bundle decrypt", command_decrypt}, {"helio-bundle explain", command_explain}};
    size_t i = argument_command(argc, argv, commands, sizeof commands / sizeof *commands,
                                sizeof *commands, usage);
    return commands[i].run(argc - 1, argv + 1);
}
