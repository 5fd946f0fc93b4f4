/* SPDX-License-Identifier: Apache-2.0 */
/* The kind is that of the file that was opened, not of its name. What can go wrong: there is no
 * such file, or it may not be read; it is a pipe without a writer, for which a plain open waits. */
#include "os/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *kind_text(mode_t mode)
{
    return S_ISDIR(mode)    ? "a directory"
           : S_ISFIFO(mode) ? "a pipe"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

static int check_kind(int fd, bool regular, char *why, size_t why_cap)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || fcntl(fd, F_SETFL, 0) != 0) {
        snprintf(why, why_cap, "%s", strerror(errno));
        return errno;
    }
    if (!regular || S_ISREG(st.st_mode))
        return 0;
    snprintf(why, why_cap, "%s, not a regular file", kind_text(st.st_mode));
    return EINVAL;
}

static FILE *open_file(const char *path, bool regular, char *why, size_t why_cap)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int error = fd < 0 ? errno : 0;
    FILE *f = NULL;
    if (fd >= 0)
        error = check_kind(fd, regular, why, why_cap);
    else
        snprintf(why, why_cap, "%s", strerror(error));
    if (error == 0 && (f = fdopen(fd, "rb")) == NULL) {
        error = errno;
        snprintf(why, why_cap, "%s", strerror(error));
    }
    if (f == NULL && fd >= 0)
        close(fd);
    errno = error;
    return f;
}

FILE *input_file_regular(const char *path, char *why, size_t why_cap)
{
    return open_file(path, true, why, why_cap);
}

FILE *input_file_any(const char *path, char *why, size_t why_cap)
{
    return open_file(path, false, why, why_cap);
}
