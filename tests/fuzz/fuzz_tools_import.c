/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations of ION and HDTN: any bytes become a configuration or errors, and what is written
 * is YAML that a tree can be made of. The first byte says which file it is. */
#include <stdlib.h>

#include "tools/plan/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_written(struct import *im, struct conf_errors *e)
{
    char *out = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&out, &len);
    if (f == NULL || import_write(f, im) < 0)
        abort();
    fclose(f);
    conf_errors_init(e, "written");
    struct conf_tree *t = len > 1 << 20 ? NULL : conf_tree_parse(out, len, "nothing", e);
    if (e->total > 0)
        abort();
    conf_tree_free(t);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const char *const paths[] = {"a.rc", "a.ionrc", "a.ltprc", "a.bprc", "a.ipnrc"};
    struct import *im = malloc(sizeof *im);
    struct conf_errors *e = malloc(sizeof *e);
    char *notes = NULL;
    size_t notes_len = 0;
    FILE *to = open_memstream(&notes, &notes_len);
    if (im == NULL || e == NULL || to == NULL)
        abort();
    if (len > 0) {
        const unsigned kind = data[0] % 6U;
        const char *text = (const char *)data + 1;
        import_init(im, to);
        conf_errors_init(e, "fuzz");
        int rc = kind < 5 ? import_ion(im, paths[kind], text, len - 1, e)
                          : import_hdtn(im, "a.json", text, len - 1, e);
        if ((rc == 0) != (e->total == 0))
            abort();
        if (rc == 0)
            check_written(im, e);
    }
    fclose(to);
    free(notes);
    free(e);
    free(im);
    return 0;
}
