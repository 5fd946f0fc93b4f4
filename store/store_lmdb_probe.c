/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A check of the database before LMDB opens it. A child process maps the file and checks its pages.
 * If the medium fails while the map is read, SIGBUS ends the child, and the parent reports it. The
 * child's results are in memory that both share.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/store_lmdb_impl.h"
#include "store/store_lmdb_pages.h"

struct probe {
    int rc;
    char why[LMDB_WHY_MAX];
};

int lmdb_map_file(const char *path, const uint8_t **map, size_t *bytes)
{
    char file[4096];
    struct stat st;
    *map = NULL;
    *bytes = 0;
    snprintf(file, sizeof file, "%s" LMDB_DATA, path);
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return helio_from_errno(errno);
    int rc = fstat(fd, &st) < 0 ? helio_from_errno(errno) : st.st_size == 0 ? HELIO_ENOENT : 0;
    if (rc == 0) {
        void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
        rc = p == MAP_FAILED ? helio_from_errno(errno) : 0;
        *map = rc == 0 ? p : NULL;
        *bytes = rc == 0 ? (size_t)st.st_size : 0;
    }
    close(fd);
    return rc;
}

void lmdb_unmap_file(const uint8_t *map, size_t bytes)
{
    if (map != NULL)
        munmap((void *)(uintptr_t)map, bytes);
}

static void check_file(struct probe *p, const char *path, bool all)
{
    struct pages pages;
    const uint8_t *map;
    size_t bytes;
    p->rc = lmdb_map_file(path, &map, &bytes);
    if (p->rc < 0) {
        snprintf(p->why, sizeof p->why, "%s", helio_strerror(p->rc));
        return;
    }
    p->rc = pages_begin(&pages, map, bytes, false, p->why, sizeof p->why);
    if (p->rc == 0)
        p->rc = pages_check(&pages, all, p->why, sizeof p->why);
    lmdb_unmap_file(map, bytes);
}

static void be_the_child(struct probe *p, const char *path, bool all)
{
    static const int fatal[] = {SIGBUS, SIGSEGV, SIGABRT, SIGFPE};
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        signal(fatal[i], SIG_DFL);
    check_file(p, path, all);
    _exit(0);
}

/* 0: the child ended by itself; else the signal that ended it. */
static int wait_for(pid_t pid)
{
    int status = 0;
    pid_t done;
    do {
        done = waitpid(pid, &status, 0);
    } while (done < 0 && errno == EINTR);
    return done > 0 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

int lmdb_probe(const char *path, bool all, char *why, size_t cap)
{
    struct probe *p =
        mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return HELIO_ENOMEM;
    const pid_t pid = fork();
    if (pid == 0)
        be_the_child(p, path, all);
    if (pid < 0) /* no process for it: without one, a failing medium ends us */
        check_file(p, path, all);
    const int sig = pid > 0 ? wait_for(pid) : 0;
    int rc = sig != 0 ? HELIO_EFORMAT : p->rc;
    p->why[sizeof p->why - 1] = '\0';
    snprintf(why, cap, "%s%s", sig != 0 ? "reading it ends in " : p->why,
             sig != 0 ? strsignal(sig) : "");
    munmap(p, sizeof *p);
    return rc;
}

int store_lmdb_check(const char *path, char *why, size_t cap)
{
    return lmdb_probe(path, true, why, cap);
}
