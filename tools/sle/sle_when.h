/* SPDX-License-Identifier: Apache-2.0 */
/* A time as a person writes it: “2026-11-22T18:00:00Z”, “now”, “now+2s”, “now-10s”, “+2s”. */
#ifndef TOOLS_SLE_WHEN_H
#define TOOLS_SLE_WHEN_H

#include "sle/sle.h"

struct user_when {
    bool given;
    bool relative; /* to the time at which it is used */
    bool past;     /* of a relative one: it is subtracted */
    uint64_t ns;   /* since 1970, or from then */
};

/* "2026-11-22T18:00:00Z", fractions of a second allowed; from 1970 to 2500. ns since 1970. */
bool user_time_parse(const char *text, uint64_t *out);
/* False: it is none; *out is unchanged. */
/* What would be right, for messages. */
#define USER_WHEN_HINT "a time, such as +2s or 2026-11-22T18:00:00Z"
bool user_when_parse(const char *text, struct user_when *out);
/* A time in SLE's form at this Unix time; not known where none was given. */
struct sle_when user_when_at(const struct user_when *w, uint64_t unix_ns);

#endif
