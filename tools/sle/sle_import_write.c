/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was read, as the configuration of a provider. All its frames come from one source, which is
 * a placeholder, as are the channels of RCF and ROCF: no file that is read has them.
 *
 * What can go wrong: something that the configuration needs is in none of the files, or the
 * provider would not take it: an error.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "tools/sle/sle_import.h"
#include "tools/sle/sle_settings.h"

/* Characters that YAML might understand otherwise are only in quotes. */
static void write_text(FILE *f, const char *key, const char *text)
{
    if (text == NULL)
        return;
    fprintf(f, "%s: '", key);
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputc('\'', f);
        fputc(*text, f);
    }
    fprintf(f, "'\n");
}

static void write_number(FILE *f, const char *key, uint64_t n, const char *unit)
{
    if (n > 0)
        fprintf(f, "%s: %" PRIu64 "%s\n", key, n, unit);
}

static void write_top(FILE *f, const struct sle_import *im)
{
    fprintf(f, "%s", im->notes == NULL ? "" : im->notes);
    write_text(f, "id", im->id);
    write_text(f, "password", im->password);
    write_text(f, "listen", im->listen);
    write_text(f, "port_name", im->port_name);
    write_number(f, "auth_delay", im->auth_delay, "s");
    if (im->establish + im->heartbeat_min + im->heartbeat_max + im->dead_min + im->dead_max > 0 ||
        im->heartbeat_said)
        fprintf(f, "tml:\n");
    write_number(f, "  heartbeat_min", im->heartbeat_min, "");
    write_number(f, "  heartbeat_max", im->heartbeat_max, "");
    if (im->heartbeat_said)
        fprintf(f, "  heartbeat_required: %s\n", im->heartbeat_required ? "yes" : "no");
    write_number(f, "  dead_min", im->dead_min, "");
    write_number(f, "  dead_max", im->dead_max, "");
    write_number(f, "  establish", im->establish, "s");
}

static void write_users(FILE *f, const struct sle_import *im)
{
    if (im->users_len > 0)
        fprintf(f, "users:\n");
    for (size_t i = 0; i < im->users_len; i++) {
        const struct sle_import_user *u = &im->users[i];
        write_text(f, "  - id", u->id);
        write_text(f, "    authentication", u->level);
        write_text(f, "    password", u->password);
    }
}

static void write_source(FILE *f, const struct sle_import *im)
{
    bool any = false, offline = false;
    for (size_t i = 0; i < im->instances_len; i++) {
        any |= im->instances[i].mode != SLE_FORWARD;
        offline |= im->instances[i].mode == SLE_OFFLINE;
    }
    if (any)
        fprintf(f, "sources: # a placeholder: write where frames come from\n"
                   "  - name: frames\n    kind: udp\n    address: 127.0.0.1:5101\n");
    if (offline)
        fprintf(f, "    record: record\n");
}

static void write_instance(FILE *f, const struct sle_import *im,
                           const struct sle_import_instance *i)
{
    const uint32_t versions = im->versions[i->service];
    const char *sep = "";
    write_text(f, "  - id", i->id);
    write_text(f, "    users", i->user);
    if (i->mode != SLE_FORWARD)
        fprintf(f, "    source: frames\n");
    if (i->service == SLE_RCF || i->service == SLE_ROCF)
        fprintf(f, "    gvcids: 0.0.0 # a placeholder: write its channels\n");
    if (versions != 0)
        fprintf(f, "    versions: '");
    for (unsigned v = 2; v <= 5; v++)
        if ((versions >> v & 1) != 0) {
            fprintf(f, "%s%u", sep, v);
            sep = " ";
        }
    if (versions != 0)
        fprintf(f, "'\n");
    write_text(f, "    begin", i->begin);
    write_text(f, "    end", i->end);
    write_number(f, "    buffer", i->buffer, "");
    write_number(f, "    latency", i->latency, "s");
    write_number(f, "    return_timeout", i->timeout, "");
    write_number(f, "    min_reporting", im->min_reporting, "");
    write_number(f, "    cltu_max", i->cltu_max, "");
}

/* Would a provider take it? */
static void check_result(const char *text, size_t len, struct conf_errors *errors)
{
    struct settings s;
    struct conf_errors *own = malloc(sizeof *own);
    if (own == NULL) {
        conf_no_memory(errors, 0);
        return;
    }
    conf_errors_init(own, "");
    if (settings_parse(&s, text, len, own) == 0)
        settings_free(&s);
    for (size_t i = 0; i < own->len; i++)
        conf_error(errors, 0, "the configuration would be wrong: %s", own->text[i]);
    free(own);
}

char *sle_import_write(const struct sle_import *im, struct conf_errors *errors)
{
    char *text = NULL;
    size_t len = 0;
    const size_t before = errors->total;
    FILE *f = open_memstream(&text, &len);
    if (f == NULL) {
        conf_no_memory(errors, 0);
        return NULL;
    }
    write_top(f, im);
    write_users(f, im);
    write_source(f, im);
    fprintf(f, im->instances_len > 0
                   ? "instances:\n"
                   : "# instances: none of the files has any: add them, or their file\n");
    for (size_t i = 0; i < im->instances_len; i++)
        write_instance(f, im, &im->instances[i]);
    if (fclose(f) != 0)
        conf_no_memory(errors, 0);
    else if (im->instances_len > 0)
        check_result(text, len, errors);
    if (errors->total == before)
        return text;
    free(text);
    return NULL;
}

void sle_import_free(struct sle_import *im)
{
    for (size_t i = 0; i < im->users_len; i++) {
        free(im->users[i].id);
        free(im->users[i].password);
    }
    for (size_t i = 0; i < im->instances_len; i++) {
        free(im->instances[i].id);
        free(im->instances[i].user);
        free(im->instances[i].begin);
        free(im->instances[i].end);
    }
    free(im->id);
    free(im->password);
    free(im->listen);
    free(im->port_name);
    free(im->users);
    free(im->instances);
    free(im->notes);
    *im = (struct sle_import){0};
}
