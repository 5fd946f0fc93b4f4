/* SPDX-License-Identifier: Apache-2.0 */
/* What a user needs before its loop begins: an engine, its associations, TLS, where frames go. What
 * can go wrong: a file or a socket cannot be opened, memory: reported. */
#include <ctype.h>
#include <stdlib.h>

#include "tools/sle/user/sle_user_run.h"

enum { LISTEN_SPARE = 16 };

/* The id of the nth: the number at its end counts up. */
static bool name_instance(const char *id, unsigned n, char out[SLE_SIID_MAX + 1])
{
    size_t len = strlen(id), stem = len;
    while (stem > 0 && isdigit((unsigned char)id[stem - 1]))
        stem--;
    if (n == 0)
        return snprintf(out, SLE_SIID_MAX + 1, "%s", id) <= SLE_SIID_MAX;
    unsigned long first = stem < len ? strtoul(id + stem, NULL, 10) : 0;
    return snprintf(out, SLE_SIID_MAX + 1, "%.*s%lu", (int)stem, id, first + n) <= SLE_SIID_MAX;
}

static int add_association(struct user *u, struct association *a, unsigned n)
{
    const struct user_options *o = u->options;
    struct sle_siid id;
    a->user = u;
    measure_init(&a->measure);
    if (!name_instance(o->instance, n, a->id) ||
        sle_siid_parse(a->id, &id, &a->service, NULL) < 0) {
        say(&u->log, LEVEL_ERROR, "%s: this is no service instance identifier", a->id);
        return HELIO_EFORMAT;
    }
    struct sle_user_config c = {.id = a->id,
                                .responder = o->responder,
                                .responder_port = o->port_name,
                                .respond = o->listen,
                                .version = o->terms.version};
    int e = sle_user_add(u->sle, &c, &a->sle);
    if (e == 0 && a->service == SLE_FCLTU && o->cltus == NULL && o->made == 0 &&
        !address_given(&o->cltu_at) && o->events_len == 0 && !o->bind_only && o->script == NULL)
        e = HELIO_EINVAL;
    if (e == 0 && a->service == SLE_FCLTU && o->cltus != NULL)
        e = cltus_load(&a->cltus, o->cltus);
    if (e == 0 && o->made > 0)
        e = cltus_make(&a->cltus, o->made, o->frames);
    if (e == 0 && a->service == SLE_FCLTU)
        e = events_open(a);
    if (e == 0 && live_open(a) < 0)
        return HELIO_EFORMAT;
    if (e == 0 && script_open(a) < 0)
        return HELIO_EFORMAT;
    if (e < 0)
        say(&u->log, LEVEL_ERROR, "%s: %s",
            a->service == SLE_FCLTU && o->cltus != NULL ? o->cltus : a->id,
            a->service == SLE_FCLTU && o->cltus == NULL ? "the option --cltus or --event is missing"
                                                        : helio_strerror(e));
    return e;
}

static int make_engine(struct user *u)
{
    const struct user_options *o = u->options;
    struct sle_config c = {.tml = {.heartbeat_s = o->heartbeat_s, .dead_factor = o->dead_factor},
                           .hash = sle_digest,
                           .hash_context = u->digests,
                           .seed = world_random(u->world),
                           .links_max = o->repeat + (o->listen ? LISTEN_SPARE : 0),
                           .unix_ns = world_wall(u->world) - world_now(u->world)};
    struct sle_peer p = {.level = (enum sle_auth_level)o->terms.level,
                         .hash = (enum sle_hash)o->terms.hash};
    snprintf(c.self.id, sizeof c.self.id, "%s", o->id);
    snprintf(p.who.id, sizeof p.who.id, "%s", o->responder);
    (void)sle_password_read(o->password, &c.self);
    (void)sle_password_read(o->responder_password, &p.who);
    u->sle = sle_new(&c);
    if (u->sle != NULL)
        sle_host_init(&u->host, u->world, u->sle);
    return u->sle == NULL ? HELIO_ENOMEM : sle_peer_set(u->sle, &p);
}

static int open_tls(struct user *u)
{
    static const char *const options[] = {"--tls-certificate", "--tls-key", "--tls-ca"};
    const struct user_options *o = u->options;
    const struct tls_files files = {o->tls_certificate, o->tls_key, o->tls_ca};
    char why[TLS_WHY_MAX] = "";
    unsigned file = 0;
    if (!o->tls)
        return 0;
    u->secure.peer = o->tls_peer;
    u->secure.host = o->tls_host;
    int e = tls_new(&u->secure.tls, &files, &file, why);
    if (e < 0)
        say(&u->log, LEVEL_ERROR, "%s: %s", options[file],
            e == HELIO_EINVAL ? why : helio_strerror(e));
    return e;
}

int user_open(struct user *u, struct world *w, const struct user_options *o)
{
    *u = (struct user){.world = w, .options = o};
    say_init(&u->log, o->log, false, "");
    u->digests = sle_digests_new();
    u->all = calloc(o->repeat, sizeof *u->all);
    int e = u->digests == NULL || u->all == NULL ? HELIO_ENOMEM : make_engine(u);
    if (e < 0)
        say(&u->log, LEVEL_ERROR, "%s", helio_strerror(e));
    e = e == 0 ? open_tls(u) : e;
    for (unsigned i = 0; i < o->repeat && e == 0; i++) {
        e = add_association(u, &u->all[i], i);
        u->len += e == 0 ? 1 : 0;
    }
    return e == 0 ? sink_open(u) : e;
}

void user_free(struct user *u)
{
    sle_host_fini(&u->host);
    sle_free(u->sle);
    tls_free(u->secure.tls);
    sle_digests_free(u->digests);
    for (size_t i = 0; i < u->len; i++) {
        cltus_free(&u->all[i].cltus);
        events_free(&u->all[i]);
        script_close(&u->all[i]);
    }
    free(u->all);
}
