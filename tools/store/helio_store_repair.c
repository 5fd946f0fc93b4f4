/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repair: damaged rows are written to a file, one JSON object a line with the rows' bytes in
 * hexadecimal. When that is on the medium, the rows are removed from the store, with damaged marks
 * and notes. If the store's pages are damaged, all readable rows are first copied to a new
 * database, which replaces the old one when it is on the medium. The old one stays beside it under
 * another name.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/store/helio_store.h"

#define ERASE_BATCH 1000

struct damaged_keys {
    uint64_t *keys;
    size_t len, cap;
};

struct repair {
    FILE *out;
    const char *path;
    char stamp[32];             /* for names of files */
    struct store_rescue rescue; /* of damaged pages */
    bool rescued;
};

static void print_hex(FILE *out, const char *name, struct slice s)
{
    static const char digits[] = "0123456789abcdef";
    fprintf(out, ",\"%s\":\"", name);
    for (size_t i = 0; i < s.len; i++) {
        putc(digits[s.data[i] >> 4], out);
        putc(digits[s.data[i] & 15], out);
    }
    putc('"', out);
}

/* In the child: its output is in the file before it continues. */
static int save_row(void *ctx, struct tally *t, const struct store_row *row)
{
    const struct repair *r = ctx;
    if (!row_is_damaged(row))
        return 0;
    fprintf(r->out, "{\"key\":%" PRIu64 ",\"state\":\"%s\",\"aside\":%s", row->key,
            row_state_word(row), row->aside ? "true" : "false");
    print_hex(r->out, "head_row", row->row);
    print_hex(r->out, "bundle", row->bundle);
    fputs("}\n", r->out);
    if (fflush(r->out) == 0)
        return 0;
    fprintf(stderr, "helio-store: %s: %s\n", r->path, strerror(errno));
    t->failed = true;
    return 1;
}

/* The keys that are in the file: only these are removed. */
static bool read_keys(FILE *in, struct damaged_keys *k)
{
    char *line = NULL;
    size_t cap = 0;
    bool good = true;
    rewind(in);
    while (good && getline(&line, &cap, in) > 0) {
        uint64_t key;
        if (sscanf(line, "{\"key\":%" SCNu64, &key) != 1)
            continue;
        if (k->len == k->cap) {
            size_t larger = k->cap == 0 ? 1024 : 2 * k->cap;
            uint64_t *grown = realloc(k->keys, larger * sizeof *grown);
            good = grown != NULL;
            k->keys = good ? grown : k->keys;
            k->cap = good ? larger : k->cap;
        }
        if (good)
            k->keys[k->len++] = key;
    }
    free(line);
    return good;
}

static int erase_damaged(struct store *s, const struct damaged_keys *k)
{
    int rc = s->ops->begin(s);
    if (rc == 0)
        rc = store_lmdb_erase_marks(s);
    for (size_t i = 0; i < k->len && rc == 0; i++) {
        rc = store_lmdb_erase(s, k->keys[i]);
        if (rc == 0 && (i + 1) % ERASE_BATCH == 0 && (rc = s->ops->commit(s)) == 0)
            rc = s->ops->begin(s);
    }
    if (rc == 0)
        return s->ops->commit(s);
    s->ops->abort(s);
    return rc;
}

/* 0: the rows are out of the store. */
static int remove_rows(const char *directory, const struct damaged_keys *k)
{
    char why[512] = "";
    struct store *s;
    struct store_options o = {.path = directory, .limit_bytes = UINT64_C(1) << 40};
    int rc = store_lmdb.open(&s, &o, why, sizeof why);
    if (rc == 0) {
        rc = erase_damaged(s, k);
        s->ops->close(s);
    }
    if (rc < 0)
        fprintf(stderr, "helio-store: %s\n", *why != '\0' ? why : helio_strerror(rc));
    return rc;
}

static void take_time(struct repair *r)
{
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(r->stamp, sizeof r->stamp, "%Y%m%dT%H%M%SZ", &tm);
}

/* ---- damaged pages ---- */

