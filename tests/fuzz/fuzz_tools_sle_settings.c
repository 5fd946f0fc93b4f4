/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes are a provider's configuration or a list of errors, and leave nothing behind; what is
 * called good is taken by the engine. Input that begins with the octet 1 is read as values for keys
 * of the tables, in a file that is good but for them: section, key, length, octets.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/sle/sle_settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { WISHES_MAX = 6, TEXT_ROOM = 8192 };

struct wish {
    const struct conf_option *option;
    size_t section;
    struct slice value;
};

/* What each section has without being asked, and how its lines begin. */
static const struct {
    const char *head, *indent;
    struct {
        const char *key, *value;
    } base[3];
} parts[] = {
    {"", "", {{"id", "STATION"}}},
    {"tml:\n  heartbeat_min: 1\n", "  ", {{0}}},
    {"users:\n  - authentication: none\n", "    ", {{"id", "CENTRE"}}},
    {"sources:\n  - format: aos\n", "    ", {{"name", "x"}, {"record", "/nowhere"}}},
    {"instances:\n  - latency: 1s\n",
     "    ",
     {{"id", "sagr=1.spack=1.rsl-fg=1.rcf=onlc1"}, {"users", "CENTRE"}, {"source", "x"}}},
};

static size_t take_wishes(struct slice in, struct wish out[WISHES_MAX])
{
    size_t n = 0;
    while (in.len >= 3 && n < WISHES_MAX) {
        const char *name;
        const struct conf_option *o;
        size_t section = in.data[0] % (sizeof parts / sizeof *parts), count = 0;
        size_t len = in.data[2] % 80 < in.len - 3 ? in.data[2] % 80 : in.len - 3;
        assert(settings_section(section, &name, &o));
        while (o[count].key != NULL)
            count++;
        out[n++] = (struct wish){o + in.data[1] % count, section, slice_of(in.data + 3, len)};
        in = slice_of(in.data + 3 + len, in.len - 3 - len);
    }
    return n;
}

static size_t write_wish(const struct wish *w, char *text)
{
    size_t n = (size_t)sprintf(text, "%s%s: '", parts[w->section].indent, w->option->key);
    for (size_t i = 0; i < w->value.len; i++) {
        char c = (char)(w->value.data[i] & 0x7f);
        text[n++] = c < ' ' || c == 0x7f ? ' ' : c;
        if (c == '\'')
            text[n++] = c;
    }
    return n + (size_t)sprintf(text + n, "'\n");
}

static bool is_wished(const struct wish *w, size_t n, size_t section, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (w[i].section == section && strcmp(w[i].option->key, key) == 0)
            return true;
    return false;
}

static size_t write_text(const struct wish *w, size_t wishes, char *text)
{
    size_t n = 0;
    for (size_t s = 0; s < sizeof parts / sizeof *parts; s++) {
        n += (size_t)sprintf(text + n, "%s", parts[s].head);
        for (size_t i = 0; i < 3 && parts[s].base[i].key != NULL; i++)
            if (!is_wished(w, wishes, s, parts[s].base[i].key))
                n += (size_t)sprintf(text + n, "%s%s: %s\n", parts[s].indent, parts[s].base[i].key,
                                     parts[s].base[i].value);
        for (size_t i = 0; i < wishes; i++)
            if (w[i].section == s)
                n += write_wish(&w[i], text + n);
    }
    assert(n < TEXT_ROOM);
    return n;
}

/* The engine takes what the settings' check has called good. */
static void add_instances(const struct settings *s)
{
    struct sle_config c = {.self.id = "STATION"};
    struct sle *sle = sle_new(&c);
    assert(sle != NULL && s->instances_len > 0);
    for (size_t i = 0; i < s->instances_len; i++) {
        struct sle_instance *made = NULL;
        const struct settings_instance *x = &s->instances[i];
        struct sle_provider_config p = settings_provider(s, x);
        int e = sle_provider_add(sle, &p, &made);
        assert(e == 0 && made != NULL && (x->from != NULL || x->service == SLE_FCLTU));
        (void)e;
    }
    sle_check(sle);
    sle_free(sle);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct settings s;
    char text[TEXT_ROOM];
    struct wish wishes[WISHES_MAX];
    struct conf_errors *e = malloc(sizeof *e);
    if (e == NULL)
        return 0;
    conf_errors_init(e, "fuzz.yaml");
    struct slice in = slice_of(data, len);
    if (len > 0 && data[0] == 1) {
        size_t n = take_wishes(slice_of(data + 1, len - 1), wishes);
        in = slice_of((const uint8_t *)text, write_text(wishes, n, text));
    }
    int err = settings_parse(&s, (const char *)in.data, in.len, e);
    if ((err == 0) != (e->total == 0) || e->len > CONF_ERRORS_MAX)
        abort();
    if (err == 0) {
        add_instances(&s);
        settings_free(&s);
    }
    free(e);
    return 0;
}
