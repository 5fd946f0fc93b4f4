/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening an LMDB store: the files are checked before anything is trusted, the environment and its
 * tables are opened, an older format is converted, and every head is compared with its check value.
 * Damaged heads are moved to a separate table, and everything else continues without them.
 *
 * Errors name the file and what to do: a database that is missing, empty or truncated although
 * bundles were stored in it (LMDB would create a new one, or end with SIGBUS), a page tree that
 * cannot be read, a format of a later release. None of these changes the files.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store_lmdb_impl.h"
#include "store/store_lmdb_pages.h"

#define MARKS_DEFAULT 1000000
#define SLACK_BYTES (UINT64_C(1) << 30)
#define FORMAT_NOTE "format"

void lmdb_free(struct lmdb *l)
{
    if (l->env != NULL) {
        mdb_env_sync(l->env, 1);
        mdb_env_close(l->env);
    }
    free(l->file);
    free(l);
}

/* ---- the files ---- */

#define PAGE_BYTES_AT 40 /* in the first page: the length of all pages, in 4 bytes */

/* Is there nothing where this page begins? */
static bool page_is_nothing(int fd, off_t at, uint8_t begin[512])
{
    static const uint8_t zeros[512];
    memset(begin, 0, 512);
    return pread(fd, begin, 512, at) >= 0 && memcmp(begin, zeros, 512) == 0;
}

/* A database begins with two pages that describe it, written before the first sync. Is one of them
 * not there? */
static bool never_begun(const char *file)
{
    uint8_t begin[512];
    uint32_t page;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool nothing = page_is_nothing(fd, 0, begin);
    memcpy(&page, begin + PAGE_BYTES_AT, sizeof page);
    if (!nothing && page >= 512 && page <= 65536 && (page & (page - 1)) == 0)
        nothing = page_is_nothing(fd, page, begin);
    close(fd);
    return nothing;
}

/* Was a store created here before, and is its database complete, according to its length? 0, or
 * HELIO_EFORMAT. *size: of the database; 0: there is none yet. If a first start lost power, its
 * remains are replaced: nothing was stored in them. */
static int look_at_files(const struct lmdb *l, const struct store_options *o, off_t *size,
                         char *why, size_t cap)
{
    char marker[4096];
    struct stat st;
    *size = stat(l->file, &st) == 0 ? st.st_size : 0;
    snprintf(marker, sizeof marker, "%s" LMDB_FORMAT, o->path);
    const bool made = stat(marker, &st) == 0;
    if (*size > 0 && !made && never_begun(l->file)) {
        *size = 0;
        return truncate(l->file, 0) < 0 ? errno : 0;
    }
    if (*size > 0 || !made)
        return 0;
    snprintf(why, cap,
             "%s is missing or empty, but a store was here; restore it, or remove %s to begin an "
             "empty one",
             l->file, marker);
    return HELIO_EFORMAT;
}

/* The names of its files are on the medium, too. */
static int sync_directory(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == EACCES ? 0 : errno;                /* another program's, created long ago */
    int rc = fsync(fd) < 0 && errno != EINVAL ? errno : 0; /* EINVAL: it has no such thing */
    close(fd);
    return rc;
}

static int sync_names(const struct store_options *o)
{
    char parent[4096];
    snprintf(parent, sizeof parent, "%s/..", o->path);
    int rc = sync_directory(o->path);
    return rc == 0 ? sync_directory(parent) : rc;
}

