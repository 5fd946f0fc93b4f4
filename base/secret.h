/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets: compared in a time that does not depend on their content, and overwritten. */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* Are the two texts of octets equal? The time depends on given_len alone, which its sender knows;
 * not on where they differ, nor on `len`. */
bool secret_equal(const void *secret, size_t len, const void *given, size_t given_len);

/* The same for octets whose length is public, such as credentials: eight at a time. */
bool secret_same(const void *a, const void *b, size_t len);

/* Overwrites a secret that is no longer needed with zeros; compilers do not leave it out. */
void secret_wipe(void *secret, size_t len);

#endif
