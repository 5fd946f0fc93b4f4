/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-plan publish|rollback|versions: versions in the owner's folder. A plan of any format
 * becomes YAML with dates, which every node reads alike. What can go wrong: times without a date, a
 * plan that is too long, too many versions that wait, a version that is not there.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/err.h"
#include "conf/json_number.h"
#include "os/clock.h"
#include "tools/plan/helio_plan.h"
#include "tools/plan/plans_service.h"

#define NUMBERS_SKIPPED 1000 /* at once, because a follower has reported a higher one */

static int open_folder(struct plans_shelf *s, const char *path, bool make)
{
    char why[256];
    struct stat st;
    if (!make && stat(path, &st) != 0) {
        fprintf(stderr, "helio-plan: %s: %s\n", path, strerror(errno));
        return HELIO_ENOENT;
    }
    const int rc = plans_shelf_open(s, path, false, why, sizeof why);
    if (rc != 0)
        fprintf(stderr, "helio-plan: %s: %s\n", path, why);
    return rc;
}

/* ---- what is in the folder ---- */

struct versions {
    uint64_t numbers[PLANS_FILES_MAX];
    struct plans_version at[PLANS_FILES_MAX]; /* number 0: damaged */
    size_t sizes[PLANS_FILES_MAX];
    size_t len;
    uint64_t in_force; /* 0: none */
    size_t later;      /* versions above it */
};

/* Reads from the highest number down, all or to the one in force. NULL: no memory, or said. */
static struct versions *read_versions(const struct plans_shelf *s, bool all)
{
    const uint64_t wall = clock_wall();
    struct versions *v = calloc(1, sizeof *v);
    const int len = v == NULL ? HELIO_ENOMEM : plans_shelf_list(s, v->numbers);
    if (len < 0) {
        fprintf(stderr, "helio-plan: %s: %s\n", s->path, helio_strerror(len));
        free(v);
        return NULL;
    }
    v->len = (size_t)len;
    for (size_t i = v->len; i-- > 0 && (all || v->in_force == 0);) {
        struct plans_file f;
        const int rc = plans_shelf_read(s, v->numbers[i], &f);
        if (rc == 0) {
            v->at[i] = f.version;
            v->sizes[i] = f.contents.len;
            if (v->in_force == 0 && plans_version_begun(&f.version, wall))
                v->in_force = f.version.number;
            v->later += v->in_force == 0;
        } else {
            fprintf(stderr, "helio-plan: %s/plan-%" PRIu64 ".cbor: %s\n", s->path, v->numbers[i],
                    rc == HELIO_EFORMAT ? "it is damaged" : helio_strerror(rc));
        }
        free(f.octets);
    }
    return v;
}

/* ---- publish ---- */

/* What the running end shows of itself; an empty object: nothing. */
static json_t *read_state(const struct plans_shelf *s)
{
    char path[PLANS_PATH_CAP + PLANS_NAME_CAP];
    snprintf(path, sizeof path, "%s/" PLANS_STATE_FILE, s->path);
    json_t *j = json_load_file(path, 0, NULL);
    if (json_is_object(j))
        return j;
    json_decref(j);
    return json_object();
}

/* The highest number that a follower has reported. */
static uint64_t find_reported(const json_t *follower)
{
    json_int_t most = json_integer_value(json_object_get(follower, "applied"));
    const json_t *held = json_object_get(follower, "held");
    for (size_t i = 0; i < json_array_size(held); i++) {
        const json_int_t n = json_integer_value(json_array_get(held, i));
        most = n > most ? n : most;
    }
    return most > 0 ? (uint64_t)most : 0;
}

/* The owner's folder may be an old copy: what a follower has must not get another meaning. States
 * are not always signed, so a number far above ours is only shown. */
static uint64_t last_number(const struct plans_shelf *s, uint64_t last)
{
    size_t i;
    json_t *p, *state = read_state(s);
    uint64_t most = last;
    json_array_foreach(json_object_get(state, "followers"), i, p)
    {
        const uint64_t n = find_reported(p);
        const char *who = json_string_value(json_object_get(p, "endpoint"));
        if (n > last && n - last > NUMBERS_SKIPPED)
            fprintf(stderr,
                    "helio-plan: %s reports version %" PRIu64
                    "; if that is true, publish with a --number above it\n",
                    who != NULL ? who : "a follower", n);
        else if (n > most)
            most = n;
    }
    json_decref(state);
    return most;
}

static bool choose_number(const struct plan_options *o, const struct plans_shelf *s,
                          const struct versions *v, uint64_t *number)
{
    const uint64_t last = v->len > 0 ? v->numbers[v->len - 1] : 0;
    *number = o->number != 0 ? o->number : last_number(s, last) + 1;
    if (*number > last && *number <= PLANS_NUMBER_MAX)
        return true;
    fprintf(stderr,
            "helio-plan: --number: %" PRIu64 " is not above %" PRIu64 ", the last version\n",
            *number, last);
    return false;
}

