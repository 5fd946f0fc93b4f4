/* SPDX-License-Identifier: Apache-2.0 */
/* The system's users and groups by name. The look-ups may ask what the system asks (files, a
 * directory service), so they are for a start and for what people do. */
#ifndef OS_USERS_H
#define OS_USERS_H

#include <stdbool.h>
#include <stddef.h>

/* A user by its name or number. 0, or HELIO_ENOENT: there is none of that name. */
int users_find_user(const char *text, unsigned *out);
/* A group by its name or number. 0, or HELIO_ENOENT: there is none of that name. */
int users_find_group(const char *text, unsigned *out);

/* May this process give its own files to the group? Only to groups that it is a member of, unless
 * it has CAP_CHOWN, as root has. */
bool users_may_give(unsigned gid);

/* "NAME (uid 1000)", or "uid 1000" of a user without a name. */
#define USERS_TEXT_MAX 96
void users_text(unsigned uid, char out[USERS_TEXT_MAX]);

#endif
