/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each link of the file is a relay of the loop; a link without addresses is only a channel. Times
 * of hand-overs and transmitters are set when the common clock begins, before the first frame. What
 * can go wrong: an address that is invalid or in use, memory.
 */
#include "channel-emu/emu/emu_links.h"

#include <stdlib.h>

#include "base/err.h"
#include "channel-emu/emu/emu_relay_options.h"

static int read_file(struct emu_links *l, FILE *say)
{
    struct conf_errors *e = malloc(sizeof *e);
    if (e == NULL) {
        fprintf(say, "helio-emu: %s\n", helio_strerror(HELIO_ENOMEM));
        return HELIO_ENOMEM;
    }
    conf_errors_init(e, l->path);
    int rc = scenario_links_load(&l->file, l->path, e);
    l->ports = rc < 0 ? NULL : calloc(l->file.count, sizeof *l->ports);
    if (rc == 0 && l->ports == NULL)
        rc = HELIO_ENOMEM;
    for (size_t i = 0; i < l->file.count && rc == 0; i++)
        emu_links_ports(&l->file.link[i], &l->run, &l->ports[i], e);
    rc = rc == 0 ? conf_errors_code(e) : rc;
    for (size_t i = 0; i < e->len; i++)
        fprintf(say, "helio-emu: %s\n", e->text[i]);
    if (rc < 0 && e->total == 0)
        fprintf(say, "helio-emu: %s\n", helio_strerror(rc));
    if (e->total > e->len)
        fprintf(say, "helio-emu: and %zu more errors\n", e->total - e->len);
    free(e);
    return rc;
}

/* On the common clock. */
static int place_all(struct emu_links *l)
{
    const struct emu_link *head = &l->loop.at[0].link;
    int rc = links_run_init(&l->between, &l->file, head->started + head->bias,
                            head->started + head->epoch);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < l->file.count; i++) {
        l->loop.at[i].link.among = &l->between;
        l->loop.at[i].link.index = i;
    }
    for (size_t i = 0; i < l->file.shared_count; i++) {
        for (size_t k = 0; k < l->between.line[i].count; k++) {
            struct links_member *m = &l->between.line[i].member[k];
            m->owner = &l->loop.at[m->link].link;
        }
    }
    l->loop.shares = l->file.shared_count > 0;
    return 0;
}

/* The file's start may lie before those of all directions. */
static void bias_head(struct emu_links *l)
{
    struct emu_link *head = &l->loop.at[0].link;
    tick bias = emu_link_bias(&l->file.origin, head->epoch);
    head->bias = bias != 0 ? bias : head->bias;
}

static void say_ready(const struct emu_links *l, FILE *say)
{
    char from[ADDRESS_TEXT_MAX], to[ADDRESS_TEXT_MAX];
    for (size_t i = 0; i < l->loop.count; i++) {
        const struct emu_relay *r = &l->loop.at[i];
        if (r->listen_fd >= 0)
            fprintf(say, "helio-emu: link %s %s to %s\n", r->name, address_write(&r->listen, from),
                    address_write(&l->ports[i].to, to));
    }
    fprintf(say, "helio-emu: %zu links, ready\n", l->loop.count);
    fflush(say);
}

int emu_links_init(struct emu_links *l, const char *path, const struct emu_settings *run, FILE *say)
{
    *l = (struct emu_links){.path = path, .run = *run, .loop = {.signal_fd = -1}};
    l->loop.control.fd = -1;
    int rc = read_file(l, say);
    rc = rc < 0 ? rc : emu_loop_init(&l->loop, &l->run, l->file.count, say);
    for (size_t i = 0; i < l->file.count && rc == 0; i++) {
        l->loop.count = i + 1;
        rc = emu_relay_init(&l->loop.at[i], &l->loop, i, l->file.link[i].name, &l->ports[i], say);
    }
    l->loop.face = (struct emu_face){emu_links_obey, l, emu_links_text, emu_links_line};
    if (rc < 0)
        return rc;
    bias_head(l);
    rc = emu_loop_begin(&l->loop, say);
    if (rc < 0)
        return rc;
    rc = place_all(l);
    if (rc < 0)
        fprintf(say, "helio-emu: %s\n", helio_strerror(rc));
    else
        say_ready(l, say);
    return rc;
}

void emu_links_fini(struct emu_links *l)
{
    emu_loop_fini(&l->loop);
    if (l->between.file != NULL)
        links_run_fini(&l->between);
    free(l->ports);
    scenario_links_fini(&l->file);
}
