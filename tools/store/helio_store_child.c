/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child process does the reading, since LMDB trusts the pages of its file. Its place and its
 * counts lie in memory that both share, so that the next child goes on behind the row at which one
 * was ended. Two ends at one place are the end of the walk.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/store/helio_store.h"

struct child {
    const char *directory;
    visit_row *visit;
    void *ctx;
    struct tally *tally;
};

static void *share_memory(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p != MAP_FAILED)
        return p;
    fprintf(stderr, "helio-store: out of memory\n");
    return NULL;
}

static void be_the_child(void (*run)(void *ctx), void *ctx)
{
    static const int fatal[] = {SIGBUS, SIGSEGV, SIGABRT};
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        signal(fatal[i], SIG_DFL);
    run(ctx);
    fflush(stdout);
    _exit(0);
}

/* The signal that ended the child, 0, or -1: there was none, which was said. */
static int run_apart(void (*run)(void *ctx), void *ctx)
{
    int status = 0;
    fflush(stdout);
    pid_t pid = fork(), done;
    if (pid < 0) {
        fprintf(stderr, "helio-store: no process: %s\n", strerror(errno));
        return -1;
    }
    if (pid == 0)
        be_the_child(run, ctx);
    do {
        done = waitpid(pid, &status, 0);
    } while (done < 0 && errno == EINTR);
    /* a sanitizer ends its process by an exit code */
    return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) != 0 ? SIGSEGV : 0;
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
    munmap(a, sizeof *a);
    return rc;
}

void tally_free(struct tally *t)
{
    if (t != NULL)
        munmap(t, sizeof *t);
}
