/* SPDX-License-Identifier: Apache-2.0 */
/* The types of value that only a node knows; all others are conf's. What can go wrong: a text that
 * is no endpoint id or no address. */
#include "node/config/config_tables.h"

#include <stdio.h>
#include <string.h>

#include "os/net/host_address.h"

/* Is it the id of a node without its begin or end? Then the whole one in `right`. */
static bool mend_eid(const char *begin, const char *text, const char *end, char right[EID_TEXT_MAX])
{
    struct eid eid;
    const int n = snprintf(right, EID_TEXT_MAX, "%s%s%s", begin, text, end);
    return n < (int)EID_TEXT_MAX && eid_parse(right, &eid) == 0 && eid_is_node(&eid);
}

static int set_eid(struct eid *field, const char *text, char *why, size_t cap)
{
    char right[EID_TEXT_MAX];
    if (*text == '\0') {
        *field = eid_none();
        return 0;
    }
    if (eid_parse(text, field) == 0)
        return 0;
    if (mend_eid("", text, ".0", right) || mend_eid("", text, "/", right) ||
        mend_eid("ipn:", text, "", right) || mend_eid("ipn:", text, ".0", right))
        snprintf(why, cap, "\"%s\" is not an endpoint id; did you mean %s?", text, right);
    else
        snprintf(why, cap, "\"%s\" is not an endpoint id; write one such as ipn:1.0 or dtn://name/",
                 text);
    return HELIO_EFORMAT;
}

/* HOST or [V6] alone, with the port that the key has by itself. */
static int add_port(struct address *field, const char *text, uint64_t port)
{
    char whole[96];
    int n = snprintf(whole, sizeof whole, "%s:%u", text, (unsigned)port);
    return port == 0 || n >= (int)sizeof whole ? HELIO_EFORMAT : address_parse(whole, field);
}

/* What is wrong with an address or, if `names`, a host name, and its port. */
static void refuse_address(const char *text, bool names, char *why, size_t cap)
{
    char whole[HOST_ADDRESS_TEXT_MAX];
    struct host_address found;
    const char *colon = strrchr(text, ':');
    const size_t host = colon == NULL ? strlen(text) : (size_t)(colon - text);
    const char port[] = "1113";
    const bool digits = colon != NULL && colon[1 + strspn(colon + 1, "0123456789")] == '\0';
    int n = snprintf(whole, sizeof whole, "%s:%s", text, port);
    if (n < (int)sizeof whole && host_address_parse(whole, &found) == 0 &&
        (names || !host_address_is_name(&found))) {
        snprintf(why, cap, "\"%.100s\" has no port; write one, such as %s", text, whole);
        return;
    }
    n = snprintf(whole, sizeof whole, "%.*s:%s", (int)host, text, port);
    if (digits && n < (int)sizeof whole && host_address_parse(whole, &found) == 0 &&
        (names || !host_address_is_name(&found)))
        snprintf(why, cap, "\"%.100s\": a port is a number from 1 to 65535, such as %s", text,
                 whole);
    else
        snprintf(why, cap, "\"%.100s\" is not an address; write %s", text,
                 names ? host_address_hint : address_hint);
}

static int set_address(struct address *field, const char *text, uint64_t port, char *why,
                       size_t cap)
{
    if (*text == '\0') {
        *field = (struct address){.sa = {.sa_family = AF_UNSPEC}};
        return 0;
    }
    if (address_parse(text, field) == 0 || add_port(field, text, port) == 0)
        return 0;
    refuse_address(text, false, why, cap);
    return HELIO_EFORMAT;
}

/* The same for an address or a name. */
static int set_host(struct host_address *field, const char *text, uint64_t port, char *why,
                    size_t cap)
{
    char whole[HOST_ADDRESS_TEXT_MAX];
    if (*text == '\0') {
        *field = (struct host_address){.port = 0};
        return 0;
    }
    if (host_address_parse(text, field) == 0)
        return 0;
    const int n = snprintf(whole, sizeof whole, "%s:%u", text, (unsigned)port);
    if (port != 0 && n < (int)sizeof whole && host_address_parse(whole, field) == 0)
        return 0;
    refuse_address(text, true, why, cap);
    return HELIO_EFORMAT;
}

int config_set(const struct conf_option *o, void *base, const char *text, char *why, size_t cap)
{
    void *field = (char *)base + o->offset;
    if (o->type == OPTION_EID)
        return set_eid(field, text, why, cap);
    if (o->type == OPTION_ADDRESS)
        return set_address(field, text, o->min, why, cap);
    if (o->type == OPTION_HOST)
        return set_host(field, text, o->min, why, cap);
    return conf_option_set(o, base, text, why, cap);
}

int config_patterns(const char **key, const char *which, const char *text, struct eid_patterns *out,
                    char *why, size_t cap)
{
    const char *wrong;
    if (eid_patterns_read(text, out, &wrong) == 0)
        return 0;
    *key = which;
    snprintf(why, cap, "\"%.64s\" %s", text, wrong);
    return HELIO_EINVAL;
}
