/* SPDX-License-Identifier: Apache-2.0 */
/* Words become one request line, the answer becomes tables. What can go wrong: words that are not
 * understood; what they say of the plan is the node's to check. */
#include "tools/ctl/helioctl.h"

#include <ctype.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "tools/ctl/ctl_table.h"

bool ctl_plan_is(const char *command)
{
    return strcmp(command, "plan") == 0 || strcmp(command, "contact") == 0 ||
           strcmp(command, "range") == 0;
}

static bool are_keys(const char *const *words, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        const char *is = strchr(words[i], '=');
        if (is == NULL || is == words[i])
            return false;
    }
    return len > 0;
}

/* A number, or what may be a name. */
static bool is_node(const char *word)
{
    uint64_t number;
    return isalpha((unsigned char)*word) || units_count(word, UINT64_MAX, &number) == 0;
}

static bool are_nodes(const char *const *words, size_t len)
{
    return (len == 2 || len == 3) && is_node(words[0]) && is_node(words[1]);
}

const char *ctl_plan_check(const char *const *words, size_t len)
{
    bool contact = strcmp(words[0], "contact") == 0;
    if (strcmp(words[0], "plan") == 0)
        return len == 1 || (len <= 3 && strcmp(words[1], "reload") == 0)
                   ? NULL
                   : "plan, or plan reload [FILE]";
    if (len >= 2 && strcmp(words[1], "remove") == 0)
        return are_nodes(words + 2, len - 2) ? NULL
               : contact ? "contact remove FROM TO [AT], with numbers or names of nodes"
                         : "range remove FROM TO [AT], with numbers or names of nodes";
    if (len >= 2 && strcmp(words[1], "add") == 0 && are_keys(words + 2, len - 2))
        return NULL;
    return contact ? "contact add KEY=VALUE…, or contact remove FROM TO [AT]"
                   : "range add KEY=VALUE…, or range remove FROM TO [AT]";
}

/* The node may run elsewhere in the tree of files. */
static json_t *file_name(const char *name)
{
    char *whole = realpath(name, NULL);
    json_t *text = json_string(whole != NULL ? whole : name);
    free(whole);
    return text;
}

static char *keys_text(const char *const *words, size_t len)
{
    json_t *o = json_object();
    for (size_t i = 0; i < len; i++) {
        const char *is = strchr(words[i], '=');
        char *key = strndup(words[i], (size_t)(is - words[i]));
        if (key != NULL)
            json_object_set_new(o, key, json_string(is + 1));
        free(key);
    }
    char *text = json_dumps(o, JSON_PRESERVE_ORDER);
    json_decref(o);
    return text;
}

char *ctl_plan_line(const char *const *words, size_t len)
{
    json_t *o = json_object();
    bool plan = strcmp(words[0], "plan") == 0;
    json_object_set_new(o, "cmd", json_string(plan && len > 1 ? "plan-reload" : words[0]));
    if (plan && len == 3)
        json_object_set_new(o, "file", file_name(words[2]));
    if (!plan)
        json_object_set_new(o, "do", json_string(words[1]));
    if (!plan && strcmp(words[1], "add") == 0) {
        char *keys = keys_text(words + 2, len - 2);
        json_object_set_new(o, "keys", json_string(keys != NULL ? keys : ""));
        free(keys);
    } else if (!plan) {
        json_object_set_new(o, "from", json_string(words[2]));
        json_object_set_new(o, "to", json_string(words[3]));
        if (len == 5)
            json_object_set_new(o, "at", json_string(words[4]));
    }
    char *line = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    return line;
}

void ctl_plan_show(struct json_t *answer, bool colour)
{
    static const struct column columns[] = {
        {"FROM", "from", COLUMN_NUMBER},       {"TO", "to", COLUMN_NUMBER},
        {"STATE", "state", COLUMN_TEXT},       {"START", "start", COLUMN_TEXT},
        {"END", "end", COLUMN_TEXT},           {"RATE", "rate_bps", COLUMN_RATE},
        {"LIGHT", "owlt_ns", COLUMN_DURATION}, {"VOLUME", "volume_bytes", COLUMN_BYTES},
        {"LEFT", "left_bytes", COLUMN_BYTES},
    };
    json_t *contacts = json_object_get(answer, "contacts_here");
    list_print(stdout, answer, "", true);
    if (json_array_size(contacts) == 0)
        return;
    putchar('\n');
    table_print(stdout, columns, sizeof columns / sizeof *columns, contacts, colour);
    json_int_t total = json_integer_value(json_object_get(answer, "contacts_here_total"));
    if (total > (json_int_t)json_array_size(contacts))
        printf("… %lld in all\n", (long long)total);
}
