/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files. Trees are limited by their reader (1 MiB); ION's lines are what large plans are
 * written as. What can go wrong: no such file, more bytes than there is memory for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "node/plan/plan_draft.h"
#include "os/input_file.h"

#define FILE_MAX (UINT64_C(4) << 30)

enum plan_format plan_format_guess(const char *path)
{
    const char *dot = strrchr(path, '.');
    if (dot != NULL && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0))
        return PLAN_YAML;
    return dot != NULL && strcmp(dot, ".json") == 0 ? PLAN_HDTN : PLAN_ION;
}

/* Of its first octet that no text has; 0: it is text. */
static unsigned line_of_nul(const char *data, size_t len)
{
    const char *nul = memchr(data, 0, len);
    unsigned line = nul != NULL;
    for (const char *at = data; nul != NULL && at < nul; at++)
        line += *at == '\n';
    return line;
}

/* What is no text ends here at once, and not after gigabytes of it. */
static char *read_all(FILE *f, size_t *len, struct conf_errors *e)
{
    size_t cap = 1 << 16;
    char *data = malloc(cap);
    bool large = false;
    *len = 0;
    while (data != NULL && !feof(f) && !ferror(f)) {
        size_t got = fread(data + *len, 1, cap - *len, f);
        if (memchr(data + *len, 0, got) != NULL) {
            conf_error(e, line_of_nul(data, *len + got), "has a NUL byte: a plan is text");
            free(data);
            return NULL;
        }
        *len += got;
        if (*len < cap)
            continue;
        large = cap >= FILE_MAX;
        char *more = large ? NULL : realloc(data, cap *= 2);
        if (more == NULL)
            free(data);
        data = more;
    }
    if (large) {
        conf_error(e, 0, "too large: a plan has at most %d GiB", (int)(FILE_MAX >> 30));
    } else if (data == NULL) {
        conf_no_memory(e, 0);
    } else if (ferror(f)) {
        conf_error(e, 0, "cannot be read: %s", strerror(errno));
        free(data);
        data = NULL;
    }
    return data;
}

/* A tree's 0 is what it is said to be, or a date. */
static int check_start(const struct plan_draft *d, struct conf_errors *e)
{
    if (!d->dated || !d->since || d->start > 0)
        return 0;
    conf_error(e, 0, "has dates, and times that count from a start; say which with --start DATE");
    return -1;
}

/* The line of a YAML key such as "contacts:" that begins the first line with text, else 0: ION's
 * lines begin with a word and a blank. */
static unsigned find_yaml(const char *text, size_t len, const char **key)
{
    const char *at = text, *end = text + len;
    for (unsigned line = 1; at < end; line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline != NULL ? newline : end;
        size_t word = 0;
        *key = at;
        while (at + word < stop && ((at[word] >= 'a' && at[word] <= 'z') || at[word] == '_'))
            word++;
        if (at < stop && *at != '#' && *at != '\r')
            return word > 1 && at + word < stop && at[word] == ':' &&
                           (at + word + 1 == stop || memchr(" \r", at[word + 1], 2) != NULL)
                       ? line
                       : 0;
        at = newline != NULL ? newline + 1 : end;
    }
    return 0;
}

static int refuse_yaml(unsigned line, const char *key, struct conf_errors *e)
{
    const int word = (int)strcspn(key, ":"); /* there is one */
    conf_error(e, line,
               "\"%.*s:\" is YAML, and is read as ION's lines; rename the file to end in .yaml",
               word, key);
    return -1;
}

int plan_stream_read(struct plan_draft *d, FILE *f, enum plan_format format, struct conf_errors *e)
{
    size_t len;
    int rc = -1;
    const char *key = NULL;
    char *text = read_all(f, &len, e);
    const unsigned yaml = text != NULL && format == PLAN_ION ? find_yaml(text, len, &key) : 0;
    if (yaml != 0)
        rc = refuse_yaml(yaml, key, e);
    else if (text != NULL)
        rc = format == PLAN_YAML   ? plan_yaml_read(d, text, len, e)
             : format == PLAN_HDTN ? plan_hdtn_read(d, text, len, e)
                                   : plan_ion_read(d, text, len, e);
    rc = rc < 0 ? rc : check_start(d, e);
    free(text);
    return rc;
}

int plan_file_read(struct plan_draft *d, const char *path, enum plan_format format,
                   struct conf_errors *e)
{
    char why[128];
    if (strcmp(path, "-") == 0)
        return plan_stream_read(d, stdin, format, e);
    FILE *f = input_file_any(path, why, sizeof why);
    if (f == NULL) {
        conf_error(e, 0, "cannot be read: %s", why);
        return -1;
    }
    const int rc = plan_stream_read(d, f, format, e);
    fclose(f);
    return rc;
}
