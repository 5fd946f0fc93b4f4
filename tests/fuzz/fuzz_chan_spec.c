/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the generators, one `NAME TEXT` a line: a specification that makes a trace of the
 * length asked for, or an error with a message. */
#include <stdlib.h>
#include <string.h>

#include "channel-emu/chan/fading/chan_gen.h"

static void must(bool ok)
{
    if (!ok)
        abort();
}

static int set_line(struct gen_spec *s, const uint8_t *line, size_t len, char *error)
{
    char text[1024];
    len = len < sizeof text ? len : sizeof text - 1;
    memcpy(text, line, len);
    text[len] = '\0';
    size_t name = strcspn(text, " ");
    if (text[name] == '\0')
        return 0;
    text[name] = '\0';
    return gen_spec_set(s, text, text + name + 1, error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gen_spec s;
    struct trace t;
    char error[GEN_ERROR_MAX] = "";
    gen_spec_init(&s);
    while (size > 0) {
        const uint8_t *feed = memchr(data, '\n', size);
        size_t len = feed == NULL ? size : (size_t)(feed - data);
        int rc = len == 0 ? 0 : set_line(&s, data, len, error);
        must(rc == 0 || rc == -4 || error[0] != '\0');
        data += feed == NULL ? len : len + 1;
        size -= feed == NULL ? len : len + 1;
    }
    const tick step = 100000;
    bool slow = s.fade.coherence > 1000 * step || s.fade.jitter_coherence > 1000 * step ||
                s.receiver.interleaver > 1000 * step;
    if (gen_spec_check(&s, step, error) < 0 || slow)
        return 0;
    trace_init(&t, step);
    must(gen_trace(&t, &s, 50, 1) == 0 && t.steps == 50);
    trace_fini(&t);
    return 0;
}
