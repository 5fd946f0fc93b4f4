/* SPDX-License-Identifier: Apache-2.0 */
/* The station's figures: a table of names and values in a file, and where a value is a metric, the
 * text of a node's metrics. */
#ifndef TOOLS_CSTS_FIGURES_H
#define TOOLS_CSTS_FIGURES_H

#include "csts/pdu.h"
#include "tools/csts/csts_value.h"

enum { FIGURES_MAX = 10000, FIGURES_LINE = 2048, FIGURES_FILE_MAX = 16 << 20 };

struct figure {
    struct csts_name name;
    enum figure_type type;
    char *value; /* "": unavailable; "metric:NAME" */
};
struct figures {
    struct figure *all;
    size_t len, cap;
};

/* Reads a table: the header "resource,instance,parameter,type,value", then a line for each. False:
 * `why` (cap characters) says what is wrong in which line; *out is empty then. */
bool figures_parse(struct slice text, struct figures *out, char *why, size_t cap);
void figures_free(struct figures *f);

/* The value of a metric, by its name with its labels as the text has them ("x_total{link=\"a\"}"),
 * as a number's characters. False: it is not there. */
bool metric_find(struct slice text, const char *name, char *out, size_t cap);
/* The value's text: of the table, or of the metrics; "" when it is unavailable. */
const char *figure_text(const struct figure *f, struct slice metrics, char *room, size_t cap);

#endif
