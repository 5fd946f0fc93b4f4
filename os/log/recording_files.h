/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a recording: their names, which are there. */
#ifndef OS_RECORDING_FILES_H
#define OS_RECORDING_FILES_H

#include <stddef.h>
#include <stdint.h>

#define RECORDING_NAME_CAP 20

/* "0000000012.rec", or ".idx" */
void recording_name(char out[RECORDING_NAME_CAP], uint32_t number, const char *suffix);

/* The numbers of the .rec files of a folder, ascending, the caller's to free; NULL when there are
 * none. 0 or HELIO_E*. */
int recording_list(int folder, uint32_t **numbers, size_t *len);

#endif
