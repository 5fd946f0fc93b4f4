/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An emulator of one link is asked once, one of several links once for each link. Then the families
 * are written one after the other, each with a sample for each direction. What can go wrong: an
 * emulator does not answer, or its answer is not the expected JSON; it then has no samples.
 */
#include "channel-emu/emu/emu_commands.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel-emu/emu/emu_control.h"
#include "node/http/http_text.h"

#define PREFIX "heliograph_emu_"
#define LABEL_MAX 256

static const char *const directions[] = {"forward", "return"};

/* ---- what the emulators say: [{"socket":, "link":, "forward": {...}, "return": {...}}] ---- */

static json_t *ask_json(const char *socket, const char *text)
{
    char answer[EMU_CONTROL_ANSWER_MAX + 1];
    return emu_ask(socket, text, answer) < 0 ? NULL : json_loads(answer, 0, NULL);
}

/* False: no answer of a link. */
static bool add_link(json_t *all, const char *socket, const char *link, const char *question)
{
    json_t *now = ask_json(socket, question);
    bool good = json_is_object(json_object_get(now, directions[0])) &&
                json_object_set_new(now, "socket", json_string(socket)) == 0 &&
                json_object_set_new(now, "link", json_string(link)) == 0 &&
                json_array_append(all, now) == 0;
    json_decref(now);
    return good;
}

/* The links of one socket. A link without a name has the last part of the socket's path. */
static bool add_emulator(json_t *all, const char *socket)
{
    char question[EMU_CONTROL_TEXT_MAX];
    const char *name, *last = strrchr(socket, '/');
    json_t *status = ask_json(socket, EMU_CONTROL_STATUS), *link;
    json_t *links = json_object_get(status, "links");
    bool good = status != NULL;
    if (!json_is_object(links))
        good = good && add_link(all, socket, last == NULL ? socket : last + 1, EMU_CONTROL_NOW);
    json_object_foreach(links, name, link)
    {
        snprintf(question, sizeof question, EMU_CONTROL_NOW " %s", name);
        good = add_link(all, socket, name, question) && good;
    }
    json_decref(status);
    return good;
}

/* ---- the families ---- */

static void put_family(FILE *f, const char *name, const char *type, const char *help)
{
    fprintf(f, "# HELP " PREFIX "%s %s\n# TYPE " PREFIX "%s %s\n", name, help, name, type);
}

/* The begin of a sample, up to its labels' end. */
static void put_labels(FILE *f, const char *name, const json_t *link, const char *direction)
{
    char socket[LABEL_MAX], label[LABEL_MAX];
    prometheus_label(json_string_value(json_object_get(link, "socket")), socket, sizeof socket);
    prometheus_label(json_string_value(json_object_get(link, "link")), label, sizeof label);
    fprintf(f, PREFIX "%s{socket=\"%s\",link=\"%s\",direction=\"%s\"", name, socket, label,
            direction);
}

static const struct family {
    const char *name, *type, *help;
    const char *part, *key; /* of a direction; part NULL: the direction itself */
    double factor;
} families[] = {
    {"in_frames_total", "counter", "frames that reached the emulator", NULL, "in", 1},
    {"in_bytes_total", "counter", "their payload bytes, of those that entered the channel", NULL,
     "in_bytes", 1},
    {"out_frames_total", "counter", "frames that were sent on", NULL, "out", 1},
    {"out_bytes_total", "counter", "their payload bytes", NULL, "out_bytes", 1},
    {"queued_frames", "gauge", "frames inside the channel", NULL, "queued", 1},
    {"bad_ratio", "gauge", "share of the last second that is bad by the trace", "now", "bad_share",
     1},
    {"random_loss_ratio", "gauge", "probability of a random loss", "now", "iid", 1},
    {"rate_bits_per_second", "gauge", "rate that the last frame met; 0: unlimited", "now",
     "rate_bps", 1},
    {"delay_seconds", "gauge", "delay that the last frame met", "now", "delay_ns", 1e-9},
    {"power_decibels", "gauge", "mean received power of the last second", "now", "power_db", 1},
};

static void put_one(FILE *f, const struct family *family, const json_t *link, const char *direction)
{
    const json_t *counters = json_object_get(link, direction);
    if (family->part != NULL)
        counters = json_object_get(counters, family->part);
    const json_t *value = json_object_get(counters, family->key);
    if (!json_is_number(value)) /* no frame has passed yet, or the link has none */
        return;
    put_labels(f, family->name, link, direction);
    if (json_is_integer(value) && family->factor == 1)
        fprintf(f, "} %" JSON_INTEGER_FORMAT "\n", json_integer_value(value));
    else
        fprintf(f, "} %.9g\n", json_number_value(value) * family->factor);
}

static void put_families(FILE *f, const json_t *all)
{
    size_t i;
    json_t *link;
    for (size_t k = 0; k < sizeof families / sizeof *families; k++) {
        put_family(f, families[k].name, families[k].type, families[k].help);
        json_array_foreach(all, i, link) for (int d = 0; d < 2; d++)
            put_one(f, &families[k], link, directions[d]);
    }
}

/* All reasons, also those that are 0: a counter that begins later has no rate at first. */
static void put_lost(FILE *f, const json_t *all)
{
    size_t i;
    json_t *link;
    put_family(f, "lost_frames_total", "counter", "frames that were lost, by reason");
    json_array_foreach(all, i, link) for (int d = 0; d < 2; d++)
    {
        const json_t *lost = json_object_get(json_object_get(link, directions[d]), "lost");
        const char *reason;
        for (int k = 0; (reason = emu_report_reason(k)) != NULL; k++) {
            put_labels(f, "lost_frames_total", link, directions[d]);
            fprintf(f, ",reason=\"%s\"} %" JSON_INTEGER_FORMAT "\n", reason,
                    json_integer_value(json_object_get(lost, reason)));
        }
    }
}

static void put_states(FILE *f, const json_t *all)
{
    static const char *const states[] = {"good", "bad", "off", "down"};
    size_t i;
    json_t *link;
    put_family(f, "state", "gauge", "1 for the state that the direction is in, 0 for the others");
    json_array_foreach(all, i, link) for (int d = 0; d < 2; d++)
    {
        const json_t *now = json_object_get(json_object_get(link, directions[d]), "now");
        const char *state = json_string_value(json_object_get(now, "state"));
        for (size_t k = 0; state != NULL && k < sizeof states / sizeof *states; k++) {
            put_labels(f, "state", link, directions[d]);
            fprintf(f, ",state=\"%s\"} %d\n", states[k], strcmp(state, states[k]) == 0);
        }
    }
}

char *emu_metrics(const char *const *sockets, size_t count, size_t *len, const char **silent)
{
    char *text = NULL, label[LABEL_MAX];
    *silent = NULL;
    json_t *all = json_array();
    FILE *f = all == NULL ? NULL : open_memstream(&text, len);
    if (f == NULL) {
        json_decref(all);
        return NULL;
    }
    put_family(f, "answers", "gauge", "1: the emulator answers");
    for (size_t i = 0; i < count; i++) {
        const bool good = add_emulator(all, sockets[i]);
        *silent = good ? *silent : sockets[i];
        prometheus_label(sockets[i], label, sizeof label);
        fprintf(f, PREFIX "answers{socket=\"%s\"} %d\n", label, good);
    }
    put_families(f, all);
    put_lost(f, all);
    put_states(f, all);
    json_decref(all);
    if (fclose(f) == 0)
        return text;
    free(text);
    return NULL;
}
