/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong here is a mistake of the test: it ends the process with a message. */
#include "uv_rig.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"

static void die(const char *what, const char *detail)
{
    fprintf(stderr, "%s: %s\n", what, detail);
    abort();
}

static int choice(const char *choices, const char *word, int *out)
{
    size_t len = strlen(word);
    int i = 0;
    for (const char *p = choices; p != NULL; i++) {
        const char *bar = strchr(p, '|');
        size_t n = bar == NULL ? strlen(p) : (size_t)(bar - p);
        if (n == len && memcmp(p, word, n) == 0) {
            *out = i;
            return 0;
        }
        p = bar == NULL ? NULL : bar + 1;
    }
    return HELIO_EFORMAT;
}

static int set(const struct option *o, void *base, const char *text)
{
    void *field = (char *)base + o->offset;
    switch (o->type) {
    case OPTION_DURATION:
        return units_duration(text, field);
    case OPTION_RATE:
        return units_rate(text, field);
    case OPTION_SIZE:
        return units_size(text, field);
    case OPTION_COUNT:
        return units_count(text, UINT64_MAX, field);
    case OPTION_BOOL:
        *(bool *)field = strcmp(text, "yes") == 0;
        return 0;
    case OPTION_CHOICE:
        return choice(o->choices, text, field);
    case OPTION_ADDRESS:
        return cla_address_parse(text, field);
    case OPTION_EID:
    case OPTION_TEXT:
        break;
    }
    return HELIO_EINVAL;
}

void rig_config(struct ltp_udp_config *k, const char *const *pairs)
{
    memset(k, 0, sizeof *k);
    for (const struct option *o = ltp_udp_options; o->key != NULL; o++)
        if (o->initial != NULL && set(o, k, o->initial) != 0)
            die("default of", o->key);
    for (; *pairs != NULL; pairs += 2) {
        const struct option *o = ltp_udp_options;
        while (o->key != NULL && strcmp(o->key, pairs[0]) != 0)
            o++;
        if (o->key == NULL || set(o, k, pairs[1]) != 0)
            die("key", pairs[0]);
    }
}

uint16_t rig_port(bool six)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct sockaddr *a = six ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4;
    socklen_t len = six ? sizeof v6 : sizeof v4;
    int fd = socket(six ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);
    if (fd < 0 || bind(fd, a, len) != 0 || getsockname(fd, a, &len) != 0)
        die("socket", "no free port");
    close(fd);
    return ntohs(six ? v6.sin6_port : v4.sin_port);
}

struct cla *rig_open(struct ltp_udp_config *k, const struct cla_env *env)
{
    const struct cla_ops *ops = cla_find("ltp-udp");
    struct cla *c;
    const char *key = "";
    char why[256] = "";
    if (ops->check(k, &key, why, sizeof why) != 0)
        die(key, why);
    if (ops->open(&c, env, k, why, sizeof why) != 0)
        die("open", why);
    return c;
}

static uint64_t number(struct cla *c, const char *object, const char *key)
{
    json_t *o = json_object();
    c->ops->status(c, o);
    json_t *inner = object == NULL ? o : json_object_get(o, object);
    json_t *v = json_object_get(inner, key);
    if (!json_is_integer(v))
        die("status", key);
    uint64_t n = (uint64_t)json_integer_value(v);
    json_decref(o);
    return n;
}

uint64_t rig_status(struct cla *c, const char *key)
{
    return number(c, NULL, key);
}

uint64_t rig_verdict(struct cla *c, const char *name)
{
    return number(c, "verdicts", name);
}
