/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes behind a Matlab header are powers, each finite and not negative, or an error with a
 * message. The library that reads them wants a file: one in memory. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "channel-emu/trace/trace_file.h"
#include "channel-emu/trace/trace_mat.h"

/* The library believes the sizes in a file: what is too much is refused, as memory may be. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=1000";
}

static void read_place(const char *path, const struct trace_mat_place *place)
{
    char error[TRACE_FILE_ERROR_MAX] = "";
    struct powers p = {0};
    int rc = trace_mat_read(&p, path, place, error);
    if ((rc == 0) != (error[0] == '\0') || strlen(error) >= TRACE_FILE_ERROR_MAX)
        abort();
    for (size_t i = 0; rc == 0 && i < p.len; i++) {
        if (!(p.value[i] >= 0 && isfinite(p.value[i])))
            abort();
    }
    powers_fini(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct trace_mat_place places[] = {{.variable = NULL},
                                                    {.variable = "run.power"},
                                                    {.variable = "run.m", .column = "rx"},
                                                    {.column = "rx"}};
    char path[64];
    int fd = memfd_create("fuzz.mat", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (trace_mat_version(path) == 5) {
        for (size_t i = 0; i < sizeof places / sizeof *places; i++)
            read_place(path, &places[i]);
    }
    close(fd);
    return 0;
}
