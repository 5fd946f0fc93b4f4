/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repair: what is damaged goes to a file, one JSON object a line with the rows' bytes in
 * hexadecimal; when that is on the medium, the rows are removed from the store, and damaged marks
 * and notes with them. A store whose pages cannot be walked is not repaired in place: what can be
 * read of it is exported.
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

/* In the child: all it writes is in the file before it goes on. */
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

static bool open_output(struct repair *r, const struct store_options_line *o, char *name,
                        size_t cap)
{
    char stamp[32];
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &tm);
    if (o->output != NULL)
        snprintf(name, cap, "%s", o->output);
    else
        snprintf(name, cap, "%s/damaged-%s.jsonl", o->directory, stamp);
    r->path = name;
    r->out = fopen(name, "w+x");
    if (r->out == NULL)
        fprintf(stderr, "helio-store: %s: %s\n", name, strerror(errno));
    return r->out != NULL;
}

static int finish_repair(const struct store_options_line *o, struct repair *r,
                         const struct tally *t)
{
    struct damaged_keys k = {0};
    if (t->failed || t->unreadable > 0) {
        fprintf(stderr,
                "helio-store: %s: its pages are damaged, which cannot be repaired in place; "
                "save what can be read with `helio-store export`, then begin with another "
                "directory\n",
                o->directory);
        return EXIT_FAILED;
    }
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
    if (o->json)
        printf("{\"repaired\":%" PRIu64 ",\"bundles\":%" PRIu64 "}\n", t->damaged, t->whole);
    else if (t->damaged == 0)
        printf("nothing is damaged; %" PRIu64 " bundles\n", t->whole);
    else
        printf("%" PRIu64 " damaged bundles are in %s and no more in the store; %" PRIu64
               " bundles stay\n",
               t->damaged, r->path, t->whole);
    return EXIT_DONE;
}

int command_repair(const struct store_options_line *o)
{
    struct repair r;
    char name[4096];
    if (!open_output(&r, o, name, sizeof name))
        return EXIT_FAILED;
    struct tally *t = walk_store(o->directory, save_row, &r);
    int code = t == NULL ? EXIT_FAILED : finish_repair(o, &r, t);
    fclose(r.out);
    tally_free(t);
    return code;
}
