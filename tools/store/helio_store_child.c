/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child process reads the store, because LMDB trusts the pages of its file. Its position and its
 * counts are in memory that both share, so the next child continues after the row at which the
 * former one ended. If two children end at one position, the walk ends.
 */
#include <string.h>

#include "base/err.h"
#include "os/process/child.h"
#include "tools/store/helio_store.h"

struct child {
    const char *directory;
    visit_row *visit;
    void *ctx;
    struct tally *tally;
};

static void *share_memory(size_t bytes)
{
    void *p = child_share(bytes);
    if (p == NULL)
        fprintf(stderr, "helio-store: out of memory\n");
    return p;
}

/* The signal that ended the child, 0, or < 0: there was none, which was said. */
static int run_apart(void (*run)(void *ctx), void *ctx)
{
    int sig = child_call(run, ctx);
    if (sig < 0)
        fprintf(stderr, "helio-store: no process: %s\n", helio_strerror(sig));
    return sig;
}

static int on_row(void *ctx, const struct store_row *row)
{
    struct child *c = ctx;
    struct tally *t = c->tally;
    if (row_is_damaged(row)) {
        t->damaged++;
    } else {
        t->whole++;
        t->bytes += row->bundle.len;
    }
    int stop = c->visit(c->ctx, t, row);
    fflush(stdout);
    return stop;
}

static void walk_child(void *ctx)
{
    struct child *c = ctx;
    char why[512];
    int rc = store_lmdb_walk(c->directory, &c->tally->at, on_row, c, why, sizeof why);
    if (rc == 0)
        return;
    if (rc < 0 || *why != '\0')
        fprintf(stderr, "helio-store: %s\n", *why != '\0' ? why : helio_strerror(rc));
    c->tally->failed = true;
}

struct tally *walk_store(const char *directory, visit_row *visit, void *ctx)
{
    struct tally *t = share_memory(sizeof *t);
    struct child c = {.directory = directory, .visit = visit, .ctx = ctx, .tally = t};
    while (t != NULL) {
        struct store_walk before = t->at;
        int sig = run_apart(walk_child, &c);
        t->failed = t->failed || sig < 0;
        if (sig <= 0)
            break;
        bool again = before.table == t->at.table && before.key == t->at.key;
        fprintf(stderr, "helio-store: %s/data.mdb: reading ends in %s", directory, strsignal(sig));
        if (again) {
            fprintf(stderr, "; what follows cannot be reached\n");
            t->failed = true;
            break;
        }
        fprintf(stderr, " at bundle %llu; going on behind it\n", (unsigned long long)t->at.key);
        t->unreadable++;
    }
    return t;
}

struct asking {
    const char *directory;
    struct store_about about;
    int rc;
    char why[512];
};

static void ask_store(void *ctx)
{
    struct asking *a = ctx;
    a->rc = store_lmdb_about(a->directory, &a->about, a->why, sizeof a->why);
}

int about_store(const char *directory, struct store_about *out, bool quiet)
{
    struct asking *a = share_memory(sizeof *a);
    if (a == NULL)
        return HELIO_ENOMEM;
    a->directory = directory;
    int sig = run_apart(ask_store, a), rc = sig != 0 ? HELIO_EFORMAT : a->rc;
    if (sig > 0)
        snprintf(a->why, sizeof a->why, "%s/data.mdb: its marks and notes cannot be read: %s",
                 directory, strsignal(sig));
    if (rc < 0 && !quiet && sig >= 0)
        fprintf(stderr, "helio-store: %s\n", a->why);
    *out = a->about;
    child_unshare(a, sizeof *a);
    return rc;
}

void tally_free(struct tally *t)
{
    child_unshare(t, sizeof *t);
}
