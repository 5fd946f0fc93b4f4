/* SPDX-License-Identifier: Apache-2.0 */
/* Values over time as an SVG image: a panel for each parameter, one below the other. */
#ifndef TOOLS_CSTS_PLOT_H
#define TOOLS_CSTS_PLOT_H

#include <stdbool.h>
#include <stddef.h>

enum {
    PLOT_PANELS_MAX = 64,
    PLOT_POINTS_MAX = 4096, /* of a panel: with more, every second one is left out from then on */
    PLOT_NAME_MAX = 400
};

struct csts_plot;

struct csts_plot *plot_new(void); /* NULL: memory is out */
void plot_free(struct csts_plot *p);
/* A value at a time in seconds since 1970, ascending for each name. NAN is a gap. False: there are
 * PLOT_PANELS_MAX panels of other names, or memory is out: it is left out. */
bool plot_add(struct csts_plot *p, const char *name, double time, double value);
/* Writes the image to a file, which is replaced when it is complete. 0 or HELIO_E*. */
int plot_write(const struct csts_plot *p, const char *path);

#endif