/* Under the lock of the folder. An exit code. */
static int add_version(const struct plan_options *o, const struct plans_shelf *s,
                       struct slice contents)
{
    struct plans_version version = {.effect_ms = o->effect == 0 ? 0 : plans_dtn_ms(o->effect)};
    struct versions *v = read_versions(s, false);
    int code = EXIT_FAILED, rc = 0;
    if (v == NULL)
        return code;
    const bool chosen = choose_number(o, s, v, &version.number);
    version.check = plans_check(version.number, version.effect_ms, contents);
    if (!chosen) {
        code = EXIT_USAGE;
    } else if (v->later >= PLANS_LATER_MAX && !plans_version_begun(&version, clock_wall())) {
        fprintf(stderr, "helio-plan: %zu versions wait for their time; at most %d can\n", v->later,
                PLANS_LATER_MAX);
    } else if ((rc = plans_shelf_write(s, &version, contents)) != 0) {
        fprintf(stderr, "helio-plan: %s: version %" PRIu64 " cannot be written: %s\n", s->path,
                version.number, helio_strerror(rc));
    } else if (o->json) {
        printf("{\"number\":%" PRIu64 ",\"effect_dtn_ms\":%" PRIu64 ",\"bytes\":%zu}\n",
               version.number, version.effect_ms, contents.len);
        code = EXIT_DONE;
    } else {
        json_t *effect = plans_effect_json(&version);
        printf("version %" PRIu64 ", %zu bytes, takes effect %s\n", version.number, contents.len,
               json_string_value(effect));
        json_decref(effect);
        code = EXIT_DONE;
    }
    free(v);
    return code;
}

/* An exit code. */
static int publish_contents(const struct plan_options *o, struct slice contents)
{
    struct plans_shelf s;
    int code = EXIT_FAILED;
    if (contents.len > PLANS_CONTENTS_MAX) {
        fprintf(stderr, "helio-plan: the plan has %zu bytes as YAML; at most %u are possible\n",
                contents.len, PLANS_CONTENTS_MAX);
        return EXIT_USAGE;
    }
    if (open_folder(&s, o->path, true) == 0) {
        if (flock(s.fd, LOCK_EX) == 0)
            code = add_version(o, &s, contents);
        else
            fprintf(stderr, "helio-plan: %s: %s\n", s.path, strerror(errno));
    }
    plans_shelf_close(&s);
    return code;
}

/* What other nodes would read differently, or nobody wants. */
static bool is_good(const struct plan_opened *p, const struct plan_options *o)
{
    struct plan_totals t;
    plan_totals(p->plan, &t);
    if (p->draft.since && p->draft.start == 0) {
        fprintf(stderr,
                "helio-plan: %s: it has times without a date; write start: DATE in it, or --start "
                "DATE\n",
                o->plan);
        return false;
    }
    if (t.contacts == 0)
        fprintf(stderr, "helio-plan: %s: it has no contacts\n", o->plan);
    return t.contacts > 0;
}

int command_publish(const struct plan_options *o)
{
    struct plan_options file = *o;
    char *text = NULL;
    size_t len = 0;
    int code = EXIT_USAGE;
    file.path = o->plan;
    struct plan_opened *p = plan_open(&file);
    if (p == NULL)
        return EXIT_USAGE;
    plan_tell_notes(p);
    if (is_good(p, o)) {
        struct plan_lost lost = {0};
        FILE *f = open_memstream(&text, &len);
        int rc = f == NULL ? -1 : plan_write(f, p->plan, PLAN_YAML, p->first, &lost);
        if (f != NULL && fclose(f) != 0)
            rc = -1;
        if (rc != 0)
            fprintf(stderr, "helio-plan: out of memory\n");
        code = rc != 0 ? EXIT_FAILED : publish_contents(o, slice_of(text, len));
        plan_tell_over(p, "");
    }
    free(text);
    plan_close(p);
    return code;
}

/* As after `publish`: the contacts of an old version may all be over. */
static void tell_contents_over(struct slice contents)
{
    struct plan_opened *p = calloc(1, sizeof *p);
    if (p == NULL)
        return;
    conf_errors_init(&p->errors, "plan");
    plan_draft_init(&p->draft, 0);
    (void)plan_yaml_read(&p->draft, (const char *)contents.data, contents.len, &p->errors);
    for (size_t i = 0; i < p->draft.contacts_len; i++)
        if (p->draft.contacts[i].is.end > p->last)
            p->last = p->draft.contacts[i].is.end;
    plan_tell_over(p, "");
    plan_close(p);
}

