/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder ../lib/heliograph is a Python program that runs the module which its first argument
 * names. Python is the user's, else the system's, since one's own may lack what the system's has.
 * What can go wrong: no folder, no Python, no matplotlib or Jinja2 (exit code PYTHON_LACKS).
 */
#include "os/process/python_run.h"

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "os/process/child.h"

#define PATH_BYTES 4096
#define PYTHON_LACKS 77
#define SAY(error, ...) snprintf(error, PYTHON_ERROR_MAX, __VA_ARGS__)

/* The same in the build's folder and where it is installed. */
static int find_package(const char *option, char path[PATH_BYTES], char *error)
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_BYTES - 64);
    for (int up = 0; n > 0 && up < 2; up++) {
        while (n > 0 && path[n - 1] != '/')
            n--;
        n -= n > 0;
    }
    if (n >= 0)
        snprintf(path + n, 64, "/lib/heliograph");
    char script[PATH_BYTES + 16]; // the folder alone may be of another package
    snprintf(script, sizeof script, "%s/__main__.py", n >= 0 ? path : "");
    if (n >= 0 && access(script, R_OK) == 0)
        return 0;
    SAY(error, "%s needs %.300s, which is not there: in Debian the package heliograph-lab has it",
        option, n >= 0 ? script : "its Python part");
    return HELIO_EIO;
}

int python_run(const char *option, const char *module, const char *const *arguments, size_t count,
               char error[PYTHON_ERROR_MAX])
{
    char path[PATH_BYTES];
    const char *argv[PYTHON_ARGUMENTS_MAX + 5] = {"python3", "-B", path, module};
    error[0] = '\0';
    if (find_package(option, path, error) != 0)
        return HELIO_EIO;
    for (size_t i = 0; i < count && i < PYTHON_ARGUMENTS_MAX; i++)
        argv[4 + i] = arguments[i];
    int code = child_run(argv);
    if (code == -1 || code == 127 || code == PYTHON_LACKS) {
        argv[0] = "/usr/bin/python3";
        code = child_run(argv);
    }
    if (code == PYTHON_LACKS)
        SAY(error,
            "%s needs matplotlib and Jinja2 for Python 3 (tools/setup.sh lab, or in Debian: "
            "apt-get install heliograph-lab)",
            option);
    else if (code == -1 || code == 127)
        SAY(error, "%s needs Python 3 with matplotlib and Jinja2", option);
    return code == 0 ? 0 : HELIO_EIO;
}
