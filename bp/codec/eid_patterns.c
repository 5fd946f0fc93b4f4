/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of patterns: alternatives, of which one suffices (draft-ietf-dtn-eid-pattern). A set of
 * schemes with all their endpoints, "[ipn,dtn]:**", is as many alternatives. What can go wrong: one
 * of them, none, or too many.
 */
#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "bp/codec/eid.h"

static int fail_with(const char **why, const char *text)
{
    *why = text;
    return HELIO_EFORMAT;
}

static int add_pattern(struct eid_patterns *p, const char *text, size_t len, const char **why)
{
    char one[EID_PATTERN_MAX];
    if (p->len == EID_PATTERNS_MAX)
        return fail_with(why,
                         "has too many alternatives; write at most 10 with \"|\" between them");
    if (len >= sizeof one)
        return fail_with(why, "is too long; write several patterns");
    memcpy(one, text, len);
    one[len] = '\0';
    int rc = eid_pattern_read(one, &p->at[p->len], why);
    p->len = (uint8_t)(p->len + (rc == 0));
    assert(p->len <= EID_PATTERNS_MAX);
    return rc;
}

/* "[ipn,dtn]:**": each of them by itself. */
static int add_schemes(struct eid_patterns *p, const char *text, size_t len, const char **why)
{
    static const char end[] = "]:**";
    const size_t end_len = sizeof end - 1;
    const char *wrong = "needs \"]:**\" behind its schemes, as in [ipn,dtn]:**";
    if (len <= end_len || memcmp(text + len - end_len, end, end_len) != 0)
        return fail_with(why, wrong);
    const char *at = text + 1, *stop = text + len - end_len;
    for (;;) {
        const char *comma = memchr(at, ',', (size_t)(stop - at));
        const size_t n = (size_t)((comma == NULL ? stop : comma) - at);
        char one[16];
        if (n == 0 || *at == '*' || n + sizeof ":**" > sizeof one)
            return fail_with(why, "has a scheme that is not known here; write ipn, dtn or imc");
        memcpy(one, at, n);
        memcpy(one + n, ":**", sizeof ":**");
        int rc = add_pattern(p, one, strlen(one), why);
        if (rc < 0 || comma == NULL)
            return rc;
        at = comma + 1;
    }
}

int eid_patterns_read(const char *text, struct eid_patterns *out, const char **why)
{
    struct eid_patterns p = {.len = 0};
    *why = "";
    for (;;) {
        const size_t len = strcspn(text, "|");
        int rc = *text == '[' ? add_schemes(&p, text, len, why) : add_pattern(&p, text, len, why);
        if (rc < 0)
            return rc;
        if (text[len] == '\0')
            break;
        text += len + 1;
    }
    assert(p.len > 0);
    *out = p;
    return 0;
}

bool eid_patterns_match(const struct eid_patterns *p, const struct eid *e)
{
    assert(p->len <= EID_PATTERNS_MAX);
    for (size_t i = 0; i < p->len; i++)
        if (eid_pattern_match(&p->at[i], e))
            return true;
    return false;
}

bool eid_patterns_have(const struct eid_patterns *p, const struct eid_pattern *one)
{
    for (size_t i = 0; i < p->len; i++)
        if (eid_pattern_equal(&p->at[i], one))
            return true;
    return false;
}
