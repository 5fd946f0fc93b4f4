/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SHA-256 of a whole file, in parts: a long one takes seconds. What can go wrong: the file
 * cannot be read, memory; then it begins again with the next call.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "tools/files/files_id.h"
#include "tools/files/files_journal.h"
#include "tools/files/files_shelf.h"

void files_item_drop_digest(struct files_item *it)
{
    uint8_t none[FILES_SHA];
    if (it->digest != NULL)
        (void)files_digest_end(it->digest, none);
    it->digest = NULL;
    it->digested = 0;
}

static int digest_part(struct files_item *it, int fd, uint64_t most)
{
    uint8_t sha[FILES_SHA];
    const uint64_t left = it->size - it->digested, end = it->digested + (left < most ? left : most);
    if (it->digest == NULL && (it->digest = files_digest_new()) == NULL)
        return HELIO_ENOMEM;
    const int rc = files_digest_part(it->digest, fd, it->digested, end);
    it->digested = end;
    if (rc < 0 || end < it->size)
        return rc < 0 ? rc : 1;
    const bool good = files_digest_end(it->digest, sha);
    it->digest = NULL;
    if (!good)
        return HELIO_ENOMEM;
    it->right = memcmp(sha, it->sha, FILES_SHA) == 0;
    return it->right ? 0 : HELIO_EFORMAT;
}

int files_shelf_check_part(const struct files_shelf *s, struct files_item *it, uint64_t most)
{
    char hex[FILES_HEX];
    struct stat st;
    assert(files_item_whole(it) && it->digested <= it->size);
    if (it->right)
        return 0;
    files_journal_hex(it->key, hex);
    const int fd = openat(s->state, hex, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return helio_from_errno(errno);
    int rc = fstat(fd, &st) == 0 ? 0 : helio_from_errno(errno);
    if (rc == 0 && (uint64_t)st.st_size != it->size) /* bytes behind its end would go with it */
        rc = HELIO_EFORMAT;
    if (rc == 0)
        rc = digest_part(it, fd, most);
    close(fd);
    if (rc != 1)
        files_item_drop_digest(it);
    return rc;
}
