/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings in effect, as an object with the keys of the file, and from it a YAML text that
 * reads back to the same. What can go wrong: memory.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "channel-emu/scenario/scenario.h"

static json_t *show_number(enum option_type type, uint64_t v)
{
    char text[CONF_NUMBER_CAP];
    return json_string(conf_number_text(type, v, text));
}

static json_t *show_duration(tick t)
{
    return show_number(OPTION_DURATION, t);
}

static json_t *show_yes(bool b)
{
    return json_string(b ? "yes" : "no");
}

static json_t *start_of(const struct scenario_direction *w)
{
    char text[32];
    time_t t = (time_t)(w->start_time / TICK_S);
    struct tm tm;
    if (w->start == START_FIRST)
        return json_string("first");
    if (w->start == START_AFTER)
        return show_duration(w->start_time);
    gmtime_r(&t, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return json_string(text);
}

static json_t *queue_of(const struct scenario_direction *w)
{
    if (w->queue_bytes == 0 && w->queue_time == 0)
        return json_string("none");
    return w->queue_time > 0 ? show_duration(w->queue_time)
                             : show_number(OPTION_SIZE, w->queue_bytes);
}

static json_t *delay_of(const struct scenario_direction *w)
{
    if (w->point_count == 0)
        return show_duration(w->delay);
    json_t *list = json_array();
    for (size_t i = 0; i < w->point_count; i++)
        json_array_append_new(list, json_pack("{so so}", "at", show_duration(w->points[i].at),
                                              "delay", show_duration(w->points[i].delay)));
    return list;
}

static json_t *windows_of(const struct scenario_direction *w)
{
    json_t *list = json_array();
    for (size_t i = 0; i < w->window_count; i++)
        json_array_append_new(list, json_pack("{so so}", "from", show_duration(w->windows[i].from),
                                              "to", show_duration(w->windows[i].to)));
    return list;
}

static json_t *erasures_of(const struct scenario_direction *w)
{
    json_t *o = json_pack("{s:{s:s, s:o, s:o}, s:s, s:f}", "trace", "file", w->trace.name, "offset",
                          show_duration(w->trace.offset), "loop", show_yes(w->trace.loop), "frame",
                          w->frame == 1 ? "start" : "any", "iid", w->iid);
    if (w->burst.good > 0)
        json_object_set_new(o, "gilbert_elliott",
                            json_pack("{s:o, s:o, s:f, s:f}", "good", show_duration(w->burst.good),
                                      "bad", show_duration(w->burst.bad), "loss_good",
                                      w->burst.loss_good, "loss_bad", w->burst.loss_bad));
    if (w->power.power.len > 0)
        json_object_set_new(o, "power", scenario_power_json(w));
    return o;
}

static json_t *show_direction(const struct scenario_direction *w)
{
    json_t *rules = json_array();
    for (size_t i = 0; i < w->rules_len; i++)
        json_array_append_new(rules, json_string(w->rule_texts[i]));
    char rate[CONF_NUMBER_CAP] = "unlimited";
    if (w->rate_bps > 0)
        conf_number_text(OPTION_RATE, w->rate_bps, rate);
    json_t *direction = json_pack(
        "{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:f, s:f, s:f, s:o}", "start", start_of(w),
        "rate", rate, "queue", queue_of(w), "delay", delay_of(w), "jitter", scenario_jitter_json(w),
        "reorder", show_yes(w->reorder), w->windows_off ? "outages" : "contacts", windows_of(w),
        "off_contact", w->off == 1 ? "hold" : "drop", "erasures", erasures_of(w), "duplicate",
        w->duplicate, "corrupt", w->corrupt, "bit_errors", w->bit_errors, "rules", rules);
    if (direction != NULL && w->codel.interval > 0)
        json_object_set_new(direction, "codel", scenario_codel_json(w));
    if (direction != NULL && w->mark > 0)
        json_object_set_new(direction, "mark", show_duration(w->mark));
    if (direction != NULL && w->change_count > 0)
        json_object_set_new(direction, "changes",
                            scenario_changes_json(w->changes, w->change_count));
    return direction;
}

json_t *scenario_json(const struct scenario *s)
{
    return json_pack("{s:I, s:o, s:s, s:o, s:s, s:s, s:s, s:o, s:o}", "seed", (json_int_t)s->seed,
                     "overhead", show_number(OPTION_SIZE, s->overhead), "exempt",
                     s->exempt == 1 ? "signalling" : "none", "tolerance",
                     show_duration(s->tolerance), "drop_log", s->drop_log, "pcap_before",
                     s->pcap_before, "pcap_after", s->pcap_after, "forward",
                     show_direction(&s->directions[SCENARIO_FORWARD]), "return",
                     show_direction(&s->directions[SCENARIO_RETURN]));
}

/* Maps of two levels as blocks, what is below in JSON, which is YAML, too. */
static void print_map(FILE *f, const json_t *map, int depth)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)map, key, v)
    {
        fprintf(f, "%*s%s:", depth * 2, "", key);
        if (json_is_object(v) && depth < 2) {
            fprintf(f, "\n");
            print_map(f, v, depth + 1);
            continue;
        }
        char *text = json_dumps(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
        size_t n = text == NULL ? 0 : strlen(text);
        bool plain = json_is_string(v) && n > 2 && strpbrk(text + 1, " :#{}[],&*!|>%@`'\\") == NULL;
        fprintf(f, " %.*s\n", (int)(plain ? n - 2 : n),
                plain          ? text + 1
                : text == NULL ? ""
                               : text);
        free(text);
    }
}

char *scenario_yaml(const struct scenario *s)
{
    char *out = NULL;
    size_t len;
    json_t *o = scenario_json(s);
    FILE *f = o == NULL ? NULL : open_memstream(&out, &len);
    if (f != NULL) {
        print_map(f, o, 0);
        if (fclose(f) != 0) {
            free(out);
            out = NULL;
        }
    }
    json_decref(o);
    return out;
}
