/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong: a name that the system does not know, or cannot look up now. */
#include "os/process/users.h"

#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/err.h"
#include "base/units.h"

#define ENTRY_CAP 65536 /* bytes of one entry; a group lists its members */

int users_find_group(const char *text, unsigned *out)
{
    char room[ENTRY_CAP];
    struct group entry, *found = NULL;
    uint64_t number;
    if (getgrnam_r(text, &entry, room, sizeof room, &found) == 0 && found != NULL) {
        *out = entry.gr_gid;
        return 0;
    }
    if (units_count(text, UINT32_MAX - 1, &number) != 0)
        return HELIO_ENOENT;
    *out = (unsigned)number;
    return 0;
}

int users_find_user(const char *text, unsigned *out)
{
    char room[ENTRY_CAP];
    struct passwd entry, *found = NULL;
    uint64_t number;
    if (getpwnam_r(text, &entry, room, sizeof room, &found) == 0 && found != NULL) {
        *out = entry.pw_uid;
        return 0;
    }
    if (units_count(text, UINT32_MAX - 1, &number) != 0)
        return HELIO_ENOENT;
    *out = (unsigned)number;
    return 0;
}

static bool may_chown(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3] = {{0}};
    return syscall(SYS_capget, &head, has) == 0 && (has[0].effective & 1u << CAP_CHOWN) != 0;
}

bool users_may_give(unsigned gid)
{
    bool member = gid == (unsigned)getegid();
    const int all = getgroups(0, NULL);
    gid_t *groups = all > 0 ? calloc((size_t)all, sizeof *groups) : NULL;
    const int n = groups == NULL ? 0 : getgroups(all, groups);
    for (int i = 0; i < n; i++)
        member = member || groups[i] == (gid_t)gid;
    free(groups);
    return member || may_chown();
}

void users_text(unsigned uid, char out[USERS_TEXT_MAX])
{
    char room[ENTRY_CAP];
    struct passwd entry, *found = NULL;
    if (getpwuid_r((uid_t)uid, &entry, room, sizeof room, &found) == 0 && found != NULL)
        snprintf(out, USERS_TEXT_MAX, "%.64s (uid %u)", entry.pw_name, uid);
    else
        snprintf(out, USERS_TEXT_MAX, "uid %u", uid);
}
