/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong here is a mistake of the test: it ends the process with a message. */
#include "uv_rig.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/node/config_value.h"

static void die(const char *what, const char *detail)
{
    fprintf(stderr, "%s: %s\n", what, detail);
    abort();
}

void rig_config(struct ltp_link_config *k, const char *const *pairs)
{
    memset(k, 0, sizeof *k);
    if (conf_options_default(ltp_link_options, k, config_set) != 0)
        die("defaults", "out of memory");
    for (; *pairs != NULL; pairs += 2) {
        const struct conf_option *o = conf_option_find(ltp_link_options, pairs[0]);
        char why[256] = "no such key";
        if (o == NULL || config_set(o, k, pairs[1], why, sizeof why) != 0)
            die(pairs[0], why);
    }
}

void rig_config_free(struct ltp_link_config *k)
{
    conf_options_free(ltp_link_options, k);
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

struct cla *rig_open(struct ltp_link_config *k, const struct cla_env *env)
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

uint64_t rig_timers(struct cla *c, const char *name)
{
    return number(c, "timers", name);
}
