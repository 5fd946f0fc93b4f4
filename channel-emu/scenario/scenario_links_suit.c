/* SPDX-License-Identifier: Apache-2.0 */
/* What single links cannot know: whether all of them together make sense. */
#include <stdio.h>
#include <string.h>

#include "channel-emu/scenario/scenario_links.h"

/* What of a direction is the transmitter's when it shares one. */
static void check_shared(const struct scenario_links *s, const struct scenario_link *l,
                         int direction, struct conf_errors *errors)
{
    static const char *const directions[] = {"forward", "return"};
    const struct scenario_direction *w = &l->scenario.directions[direction];
    const char *key = w->rate_bps > 0         ? "rate"
                      : w->line.queue > 0     ? "queue"
                      : w->codel.interval > 0 ? "codel"
                      : w->mark > 0           ? "mark"
                      : w->off == 1           ? "off_contact"
                                              : NULL;
    if (l->shared[direction] < 0)
        return;
    const char *name = s->shared[l->shared[direction]].name;
    if (l->over_count > 0)
        conf_error(errors, l->line, "links.%s: is handed over, so shared.%s cannot be its; %s",
                   l->name, name, "write the links that it goes over");
    else if (key != NULL)
        conf_error(errors, l->line,
                   "links.%s.%s.%s: the direction shares a transmitter; write it at shared.%s%s",
                   l->name, directions[direction], key, name,
                   w->off == 1 ? ", which has no contacts: remove it" : "");
}

/* Is anything of this link sent over `to`, beside what `but` sends? */
static bool is_used(const struct scenario_links *s, size_t to, const struct scenario_link *but)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct scenario_link *l = &s->link[i];
        for (size_t k = 0; l != but && k < l->over_count; k++) {
            if (l->overs[k].to == to)
                return true;
        }
    }
    return &s->link[to] != but && *s->link[to].listen != '\0';
}

static void check_over(const struct scenario_links *s, const struct scenario_link *l,
                       struct conf_errors *errors)
{
    const struct chan_handover *o = l->overs;
    for (size_t i = 0; i < l->over_count; i++) {
        if (o[i].to != CHAN_NOWHERE && s->link[o[i].to].over_count > 0)
            conf_error(errors, l->handover_line,
                       "links.%s.handover[%zu].link: %s is handed over itself; write a link that "
                       "is not",
                       l->name, i + 1, s->link[o[i].to].name);
        if (i > 0 && o[i].drop && o[i - 1].to != CHAN_NOWHERE && is_used(s, o[i - 1].to, l))
            conf_error(errors, l->handover_line,
                       "links.%s.handover[%zu].in_flight: %s has other traffic, too; write arrives",
                       l->name, i + 1, s->link[o[i - 1].to].name);
    }
}

static void check_ends(const struct scenario_links *s, size_t i, struct conf_errors *errors)
{
    const struct scenario_link *l = &s->link[i];
    bool listens = *l->listen != '\0', goes = *l->to != '\0';
    if (listens != goes)
        conf_error(errors, l->line, "links.%s: %s is missing; write an address such as %s", l->name,
                   listens ? "to" : "listen", "127.0.0.1:5001");
    if (!listens && (*l->return_from != '\0' || *l->return_to != '\0'))
        conf_error(errors, l->line, "links.%s: return_from and return_to need listen and to",
                   l->name);
    if (!listens && l->over_count > 0)
        conf_error(errors, l->line, "links.%s: what is handed over needs listen and to", l->name);
    if (!listens && !goes && l->over_count == 0 && !is_used(s, i, NULL))
        conf_error(errors, l->line,
                   "links.%s: nothing goes over it; write listen and to, or a handover to it",
                   l->name);
}

/* No two write to one file. */
static void check_files(const struct scenario_links *s, size_t i, struct conf_errors *errors)
{
    const struct scenario *a = &s->link[i].scenario;
    const char *const of_a[] = {a->drop_log, a->pcap_before, a->pcap_after};
    static const char *const keys[] = {"drop_log", "pcap_before", "pcap_after"};
    for (size_t j = 0; j < i; j++) {
        const struct scenario *b = &s->link[j].scenario;
        const char *const of_b[] = {b->drop_log, b->pcap_before, b->pcap_after};
        for (size_t k = 0; k < 9; k++) {
            if (*of_a[k / 3] != '\0' && strcmp(of_a[k / 3], of_b[k % 3]) == 0)
                conf_error(errors, s->link[i].line,
                           "links.%s.%s: is the file of links.%s.%s; write another one",
                           s->link[i].name, keys[k / 3], s->link[j].name, keys[k % 3]);
        }
    }
}

void scenario_links_suit(const struct scenario_links *s, struct conf_errors *errors)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct scenario_link *l = &s->link[i];
        (void)scenario_check(&l->scenario, errors);
        check_ends(s, i, errors);
        check_over(s, l, errors);
        check_files(s, i, errors);
        for (int direction = 0; direction < 2; direction++)
            check_shared(s, l, direction, errors);
    }
}
