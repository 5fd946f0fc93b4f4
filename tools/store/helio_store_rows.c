/* SPDX-License-Identifier: Apache-2.0 */
/* check and list: what is there, as text or as JSON. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/tick.h"
#include "bp/agent/life_clock.h"
#include "conf/json_number.h"
#include "os/clock.h"
#include "os/process/process.h"
#include "store/store_record.h"
#include "tools/store/helio_store.h"

bool head_read(const struct store_row *row, struct agent_head *out)
{
    size_t id_off;
    return row->head.len > 0 && agent_head_decode(row->head, out, &id_off) == 0;
}

bool row_is_damaged(const struct store_row *row)
{
    return row->aside || (row->state != STORE_ROW_WHOLE && row->state != STORE_ROW_UNCHECKED);
}

static const struct {
    const char *word, *text;
} states[] = {
    [STORE_ROW_WHOLE] = {"whole", "whole"},
    [STORE_ROW_UNCHECKED] = {"unchecked", "of format 1, without a check value"},
    [STORE_ROW_HEAD_DAMAGED] = {"head-damaged", "the head differs from its check value"},
    [STORE_ROW_BUNDLE_DAMAGED] = {"bundle-damaged", "the bundle differs from its check value"},
    [STORE_ROW_BUNDLE_MISSING] = {"bundle-missing", "a head without its bundle"},
    [STORE_ROW_HEAD_MISSING] = {"head-missing", "a bundle without its head"},
};

const char *row_state_text(const struct store_row *row)
{
    return states[row->state].text;
}

const char *row_state_word(const struct store_row *row)
{
    return states[row->state].word;
}

static void print_json(json_t *o)
{
    json_dumpf(o, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(o);
}

/* ---- the node's time ---- */

uint64_t life_now(const char *directory)
{
    struct store_about about;
    struct life_clock before, now = {0};
    int64_t step_ms;
    now.mono_ms = clock_now() / TICK_MS;
    now.dtn_ms = dtn_ms_of(clock_wall());
    static_assert(MACHINE_BOOT_BYTES == LIFE_CLOCK_BOOT, "a boot's name");
    machine_boot(now.boot);
    bool known = about_store(directory, &about, true) == 0 &&
                 life_clock_read(about.clock, about.clock_len, &before) == 0;
    life_clock_begin(&now, known ? &before : NULL, &step_ms);
    return now.life_ms;
}

/* ---- check ---- */

static int check_row(void *ctx, struct tally *t, const struct store_row *row)
{
    const struct store_options_line *o = ctx;
    (void)t;
    if (row_is_damaged(row) && !o->json)
        printf("bundle %" PRIu64 ": %s%s\n", row->key, row_state_text(row),
               row->aside ? "; set aside" : "");
    return 0;
}

static void print_check(const struct store_options_line *o, const struct store_about *a,
                        const struct tally *t, const char *fault, bool good)
{
    if (o->json) {
        json_t *j = json_object();
        json_object_set_new(j, "good", json_boolean(good));
        json_put_number(j, "format", a->format);
        json_put_number(j, "bundles", t->whole);
        json_put_number(j, "bytes", t->bytes);
        json_put_number(j, "damaged", t->damaged);
        json_put_number(j, "unreadable", t->unreadable);
        json_put_number(j, "marks", a->marks);
        json_put_number(j, "marks_damaged", a->marks_damaged);
        json_put_number(j, "notes_damaged", a->notes_damaged);
        json_put_number(j, "file_bytes", a->file_bytes);
        json_put_number(j, "database_bytes", a->database_bytes);
        json_object_set_new(j, "complete", json_boolean(!t->failed));
        json_object_set_new(j, "pages", *fault == '\0' ? json_string("whole") : json_string(fault));
        print_json(j);
        return;
    }
    printf("bundles   %" PRIu64 " whole, %" PRIu64 " bytes; %" PRIu64 " damaged, %" PRIu64
           " unreadable\n",
           t->whole, t->bytes, t->damaged, t->unreadable);
    printf("marks     %" PRIu64 "; %" PRIu64 " damaged\n", a->marks, a->marks_damaged);
    printf("notes     %" PRIu64 "; %" PRIu64 " damaged\n", a->notes, a->notes_damaged);
    printf("file      %" PRIu64 " bytes, format %u%s\n", a->file_bytes, a->format,
           a->file_bytes < a->database_bytes ? "; it is shorter than its database" : "");
    printf("pages     %s\n", *fault == '\0' ? "whole" : fault);
    printf("%s\n", good ? "good" : "not good");
}

