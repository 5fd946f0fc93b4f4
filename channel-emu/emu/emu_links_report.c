/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The account of several links: that of each, with what they have between them; and one verdict,
 * the worst of all. Nothing can fail but memory, which leaves fields away.
 */
#include <string.h>

#include "channel-emu/emu/emu_links.h"
#include "os/clock.h"

static int worst_grade(const struct emu_loop *loop)
{
    int worst = EMU_FAITHFUL;
    for (size_t i = 0; i < loop->count; i++) {
        int grade = emu_report_grade(&loop->at[i].link);
        worst = grade < worst ? grade : worst;
    }
    return worst;
}

static tick now_of(const struct emu_link *l)
{
    return clock_now() + l->bias;
}

static json_t *json_link(const struct emu_relay *r)
{
    json_t *o = emu_report_link(&r->link);
    json_t *hand = links_run_handover(r->link.among, r->index, now_of(&r->link));
    if (hand != NULL)
        json_object_set_new(o, "handover", hand);
    return o;
}

/* All reasons, each with its link. */
static json_t *join_reasons(const json_t *links)
{
    json_t *all = json_array();
    const char *name;
    json_t *link, *reason;
    json_object_foreach((json_t *)(uintptr_t)links, name, link)
    {
        size_t i;
        json_array_foreach(json_object_get(link, "not_faithful"), i, reason)
            json_array_append_new(all, json_sprintf("%s: %s", name, json_string_value(reason)));
    }
    return all;
}

static json_t *json_links(const struct emu_loop *loop)
{
    json_t *links = json_object();
    for (size_t i = 0; i < loop->count; i++)
        json_object_set_new(links, loop->at[i].name, json_link(&loop->at[i]));
    return links;
}

void emu_links_json(const struct emu_links *l, FILE *to)
{
    int worst = worst_grade(&l->loop);
    json_t *links = json_links(&l->loop);
    json_t *o =
        json_pack("{s:s, s:b, s:s, s:o}", "command", "links", "faithful", worst == EMU_FAITHFUL,
                  "grade", emu_report_grade_name(worst), "not_faithful", join_reasons(links));
    json_object_update_new(o, emu_report_run(&l->loop.at[0].link));
    json_object_set_new(o, "links", links);
    json_object_set_new(o, "shared", links_run_shared(&l->between));
    json_dumpf(o, to, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    fputc('\n', to);
    json_decref(o);
}

void emu_links_text(const struct emu_loop *loop, FILE *to)
{
    int worst = worst_grade(loop);
    for (size_t i = 0; i < loop->count; i++) {
        fprintf(to, "link %s\n", loop->at[i].name);
        emu_report_text(&loop->at[i].link, to);
        links_run_say_handover(loop->at[i].link.among, i, now_of(&loop->at[i].link), to);
    }
    const struct links_run *between = loop->at[0].link.among;
    for (size_t i = 0; i < between->file->shared_count; i++)
        links_run_say_shared(between, i, to);
    if (worst == EMU_FAITHFUL)
        fprintf(to, "all links: faithful\n");
    else
        fprintf(to, "all links: NOT FAITHFUL: %s\n", emu_report_grade_name(worst));
    fflush(to);
}

void emu_links_line(const struct emu_loop *loop, FILE *to)
{
    for (size_t i = 0; i < loop->count; i++) {
        fprintf(to, "%s ", loop->at[i].name);
        emu_report_line(&loop->at[i].link, to);
    }
}

bool emu_links_whole(const struct emu_links *l)
{
    bool whole = true;
    for (size_t i = 0; i < l->loop.count; i++)
        whole = whole && emu_report_whole(&l->loop.at[i].link);
    return whole;
}

json_t *emu_links_status(const struct emu_links *l, const char *name)
{
    int link = name == NULL ? -1 : scenario_links_find(&l->file, name);
    if (name != NULL && link < 0)
        return NULL;
    if (link >= 0)
        return json_link(&l->loop.at[link]);
    json_t *links = json_object();
    for (size_t i = 0; i < l->loop.count; i++)
        json_object_set_new(links, l->loop.at[i].name, emu_report_status(&l->loop.at[i].link));
    return json_pack("{s:s, s:o, s:o}", "grade", emu_report_grade_name(worst_grade(&l->loop)),
                     "links", links, "shared", links_run_shared(&l->between));
}
