/* SPDX-License-Identifier: Apache-2.0 */
/* The logs in a folder of results, as helio-lab and helio-sim --log-dir leave it. */
#ifndef TOOLS_ANALYZE_FOLDER_H
#define TOOLS_ANALYZE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

/* Is there a folder of that name? */
bool analyze_is_folder(const char *path);

/* The paths of its segment, bundle and drop logs (*.segments.csv, *.bundles.csv, *.drops.csv, also
 * with .gz behind them), by name; the caller owns the list and each path. The count; 0: there are
 * none, it cannot be read or there is no memory, and then there is no list. */
size_t analyze_folder_logs(const char *path, char ***out);

#endif
