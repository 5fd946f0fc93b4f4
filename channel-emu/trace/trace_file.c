/* SPDX-License-Identifier: Apache-2.0 */
/* zlib reads plain files as they are and inflates compressed ones. The first line decides: a
 * compact file is read whole, the lines of another go to the parser one by one; the lines of a CSV
 * of powers go to the parser of chan_powers.h. A file that cannot be read, is damaged, or has a
 * wrong line ends with one message. */
#include "channel-emu/trace/trace_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/err.h"
#include "channel-emu/chan/chan_pack.h"
#include "channel-emu/chan/fading/chan_powers.h"
#include "channel-emu/trace/trace_export.h"

#define SAY(error, ...) snprintf(error, TRACE_FILE_ERROR_MAX, __VA_ARGS__)
#define LINE_MAX_CHARACTERS 4096 /* characters; of a longer line so many and one more are given */
#define LINE_BINARY "a NUL byte: this is no text file"
#define MARK "\xef\xbb\xbf" /* U+FEFF in UTF-8, as some editors write it */

/* A line of a text file, compressed or not. */
struct trace_line {
    gzFile file; /* the caller's */
    char text[LINE_MAX_CHARACTERS + 2];
    size_t len; /* without the line feed */
    bool ended; /* by a line feed, which stands behind the text; else by the end of the file, by
                   damage, or because the line is longer */
    bool begun; /* the first line has been read: a byte order mark was left out */
};

/* The next line. False: there is none, or the file is damaged (gzerror). gzgets would end a line at
 * a NUL for its caller, who sees a shorter line and shifted times. */
static bool next_line(struct trace_line *l)
{
    int c = 0;
    l->len = 0;
    l->ended = false;
    while (l->len <= LINE_MAX_CHARACTERS && (c = gzgetc(l->file)) >= 0) {
        l->text[l->len] = (char)c;
        if (c == '\n') {
            l->ended = true;
            break;
        }
        l->len++;
    }
    bool any = l->len > 0 || l->ended;
    size_t mark = strlen(MARK);
    if (!l->begun && l->len >= mark && memcmp(l->text, MARK, mark) == 0) {
        l->len -= mark;
        memmove(l->text, l->text + mark, l->len + l->ended);
    }
    l->begun = true;
    return any;
}

/* A NUL in it: no text file has one, and what reads texts takes it for their end. */
static bool is_binary(const struct trace_line *l)
{
    return memchr(l->text, '\0', l->len) != NULL;
}

static int find_damage(gzFile file, char *error, size_t cap)
{
    int code;
    const char *why = gzerror(file, &code);
    if (code == Z_OK || code == Z_STREAM_END)
        return 0;
    snprintf(error, cap, "%s", code == Z_ERRNO ? strerror(errno) : why);
    return HELIO_EIO;
}

/* All of a file that begins with `start`. */
static int read_all(gzFile file, struct slice start, uint8_t **out, size_t *len)
{
    size_t cap = 1 << 16;
    uint8_t *data = malloc(cap);
    *len = start.len;
    if (data != NULL)
        memcpy(data, start.data, start.len);
    while (data != NULL) {
        int n = gzread(file, data + *len, (unsigned)(cap - *len));
        if (n <= 0)
            break;
        *len += (size_t)n;
        if (*len < cap)
            continue;
        uint8_t *more = cap < TRACE_FILE_BYTES_MAX ? realloc(data, cap * 2) : NULL;
        if (more == NULL)
            free(data);
        data = more;
        cap *= 2;
    }
    *out = data;
    return data == NULL ? HELIO_ENOMEM : 0;
}

static int read_compact(gzFile file, struct trace_text *p, struct slice start)
{
    size_t len;
    uint8_t *data;
    int rc = read_all(file, start, &data, &len);
    if (rc < 0)
        return rc;
    rc = find_damage(file, p->error, sizeof p->error);
    if (rc == 0)
        rc = trace_unpack(p->trace, &p->about, slice_of(data, len), p->step_fixed, p->error);
    free(data);
    return rc;
}

static bool is_compact(const struct trace_line *l)
{
    size_t n = strlen(TRACE_PACK_MAGIC);
    return l->len + l->ended >= n && memcmp(l->text, TRACE_PACK_MAGIC, n) == 0;
}