int command_rollback(const struct plan_options *o)
{
    struct plans_shelf s;
    struct plans_file f = {.octets = NULL};
    int code = EXIT_USAGE;
    if (open_folder(&s, o->path, false) == 0) {
        const int rc = plans_shelf_read(&s, o->version, &f);
        if (rc == 0) {
            code = publish_contents(o, f.contents);
            if (code == EXIT_DONE)
                tell_contents_over(f.contents);
        } else
            fprintf(stderr, "helio-plan: %s: version %" PRIu64 ": %s\n", o->path, o->version,
                    helio_code(rc) == HELIO_ENOENT
                        ? "there is no such version; helio-plan versions "
                          "shows them"
                    : rc == HELIO_EFORMAT ? "it is damaged"
                                          : helio_strerror(rc));
    }
    free(f.octets);
    plans_shelf_close(&s);
    return code;
}

/* ---- versions ---- */

static const char *state_text(const struct versions *v, size_t i)
{
    if (v->at[i].number == 0)
        return "damaged";
    return v->at[i].number == v->in_force  ? "in force"
           : v->at[i].number > v->in_force ? "later"
                                           : "replaced";
}

static json_t *list_json(const struct versions *v)
{
    json_t *list = json_array();
    for (size_t i = 0; i < v->len; i++) {
        json_t *j = json_object();
        json_put_number(j, "number", v->numbers[i]);
        json_put_text(j, "state", state_text(v, i));
        if (v->at[i].number != 0) {
            json_object_set_new(j, "effect", plans_effect_json(&v->at[i]));
            json_put_number(j, "bytes", v->sizes[i]);
        }
        json_array_append_new(list, j);
    }
    return list;
}

static const char *text_of(const json_t *j, const char *key)
{
    const char *text = json_string_value(json_object_get(j, key));
    return text == NULL ? "-" : text;
}

static void print_followers(const json_t *list)
{
    size_t i;
    json_t *p;
    if (json_array_size(list) > 0)
        printf("\nfollower                 follows  lacks  last heard\n");
    json_array_foreach(list, i, p)
    {
        printf("%-24s %7lld %6zu  %s", text_of(p, "endpoint"),
               (long long)json_integer_value(json_object_get(p, "applied")),
               json_array_size(json_object_get(p, "lacks")),
               json_is_true(json_object_get(p, "heard")) ? text_of(p, "heard_at") : "never");
        if (json_array_size(json_object_get(p, "conflicts")) > 0)
            printf(
                "; conflict: other contents under %lld",
                (long long)json_integer_value(json_array_get(json_object_get(p, "conflicts"), 0)));
        if (json_is_true(json_object_get(p, "early")))
            printf("; before its time of effect");
        if (json_object_get(p, "refused") != NULL)
            printf("; refused %lld: %s",
                   (long long)json_integer_value(json_object_get(p, "refused")),
                   text_of(p, "reason"));
        putchar('\n');
    }
}

static void print_versions(const json_t *j)
{
    size_t i;
    json_t *v, *count;
    const char *name;
    printf("version  state     bytes     effect\n");
    json_array_foreach(json_object_get(j, "versions"), i, v)
        printf("%7lld  %-8s  %-8lld  %s\n",
               (long long)json_integer_value(json_object_get(v, "number")), text_of(v, "state"),
               (long long)json_integer_value(json_object_get(v, "bytes")), text_of(v, "effect"));
    if (json_object_get(j, "applied") != NULL)
        printf("\nthe node follows version %lld of %s\n",
               (long long)json_integer_value(json_object_get(j, "applied")), text_of(j, "owner"));
    if (json_object_get(j, "failure") != NULL)
        printf("the node does not take a version: %s\n", text_of(j, "failure"));
    print_followers(json_object_get(j, "followers"));
    if (json_object_size(json_object_get(j, "counts")) > 0)
        printf("\nbundles that arrived:");
    json_object_foreach(json_object_get(j, "counts"), name, count)
        printf(" %s %lld;", name, (long long)json_integer_value(count));
    if (json_object_size(json_object_get(j, "counts")) > 0)
        putchar('\n');
}

int command_versions(const struct plan_options *o)
{
    struct plans_shelf s;
    int code = EXIT_USAGE;
    if (open_folder(&s, o->path, false) == 0) {
        struct versions *v = read_versions(&s, true);
        json_t *j = read_state(&s);
        code = v == NULL ? EXIT_FAILED : EXIT_DONE;
        if (v != NULL)
            json_object_set_new(j, "versions", list_json(v));
        if (v != NULL && o->json) {
            json_dumpf(j, stdout, JSON_COMPACT);
            putchar('\n');
        } else if (v != NULL) {
            print_versions(j);
        }
        json_decref(j);
        free(v);
    }
    plans_shelf_close(&s);
    return code;
}
