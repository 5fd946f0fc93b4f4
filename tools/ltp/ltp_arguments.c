/* SPDX-License-Identifier: Apache-2.0 */
/* Each line of the table of LTP becomes a row. What can go wrong
 * is a value, which ends the program with a message that says what would be right. */
#include "tools/ltp/ltp_arguments.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "os/arguments.h"

static const char *const unit_words[] = {"TIME", "SIZE", "N", "yes|no"};
static const enum option_type unit_types[] = {OPTION_DURATION, OPTION_SIZE, OPTION_COUNT,
                                              OPTION_CHOICE};

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

static void set_recovery(struct argp_state *state, const struct argument *row, char *arg,
                         void *base)
{
    struct ltp_arguments *a = base;
    const bool all = argument_choice(state, row, arg) == 1;
    const bool automatic = a->span->recovery.sessions_auto;
    a->span->recovery = all ? ltp_recovery_default : ltp_recovery_plain;
    a->span->recovery.sessions_auto = automatic;
    a->recovery = all ? "default" : "plain";
}

static void set_profile(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    const struct ltp_arguments *a = base;
    a->span->profile = (enum ltp_profile)argument_choice(state, row, arg);
}

static void set_listed(struct argp_state *state, const struct argument *row, char *arg, void *base)
{
    const struct ltp_arguments *a = base;
    const bool flag = row->type == OPTION_CHOICE;
    ltp_option_put(ltp_option_find(row->name), a->span,
                   flag ? (uint64_t)argument_choice(state, row, arg)
                        : argument_number(state, row, arg));
}

static bool is_listed(const char *const *names, const char *name)
{
    while (*names != NULL && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

void ltp_arguments_init(struct ltp_arguments *a, struct ltp_span *span, const char *const *without)
{
    *a = (struct ltp_arguments){.span = span, .recovery = "plain"};
    struct argument *next = a->options;
    *next++ = (struct argument){.name = "recovery",
                                .arg = "plain|default",
                                .type = OPTION_CHOICE,
                                .choices = "plain|default",
                                .help = "Named set of recovery switches; single ones change it "
                                        "when they follow [plain]",
                                .own = set_recovery};
    *next++ = (struct argument){.name = "peer-profile",
                                .arg = "NAME",
                                .type = OPTION_CHOICE,
                                .choices = "heliograph|hdtn|ion|plain|auto",
                                .help = keep_text(a,
                                                  "Which of them the peer's receiver supports: "
                                                  "heliograph, hdtn, ion, plain, or auto: as it is "
                                                  "found to behave [%s]",
                                                  ltp_profile_name(span->profile)),
                                .own = set_profile};
    for (size_t i = 0; ltp_options[i].name != NULL; i++) {
        const struct ltp_option *o = &ltp_options[i];
        assert(i < LTP_ARGUMENTS_MAX);
        if (is_listed(without, o->name))
            continue;
        const int rc = ltp_option_set(o, a->span, o->initial);
        assert(rc == 0);
        (void)rc;
        *next++ = (struct argument){.name = option_text(a, o),
                                    .arg = unit_words[o->unit],
                                    .help = help_text(a, o),
                                    .type = unit_types[o->unit],
                                    .min = o->least,
                                    .max = o->most,
                                    .choices = o->unit == LTP_OPTION_FLAG ? "no|yes" : NULL,
                                    .own = set_listed};
    }
}
