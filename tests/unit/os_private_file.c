/* SPDX-License-Identifier: Apache-2.0 */
/* Files that only one user may read: modes, owners and access control lists, as systemd makes them
 * for credentials. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "os/private_file.h"
#include "tests/unit/suite.h"

#define USER 990u
#define ENTRIES_MAX 8

struct entry {
    uint16_t tag, may;
    uint32_t id;
};

static size_t put_le(uint8_t *p, uint32_t v, size_t octets)
{
    for (size_t i = 0; i < octets; i++)
        p[i] = (uint8_t)(v >> (8 * i));
    return octets;
}

/* Ends with a tag of 0. Returns the length. */
static size_t write_acl(uint8_t *out, const struct entry *e)
{
    size_t len = put_le(out, 2, 4);
    for (; e->tag != 0; e++) {
        len += put_le(out + len, e->tag, 2);
        len += put_le(out + len, e->may, 2);
        len += put_le(out + len, e->id, 4);
    }
    return len;
}

#define NOBODY UINT32_MAX
#define OWNER                                                                                      \
    {                                                                                              \
        1, 4, NOBODY                                                                               \
    }
#define NO_GROUP                                                                                   \
    {                                                                                              \
        4, 0, NOBODY                                                                               \
    }
#define MASK                                                                                       \
    {                                                                                              \
        16, 4, NOBODY                                                                              \
    }
#define NO_OTHER                                                                                   \
    {                                                                                              \
        32, 0, NOBODY                                                                              \
    }

static const struct {
    struct entry entries[ENTRIES_MAX];
    bool good;
} lists[] = {
    {{OWNER, {2, 4, USER}, NO_GROUP, MASK, NO_OTHER}, true}, /* a credential of systemd */
    {{OWNER, {2, 6, USER}, {2, 4, 0}, NO_GROUP, {16, 7, NOBODY}, NO_OTHER}, true},
    {{OWNER, {2, 4, USER + 1}, NO_GROUP, MASK, NO_OTHER}, false},
    {{OWNER, {2, 4, USER}, {2, 4, USER + 1}, NO_GROUP, MASK, NO_OTHER}, false},
    {{OWNER, {2, 4, USER}, {4, 4, NOBODY}, MASK, NO_OTHER}, false},
    {{OWNER, {2, 4, USER}, {4, 3, NOBODY}, MASK, NO_OTHER}, true}, /* the mask takes it away */
    {{OWNER, {2, 4, USER}, NO_GROUP, {8, 4, USER}, MASK, NO_OTHER},
     false}, /* a group of that number */
    {{OWNER, {2, 4, USER}, NO_GROUP, MASK, {32, 4, NOBODY}}, false},
    {{OWNER, {4, 4, NOBODY}, NO_OTHER}, false},
    {{OWNER, {2, 4, USER}, NO_GROUP, MASK, {64, 4, NOBODY}}, false}, /* an unknown entry */
};

START_TEST(lists_of_access)
{
    uint8_t acl[4 + 8 * ENTRIES_MAX];
    const size_t len = write_acl(acl, lists[_i].entries);
    ck_assert(private_file_acl(acl, len, USER) == lists[_i].good);
    ck_assert(!private_file_acl(acl, len - 1, USER));
    acl[0] = 3; /* another version */
    ck_assert(!private_file_acl(acl, len, USER));
}
END_TEST

START_TEST(no_list)
{
    ck_assert(!private_file_acl("", 0, USER));
    ck_assert(!private_file_acl("\2\0\0", 3, USER));
}
END_TEST

START_TEST(modes_and_owners)
{
    static const struct {
        mode_t mode;
        uid_t owner;
        const char *wrong;
    } rows[] = {
        {0400, 0, NULL},     {0600, USER, NULL},  {0500, USER, NULL},  {0440, 0, "go="},
        {0404, USER, "go="}, {0620, USER, "go="}, {0601, USER, "go="}, {0400, USER + 1, "chown"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct stat st = {.st_mode = S_IFREG | rows[i].mode, .st_uid = rows[i].owner};
        const char *wrong = private_file_judge(-1, &st, USER);
        ck_assert_msg((wrong == NULL) == (rows[i].wrong == NULL), "%03o", (unsigned)rows[i].mode);
        ck_assert(wrong == NULL || strstr(wrong, rows[i].wrong) != NULL);
    }
}
END_TEST

/* Where the file system has access control lists: as systemd makes a credential for another user.
 */
START_TEST(a_credential)
{
    static const struct entry of_systemd[] = {OWNER, {2, 4, USER}, NO_GROUP, MASK, NO_OTHER, {0}};
    char path[] = "/tmp/unit-private-XXXXXX";
    uint8_t acl[4 + 8 * ENTRIES_MAX];
    struct stat st;
    const int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    unlink(path);
    ck_assert_int_eq(fchmod(fd, 0400), 0);
    const size_t len = write_acl(acl, of_systemd);
    if (fsetxattr(fd, "system.posix_acl_access", acl, len, 0) == 0) {
        ck_assert_int_eq(fstat(fd, &st), 0);
        ck_assert_uint_eq(st.st_mode & 0777, 0440); /* the mask */
        st.st_uid = 0;
        ck_assert_ptr_null(private_file_judge(fd, &st, USER));
        ck_assert_ptr_nonnull(private_file_judge(fd, &st, USER + 1));
        ck_assert_int_eq(fchmod(fd, 0444), 0);
        ck_assert_int_eq(fstat(fd, &st), 0);
        ck_assert_ptr_nonnull(private_file_judge(fd, &st, USER));
    } else {
        ck_assert_int_eq(errno, EOPNOTSUPP);
    }
    close(fd);
}
END_TEST

SUITE(os_private_file, t)
{
    tcase_add_loop_test(t, lists_of_access, 0, sizeof lists / sizeof *lists);
    tcase_add_test(t, no_list);
    tcase_add_test(t, modes_and_owners);
    tcase_add_test(t, a_credential);
}
