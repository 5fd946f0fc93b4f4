/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The medium's space for an LMDB store. LMDB never overwrites pages in use, so even a removal needs
 * some space. Blocks are reserved after the end of the file before each put, and puts leave RESERVE
 * of them, so that a full store can be emptied.
 *
 * How much more the medium can store is an estimate. Free are the pages of the file without a row,
 * the blocks reserved after its end, and the file system's free space. Bundles need more than their
 * bytes: whole pages for long ones, rows, ends, and scattered free pages. What can go wrong:
 * bundles of other lengths than expected. The estimate uses the space that is still free, so it is
 * corrected as the medium fills. It is unknown if the file system does not report its free space.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "store/store_lmdb_impl.h"

#define RESERVE (UINT64_C(1) << 20) /* bytes that puts leave for removals */
#define RESERVE_STEP (UINT64_C(16) << 20)
#define FITS_PERCENT                                                                               \
    85 /* bundle bytes of free ones: mixed sizes take 1.16 to 1.18 of their own                    \
        */

/* Bytes of pages that lie free within the file. */
static uint64_t free_bytes(struct lmdb *l)
{
    MDB_txn *txn;
    MDB_cursor *c;
    uint64_t pages = 0;
    if (mdb_txn_begin(l->env, NULL, MDB_RDONLY, &txn) != 0)
        return 0;
    if (mdb_cursor_open(txn, 0, &c) == 0) {
        MDB_val k, v;
        while (mdb_cursor_get(c, &k, &v, MDB_NEXT) == 0 && v.mv_size >= sizeof(size_t)) {
            size_t n; /* each row is a list of page numbers after its length */
            memcpy(&n, v.mv_data, sizeof n);
            pages += n;
        }
        mdb_cursor_close(c);
    }
    mdb_txn_abort(txn);
    return pages * l->page_bytes;
}

/* Blocks up to `end`, and some more if there are. false: the medium has none. */
static bool take_blocks(struct lmdb *l, uint64_t end)
{
    mdb_filehandle_t fd;
    mdb_env_get_fd(l->env, &fd);
    for (uint64_t step = RESERVE_STEP;; step = 0) {
        assert(end > l->reserved);
        off_t from = (off_t)l->reserved, len = (off_t)(end + step - l->reserved);
        int r;
        do {
            r = fallocate(fd, FALLOC_FL_KEEP_SIZE, from, len);
        } while (r != 0 && errno == EINTR);
        if (r == 0) {
            l->reserved = end + step;
            return true;
        }
        if (errno != ENOSPC && errno != EDQUOT) {
            l->reserved = UINT64_MAX;
            return true;
        }
        if (step == 0)
            return false;
    }
}

#define PAGES_PER_PUT                                                                              \
    16                   /* at most, beside the bundle itself: paths through the trees, the head   \
                          */
#define ROWS_OF_PARTS 64 /* a bundle's bytes for one of rows and page headers of its parts */

uint64_t lmdb_put_pages(const struct lmdb *l, uint64_t len)
{
    return len + len / ROWS_OF_PARTS + PAGES_PER_PUT * l->page_bytes;
}

int lmdb_reserve(struct lmdb *l, uint64_t more)
{
    assert(l->page_bytes > 0);
    MDB_envinfo info;
    mdb_env_info(l->env, &info);
    uint64_t end = (info.me_last_pgno + 1) * l->page_bytes + l->putting + more + RESERVE;
    if (end <= l->reserved)
        return 0;
    if (!l->no_blocks) {
        if (take_blocks(l, end))
            return 0;
        l->no_blocks = true;
        l->free = free_bytes(l);
    }
    return l->free >= 2 * (l->putting + more) + RESERVE ? 0 : HELIO_ESPACE;
}

/* What no row has: of the file with its reserved blocks, and of the file system. */
static uint64_t medium_free(struct lmdb *l, mdb_filehandle_t fd, const struct statvfs *fs)
{
    MDB_envinfo info;
    struct stat file;
    mdb_env_info(l->env, &info);
    const uint64_t end = (info.me_last_pgno + 1) * l->page_bytes;
    const uint64_t blocks = fstat(fd, &file) == 0 ? (uint64_t)file.st_blocks * 512 : 0;
    return (uint64_t)fs->f_bavail * fs->f_frsize + (blocks > end ? blocks - end : 0) +
           free_bytes(l);
}

uint64_t lmdb_fits(struct store *s)
{
    struct lmdb *l = lmdb_of(s);
    struct statvfs fs;
    mdb_filehandle_t fd;
    mdb_env_get_fd(l->env, &fd);
    assert(l->txn == NULL);
    if (fstatvfs(fd, &fs) < 0 || fs.f_blocks == 0)
        return UINT64_MAX;
    const uint64_t all = medium_free(l, fd, &fs), free = all > 2 * RESERVE ? all - 2 * RESERVE : 0;
    return l->bytes + free / 100 * FITS_PERCENT;
}
