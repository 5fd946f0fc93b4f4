/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step is noted before it is used (os/log/ivs_note.h). What can go wrong: the medium, and then no
 * IV is given out and bundles that would be encrypted are refused; a note that was damaged, which
 * is refused.
 */
#include "node/node_ivs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "bp/codec/security/security_key.h"
#include "os/log/ivs_note.h"

struct node_ivs {
    int folder;
    const struct crypto *crypto;
    struct security_ring *ring;
    struct ivs_note note; /* as it is on the medium, but for a step that could not be noted */
    int error;            /* of the last try to note; 0: none */
};

/* ---- the note ---- */

static int load_note(struct node_ivs *v, const char *folder, char *why, size_t cap)
{
    const int err = ivs_note_load(v->folder, NODE_IVS_FILE, &v->note);
    if (err == HELIO_EFORMAT)
        snprintf(why, cap,
                 "%s/%s is damaged, so used initialization vectors are not known; replace all keys "
                 "that encrypt, then remove this file",
                 folder, NODE_IVS_FILE);
    else if (err != 0)
        snprintf(why, cap, "%s/%s: %s", folder, NODE_IVS_FILE, strerror(helio_errno(err)));
    return err == 0 || err == HELIO_EFORMAT ? err : HELIO_EIO;
}

static bool save_note(struct node_ivs *v, uint64_t next)
{
    v->note.next = next;
    v->error = ivs_note_save(v->folder, NODE_IVS_FILE, &v->note);
    return v->error == 0;
}

/* ---- reservations ---- */

static size_t list_marks(const struct node_ivs *v, uint64_t marks[SECURITY_KEYS_MAX])
{
    size_t n = 0;
    while (n < v->ring->len && security_key_mark(&v->ring->at[n], v->crypto, &marks[n]))
        n++;
    return n;
}

static bool reserve_step(void *self, struct security_ring *ring)
{
    struct node_ivs *v = self;
    uint64_t marks[SECURITY_KEYS_MAX];
    const size_t n = list_marks(v, marks);
    if (n < ring->len || ring->iv_end > UINT64_MAX - NODE_IVS_STEP)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct ivs_use *u = ivs_note_use(&v->note, marks[i], marks, n);
        if (u == NULL)
            return false;
        const uint64_t most = ring->at[i].uses + NODE_IVS_STEP;
        u->uses = most > u->uses ? most : u->uses;
    }
    if (!save_note(v, ring->iv_end + NODE_IVS_STEP))
        return false;
    ring->iv_end += NODE_IVS_STEP;
    return true;
}

void node_ivs_keys(struct node_ivs *v)
{
    uint64_t marks[SECURITY_KEYS_MAX];
    const size_t n = list_marks(v, marks);
    for (size_t i = 0; i < n; i++) {
        const struct ivs_use *u = ivs_note_find(&v->note, marks[i]);
        if (u != NULL && u->uses > v->ring->at[i].uses)
            v->ring->at[i].uses = u->uses;
    }
    v->ring->iv_next = v->ring->iv_end; /* uses of keys that are new are not noted yet */
}

bool node_ivs_trouble(struct node_ivs *v, int *error)
{
    *error = v->error;
    v->error = 0;
    return *error != 0;
}

int node_ivs_open(struct node_ivs **out, const char *folder, const struct crypto *crypto,
                  struct security_ring *ring, uint64_t dtn_ms, char *why, size_t why_cap)
{
    struct node_ivs *v = calloc(1, sizeof *v);
    *out = NULL;
    if (v == NULL)
        return HELIO_ENOMEM;
    *v = (struct node_ivs){.crypto = crypto, .ring = ring};
    v->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int err = v->folder < 0 ? HELIO_EIO : load_note(v, folder, why, why_cap);
    if (v->folder < 0)
        snprintf(why, why_cap, "%s: %s", folder, strerror(errno));
    if (err != 0) {
        node_ivs_free(v);
        return err;
    }
    const uint64_t clock = dtn_ms < UINT64_MAX >> 20 ? dtn_ms << 20 : 0;
    ring->iv_next = ring->iv_end = v->note.next > clock ? v->note.next : clock;
    ring->reserve = reserve_step;
    ring->self = v;
    node_ivs_keys(v);
    *out = v;
    return 0;
}

void node_ivs_free(struct node_ivs *v)
{
    if (v == NULL)
        return;
    if (v->folder >= 0)
        close(v->folder);
    free(v);
}
