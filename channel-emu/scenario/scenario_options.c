/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of a command line's values, which end the program. */
#include "channel-emu/scenario/scenario_options.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"

struct conf_errors *scenario_errors_new(const char *of)
{
    struct conf_errors *e = malloc(sizeof *e);
    if (e == NULL) {
        fputs("helio-emu: out of memory\n", stderr);
        exit(1);
    }
    conf_errors_init(e, of);
    return e;
}

void scenario_errors_stop(struct conf_errors *e, int rc)
{
    for (size_t i = 0; i < e->len; i++)
        fprintf(stderr, "helio-emu: %s\n", e->text[i]);
    if (e->total > e->len)
        fprintf(stderr, "helio-emu: and %zu more errors\n", e->total - e->len);
    if (rc < 0 && e->total == 0)
        fprintf(stderr, "helio-emu: %s: %s\n", e->file, helio_strerror(rc));
    const int code = e->no_memory || (rc < 0 && e->total == 0) ? 1 : 2;
    const bool wrong = e->total > 0 || rc < 0;
    free(e);
    if (wrong)
        exit(code);
}
