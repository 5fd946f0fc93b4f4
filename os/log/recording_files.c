/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a recording. Names that are none of ours are left alone. */
#include "os/log/recording_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

#define DIGITS 10

void recording_name(char out[RECORDING_NAME_CAP], uint32_t number, const char *suffix)
{
    snprintf(out, RECORDING_NAME_CAP, "%0*u%s", DIGITS, number, suffix);
}

/* 0: it is none */
static uint32_t number_of(const char *name)
{
    char *end;
    if (strlen(name) != DIGITS + 4 || strcmp(name + DIGITS, ".rec") != 0 ||
        strspn(name, "0123456789") != DIGITS)
        return 0;
    unsigned long long n = strtoull(name, &end, 10);
    return n <= UINT32_MAX ? (uint32_t)n : 0;
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x < y ? -1 : x > y;
}

static int collect_numbers(DIR *d, uint32_t **numbers, size_t *len)
{
    size_t cap = 0;
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        uint32_t n = number_of(e->d_name);
        if (n == 0)
            continue;
        if (*len == cap) {
            cap = cap == 0 ? 64 : 2 * cap;
            uint32_t *more = realloc(*numbers, cap * sizeof *more);
            if (more == NULL)
                return HELIO_ENOMEM;
            *numbers = more;
        }
        (*numbers)[(*len)++] = n;
    }
    return 0;
}

int recording_list(int folder, uint32_t **numbers, size_t *len)
{
    *numbers = NULL;
    *len = 0;
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (d == NULL) {
        int r = helio_from_errno(errno);
        if (fd >= 0)
            close(fd);
        return r;
    }
    int r = collect_numbers(d, numbers, len);
    closedir(d);
    if (r < 0) {
        free(*numbers);
        *numbers = NULL;
        *len = 0;
    } else if (*len > 0) {
        qsort(*numbers, *len, sizeof **numbers, compare_numbers);
    }
    return r;
}
