/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of links by their names, all of a message or none. What can go wrong: memory. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/chan/chan_shared.h"
#include "channel-emu/emu/emu_links.h"

static int change_one(struct emu_links *l, const struct scenario_links_change *c, tick now)
{
    if (c->shared < 0)
        return emu_link_change(&l->loop.at[c->link].link, &c->of_link, now);
    const struct links_line *line = &l->between.line[c->shared];
    tick at = now + l->loop.at[0].link.bias;
    for (size_t i = 0; i < line->count; i++)
        at = tick_max(at, emu_link_change_time(line->member[i].owner, line->member[i].dir, now));
    int rc = chan_shared_change(line->shared, c->rate_bps, at);
    emu_link_tell(line->member[0].owner, line->member[0].dir);
    return rc;
}

static int change_all(struct emu_links *l, const char *text, size_t len, FILE *say, tick now,
                      char answer[EMU_CONTROL_ANSWER_MAX])
{
    struct scenario_links_change *c = calloc(SCENARIO_LINKS_CHANGES_MAX, sizeof *c);
    struct conf_errors *e = malloc(sizeof *e);
    int n = 0, rc = c == NULL || e == NULL ? HELIO_ENOMEM : 0;
    if (rc == 0) {
        conf_errors_init(e, "");
        n = scenario_links_change_read(c, &l->file, text, len, e);
    }
    if (rc == 0 && n < 0)
        emu_control_refuse(e, answer);
    for (int i = 0; i < n && rc == 0; i++)
        rc = change_one(l, &c[i], now);
    if (rc == 0 && n > 0)
        emu_control_done(&l->loop.at[0].link, text, now, say, answer);
    free(c);
    free(e);
    return rc;
}

static void show_status(const struct emu_links *l, const char *name, char *answer)
{
    json_t *o = *name == '\0' ? emu_links_status(l, NULL) : emu_links_status(l, name + 1);
    if (o == NULL)
        snprintf(answer, EMU_CONTROL_ANSWER_MAX, "there is no link \"%.60s\"", name + 1);
    else
        emu_control_show(o, answer);
}

/* Does the message ask this; `name`: what follows, or "". */
static bool asks_for(const char *text, const char *word, const char **name)
{
    const size_t n = strlen(word);
    *name = text + n;
    return strncmp(text, word, n) == 0 && (text[n] == '\0' || text[n] == ' ');
}

static void show_now(struct emu_links *l, const char *name, tick now, char *answer)
{
    int link = *name == '\0' ? -1 : scenario_links_find(&l->file, name + 1);
    if (link < 0)
        snprintf(answer, EMU_CONTROL_ANSWER_MAX, "there is no link \"%.60s\"",
                 *name == '\0' ? "" : name + 1);
    else
        emu_control_show(emu_report_now(&l->loop.at[link].link, now), answer);
}

int emu_links_obey(void *whom, const char *text, size_t len, FILE *say, tick now,
                   char answer[EMU_CONTROL_ANSWER_MAX])
{
    const char *name;
    if (asks_for(text, EMU_CONTROL_STATUS, &name))
        show_status(whom, name, answer);
    else if (asks_for(text, EMU_CONTROL_NOW, &name))
        show_now(whom, name, now, answer);
    else
        return change_all(whom, text, len, say, now, answer);
    return 0;
}