/* From now on a store without its database is one that lost it. */
static int write_marker(const struct store_options *o)
{
    char marker[4096], text[16];
    snprintf(marker, sizeof marker, "%s" LMDB_FORMAT, o->path);
    int fd = open(marker, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == EEXIST ? 0 : errno;
    int len = snprintf(text, sizeof text, "%d\n", STORE_FORMAT);
    int rc = write(fd, text, (size_t)len) == len ? 0 : EIO;
    if (o->durability == STORE_SYNC && rc == 0 && fsync(fd) < 0)
        rc = errno;
    close(fd);
    return rc == 0 && o->durability == STORE_SYNC ? sync_names(o) : rc;
}

/* A file may end before the last page of its database: pages that LMDB took and gave back within
 * one transaction are never written. lmdb_probe has seen that all that is missing is free. */
static int make_whole(struct lmdb *l)
{
    MDB_envinfo info;
    MDB_stat st;
    mdb_filehandle_t fd;
    struct stat file;
    mdb_env_info(l->env, &info);
    mdb_env_stat(l->env, &st);
    mdb_env_get_fd(l->env, &fd);
    l->page_bytes = st.ms_psize;
    uint64_t need = ((uint64_t)info.me_last_pgno + 1) * st.ms_psize;
    if (fstat(fd, &file) < 0)
        return errno;
    if ((uint64_t)file.st_size >= need)
        return 0;
    return ftruncate(fd, (off_t)need) < 0 ? errno : 0;
}

/* ---- the database ---- */

#define LOCK_BYTES 8192 /* of lock.mdb, as LMDB creates it for its default of 126 readers */

/* LMDB writes the lock file through a map. Without space on the medium (tmpfs) the process would
 * end with SIGBUS. Allocating the space first makes it an ordinary error. */
static int reserve_lock(const char *path)
{
    char name[4096];
    snprintf(name, sizeof name, "%s/lock.mdb", path);
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    int rc = posix_fallocate(fd, 0, LOCK_BYTES);
    close(fd);
    return rc == EINVAL || rc == EOPNOTSUPP ? 0 : rc; /* a medium that cannot: as before */
}

static int open_env(struct lmdb *l, const struct store_options *o)
{
    unsigned flags = MDB_NOTLS;
    if (o->durability != STORE_SYNC)
        flags |= MDB_NOSYNC;
    /* Address space only. The file grows beyond its content: bench_store measures by how much. */
    uint64_t map = o->limit_bytes > UINT64_MAX / 8 ? UINT64_C(1) << 45 : o->limit_bytes * 4;
    map = (map + SLACK_BYTES) & ~UINT64_C(0xfffff);
    int dead, rc = mdb_env_create(&l->env);
    if (rc != 0)
        return rc;
    if ((rc = mdb_env_set_mapsize(l->env, (size_t)map)) != 0 ||
        (rc = mdb_env_set_maxdbs(l->env, LMDB_TABLES)) != 0 || (rc = reserve_lock(o->path)) != 0 ||
        (rc = mdb_env_open(l->env, o->path, flags, 0600)) != 0)
        return rc;
    return mdb_reader_check(l->env, &dead);
}

/* 0 also when there is none: a new store, or one of format 1. */
static int read_format(MDB_txn *txn, unsigned *format)
{
    MDB_dbi notes;
    MDB_val k = val_of(FORMAT_NOTE, strlen(FORMAT_NOTE)), row;
    struct slice value;
    *format = 0;
    int rc = mdb_dbi_open(txn, "notes", 0, &notes);
    if (rc == 0)
        rc = mdb_get(txn, notes, &k, &row);
    if (rc != 0)
        return rc == MDB_NOTFOUND ? 0 : rc;
    if (store_note_read(FORMAT_NOTE, slice_of_val(&row), &value) == 0 && value.len == 1)
        *format = value.data[0];
    return 0;
}

static int write_format(struct lmdb *l, MDB_txn *txn)
{
    const uint8_t format = STORE_FORMAT;
    uint8_t row[STORE_NOTE_ROW_MAX];
    MDB_val k = val_of(FORMAT_NOTE, strlen(FORMAT_NOTE));
    MDB_val v = val_of(row, store_note_write(FORMAT_NOTE, slice_of(&format, 1), row));
    return mdb_put(txn, l->notes, &k, &v, 0);
}

static int table_lost(const struct lmdb *l, const char *name, char *why, size_t cap)
{
    snprintf(
        why, cap,
        "%s is damaged: its table \"%s\" is gone; nothing was changed; restore it, or save what "
        "is left with `helio-store repair`",
        l->file, name);
    return HELIO_EFORMAT;
}

/* All tables of a format are made together: one that is missing later was lost. */
static int make_tables(struct lmdb *l, MDB_txn *txn, unsigned format, char *why, size_t cap)
{
    const struct {
        const char *name;
        MDB_dbi *table;
    } tables[] = {{"heads2", &l->heads},
                  {"bundles", &l->bundles},
                  {"ends", &l->ends},
                  {"notes", &l->notes},
                  {"aside", &l->aside}};
    if (mdb_dbi_open(txn, "heads2", 0, &l->heads) == 0 &&
        mdb_dbi_open(txn, "notes", 0, &l->notes) == MDB_NOTFOUND)
        return table_lost(l, "notes", why, cap);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const unsigned flags = format >= STORE_FORMAT_TABLES ? 0 : MDB_CREATE;
        int rc = mdb_dbi_open(txn, tables[i].name, flags, tables[i].table);
        if (rc == MDB_NOTFOUND)
            return table_lost(l, tables[i].name, why, cap);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* Earlier formats had each mark a second time, sorted by its id. */
static int drop_marks(MDB_txn *txn)
{
    MDB_dbi marks;
    int rc = mdb_dbi_open(txn, "marks", 0, &marks);
    return rc == 0 ? mdb_drop(txn, marks, 1) : rc == MDB_NOTFOUND ? 0 : rc;
}

static int open_tables(struct lmdb *l, char *why, size_t cap)
{
    MDB_txn *txn;
    unsigned format;
    int rc = mdb_txn_begin(l->env, NULL, 0, &txn);
    if (rc != 0)
        return rc;
    rc = read_format(txn, &format);
    if (rc == 0 && format > STORE_FORMAT) {
        snprintf(why, cap,
                 "%s is of format %u, from a later release; this one reads up to %d: use that "
                 "release, or another path",
                 l->file, format, STORE_FORMAT);
        rc = HELIO_EFORMAT;
    }
    if (rc == 0)
        rc = make_tables(l, txn, format, why, cap);
    if (rc == 0 && format != STORE_FORMAT && (rc = drop_marks(txn)) == 0)
        rc = write_format(l, txn);
    if (rc == 0)
        return mdb_txn_commit(txn);
    mdb_txn_abort(txn);
    return rc;
}

/* ---- the heads ---- */

int lmdb_put_aside(struct lmdb *l, MDB_txn *txn, const MDB_val *key, MDB_val *row)
{
    uint8_t name[16] = {'h'};
    size_t len = key->mv_size < sizeof name - 1 ? key->mv_size : sizeof name - 1;
    memcpy(name + 1, key->mv_data, len);
    MDB_val k = val_of(name, 1 + len);
    return mdb_put(txn, l->aside, &k, row, 0);
}

static bool head_whole(const MDB_val *k, const MDB_val *v, uint64_t *bytes)
{
    struct store_head h;
    if (k->mv_size != 8 || store_head_read(store_number_read(k->mv_data), slice_of_val(v), &h) < 0)
        return false;
    *bytes += h.bytes;
    return true;
}

/* Sums the bundles' bytes; with `move`, the damaged heads go to the table of those set aside. */
static int walk_heads(struct lmdb *l, bool move, uint64_t *bad)
{
    MDB_txn *txn;
    MDB_cursor *c;
    MDB_val k, v;
    int rc = mdb_txn_begin(l->env, NULL, move ? 0 : MDB_RDONLY, &txn);
    if (rc != 0)
        return rc;
    *bad = l->bytes = 0;
    if ((rc = mdb_cursor_open(txn, l->heads, &c)) != 0) {
        mdb_txn_abort(txn);
        return rc;
    }
    while (rc == 0 && (rc = mdb_cursor_get(c, &k, &v, MDB_NEXT)) == 0) {
        if (head_whole(&k, &v, &l->bytes))
            continue;
        ++*bad;
        if (move && (rc = lmdb_put_aside(l, txn, &k, &v)) == 0)
            rc = mdb_cursor_del(c, 0);
    }
    mdb_cursor_close(c);
    if (rc == MDB_NOTFOUND && move)
        return mdb_txn_commit(txn);
    mdb_txn_abort(txn);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

/* Keys in use, and the number of heads set aside. */
static int count_rows(struct lmdb *l)
{
    MDB_txn *txn;
    MDB_stat st;
    int rc = mdb_txn_begin(l->env, NULL, MDB_RDONLY, &txn);
    if (rc != 0)
        return rc;
    const MDB_dbi tables[] = {l->heads, l->bundles, l->aside};
    for (size_t i = 0; i < sizeof tables / sizeof *tables && rc == 0; i++) {
        MDB_cursor *c;
        MDB_val k, v;
        if ((rc = mdb_cursor_open(txn, tables[i], &c)) != 0)
            break;
        rc = mdb_cursor_get(c, &k, &v, MDB_LAST);
        if (rc == 0 && k.mv_size >= 8) {
            const size_t at = tables[i] == l->aside ? k.mv_size - 8 : 0;
            uint64_t key = store_number_read((uint8_t *)k.mv_data + at);
            l->last_key = key > l->last_key && key != UINT64_MAX ? key : l->last_key;
        }
        rc = rc == MDB_NOTFOUND ? 0 : rc;
        mdb_cursor_close(c);
    }
    if (rc == 0 && (rc = mdb_stat(txn, l->aside, &st)) == 0)
        l->damaged = st.ms_entries;
    mdb_txn_abort(txn);
    return rc;
}

static int read_heads(struct lmdb *l)
{
    uint64_t bad;
    int rc = walk_heads(l, false, &bad);
    if (rc == 0 && bad > 0)
        rc = walk_heads(l, true, &bad);
    return rc == 0 ? count_rows(l) : rc;
}

/* ---- all of it ---- */

/* LMDB does not say where its map is: the list of tables is one page, whose number we know. */
static int find_map(struct lmdb *l)
{
    MDB_txn *txn;
    MDB_dbi tables;
    MDB_cursor *c = NULL;
    MDB_val k, v;
    MDB_envinfo info;
    int rc = mdb_txn_begin(l->env, NULL, MDB_RDONLY, &txn);
    if (rc != 0)
        return rc;
    rc = mdb_dbi_open(txn, NULL, 0, &tables);
    if (rc == 0 && (rc = mdb_cursor_open(txn, tables, &c)) == 0)
        rc = mdb_cursor_get(c, &k, &v, MDB_FIRST);
    if (rc == 0) {
        l->map = pages_map(k.mv_data, (uint32_t)l->page_bytes);
        mdb_env_info(l->env, &info);
        l->map_bytes = info.me_mapsize;
    }
    if (c != NULL)
        mdb_cursor_close(c);
    mdb_txn_abort(txn);
    return rc;
}

static bool is_ours(int rc)
{
    return rc < 0 && rc > -100;
}

static int open_all(struct lmdb *l, const struct store_options *o, char *why, size_t cap)
{
    off_t size;
    int rc = look_at_files(l, o, &size, why, cap);
    if (rc == 0 && size > 0) {
        char reason[LMDB_WHY_MAX];
        rc = lmdb_probe(o->path, false, reason, sizeof reason);
        if (rc < 0)
            snprintf(why, cap,
                     "%s is damaged: %s; nothing was changed; restore it, or save what is left "
                     "with `helio-store repair %s`",
                     l->file, reason, o->path);
    }
    if (rc == 0)
        rc = open_env(l, o);
    if (rc == 0)
        rc = make_whole(l);
    if (rc == 0)
        rc = open_tables(l, why, cap);
    if (rc == 0)
        rc = find_map(l);
    if (rc == 0)
        rc = lmdb_convert(l);
    if (rc == 0)
        rc = lmdb_ahead_restore(l);
    if (rc == 0)
        rc = read_heads(l);
    return rc == 0 ? write_marker(o) : rc;
}

int lmdb_open(struct store **out, const struct store_options *o, char *why, size_t why_cap)
{
    struct lmdb *l = calloc(1, sizeof *l);
    char *file = malloc(strlen(o->path) + sizeof LMDB_DATA);
    *why = '\0';
    if (l == NULL || file == NULL) {
        free(l);
        free(file);
        snprintf(why, why_cap, "out of memory");
        return HELIO_ENOMEM;
    }
    strcat(strcpy(file, o->path), LMDB_DATA);
    l->file = file;
    l->store.ops = &store_lmdb;
    l->limit = o->limit_bytes;
    l->marks_max = o->marks_max > 0 ? o->marks_max : MARKS_DEFAULT;
    if (mkdir(o->path, 0700) < 0 && errno != EEXIST) {
        snprintf(why, why_cap, "%s: %s", o->path, strerror(errno));
        lmdb_free(l);
        return HELIO_EIO;
    }
    int rc = open_all(l, o, why, why_cap);
    if (rc != 0) {
        if (*why == '\0')
            snprintf(why, why_cap, "%s: %s", o->path,
                     is_ours(rc) ? helio_strerror(rc) : mdb_strerror(rc));
        lmdb_free(l);
        return is_ours(rc) ? rc : lmdb_error(rc);
    }
    *out = &l->store;
    return 0;
}
