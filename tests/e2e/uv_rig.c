/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong here is a mistake of the test: it ends the process with a message. */
#include "uv_rig.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "conf/conf_groups.h"
#include "node/config/config_tables.h"

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
        const struct conf_option *o = conf_option_named(ltp_link_options, pairs[0]);
        char why[256] = "no such key";
        if (o == NULL || config_set(o, k, pairs[1], why, sizeof why) != 0)
            die(pairs[0], why);
    }
}

void rig_config_free(struct ltp_link_config *k)
{
    conf_options_free(ltp_link_options, k);
}

/* As lab/heliograph/ports.py, which says why: blocks of ports that the kernel gives
 * nobody, each the process's that has the block's name. */
#define PORTS_FIRST 26112u
#define PORTS_BLOCK 32u
#define PORTS_BLOCKS 208u

/* The first port of a block, which is ours until this process ends. */
static uint16_t take_block(void)
{
    const unsigned at = (unsigned)getpid() ^ (unsigned)uv_hrtime();
    for (unsigned i = 0; i < PORTS_BLOCKS; i++) {
        unsigned first = PORTS_FIRST + (at + i) % PORTS_BLOCKS * PORTS_BLOCK;
        struct sockaddr_un name = {.sun_family = AF_UNIX};
        int len = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "helio-ports-%u", first);
        socklen_t all = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && bind(fd, (struct sockaddr *)&name, all) == 0)
            return (uint16_t)first; /* the name stays */
        if (fd >= 0)
            close(fd);
    }
    die("socket", "no block of ports is free");
    return 0;
}

static bool is_free(uint16_t port, bool six)
{
    struct sockaddr_in v4 = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_in6 v6 = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(six ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);
    bool is = fd >= 0 && (six ? bind(fd, (struct sockaddr *)&v6, sizeof v6)
                              : bind(fd, (struct sockaddr *)&v4, sizeof v4)) == 0;
    if (fd >= 0)
        close(fd);
    return is;
}

uint16_t rig_port(bool six)
{
    static uint16_t next, end;
    static pid_t owner;
    if (owner != getpid()) /* a fork has blocks of its own */
        next = end = 0;
    owner = getpid();
    for (unsigned tries = 0; tries < 10 * PORTS_BLOCK; tries++) {
        if (next == end) {
            next = take_block();
            end = (uint16_t)(next + PORTS_BLOCK);
        }
        if (is_free(next++, six))
            return (uint16_t)(next - 1);
    }
    die("socket", "no free port");
    return 0;
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
