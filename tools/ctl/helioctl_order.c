/* SPDX-License-Identifier: Apache-2.0 */
/* People write "set link NAME KEY=VALUE", "NAME up" or "links NAME up". Each gets the command that
 * it was meant as. Words that are no command in any order get no advice here. A node is named by
 * its configuration, or by its control socket behind --socket; people write one for the other. */
#include "tools/ctl/helioctl_order.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool is_one_of(const char *word, const char *const *list)
{
    while (*list != NULL && strcmp(word, *list) != 0)
        list++;
    return *list != NULL;
}

static bool is_state(const char *word)
{
    return is_one_of(word, (const char *const[]){"up", "down", NULL});
}

static bool is_change(const char *word)
{
    return is_one_of(word, (const char *const[]){"add", "set", "remove", NULL});
}

static bool is_file(const char *word)
{
    const char *end = strrchr(word, '.');
    return end != NULL && is_one_of(end, (const char *const[]){".yaml", ".yml", NULL});
}

/* set link NAME …, add route …: the words behind the first two stay, up to `cap`. */
static const char *exchange_words(const char *const *words, size_t n, char *out, size_t cap)
{
    static const char *const things[] = {"link",    "links", "route", "routes",
                                         "contact", "range", NULL};
    if (n < 2 || !is_change(words[0]) || !is_one_of(words[1], things))
        return NULL;
    const size_t len = strlen(words[1]);
    const int thing = (int)(words[1][len - 1] == 's' ? len - 1 : len);
    size_t used = (size_t)snprintf(out, cap, "write: %.*s %s", thing, words[1], words[0]);
    for (size_t i = 2; i < n && used < cap; i++)
        used += (size_t)snprintf(out + used, cap - used, " %s", words[i]);
    return out;
}

/* A link's state or key, without the word that is missing. */
static const char *advise_link(const char *const *words, size_t n, char *out, size_t cap)
{
    const bool named = strcmp(words[0], "link") == 0, many = strcmp(words[0], "links") == 0;
    const char *is = n == 3 ? strchr(words[2], '=') : NULL;
    static const char *const removes[] = {"del", "delete", "rm", NULL};
    if (named && n == 3 && is_one_of(words[1], removes)) {
        snprintf(out, cap, "write: link remove %s", words[2]);
        return out;
    }
    if (named && n == 2 && !is_change(words[1]) && !is_state(words[1]))
        snprintf(out, cap, "write: link %s up|down, or link set %s KEY=VALUE…", words[1], words[1]);
    else if ((named || many) && n == 4 && !is_change(words[1]) && !is_change(words[2]) &&
             strchr(words[2], '=') == NULL)
        snprintf(out, cap, "write: link set %s %s=%s", words[1], words[2], words[3]);
    else if ((named || many) && n == 3 && !is_change(words[1]) && is != NULL && is != words[2])
        snprintf(out, cap, "write: link set %s %s", words[1], words[2]);
    else if (many && n == 3 && is_state(words[2]))
        snprintf(out, cap, "write: link %s %s", words[1], words[2]);
    else if (n == 2 && !named && is_state(words[1]))
        snprintf(out, cap, "write: link %s %s", words[0], words[1]);
    else if (n == 2 && is_state(words[0]))
        snprintf(out, cap, "write: link %s %s", words[1], words[0]);
    else
        return NULL;
    return out;
}

/* What bundles selects by stands behind a key. */
static const char *advise_bundles(const char *const *words, size_t n, char *out, size_t cap)
{
    if (n != 2 || strcmp(words[0], "bundles") != 0 || strchr(words[1], '=') != NULL)
        return NULL;
    if (strchr(words[1], ':') != NULL || strchr(words[1], '*') != NULL)
        snprintf(out, cap, "write: bundles 'destination=%s'", words[1]);
    else
        snprintf(out, cap, "write KEY=VALUE, not %s, such as destination=ipn:2.* or link=to-2",
                 words[1]);
    return out;
}

static bool is_kind(const char *path, mode_t kind)
{
    struct stat st;
    return path != NULL && stat(path, &st) == 0 && (st.st_mode & S_IFMT) == kind;
}

const char *ctl_order_node(const char *socket, const char *config, char *out, size_t cap)
{
    if (socket == NULL && config == NULL)
        return "which node? write --socket PATH or its CONFIG.yaml";
    if (socket == NULL && is_kind(config, S_IFSOCK)) {
        const int n = snprintf(out, cap, "%s.ctl", config);
        const bool control = n > 0 && (size_t)n < cap && is_kind(out, S_IFSOCK);
        snprintf(out, cap, "%s is a socket; write --socket %s%s", config, config,
                 control ? ".ctl" : "");
        return out;
    }
    if (!is_kind(socket, S_IFREG))
        return NULL;
    snprintf(out, cap, "%s is a file; write it without --socket, before the command", socket);
    return out;
}

const char *ctl_order_advice(const char *const *words, size_t n, char *out, size_t cap)
{
    static const char *const ends[] = {"stop", "quit", "exit", "shutdown", "restart", NULL};
    if (n == 0)
        return NULL;
    if (n > 1 && is_file(words[n - 1]) && !is_change(words[1]) && strcmp(words[0], "plan") != 0) {
        snprintf(out, cap, "the configuration comes first; write: helioctl %s %s", words[n - 1],
                 words[0]);
        return out;
    }
    if (n == 1 && is_one_of(words[0], ends))
        return "a node ends by a signal: systemctl stop heliod@NAME, or kill its process";
    if (strcmp(words[0], "routes") == 0 && n > 1 && is_change(words[1])) {
        snprintf(out, cap, "write: route %s PATTERN LINK", words[1]);
        return out;
    }
    const char *found = exchange_words(words, n, out, cap);
    if (found == NULL)
        found = advise_bundles(words, n, out, cap);
    return found != NULL ? found : advise_link(words, n, out, cap);
}
