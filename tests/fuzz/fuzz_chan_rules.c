/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of text before the first empty one are rules: each is taken whole, or refused with a
 * message. The rest are frames, each with its length before it, for the rules to look at. */
#include <stdlib.h>
#include <string.h>

#include "channel-emu/scenario/ltp_rules.h"

static void must(bool ok)
{
    if (!ok)
        abort();
}

/* One line off the input, as a C string. */
static size_t line(const uint8_t **data, size_t *size, char out[512])
{
    const uint8_t *feed = *size > 0 ? memchr(*data, '\n', *size) : NULL;
    size_t len = feed == NULL ? *size : (size_t)(feed - *data);
    size_t used = feed == NULL ? len : len + 1, kept = len < 511 ? len : 511;
    memcpy(out, *data, kept);
    out[kept] = '\0';
    *data += used;
    *size -= used;
    return strlen(out);
}

static void read_rule(const char *text, struct ltp_rule *rules, size_t *n)
{
    char error[LTP_RULE_ERROR_MAX];
    struct ltp_rules *one;
    int rc = ltp_rule_parse(&rules[*n], text, error);
    must(rc == 0 ? error[0] == '\0' : strlen(error) > 10);
    if (rc != 0)
        return;
    must(ltp_rules_new(&one, &rules[*n], 1) == 0);
    ltp_rules_free(one);
    (*n)++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ltp_rule rules[LTP_RULES_MAX];
    struct ltp_rules *r;
    size_t n = 0;
    char text[512];
    while (n < LTP_RULES_MAX && size > 0 && line(&data, &size, text) > 0)
        read_rule(text, rules, &n);
    must(ltp_rules_new(&r, rules, n) == 0);
    uint64_t dropped = 0, wanted = 0;
    while (size > 0) {
        size_t len = data[0] < size - 1 ? data[0] : size - 1;
        struct ltp_fields f;
        if (ltp_fields_read(&f, data + 1, len))
            dropped += ltp_rules_drop(r, &f);
        data += len + 1;
        size -= len + 1;
    }
    for (size_t i = 0; i < n; i++) {
        struct ltp_rule_count c = ltp_rules_count(r, i);
        must(c.dropped <= c.matched && c.dropped <= dropped);
        wanted += c.dropped;
    }
    must(wanted >= dropped && ltp_rules_forgotten(r) == 0);
    ltp_rules_free(r);
    return 0;
}
