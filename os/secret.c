/* SPDX-License-Identifier: Apache-2.0 */
/* The permissions are those of the file that was opened, not of its name. A pipe or a device (of a
 * shell's <(…), a service manager) on the command line has no readers but its own. */
#include "os/secret.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/secret.h"
#include "os/input_file.h"

typedef FILE *opener(const char *path, char *why, size_t why_cap);

static FILE *open_secret(const char *path, opener *opens, char *why, size_t why_cap)
{
    struct stat st;
    char reason[128];
    FILE *f = opens(path, reason, sizeof reason);
    if (f == NULL) {
        snprintf(why, why_cap, "%s: %s", path, reason);
    } else if (fstat(fileno(f), &st) != 0) {
        snprintf(why, why_cap, "%s: %s", path, strerror(errno));
    } else if (S_ISREG(st.st_mode) && (st.st_mode & S_IRWXO) != 0) {
        snprintf(why, why_cap,
                 "%s: all users may read or write it (mode %03o), and it is secret; chmod o= it",
                 path, (unsigned)(st.st_mode & 0777));
    } else {
        return f;
    }
    if (f != NULL)
        fclose(f);
    return NULL;
}

FILE *secret_file_open(const char *path, char *why, size_t why_cap)
{
    return open_secret(path, input_file_regular, why, why_cap);
}

static int take_line(const char *path, char *out, size_t len, size_t cap, char *why, size_t why_cap)
{
    size_t from = strspn(out, " \t\r\n");
    while (len > from && strchr(" \t\r\n", out[len - 1]) != NULL)
        len--;
    out[len] = '\0';
    if (len == from || len == cap - 1 || strpbrk(out + from, "\r\n") != NULL) {
        snprintf(why, why_cap, "%s: it should hold one line, of at most %zu characters", path,
                 cap - 2);
        memset(out, 0, cap);
        return HELIO_EINVAL;
    }
    memmove(out, out + from, len - from + 1);
    return (int)(len - from);
}

int secret_file_line(const char *path, char *out, size_t cap, char *why, size_t why_cap)
{
    FILE *f = strcmp(path, "-") == 0 ? stdin : open_secret(path, input_file_any, why, why_cap);
    if (f == NULL)
        return HELIO_EIO;
    if (f != stdin)
        setvbuf(f, NULL, _IONBF, 0); /* no copy of the secret stays in the stream's buffer */
    size_t len = fread(out, 1, cap - 1, f);
    int failed = ferror(f);
    if (f != stdin)
        fclose(f);
    out[len] = '\0';
    if (failed == 0 && strlen(out) == len)
        return take_line(path, out, len, cap, why, why_cap);
    snprintf(why, why_cap, "%s: %s", path, failed != 0 ? "cannot be read" : "it is no text");
    return failed != 0 ? HELIO_EIO : HELIO_EINVAL;
}

/* Pages of their own, since the kernel locks and leaves out whole pages. What can go wrong: memory;
 * a limit on locked memory, which the caller reports. */
void *secret_memory_new(size_t len, bool *locked)
{
    void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    const int before = errno;
    *locked = mlock(p, len) == 0;
    errno = before; /* its ENOMEM is about the limit of locked memory */
#ifdef MADV_DONTDUMP
    (void)madvise(p, len, MADV_DONTDUMP);
#endif
#ifdef MADV_WIPEONFORK
    (void)madvise(p, len, MADV_WIPEONFORK);
#endif
    return p;
}

void secret_memory_free(void *p, size_t len)
{
    if (p == NULL)
        return;
    secret_wipe(p, len);
    (void)munmap(p, len);
}
