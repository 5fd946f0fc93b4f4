/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The permissions of the mode decide, unless there is an access control list (acl(5)): then the
 * mode's bits of the group are the list's mask, and the list is read. It comes from the kernel as a
 * version, and entries of tag, permissions and id, all little-endian (linux/posix_acl_xattr.h).
 * What can go wrong: a file system without lists, whose mode decides.
 */
#include "os/private_file.h"

#include <stdint.h>
#include <sys/xattr.h>

#define ACL_VERSION 2
#define ACL_HEAD 4
#define ACL_ENTRY 8
#define ACL_LEN_MAX 1024 /* a longer one lets others in, as far as we know */
enum {
    TAG_OWNER = 1,
    TAG_USER = 2,
    TAG_GROUP_OWNER = 4,
    TAG_GROUP = 8,
    TAG_MASK = 16,
    TAG_OTHER = 32
};

static uint32_t take_le(const uint8_t *p, size_t octets)
{
    uint32_t v = 0;
    for (size_t i = 0; i < octets; i++)
        v |= (uint32_t)p[i] << (8 * i);
    return v;
}

static uint32_t find_mask(const uint8_t *p, size_t len)
{
    for (size_t at = ACL_HEAD; at < len; at += ACL_ENTRY)
        if (take_le(p + at, 2) == TAG_MASK)
            return take_le(p + at + 2, 2);
    return 7; /* without named users and groups */
}

bool private_file_acl(const void *acl, size_t len, uid_t user)
{
    const uint8_t *p = acl;
    if (len < ACL_HEAD || (len - ACL_HEAD) % ACL_ENTRY != 0 || take_le(p, 4) != ACL_VERSION)
        return false;
    const uint32_t mask = find_mask(p, len);
    for (size_t at = ACL_HEAD; at < len; at += ACL_ENTRY) {
        const uint32_t tag = take_le(p + at, 2), may = take_le(p + at + 2, 2);
        const uint32_t id = take_le(p + at + 4, 4);
        if (tag == TAG_OWNER || tag == TAG_MASK)
            continue; /* the owner is looked at by itself */
        if (tag == TAG_USER && (id == user || id == 0))
            continue;
        if ((tag == TAG_OTHER ? may : may & mask) != 0)
            return false;
    }
    return true;
}

bool private_file_is(int fd, const struct stat *st, uid_t user)
{
    uint8_t acl[ACL_LEN_MAX];
    if ((st->st_mode & S_IRWXO) != 0)
        return false;
    if ((st->st_mode & S_IRWXG) == 0)
        return true; /* of a list it is the mask, and nobody beyond it */
    const ssize_t len = fgetxattr(fd, "system.posix_acl_access", acl, sizeof acl);
    return len > 0 && private_file_acl(acl, (size_t)len, user);
}

const char *private_file_judge(int fd, const struct stat *st, uid_t user)
{
    if (!private_file_is(fd, st, user))
        return PRIVATE_FILE_OTHERS;
    if (st->st_uid != user && st->st_uid != 0)
        return "it is another user's; chown it to the node's user or root";
    return NULL;
}
