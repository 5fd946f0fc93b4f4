/* SPDX-License-Identifier: Apache-2.0 */
/* The file of security associations of a framed link (`frames.sdls`): what is wrong has a text, and
 * what is accepted keeps the rules of its associations. The first octet chooses the use. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cla/framed/sdls_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const struct frame_format tc = {.kind = FRAME_TC, .length = 96, .fecf = 2};
static char folder[] = "/tmp/fuzz-sdls-XXXXXX";

static void remove_files(void)
{
    unlink("s.yaml");
    unlink("k");
    unlink("n");
    rmdir(folder);
}

static void write_file(const char *name, const void *data, size_t len)
{
    FILE *f = fopen(name, "w");
    if (f == NULL || fwrite(data, 1, len, f) != len || fclose(f) != 0 || chmod(name, 0600) != 0)
        abort();
}

static void set_up(void)
{
    static const char key[] = "000102030405060708090a0b0c0d0e0f\n";
    static bool done;
    if (done)
        return;
    if (mkdtemp(folder) == NULL || chdir(folder) != 0)
        abort();
    atexit(remove_files);
    write_file("k", key, strlen(key));
    write_file("n", "new\n", 4);
    done = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const enum sdls_file_use uses[] = {SDLS_FILE_SEND, SDLS_FILE_RECEIVE,
                                              SDLS_FILE_RECEIVE_AHEAD};
    if (len == 0)
        return 0;
    set_up();
    write_file("s.yaml", data + 1, len - 1);
    const struct sdls_file_config c = {
        .path = "s.yaml", .use = uses[data[0] % (sizeof uses / sizeof *uses)], .check = true};
    struct sdls_file *f;
    char why[512] = "";
    size_t which;
    if (sdls_file_read(&f, &c, &tc, why, sizeof why) != 0) {
        if (*why == '\0' || f != NULL)
            abort();
        return 0;
    }
    if (f->sdls.len == 0 || sdls_problem(&f->sdls, &which) != NULL)
        abort();
    (void)sdls_file_end(f, why, sizeof why);
    return 0;
}
