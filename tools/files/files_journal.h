/* SPDX-License-Identifier: Apache-2.0 */
/* The journal of a file that is not whole: who it is, and which of its bytes are there. */
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

/* Reads a journal into an item whose ranges are empty; what follows the first record that is not
 * sound is cut off. *placing: files_journal_placing came last. 0, HELIO_EFORMAT, or what the system
 * says. */
int files_journal_load(int state, const char *name, struct files_item *it, bool *placing);

#endif
