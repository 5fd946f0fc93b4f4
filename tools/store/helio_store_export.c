/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export: each bundle as a separate file, KEY.bundle, in its stored form: as received, or as an
 * application's payload was encoded. A damaged one is written to KEY.damaged.bundle on request.
 * Existing files are not overwritten.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/store/helio_store.h"

static bool write_all(int fd, struct slice s)
{
    while (s.len > 0) {
        ssize_t n = write(fd, s.data, s.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        s = slice_of(s.data + n, s.len - (size_t)n);
    }
    return true;
}

static int write_bundle(const char *path, struct slice bundle)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool done = fd >= 0 && write_all(fd, bundle);
    int error = errno;
    if (fd >= 0 && close(fd) < 0 && done) {
        done = false;
        error = errno;
    }
    if (done)
        return 0;
    fprintf(stderr, "helio-store: %s: %s\n", path, strerror(error));
    if (fd >= 0)
        unlink(path); /* cut off, it would be taken for a damaged one */
    return -1;
}

static int export_row(void *ctx, struct tally *t, const struct store_row *row)
{
    const struct store_options_line *o = ctx;
    bool damaged = row_is_damaged(row);
    char path[4096];
    if ((damaged && !o->damaged) || row->bundle.data == NULL || (o->key != 0 && row->key != o->key))
        return 0;
    snprintf(path, sizeof path, "%s/%" PRIu64 "%s.bundle", o->output, row->key,
             damaged ? ".damaged" : "");
    if (write_bundle(path, row->bundle) < 0) {
        t->failed = true;
        return errno == EEXIST ? 0 : 1;
    }
    t->written++;
    return 0;
}

int command_export(const struct store_options_line *o)
{
    if (mkdir(o->output, 0700) < 0 && errno != EEXIST) {
        fprintf(stderr, "helio-store: %s: %s\n", o->output, strerror(errno));
        return EXIT_FAILED;
    }
    struct tally *t = walk_store(o->directory, export_row, (void *)(uintptr_t)o);
    if (t == NULL)
        return EXIT_FAILED;
    if (o->key != 0 && t->written == 0 && !t->failed) {
        fprintf(stderr, "helio-store: %s: there is no bundle %" PRIu64 "%s\n", o->directory, o->key,
                o->damaged ? "" : ", or it is damaged: --damaged");
        t->failed = true;
    }
    bool good = !t->failed && t->unreadable == 0;
    if (o->json)
        printf("{\"written\":%" PRIu64 ",\"damaged\":%" PRIu64 ",\"unreadable\":%" PRIu64 "}\n",
               t->written, t->damaged, t->unreadable);
    else
        printf("%" PRIu64 " bundles written to %s; %" PRIu64 " damaged%s, %" PRIu64 " unreadable\n",
               t->written, o->output, t->damaged, o->damaged ? "" : " left out", t->unreadable);
    tally_free(t);
    return good ? EXIT_DONE : EXIT_FAILED;
}
