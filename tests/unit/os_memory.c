/* SPDX-License-Identifier: Apache-2.0 */
/* os/ without memory: each allocation fails once; what was opened is closed again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "os/log/log_writer.h"
#include "os/net/udp_many.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/suite.h"

/* The lowest descriptor that is free: the same as before when nothing was left open. */
static int lowest_fd(void)
{
    int fd = dup(0);
    close(fd);
    return fd;
}

START_TEST(a_log_that_cannot_be_opened)
{
    char path[] = "/tmp/helio-memory-XXXXXX", name[64];
    close(mkstemp(path));
    snprintf(name, sizeof name, "%s.gz", path);
    long n = 0;
    for (int r = HELIO_ENOMEM, before = lowest_fd(); r != 0; n++) {
        struct log_writer *w;
        memory.countdown = n;
        r = log_writer_open(&w, name, LOG_LINES, slice_of("header\n", 7));
        memory.countdown = -1;
        ck_assert_int_lt(n, 100);
        ck_assert_msg(r == 0 || r == HELIO_ENOMEM, "%d", r);
        if (r == 0)
            log_writer_free(w);
        ck_assert_int_eq(lowest_fd(), before);
    }
    ck_assert_int_ge(n, 3); /* the writer, what packs pages, a page */
    unlink(name);
    unlink(path);
}
END_TEST

START_TEST(sockets_and_batches)
{
    struct address at;
    ck_assert_int_eq(address_of("127.0.0.1", 0, &at), 0);
    int before = lowest_fd();
    for (long n = 0; n < 3; n++) {
        struct udp_io *io = NULL;
        memory.countdown = n;
        int r = udp_open(&io, &at, true);
        memory.countdown = -1;
        ck_assert_int_eq(r, HELIO_ENOMEM);
        ck_assert_int_eq(lowest_fd(), before);
    }
    for (long n = 0; n < 2; n++) {
        memory.countdown = n;
        struct udp_receiver *r = udp_receiver_new();
        memory.countdown = -1;
        ck_assert_ptr_null(r);
    }
    memory.countdown = 0;
    ck_assert_ptr_null(udp_sender_new());
    memory.countdown = -1;
    udp_receiver_free(NULL);
    udp_sender_free(NULL);
}
END_TEST

SUITE(os_memory, t)
{
    tcase_add_test(t, a_log_that_cannot_be_opened);
    tcase_add_test(t, sockets_and_batches);
}