/* A damaged file may end within a line: that is looked at before the line. */
static int read_line(struct trace_text *p, const struct trace_line *l)
{
    int rc = l->ended ? 0 : find_damage(l->file, p->error, sizeof p->error);
    if (rc < 0)
        return rc;
    if (is_binary(l)) {
        p->line++;
        snprintf(p->error, sizeof p->error, "%s", LINE_BINARY);
        return HELIO_EFORMAT;
    }
    return trace_text_line(p, l->text, l->len);
}

static int read_lines(gzFile file, struct trace_text *p)
{
    struct trace_line l = {.file = file};
    while (next_line(&l)) {
        if (p->line == 0 && is_compact(&l)) {
            p->form = TRACE_COMPACT;
            return read_compact(file, p, slice_of(l.text, l.len + l.ended));
        }
        int rc = read_line(p, &l);
        if (rc < 0)
            return rc;
    }
    int rc = find_damage(file, p->error, sizeof p->error);
    return rc < 0 ? rc : trace_text_end(p);
}

static int explain_error(const struct trace_text *p, const char *path, int rc, char *error)
{
    if (rc == HELIO_ENOMEM)
        SAY(error, "%s: %s", path, helio_strerror(rc));
    else if (p->form == TRACE_COMPACT)
        SAY(error, "%s: %s", path, p->error);
    else if (rc == HELIO_EIO)
        SAY(error, "%s: cannot be read after line %" PRIu64 ": %s", path, p->line, p->error);
    else
        SAY(error, "%s:%" PRIu64 ": %s", path, p->line, p->error);
    return rc;
}

int trace_file_read_about(struct trace *t, struct trace_about *about, const char *path, tick step,
                          char *error)
{
    struct trace_text p;
    trace_init(t, step == 0 ? TRACE_STEP_DEFAULT : step);
    trace_text_init(&p, t);
    p.step_fixed = step != 0;
    gzFile file = strcmp(path, "-") == 0 ? gzdopen(dup(0), "rb") : gzopen(path, "rb");
    if (file == NULL) {
        int why = helio_from_errno(errno);
        SAY(error, "%s: cannot be opened: %s", path, helio_strerror(why));
        return why;
    }
    int rc = read_lines(file, &p);
    gzclose(file);
    if (rc == 0) {
        *about = p.about;
        return 0;
    }
    explain_error(&p, path, rc, error);
    trace_fini(t);
    return rc;
}

/* ---- powers ---- */

static int read_power_lines(gzFile file, struct powers_text *t)
{
    struct trace_line l = {.file = file};
    int rc = 0;
    while (rc == 0 && next_line(&l)) {
        if (!is_binary(&l)) {
            rc = powers_text_line(t, l.text, l.len);
        } else {
            t->line++;
            snprintf(t->error, sizeof t->error, "%s", LINE_BINARY);
            rc = HELIO_EFORMAT;
        }
    }
    if (rc == 0)
        rc = find_damage(file, t->error, sizeof t->error);
    return rc == 0 ? powers_text_end(t) : rc;
}

int trace_powers_read(struct powers *p, const char *path, const char *column, bool decibels,
                      char *error)
{
    struct powers_text t;
    powers_text_init(&t, p, column, decibels);
    gzFile file = gzopen(path, "rb");
    if (file == NULL) {
        int why = helio_from_errno(errno);
        SAY(error, "%s: cannot be opened: %s", path, helio_strerror(why));
        return why;
    }
    int rc = read_power_lines(file, &t);
    gzclose(file);
    SAY(error, "%s:%" PRIu64 ": %s", path, t.line,
        rc == HELIO_ENOMEM ? helio_strerror(rc) : t.error);
    return rc;
}

int trace_powers_mean(const struct powers *p, const char *path, double *mean, char *error)
{
    *mean = powers_mean(p);
    if (*mean > 0)
        return 0;
    SAY(error, "%s: all powers are 0", path);
    return HELIO_EFORMAT;
}

/* ---- writing ---- */

static bool ends_with(const char *path, const char *with)
{
    size_t len = strlen(path), n = strlen(with);
    return len > n && strcmp(path + len - n, with) == 0;
}

enum trace_form trace_file_form(const char *path)
{
    if (ends_with(path, ".htr"))
        return TRACE_COMPACT;
    return ends_with(path, ".csv") || ends_with(path, ".csv.gz") ? TRACE_CSV : TRACE_RUNS;
}

