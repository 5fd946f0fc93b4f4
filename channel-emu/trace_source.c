/* SPDX-License-Identifier: Apache-2.0 */
/* What a --trace option says, made or read. A wrong name, file or probability ends with one
 * message. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "channel-emu/chan_gen.h"
#include "channel-emu/trace_file.h"

#define SAY(error, ...) snprintf(error, TRACE_FILE_ERROR_MAX, __VA_ARGS__)

static int read_iid(struct trace_source *s, const char *text, char *error)
{
    char *end;
    s->loss = strtod(text, &end);
    if (end != text && *end == '\0' && s->loss >= 0 && s->loss <= 1)
        return 0;
    SAY(error, "'iid:%s' is wrong; right is a probability from 0 to 1, such as iid:0.05", text);
    return HELIO_EINVAL;
}

static int make_preset(struct trace *t, struct trace_about *about, const struct gen_preset *preset,
                       char *error)
{
    trace_init(t, TRACE_STEP_DEFAULT);
    int rc = gen_trace(t, preset, 1000000, preset->seed);
    if (rc < 0) {
        SAY(error, "trace %s cannot be made: %s", preset->name, helio_strerror(rc));
        trace_fini(t);
    }
    *about = (struct trace_about){.generator = "renewal", .seeded = true, .seed = preset->seed};
    snprintf(about->parameters, sizeof about->parameters, "--preset %s", preset->name);
    return rc;
}

int trace_name_read(struct trace *t, struct trace_about *about, const char *name, tick step,
                    char *error)
{
    const struct gen_preset *preset = gen_preset_find(name);
    if (preset == NULL)
        return trace_file_read_about(t, about, name, step, error);
    int rc = make_preset(t, about, preset, error);
    if (rc == 0 && step != 0)
        t->step = step;
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
    if (rc == HELIO_EIO && access(option, F_OK) != 0) {
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
