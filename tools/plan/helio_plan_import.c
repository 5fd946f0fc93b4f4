/* SPDX-License-Identifier: Apache-2.0 */
/* `import`: a configuration of ION or HDTN as one of heliod. The notes go to standard error. What
 * can go wrong: a file that cannot be read; no file says which node it is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_section.h"
#include "tools/plan/helio_plan.h"
#include "tools/plan/import.h"

static int read_import(struct import *im, const struct plan_options *o, const char *path,
                       struct conf_errors *e)
{
    size_t len;
    conf_errors_init(e, path);
    char *text = conf_file_read(path, &len, e);
    const bool hdtn = o->format < 0 ? plan_format_guess(path) == PLAN_HDTN : o->format == PLAN_HDTN;
    int rc = text == NULL ? -1
             : hdtn       ? import_hdtn(im, path, text, len, e)
                          : import_ion(im, path, text, len, e);
    for (size_t i = 0; i < e->len; i++)
        fprintf(stderr, "helio-plan: %s\n", e->text[i]);
    free(text);
    return rc;
}

static int write_import(struct import *im, const struct plan_options *o)
{
    FILE *f = o->output == NULL ? stdout : fopen(o->output, "w");
    int rc = f == NULL ? -1 : import_write(f, im);
    if (f != NULL && f != stdout && fclose(f) != 0)
        rc = -1;
    if (rc < 0)
        fprintf(stderr, "helio-plan: %s: cannot be written: %s\n",
                o->output == NULL ? "standard output" : o->output, strerror(errno));
    else
        fprintf(stderr, "helio-plan: %zu lines or keys were understood, %zu notes\n", im->taken,
                im->notes);
    return rc < 0 ? EXIT_FAILED : EXIT_DONE;
}

int command_import(const struct plan_options *o)
{
    struct import *im = malloc(sizeof *im);
    struct conf_errors *e = malloc(sizeof *e);
    int rc = im == NULL || e == NULL ? -1 : 0, code = EXIT_USAGE;
    if (rc < 0)
        fprintf(stderr, "helio-plan: out of memory\n");
    else
        import_init(im, stderr);
    for (size_t i = 0; rc == 0 && i < o->files_len; i++)
        rc = read_import(im, o, o->files[i], e);
    if (rc == 0 && im->node == 0)
        fprintf(stderr,
                "helio-plan: no file says which node it is; give the one with ION's `1 NUMBER` "
                "(ionadmin), or with myNodeId\n");
    else if (rc == 0)
        code = write_import(im, o);
    free(e);
    free(im);
    return code;
}
