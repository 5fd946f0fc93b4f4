/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are a file of links or a list of errors. Of what is one, channels, transmitters and
 * hand-overs can be made; the same bytes are a change of links, or errors. */
#include <stdlib.h>
#include <string.h>

#include "channel-emu/chan/chan_shared.h"
#include "channel-emu/scenario/scenario_links.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void make_lines(const struct scenario_links *s)
{
    for (size_t i = 0; i < s->shared_count; i++) {
        struct chan_shared_config k = scenario_links_shared(s, i, 1, UINT64_C(1) << 60);
        struct chan_shared *line;
        if (chan_shared_new(&line, &k) < 0)
            abort();
        chan_shared_free(line);
    }
}

static void make_links(const struct scenario_links *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct scenario_link *l = &s->link[i];
        if (!chan_hand_valid(l->overs, l->over_count, (uint32_t)s->count))
            abort();
        for (int way = 0; way < 2; way++) {
            struct chan_config k = scenario_chan(&l->scenario, way, 1, UINT64_C(1) << 60);
            struct chan *c;
            if (l->shared[way] >= (int)s->shared_count || chan_new(&c, &k) < 0)
                abort();
            chan_free(c);
        }
    }
}

/* A file with a link and a transmitter, to which the bytes are a change. */
static void change_links(const uint8_t *data, size_t len, struct conf_errors *e)
{
    static const char file[] = "links: {a: {listen: x, to: y, forward: {rate: 1Mbit/s}}}\n"
                               "shared: {up: {of: [a.return], rate: 1Mbit/s}}";
    static struct scenario_links_change change[SCENARIO_LINKS_CHANGES_MAX];
    struct scenario_links s;
    conf_errors_init(e, "");
    if (scenario_links_read(&s, file, strlen(file), "", e) < 0)
        abort();
    int n = scenario_links_change_read(change, &s, (const char *)data, len, e);
    if ((n < 0) != (e->total > 0))
        abort();
    for (int i = 0; i < n; i++) {
        if ((change[i].link < 0) == (change[i].shared < 0) ||
            (change[i].shared >= 0 && change[i].rate_bps == 0))
            abort();
    }
    scenario_links_fini(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct scenario_links s;
    struct conf_errors *e = malloc(sizeof *e);
    if (e == NULL)
        abort();
    conf_errors_init(e, "fuzz.yaml");
    /* No such directory: files are never found. */
    int rc = scenario_links_read(&s, (const char *)data, len, "/nonexistent/", e);
    if ((rc == 0) != (e->total == 0))
        abort();
    if (rc == 0) {
        make_lines(&s);
        make_links(&s);
    }
    scenario_links_fini(&s);
    change_links(data, len, e);
    free(e);
    return 0;
}
