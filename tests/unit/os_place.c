/* SPDX-License-Identifier: Apache-2.0 */
/* Places of sockets, files and folders: what is wrong with them is told before anything is made. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/place.h"
#include "tests/unit/suite.h"

static char root[32];

static const char *under(const char *name)
{
    static char path[100]; /* of a socket, too */
    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

static void make_all(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    strcpy(root, "/tmp/os_place.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
    ck_assert_int_eq(chmod(root, 0755), 0);
    ck_assert_int_eq(mkdir(under("folder"), 0755), 0);
    FILE *f = fopen(under("file"), "w");
    ck_assert_ptr_nonnull(f);
    fclose(f);
    snprintf(at.sun_path, sizeof at.sun_path, "%s", under("socket"));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&at, sizeof at), 0);
    close(fd);
}

static void remove_all(void)
{
    unlink(under("socket"));
    unlink(under("file"));
    rmdir(under("folder"));
    ck_assert_int_eq(rmdir(root), 0); /* nothing was made */
}

static void expect(enum place_kind kind, const char *name, const char *says)
{
    char why[256] = "";
    const bool good = place_check(kind, under(name), why, sizeof why);
    ck_assert_msg(good == (says == NULL), "%s: %s", name, why);
    ck_assert_msg(says == NULL || strstr(why, says) != NULL, "%s: %s", name, why);
}

START_TEST(kinds)
{
    static const struct {
        enum place_kind kind;
        const char *name, *says; /* NULL: good */
    } rows[] = {
        {PLACE_SOCKET, "new", NULL},
        {PLACE_SOCKET, "socket", NULL},
        {PLACE_SOCKET, "file", "is there and is no socket; write another path"},
        {PLACE_SOCKET, "none/new", "/none does not exist; make it, or write another"},
        {PLACE_SOCKET, "file/new", "/file is not a directory"},
        {PLACE_FILE, "new", NULL},
        {PLACE_FILE, "file", NULL},
        {PLACE_FILE, "folder", "is a directory; write the path of a file"},
        {PLACE_FILE, "none/new", "does not exist"},
        {PLACE_FOLDER, "new", NULL},
        {PLACE_FOLDER, "folder/", NULL},
        {PLACE_FOLDER, "file", "is no directory; write the path of one, new or not"},
        {PLACE_FOLDER, "none/new", "does not exist"},
    };
    char why[64];
    make_all();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect(rows[i].kind, rows[i].name, rows[i].says);
    ck_assert(place_check(PLACE_FILE, "", why, sizeof why));
    ck_assert(place_check(PLACE_FILE, "/dev/null", why, sizeof why));
    ck_assert(place_check(PLACE_FILE, "in_the_current_one", why, sizeof why));
    remove_all();
}
END_TEST

/* Rights count as the process has them now; root has all. */
START_TEST(rights)
{
    make_all();
    ck_assert_int_eq(chmod(under("folder"), 0555), 0);
    ck_assert_int_eq(chmod(under("file"), 0444), 0);
    if (geteuid() == 0)
        ck_assert_int_eq(seteuid(65534), 0);
    expect(PLACE_SOCKET, "folder/new", "cannot be written: Permission denied");
    expect(PLACE_FILE, "file", "cannot be written: Permission denied");
    expect(PLACE_FILE, "folder/new", "cannot be written: Permission denied");
    expect(PLACE_FOLDER, "folder", "cannot be written: Permission denied");
    if (getuid() == 0)
        ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(chmod(under("folder"), 0755), 0);
    remove_all();
}
END_TEST

SUITE(os_place, t)
{
    tcase_add_test(t, kinds);
    tcase_add_test(t, rights);
}
