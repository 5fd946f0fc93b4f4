/* SPDX-License-Identifier: Apache-2.0 */
/* Each line of the table becomes an option whose key is its place in the table. What can go wrong
 * is a value, which ends the program with a message that says what would be right. */
#include "tools/ltp/ltp_arguments.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "os/arguments.h"

enum { KEY_RECOVERY = 512, KEY_PROFILE, KEY_FIRST };

static const char *const unit_words[] = {"TIME", "SIZE", "N", "yes|no"};

__attribute__((format(printf, 2, 3))) static char *keep_text(struct ltp_arguments *a,
                                                             const char *format, ...)
{
    char *text = a->text + a->text_len;
    const size_t room = sizeof a->text - a->text_len;
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(text, room, format, args);
    va_end(args);
    assert(n > 0 && (size_t)n < room); /* the table is ours */
    a->text_len += (size_t)n + 1;
    return text;
}

static const char *option_text(struct ltp_arguments *a, const struct ltp_option *o)
{
    char *text = keep_text(a, "%s", o->name);
    for (char *p = text; *p != '\0'; p++)
        *p = *p == '_' ? '-' : *p;
    return text;
}

static const char *help_text(struct ltp_arguments *a, const struct ltp_option *o)
{
    char *text = keep_text(a, "%s [%s]", o->help, o->initial);
    text[0] = (char)toupper((unsigned char)text[0]);
    return text;
}

static const char *name_of(const struct ltp_arguments *a, int key)
{
    const struct argp_option *o = a->options;
    while (o->key != key)
        o++;
    return o->name;
}

static void parse_recovery(struct argp_state *state, const char *arg, struct ltp_arguments *a)
{
    const bool all = strcmp(arg, "default") == 0, automatic = a->span->recovery.sessions_auto;
    if (!all && strcmp(arg, "plain") != 0)
        argument_want(state, "recovery", arg, "plain or default");
    a->span->recovery = all ? ltp_recovery_default : ltp_recovery_plain;
    a->span->recovery.sessions_auto = automatic;
    a->recovery = all ? "default" : "plain";
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct ltp_arguments *a = state->input;
    char hint[LTP_OPTION_HINT_MAX];
    if (key == KEY_RECOVERY) {
        parse_recovery(state, arg, a);
        return 0;
    }
    if (key == KEY_PROFILE) {
        if (!ltp_profile_parse(arg, &a->span->profile))
            argument_want(state, "peer-profile", arg, "heliograph, hdtn, ion, plain or auto");
        return 0;
    }
    if (key < KEY_FIRST || key >= KEY_FIRST + LTP_ARGUMENTS_MAX)
        return ARGP_ERR_UNKNOWN;
    const struct ltp_option *o = &ltp_options[key - KEY_FIRST];
    if (ltp_option_set(o, a->span, arg) != 0)
        argument_want(state, name_of(a, key), arg, ltp_option_hint(o, hint));
    return 0;
}

static bool is_listed(const char *const *names, const char *name)
{
    while (*names != NULL && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

void ltp_arguments_init(struct ltp_arguments *a, struct ltp_span *span, const char *const *without)
{
    *a = (struct ltp_arguments){
        .span = span, .recovery = "plain", .argp = {.options = a->options, .parser = parse_option}};
    struct argp_option *next = a->options;
    *next++ = (struct argp_option){"recovery",
                                   KEY_RECOVERY,
                                   "plain|default",
                                   0,
                                   "Named set of recovery switches; single ones change it when "
                                   "they follow [plain]",
                                   0};
    *next++ = (struct argp_option){"peer-profile",
                                   KEY_PROFILE,
                                   "NAME",
                                   0,
                                   keep_text(a,
                                             "Which of them the peer's receiver supports: "
                                             "heliograph, hdtn, ion, plain, or auto: as it is "
                                             "found to behave [%s]",
                                             ltp_profile_name(span->profile)),
                                   0};
    for (int i = 0; ltp_options[i].name != NULL; i++) {
        const struct ltp_option *o = &ltp_options[i];
        assert(i < LTP_ARGUMENTS_MAX);
        if (is_listed(without, o->name))
            continue;
        const int rc = ltp_option_set(o, a->span, o->initial);
        assert(rc == 0);
        (void)rc;
        *next++ = (struct argp_option){
            option_text(a, o), KEY_FIRST + i, unit_words[o->unit], 0, help_text(a, o), 0};
    }
}
