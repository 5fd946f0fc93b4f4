/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of programs that are written in Python (drawing): the package beside the program. */
#ifndef OS_PYTHON_RUN_H
#define OS_PYTHON_RUN_H

#include <stddef.h>

#define PYTHON_ARGUMENTS_MAX 600
#define PYTHON_ERROR_MAX 512

/* Runs `python3 ../lib/heliograph MODULE ARGUMENTS` (relative to the program's folder) and waits
 * for it. It writes its own errors to standard error. `option` is the option that needs it, for
 * messages. Returns 0; HELIO_EIO: `error` has the reason unless it is empty. */
int python_run(const char *option, const char *module, const char *const *arguments, size_t count,
               char error[PYTHON_ERROR_MAX]);

#endif