/* The rescued database gets the name of the damaged one, which is renamed. */
static bool change_places(const char *directory, const char *rescued, const char *aside)
{
    char data[4096], fresh[4200], lock[4200];
    snprintf(data, sizeof data, "%s/data.mdb", directory);
    snprintf(fresh, sizeof fresh, "%s/data.mdb", rescued);
    snprintf(lock, sizeof lock, "%s/lock.mdb", rescued);
    if (rename(data, aside) < 0 || rename(fresh, data) < 0) {
        fprintf(stderr, "helio-store: %s: %s\n", data, strerror(errno));
        return false;
    }
    unlink(lock);
    rmdir(rescued);
    return true;
}

static bool rescue_rows(const char *directory, struct repair *r, const char *fault)
{
    char to[4096], aside[4096], why[512];
    snprintf(to, sizeof to, "%s/rescue-%s", directory, r->stamp);
    snprintf(aside, sizeof aside, "%s/damaged-%s.mdb", directory, r->stamp);
    if (store_lmdb_rescue(directory, to, &r->rescue, why, sizeof why) < 0) {
        fprintf(stderr, "helio-store: %s/data.mdb: nothing can be read of it: %s\n", directory,
                why);
        return false;
    }
    fprintf(stderr,
            "helio-store: %s/data.mdb: its pages are damaged: %s; %" PRIu64
            " rows are in a new database%s, those of %" PRIu64
            " pages are lost; the old one is %s\n",
            directory, fault, r->rescue.rows,
            r->rescue.older ? ", as it was before the last commit" : "", r->rescue.lost, aside);
    r->rescued = true;
    return change_places(directory, to, aside);
}

/* false: it has no pages that can be walked, which was said. */
static bool repair_pages(const char *directory, struct repair *r)
{
    char fault[512];
    int rc = store_lmdb_check(directory, fault, sizeof fault);
    if (rc == 0)
        return true;
    if (rc == HELIO_EFORMAT)
        return rescue_rows(directory, r, fault);
    fprintf(stderr, "helio-store: %s/data.mdb: %s\n", directory, fault);
    return false;
}

/* ---- damaged rows ---- */

static bool open_output(struct repair *r, const struct store_options_line *o, char *name,
                        size_t cap)
{
    if (o->output != NULL)
        snprintf(name, cap, "%s", o->output);
    else
        snprintf(name, cap, "%s/damaged-%s.jsonl", o->directory, r->stamp);
    r->path = name;
    r->out = fopen(name, "w+x");
    if (r->out == NULL)
        fprintf(stderr, "helio-store: %s: %s\n", name, strerror(errno));
    return r->out != NULL;
}

static void print_repair(const struct store_options_line *o, const struct repair *r,
                         const struct tally *t)
{
    if (o->json)
        printf("{\"repaired\":%" PRIu64 ",\"bundles\":%" PRIu64
               ",\"rescued\":%s,\"pages_lost\":%" PRIu64 "}\n",
               t->damaged, t->whole, r->rescued ? "true" : "false", r->rescue.lost);
    else if (t->damaged == 0)
        printf("%s; %" PRIu64 " bundles\n",
               r->rescued ? "the database was made anew" : "nothing is damaged", t->whole);
    else
        printf("%" PRIu64 " damaged bundles are in %s and no more in the store; %" PRIu64
               " bundles stay\n",
               t->damaged, r->path, t->whole);
}

static int finish_repair(const struct store_options_line *o, struct repair *r,
                         const struct tally *t)
{
    struct damaged_keys k = {0};
    if (t->failed || t->unreadable > 0)
        return EXIT_FAILED; /* it was said */
    if (fsync(fileno(r->out)) < 0 || !read_keys(r->out, &k)) {
        fprintf(stderr, "helio-store: %s: %s\n", r->path, strerror(errno));
        free(k.keys);
        return EXIT_FAILED;
    }
    int rc = remove_rows(o->directory, &k);
    free(k.keys);
    if (rc < 0)
        return EXIT_FAILED;
    if (t->damaged == 0)
        unlink(r->path);
    print_repair(o, r, t);
    return EXIT_DONE;
}

int command_repair(const struct store_options_line *o)
{
    struct repair r = {0};
    char name[4096];
    take_time(&r);
    if (!repair_pages(o->directory, &r) || !open_output(&r, o, name, sizeof name))
        return EXIT_FAILED;
    struct tally *t = walk_store(o->directory, save_row, &r);
    int code = t == NULL ? EXIT_FAILED : finish_repair(o, &r, t);
    fclose(r.out);
    tally_free(t);
    return code;
}
