/* SPDX-License-Identifier: Apache-2.0 */
/* One question before the run, and its answer. What can go wrong: the control socket is at another
 * path, or this user may not use it. */
#include "tools/perf/perf_name.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf_arguments.h"
#include "tools/ctl/ctl_ask.h"

#define PATIENCE (3 * TICK_S)

bool perf_name_endpoint(const char *word)
{
    struct eid eid;
    return strlen(word) < AAP2_EID_MAX && eid_parse(word, &eid) == 0;
}

/* A letter first, no ':' as in an endpoint. */
static bool is_name(const char *word)
{
    return isalpha((unsigned char)*word) && strlen(word) < AAP2_EID_MAX &&
           strpbrk(word, ": \t*|") == NULL;
}

void perf_name_check(struct argp_state *state, const char *word, const char *right)
{
    if (!perf_name_endpoint(word) && !is_name(word))
        argument_want(state, word, right);
}

void perf_name_refuse_node(struct argp_state *state, const char *word,
                           const char *const services[2])
{
    struct eid eid;
    if (eid_parse(word, &eid) != 0 || !eid_is_node(&eid))
        return;
    const bool ipn = eid.scheme == EID_IPN;
    argument_wrong(state, "%s is the node itself, where no application receives; write %.*s%s",
                   word, (int)(strlen(word) - ipn), word, services[!ipn]);
}

/* NULL: no answer, or no memory. */
static json_t *ask_name(const char *control, const char *word)
{
    json_t *in = json_pack("{s:s,s:s}", "cmd", "names", "of", word);
    char *line = json_dumps(in, JSON_COMPACT);
    json_t *answer = line == NULL ? NULL : ctl_ask("", control, line, PATIENCE, true);
    free(line);
    json_decref(in);
    return answer;
}

static void refuse_name(struct argp_state *state, const char *word, const char *control)
{
    const char *why = access(control, R_OK | W_OK) != 0 ? strerror(errno) : "it does not answer";
    argument_wrong(
        state,
        "\"%s\" is not understood; write an endpoint, such as ipn:2.7. A name is looked up "
        "at the node's control socket, %s: %s",
        word, control, why);
}

const char *perf_name_find(struct argp_state *state, const char *socket, const char *word,
                           const char *const services[2], char out[AAP2_EID_MAX])
{
    char control[512];
    struct eid eid = {0};
    if (perf_name_endpoint(word))
        return word;
    snprintf(control, sizeof control, "%.500s.ctl", socket);
    json_t *answer = ask_name(control, word);
    const char *is = json_string_value(json_object_get(answer, "is"));
    const char *why = json_string_value(json_object_get(answer, "error"));
    if (answer == NULL)
        refuse_name(state, word, control);
    if (is == NULL || strlen(is) >= AAP2_EID_MAX || eid_parse(is, &eid) != 0)
        argument_wrong(state, "%s", why != NULL ? why : "the node's answer is not understood");
    snprintf(out, AAP2_EID_MAX, "%s", is);
    if (eid_is_node(&eid) && aap2_endpoint(is, services[eid.scheme != EID_IPN], out) != 0)
        argument_wrong(state, "%s: %s has no such service", word, is);
    json_decref(answer);
    return out;
}