static bool write_head(const struct trace *t, const struct trace_about *a, gzFile file)
{
    bool ok = gzprintf(file, "# step_ns %" PRIu64 "\n", t->step) > 0;
    if (ok && a->generator[0] != '\0')
        ok = gzprintf(file, "# generator %s\n", a->generator) > 0;
    if (ok && a->parameters[0] != '\0')
        ok = gzprintf(file, "# parameters %s\n", a->parameters) > 0;
    if (ok && a->seeded)
        ok = gzprintf(file, "# seed %" PRIu64 "\n", a->seed) > 0;
    return ok;
}

static bool write_steps(const struct trace *t, gzFile file)
{
    bool ok = true;
    for (size_t i = 0; i < t->len; i++) {
        for (uint64_t n = 0; ok && n < t->runs[i].steps; n++)
            ok = gzwrite(file, t->runs[i].bad ? "1\n" : "0\n", 2) == 2;
    }
    return ok;
}

static bool write_runs(const struct trace *t, gzFile file)
{
    bool ok = true;
    for (size_t i = 0; ok && i < t->len; i++)
        ok = gzprintf(file, "%d %" PRIu64 "\n", t->runs[i].bad, t->runs[i].steps) > 0;
    return ok;
}

static bool write_csv(const struct trace *t, gzFile file)
{
    bool ok = gzprintf(file, "state,duration_ms\n") > 0;
    for (size_t i = 0; ok && i < t->len; i++) {
        char time[TRACE_TIME_MAX];
        trace_time_text(time, t->runs[i].steps * t->step, TICK_MS);
        ok = gzprintf(file, "%s,%s\n", t->runs[i].bad ? "bad" : "good", time) > 0;
    }
    return ok;
}

static int write_compact(const struct trace *t, const struct trace_about *about, gzFile file)
{
    uint8_t *data;
    size_t len, done = 0;
    int rc = trace_pack(t, about, &data, &len);
    if (rc < 0)
        return rc;
    while (done < len) {
        size_t n = len - done < (1 << 30) ? len - done : 1 << 30;
        if (gzwrite(file, data + done, (unsigned)n) != (int)n)
            break;
        done += n;
    }
    free(data);
    return done == len ? 0 : HELIO_EIO;
}

static int write_form(const struct trace *t, const struct trace_about *about, enum trace_form form,
                      const struct trace_export *x, gzFile file)
{
    static const struct trace_about nothing;
    if (form == TRACE_COMPACT)
        return write_compact(t, about, file);
    bool ok = write_head(t, about == NULL ? &nothing : about, file);
    if (ok && form >= TRACE_ONE)
        ok = trace_export_lines(t, form, x, file);
    else if (ok && form == TRACE_CSV)
        ok = write_csv(t, file);
    else if (ok)
        ok = form == TRACE_STEPS ? write_steps(t, file) : write_runs(t, file);
    return ok ? 0 : HELIO_EIO;
}

int trace_file_export(const struct trace *t, const struct trace_about *about, enum trace_form form,
                      const struct trace_export *x, const char *path, char *error)
{
    bool out = strcmp(path, "-") == 0;
    gzFile file =
        out ? gzdopen(dup(1), "wbT") : gzopen(path, ends_with(path, ".gz") ? "wb9" : "wbT");
    if (file == NULL) {
        int why = helio_from_errno(errno);
        SAY(error, "%s: cannot be created: %s", path, helio_strerror(why));
        return why;
    }
    errno = 0;
    int rc = write_form(t, about, form, x, file);
    int why = errno;
    if (gzclose(file) != Z_OK && rc == 0) {
        rc = HELIO_EIO;
        why = errno;
    }
    if (rc == 0)
        return 0;
    SAY(error, "%s: cannot be written: %s", path,
        rc == HELIO_EIO ? strerror(why) : helio_strerror(rc));
    struct stat st;
    if (!out && lstat(path, &st) == 0 && S_ISREG(st.st_mode))
        unlink(path);
    return rc;
}

int trace_file_write(const struct trace *t, const struct trace_about *about, enum trace_form form,
                     const char *path, char *error)
{
    return trace_file_export(t, about, form, NULL, path, error);
}
