/* SPDX-License-Identifier: Apache-2.0 */
/* Output after the tables of helio-analyze: the rows of chosen sessions, figures, the page. Each
 * function reports its own errors on standard error. */
#ifndef TOOLS_ANALYZE_PAGE_H
#define TOOLS_ANALYZE_PAGE_H

#include "tools/analyze/analyze_options.h"

#define PAGE_PATH_MAX 64

/* --plot or --html is given. */
bool analyze_page_wanted(const struct analyze_options *o);

/* Is there a Python that can draw? Asked before hours of reading. */
bool analyze_page_possible(const struct analyze_options *o);

/* Can the page's file be made where --html says? */
bool analyze_page_place(const struct analyze_options *o);

/* A folder of our own for tables, and the end of it and its files. In between, signals that end
 * the program wait. */
bool analyze_page_folder(char path[PAGE_PATH_MAX]);
void analyze_page_remove(const char *path);

/* Reads the inputs once more, and writes the rows of the sessions that the options name or that
 * are worth it into the folder. `spool` has all sessions. */
bool analyze_page_extract(const struct analyze_options *o, const struct analyze *a, FILE *spool,
                          const char *folder);

/* Figures and page out of a folder with all tables. */
bool analyze_page_make(const struct analyze_options *o, const char *folder);

#endif
