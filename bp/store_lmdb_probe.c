/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look at the database by somebody who may die of it: LMDB trusts the pages of its file, so that
 * damaged ones can end the reader by a signal. A child process reads first what the node would; how
 * it ends is the answer. It opens the environment for reading and takes no lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bp/store_lmdb_impl.h"

enum {
    PROBE_WHOLE = 0,
    PROBE_ERROR = 64
}; /* exit codes; LMDB's errors are told by their distance */

/* Reads a byte of every page of the value, though nobody wants it. */
static void touch_bytes(const MDB_val *v)
{
    const volatile uint8_t *p = v->mv_data;
    for (size_t i = 0; i < v->mv_size; i += 512)
        (void)p[i];
    if (v->mv_size > 0)
        (void)p[v->mv_size - 1];
}

static int read_table(MDB_txn *txn, MDB_dbi table, bool values)
{
    MDB_cursor *c;
    MDB_val k, v;
    int rc = mdb_cursor_open(txn, table, &c);
    if (rc != 0)
        return rc;
    while ((rc = mdb_cursor_get(c, &k, &v, MDB_NEXT)) == 0) {
        touch_bytes(&k);
        if (values)
            touch_bytes(&v);
    }
    mdb_cursor_close(c);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

static int read_tables(MDB_txn *txn, bool all)
{
    static const char *const names[] = {"heads2", "heads", "marks",  "ends",
                                        "notes",  "aside", "bundles"};
    int rc = read_table(txn, 0, true); /* the list of free pages */
    for (size_t i = 0; i < sizeof names / sizeof *names && rc == 0; i++) {
        MDB_dbi table;
        rc = mdb_dbi_open(txn, names[i], 0, &table);
        if (rc == 0)
            rc = read_table(txn, table, all || strcmp(names[i], "bundles") != 0);
        else if (rc == MDB_NOTFOUND)
            rc = 0;
    }
    return rc;
}

static int read_database(const char *path, bool all)
{
    MDB_env *env;
    MDB_txn *txn;
    int rc = mdb_env_create(&env);
    if (rc == 0)
        rc = mdb_env_set_maxdbs(env, LMDB_TABLES);
    if (rc == 0)
        rc = mdb_env_open(env, path, MDB_RDONLY | MDB_NOLOCK | MDB_NOTLS, 0600);
    if (rc == 0)
        rc = mdb_txn_begin(env, NULL, MDB_RDONLY, &txn);
    return rc == 0 ? read_tables(txn, all) : rc;
}

static void be_the_child(const char *path, bool all)
{
    static const int fatal[] = {SIGBUS, SIGSEGV, SIGABRT, SIGFPE};
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        signal(fatal[i], SIG_DFL);
    int null = open("/dev/null", O_WRONLY);
    if (null >= 0)
        dup2(null, STDERR_FILENO); /* its last words are the parent's to say */
    int rc = read_database(path, all);
    int code = rc - MDB_KEYEXIST; /* the first of LMDB's errors, which go down from 0 … */
    if (rc == 0)
        _exit(PROBE_WHOLE);
    _exit(rc >= MDB_KEYEXIST && rc <= MDB_LAST_ERRCODE ? PROBE_ERROR + code : PROBE_ERROR - 1);
}

int lmdb_probe(const char *path, bool all, char *why, size_t cap)
{
    int status = 0;
    pid_t pid = fork(), done;
    if (pid < 0)
        return 0; /* no process for it: the node itself will see */
    if (pid == 0)
        be_the_child(path, all);
    do {
        done = waitpid(pid, &status, 0);
    } while (done < 0 && errno == EINTR);
    if (done < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == PROBE_WHOLE))
        return 0;
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    if (WIFSIGNALED(status))
        snprintf(why, cap, "reading it ends in %s", strsignal(WTERMSIG(status)));
    else
        snprintf(why, cap, "%s",
                 code >= PROBE_ERROR ? mdb_strerror(MDB_KEYEXIST + code - PROBE_ERROR)
                                     : "it cannot be read");
    return HELIO_EFORMAT;
}
