/* SPDX-License-Identifier: Apache-2.0 */
/* Any text is settings of a relay of streams or a list of errors. Settings have a bound of memory,
 * and what is shown of them reads back to the same. The first line is a text of stalls, too. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/wan/wan_settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static char *show(const struct wan_settings *s)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    if (f == NULL)
        abort();
    wan_settings_print(s, f);
    if (fclose(f) != 0)
        abort();
    return text;
}

/* Addresses are not resolved here: these two are what a check would have found right. */
static void name_ends(struct wan_settings *s)
{
    free(s->listen);
    free(s->to);
    s->listen = strdup("[::1]:5100");
    s->to = strdup("127.0.0.1:6100");
    if (s->listen == NULL || s->to == NULL)
        abort();
}

static void read_back(struct wan_settings *s, struct conf_errors *e)
{
    struct wan_settings again;
    name_ends(s);
    char *first = show(s);
    if (wan_settings_init(&again) < 0)
        abort();
    conf_errors_init(e, "again");
    wan_settings_lay(&again, first, e);
    char *second = show(&again);
    if (e->total != 0 || strcmp(first, second) != 0)
        abort();
    free(first);
    free(second);
    wan_settings_fini(&again);
}

static void read_stalls(const char *text)
{
    struct wan_stalls s = {0};
    const char *hint = NULL;
    int r = wan_stalls_parse(&s, text, &hint);
    if ((r == HELIO_EFORMAT) != (hint != NULL))
        abort();
    for (size_t i = 0; r == 0 && i < s.len; i++)
        if (s.windows[i].to <= s.windows[i].from ||
            wan_stalls_pass(&s, s.windows[i].from) < s.windows[i].to)
            abort();
    wan_stalls_fini(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct wan_settings s;
    struct conf_errors *e = malloc(sizeof *e);
    char *text = strndup((const char *)data, len);
    if (e == NULL || text == NULL || wan_settings_init(&s) < 0)
        abort();
    conf_errors_init(e, "fuzz.yaml");
    wan_settings_lay(&s, text, e);
    if (e->len > CONF_ERRORS_MAX)
        abort();
    if (e->total == 0) {
        (void)wan_settings_memory(&s);
        read_back(&s, e);
    }
    text[strcspn(text, "\n")] = '\0';
    read_stalls(text);
    wan_settings_fini(&s);
    free(text);
    free(e);
    return 0;
}
