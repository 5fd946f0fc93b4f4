/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong: a path that there is not; memory, which is 503. */
#include "node/http/http_answer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "os/net/address.h"

#define HOST_CAP 256 /* a DNS name has at most 253 characters */
#define STATUS_OK 200
#define STATUS_NOT_FOUND 404
#define STATUS_NO_MEMORY 503

struct http_answer http_refusal(unsigned status, const char *text)
{
    return (struct http_answer){status, "text/plain; charset=utf-8", text, strlen(text), false};
}

enum http_kind http_kind_of(const char *path)
{
    static const char *const paths[] = {"/metrics",      "/api/top", "/api/backlog", "/api/plan",
                                        "/api/sessions", "/api/why", "/api/events",  "/api/network",
                                        "/api/status",   "/",        "/network",     "/api/change"};
    static_assert(sizeof paths / sizeof *paths == HTTP_NOTHING, "a path for each kind");
    size_t kind = 0;
    while (kind < HTTP_NOTHING && strcmp(path, paths[kind]) != 0)
        kind++;
    return (enum http_kind)kind;
}

/* The host of "HOST:PORT", "[HOST]:PORT", without a dot at its end; false: it is none. */
static bool host_of(const char *text, char out[HOST_CAP])
{
    const char *end = text + strlen(text), *colon = strrchr(text, ':');
    if (*text == '[') {
        const char *bracket = strchr(text, ']');
        if (bracket == NULL || (bracket[1] != '\0' && bracket[1] != ':'))
            return false; /* such as "[localhost].example" */
        end = bracket;
        text++;
    } else if (colon != NULL) {
        end = colon;
    }
    if (end > text && end[-1] == '.')
        end--;
    size_t len = end > text ? (size_t)(end - text) : 0;
    if (len == 0 || len >= HOST_CAP)
        return false;
    memcpy(out, text, len);
    out[len] = '\0';
    return true;
}

bool http_is_named(const char *text, const char *words)
{
    size_t len = strlen(text);
    while (*words != '\0') {
        size_t n = strcspn(words, " ,");
        if (n == len && len > 0 && strncasecmp(words, text, n) == 0)
            return true;
        words += n + strspn(words + n, " ,");
    }
    return false;
}

bool http_host_ok(const char *text, const struct address *at, const char *names)
{
    char host[HOST_CAP];
    uint8_t a[ADDRESS_KEY_MAX], b[ADDRESS_KEY_MAX];
    struct address given;
    if (text == NULL || !host_of(text, host))
        return false;
    if (http_is_named(host, "localhost") || http_is_named(host, names))
        return true;
    return address_of(host, 1, &given) == 0 && address_given(at) &&
           memcmp(address_key(&given, a).data, address_key(at, b).data, ADDRESS_KEY_HOST) == 0;
}

struct http_answer http_json(json_t *o)
{
    char *text = o == NULL ? NULL : json_dumps(o, JSON_COMPACT);
    json_decref(o);
    if (text == NULL)
        return http_refusal(STATUS_NO_MEMORY, "out of memory\n");
    return (struct http_answer){STATUS_OK, "application/json", text, strlen(text), true};
}

struct http_answer http_metrics(char *text, size_t len)
{
    if (text == NULL)
        return http_refusal(STATUS_NO_MEMORY, "out of memory\n");
    return (struct http_answer){STATUS_OK, "text/plain; version=0.0.4; charset=utf-8", text, len,
                                true};
}

struct http_answer http_nothing(void)
{
    return http_refusal(STATUS_NOT_FOUND, "there are / and /metrics\n");
}
