/* SPDX-License-Identifier: Apache-2.0 */
/* The journal of an incomplete file: its head, and which of its bytes are stored. */
#ifndef TOOLS_FILES_JOURNAL_H
#define TOOLS_FILES_JOURNAL_H

#include "tools/files/files_shelf.h"

#define FILES_HEX (2 * FILES_ID + 1)
#define FILES_JOURNAL_NAME (FILES_HEX + 4) /* "ID.log" */

void files_journal_hex(const uint8_t id[FILES_ID], char out[FILES_HEX]);
void files_journal_name(const uint8_t id[FILES_ID], char out[FILES_JOURNAL_NAME]);

/* Makes the journal of a new item in folder `state`. 0 or HELIO_E*. */
int files_journal_begin(int state, const struct files_item *it, bool sync);
/* [lo, hi) is there, too. */
int files_journal_add(int state, const struct files_item *it, uint64_t lo, uint64_t hi, bool sync);
/* From now on the file may be found under its name. */
int files_journal_placing(int state, const struct files_item *it, bool sync);

/* Reads a journal into an item without ranges. Everything after the first invalid record is cut
 * off. *placing: the last record is that of files_journal_placing. 0, HELIO_EFORMAT, or a system
 * error. */
int files_journal_load(int state, const char *name, struct files_item *it, bool *placing);

#endif