int command_check(const struct store_options_line *o)
{
    struct store_about about;
    int rc = about_store(o->directory, &about, false);
    if (rc == HELIO_ENOENT)
        return EXIT_FAILED;
    char fault[512];
    bool pages = store_lmdb_check(o->directory, fault, sizeof fault) == 0;
    struct tally *t = walk_store(o->directory, check_row, (void *)(uintptr_t)o);
    if (t == NULL)
        return EXIT_FAILED;
    bool good = pages && !t->failed &&
                t->damaged + t->unreadable + about.marks_damaged + about.notes_damaged == 0;
    print_check(o, &about, t, fault, good);
    tally_free(t);
    return good ? EXIT_DONE : EXIT_FAILED;
}

/* ---- list ---- */

struct listing {
    const struct store_options_line *o;
    uint64_t now_ms; /* of the node's run */
};

static void duration_text(uint64_t ms, char out[24])
{
    uint64_t s = ms / 1000;
    if (s < 1000)
        snprintf(out, 24, "%" PRIu64 ".%" PRIu64 " s", s, ms % 1000 / 100);
    else if (s < 100 * 3600)
        snprintf(out, 24, "%" PRIu64 ":%02" PRIu64 " h", s / 3600, s / 60 % 60);
    else
        snprintf(out, 24, "%" PRIu64 " d", s / 86400);
}

static uint64_t lesser_of(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static void list_json(const struct listing *l, const struct store_row *row,
                      const struct agent_head *h)
{
    json_t *j = json_object();
    char text[EID_TEXT_MAX];
    json_put_number(j, "key", row->key);
    json_object_set_new(j, "state", json_string(row_state_word(row)));
    json_object_set_new(j, "aside", json_boolean(row->aside));
    json_put_number(j, "bytes", row->bundle.len);
    if (h != NULL) {
        eid_text(&h->id.source, text);
        json_object_set_new(j, "source", json_string(text));
        json_put_number(j, "created_ms", h->id.time_ms);
        json_put_number(j, "sequence", h->id.sequence);
        if (h->id.fragment) {
            json_put_number(j, "offset", h->id.offset);
            json_put_number(j, "total", h->id.total);
        }
        eid_text(&h->destination, text);
        json_object_set_new(j, "destination", json_string(text));
        json_object_set_new(j, "from_peer", json_boolean(h->from_link));
        json_put_number(j, "payload_bytes", h->payload_len);
        json_put_number(j, "lifetime_ms", h->lifetime_ms);
        json_put_number(j, "here_ms", lesser_of(l->now_ms, h->arrived_ms));
        if (h->expires_ms != UINT64_MAX)
            json_put_number(j, "left_ms", lesser_of(h->expires_ms, l->now_ms));
    }
    print_json(j);
}

static int list_row(void *ctx, struct tally *t, const struct store_row *row)
{
    const struct listing *l = ctx;
    struct agent_head h;
    bool known = head_read(row, &h);
    (void)t;
    if (l->o->json) {
        list_json(l, row, known ? &h : NULL);
        return 0;
    }
    char id[EID_TEXT_MAX + 48] = "?", to[EID_TEXT_MAX] = "?", here[24] = "?", left[24] = "never";
    if (known) {
        eid_text(&h.id.source, id);
        size_t n = strlen(id);
        snprintf(id + n, sizeof id - n, " %" PRIu64 " %" PRIu64, h.id.time_ms, h.id.sequence);
        eid_text(&h.destination, to);
        duration_text(lesser_of(l->now_ms, h.arrived_ms), here);
        if (h.expires_ms != UINT64_MAX)
            duration_text(lesser_of(h.expires_ms, l->now_ms), left);
    }
    printf("%8" PRIu64 "  %-34s  %-16s  %10zu  %9s  %9s  %s%s\n", row->key, id, to, row->bundle.len,
           here, known ? left : "?", row_state_word(row), row->aside ? ", aside" : "");
    return 0;
}

int command_list(const struct store_options_line *o)
{
    struct listing l = {.o = o, .now_ms = life_now(o->directory)};
    if (!o->json)
        printf("%8s  %-34s  %-16s  %10s  %9s  %9s  %s\n", "KEY", "SOURCE CREATED SEQUENCE",
               "DESTINATION", "BYTES", "HERE", "LEFT", "STATE");
    struct tally *t = walk_store(o->directory, list_row, &l);
    bool good = t != NULL && !t->failed && t->unreadable == 0;
    tally_free(t);
    return good ? EXIT_DONE : EXIT_FAILED;
}
