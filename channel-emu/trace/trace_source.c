/* SPDX-License-Identifier: Apache-2.0 */
/* What a --trace option says, made or read. A wrong name, file or probability ends with one
 * message. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "channel-emu/chan/fading/chan_gen.h"
#include "channel-emu/trace/trace_file.h"

#define SAY(error, ...) snprintf(error, TRACE_FILE_ERROR_MAX, __VA_ARGS__)

static int read_iid(struct trace_source *s, const char *text, char *error)
{
    char *end;
    s->loss = strtod(text, &end);
    if (end != text && *end == '\0' && s->loss >= 0 && s->loss <= 1)
        return 0;
    SAY(error, "\"iid:%s\" is not understood; write a number from 0 to 1, such as iid:0.05", text);
    return HELIO_EINVAL;
}

static int make_preset(struct trace *t, struct trace_about *about, const struct gen_preset *preset,
                       tick step, char *error)
{
    struct gen_spec spec;
    char why[GEN_ERROR_MAX] = "";
    gen_spec_init(&spec);
    trace_init(t, TRACE_STEP_DEFAULT);
    int rc = gen_spec_set(&spec, "preset", preset->name, why);
    if (rc == 0)
        rc = gen_trace(t, &spec, GEN_STEPS_DEFAULT, preset->seed);
    if (rc < 0) {
        SAY(error, "trace %s cannot be made: %s", preset->name, helio_strerror(rc));
        trace_fini(t);
        return rc;
    }
    gen_about(about, &spec, preset->seed);
    if (step != 0)
        t->step = step;
    return 0;
}

static bool is_missing(int rc, const char *name)
{
    return helio_errno(rc) == ENOENT && strcmp(name, "-") != 0;
}

static void say_more(char *error, const char *what)
{
    size_t n = strlen(error);
    snprintf(error + n, TRACE_FILE_ERROR_MAX - n, "%s", what);
}

int trace_name_read(struct trace *t, struct trace_about *about, const char *name, tick step,
                    char *error)
{
    const struct gen_preset *preset = gen_preset_find(name);
    if (preset != NULL)
        return make_preset(t, about, preset, step, error);
    int rc = trace_file_read_about(t, about, name, step, error);
    if (is_missing(rc, name))
        say_more(error, "; write a file, or " GEN_PRESET_NAMES);
    return rc;
}

int trace_source_read(struct trace_source *s, const char *option, char *error)
{
    struct trace_about about;
    *s = (struct trace_source){.on = false};
    if (strcmp(option, "none") == 0)
        return 0;
    if (strncmp(option, "iid:", 4) == 0)
        return read_iid(s, option + 4, error);
    int rc = trace_name_read(&s->trace, &about, option, 0, error);
    if (is_missing(rc, option))
        say_more(error, ", none, iid:P");
    s->on = rc == 0;
    return rc;
}

void trace_source_fini(struct trace_source *s)
{
    if (s->on)
        trace_fini(&s->trace);
    s->on = false;
}
