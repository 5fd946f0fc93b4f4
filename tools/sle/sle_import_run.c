/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-sle import: files that stations exchange become the configuration of a provider. What can
 * go wrong: a file is wrong, or what it says is not enough: each error with file, line and key
 * (exit code 2); the configuration cannot be written (1).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf_section.h"
#include "tools/sle/helio_sle.h"
#include "tools/sle/sle_import.h"

static void print_errors(const struct conf_errors *e)
{
    for (size_t i = 0; i < e->len; i++)
        fprintf(stderr, "%s\n", e->text[i]);
    if (e->total > e->len)
        fprintf(stderr, "%s: and %zu more errors\n", e->file, e->total - e->len);
}

/* The errors of one file are printed. */
static bool read_file(struct sle_import *im, const char *path, struct conf_errors *errors)
{
    size_t len;
    conf_errors_init(errors, path);
    char *text = conf_file_read(path, &len, errors);
    if (text != NULL)
        (void)sle_import_read(im, text, len, errors);
    free(text);
    print_errors(errors);
    return errors->total == 0;
}

/* The exit code. */
static int write_result(const char *path, const char *text)
{
    const int fd = path == NULL ? dup(STDOUT_FILENO)
                                : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    int code = f == NULL ? 2 : fputs(text, f) < 0;
    if (f != NULL && fclose(f) != 0)
        code = 1;
    if (f == NULL && fd >= 0)
        close(fd);
    if (code != 0)
        fprintf(stderr, "helio-sle: %s: %s\n", path == NULL ? "standard output" : path,
                strerror(errno));
    return code;
}

int command_import(const struct import_options *o)
{
    struct sle_import im = {0};
    struct conf_errors *errors = malloc(sizeof *errors);
    bool good = errors != NULL;
    int code = errors == NULL ? 1 : 2;
    for (size_t i = 0; errors != NULL && i < o->len; i++)
        good = read_file(&im, o->files[i], errors) && good;
    if (good) {
        conf_errors_init(errors, o->files[o->len - 1]);
        char *text = sle_import_write(&im, errors);
        print_errors(errors);
        code = text == NULL ? 2 : write_result(o->output, text);
        free(text);
    }
    sle_import_free(&im);
    free(errors);
    return code;
}
