/* SPDX-License-Identifier: Apache-2.0 */
/* zlib reads plain files as they are and inflates compressed ones; lines go to the parser one by
 * one. A file that cannot be read, is damaged, or has a wrong line ends with one message. */
#include "channel-emu/trace_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/err.h"
#include "channel-emu/chan_gen.h"
#include "channel-emu/chan_text.h"

#define SAY(error, ...) snprintf(error, TRACE_FILE_ERROR_MAX, __VA_ARGS__)

static int damaged(gzFile file, struct trace_text *p)
{
    int code;
    const char *why = gzerror(file, &code);
    if (code == Z_OK || code == Z_STREAM_END)
        return 0;
    snprintf(p->error, sizeof p->error, "%s", code == Z_ERRNO ? strerror(errno) : why);
    return HELIO_EIO;
}

/* A damaged file may end within a line: that is looked at before the line. */
static int read_lines(gzFile file, struct trace_text *p)
{
    int rc = 0;
    char line[TRACE_TEXT_LINE_MAX + 3];
    while (gzgets(file, line, sizeof line) != NULL) {
        size_t len = strlen(line);
        if (len > 0 && line[len - 1] == '\n')
            len--;
        else
            rc = damaged(file, p);
        rc = rc < 0 ? rc : trace_text_line(p, line, len);
        if (rc < 0)
            return rc;
    }
    rc = damaged(file, p);
    return rc < 0 ? rc : trace_text_end(p);
}

int trace_file_read(struct trace *t, const char *path, tick step, char *error)
{
    struct trace_text p;
    trace_init(t, step == 0 ? TRACE_STEP_DEFAULT : step);
    trace_text_init(&p, t);
    p.step_fixed = step != 0;
    gzFile file = gzopen(path, "rb");
    if (file == NULL) {
        SAY(error, "%s: cannot be opened: %s", path, strerror(errno));
        return HELIO_EIO;
    }
    int rc = read_lines(file, &p);
    gzclose(file);
    if (rc == 0)
        return 0;
    if (rc == HELIO_ENOMEM)
        SAY(error, "%s:%" PRIu64 ": %s", path, p.line, helio_strerror(rc));
    else if (rc == HELIO_EIO)
        SAY(error, "%s: cannot be read after line %" PRIu64 ": %s", path, p.line, p.error);
    else
        SAY(error, "%s:%" PRIu64 ": %s", path, p.line, p.error);
    trace_fini(t);
    return rc;
}

static int write_text(const struct trace *t, gzFile file, const char *comment)
{
    bool ok = comment == NULL || gzprintf(file, "# %s\n", comment) > 0;
    ok = ok && gzprintf(file, "# step_ns %" PRIu64 "\n", t->step) > 0;
    for (size_t i = 0; ok && i < t->len; i++)
        ok = gzprintf(file, "%d %" PRIu64 "\n", t->runs[i].bad, t->runs[i].steps) > 0;
    return ok ? 0 : HELIO_EIO;
}

int trace_file_write(const struct trace *t, const char *path, const char *comment, char *error)
{
    size_t len = strlen(path);
    bool compressed = len > 3 && strcmp(path + len - 3, ".gz") == 0;
    const char *mode = compressed ? "wb9" : "wbT";
    gzFile file = strcmp(path, "-") == 0 ? gzdopen(1, "wbT") : gzopen(path, mode);
    if (file == NULL) {
        SAY(error, "%s: cannot be created: %s", path, strerror(errno));
        return HELIO_EIO;
    }
    int rc = write_text(t, file, comment);
    if (gzclose(file) != Z_OK)
        rc = HELIO_EIO;
    if (rc < 0)
        SAY(error, "%s: cannot be written: %s", path, strerror(errno));
    return rc;
}

static int read_iid(struct trace_source *s, const char *text, char *error)
{
    char *end;
    s->loss = strtod(text, &end);
    if (end != text && *end == '\0' && s->loss >= 0 && s->loss <= 1)
        return 0;
    SAY(error, "'iid:%s' is wrong; right is a probability from 0 to 1, such as iid:0.05", text);
    return HELIO_EINVAL;
}

static int make_preset(struct trace_source *s, const struct gen_preset *preset, char *error)
{
    trace_init(&s->trace, TRACE_STEP_DEFAULT);
    int rc = gen_trace(&s->trace, preset, 1000000, preset->seed);
    if (rc < 0) {
        SAY(error, "trace %s cannot be made: %s", preset->name, helio_strerror(rc));
        trace_fini(&s->trace);
    }
    return rc;
}

int trace_source_read(struct trace_source *s, const char *option, char *error)
{
    *s = (struct trace_source){.on = false};
    if (strcmp(option, "none") == 0)
        return 0;
    if (strncmp(option, "iid:", 4) == 0)
        return read_iid(s, option + 4, error);
    const struct gen_preset *preset = gen_preset_find(option);
    int rc = preset != NULL ? make_preset(s, preset, error)
                            : trace_file_read(&s->trace, option, 0, error);
    if (rc < 0 && preset == NULL && access(option, F_OK) != 0) {
        size_t n = strlen(error);
        snprintf(error + n, TRACE_FILE_ERROR_MAX - n, "; write a file, or A, F, H, none, iid:P");
    }
    s->on = rc == 0;
    return rc;
}

void trace_source_fini(struct trace_source *s)
{
    if (s->on)
        trace_fini(&s->trace);
    s->on = false;
}
