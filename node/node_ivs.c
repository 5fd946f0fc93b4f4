/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step is noted as a new file that takes the old one's name, both synced, so that a loss of power
 * leaves the old note or the new one. What can go wrong: the medium, and then no IV is given out
 * and bundles that would be encrypted are refused; a note that was damaged, which is refused.
 */
#include "node/node_ivs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "bp/codec/security_key.h"

#define NOTE_CAP (NODE_IVS_KEYS * 64)

struct use {
    uint64_t mark, uses;
};

struct node_ivs {
    int folder;
    const struct crypto *crypto;
    struct security_ring *ring;
    struct use keys[NODE_IVS_KEYS];
    size_t keys_len;
    int error; /* of the last try to note; 0: none */
};

static struct use *find_use(struct node_ivs *v, uint64_t mark)
{
    for (size_t i = 0; i < v->keys_len; i++) {
        if (v->keys[i].mark == mark)
            return &v->keys[i];
    }
    return NULL;
}

/* ---- the note ---- */

static bool read_line(struct node_ivs *v, const char *line, uint64_t *next)
{
    struct use u;
    int end = 0;
    if (sscanf(line, "next %" SCNu64 "%n", next, &end) == 1)
        return line[end] == '\0';
    if (sscanf(line, "key %" SCNx64 " %" SCNu64 "%n", &u.mark, &u.uses, &end) != 2 ||
        line[end] != '\0' || v->keys_len == NODE_IVS_KEYS)
        return false;
    v->keys[v->keys_len++] = u;
    return true;
}

static bool read_note(struct node_ivs *v, FILE *f, uint64_t *next)
{
    char line[96];
    bool good = true;
    size_t lines = 0;
    for (; good && fgets(line, sizeof line, f) != NULL; lines++) {
        const size_t len = strcspn(line, "\n");
        good = line[len] == '\n';
        line[len] = '\0';
        good = good && (lines > 0 || strncmp(line, "next ", 5) == 0) && read_line(v, line, next);
    }
    return good && lines > 0 && ferror(f) == 0;
}

static int load_note(struct node_ivs *v, const char *folder, uint64_t *next, char *why, size_t cap)
{
    const int fd = openat(v->folder, NODE_IVS_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    *next = 0;
    if (fd < 0 && errno == ENOENT)
        return 0;
    FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
    if (f == NULL) {
        snprintf(why, cap, "%s/%s: %s", folder, NODE_IVS_FILE, strerror(errno));
        if (fd >= 0)
            close(fd);
        return HELIO_EIO;
    }
    const bool good = read_note(v, f, next);
    fclose(f);
    if (good)
        return 0;
    snprintf(why, cap,
             "%s/%s is damaged, so used initialization vectors are not known; replace all keys "
             "that encrypt, then remove this file",
             folder, NODE_IVS_FILE);
    return HELIO_EFORMAT;
}

static size_t write_note(const struct node_ivs *v, uint64_t next, char text[NOTE_CAP])
{
    size_t len = (size_t)snprintf(text, NOTE_CAP, "next %" PRIu64 "\n", next);
    for (size_t i = 0; i < v->keys_len; i++)
        len += (size_t)snprintf(text + len, NOTE_CAP - len, "key %016" PRIx64 " %" PRIu64 "\n",
                                v->keys[i].mark, v->keys[i].uses);
    return len;
}

static bool write_whole(int fd, const char *text, size_t len)
{
    for (size_t done = 0; done < len;) {
        const ssize_t n = write(fd, text + done, len - done);
        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return fsync(fd) == 0;
}

static bool save_note(struct node_ivs *v, uint64_t next)
{
    char text[NOTE_CAP];
    const size_t len = write_note(v, next, text);
    const int fd =
        openat(v->folder, NODE_IVS_FILE ".new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool good = fd >= 0 && write_whole(fd, text, len);
    good = good && renameat(v->folder, NODE_IVS_FILE ".new", v->folder, NODE_IVS_FILE) == 0 &&
           fsync(v->folder) == 0;
    v->error = good ? 0 : errno;
    if (fd >= 0)
        close(fd);
    return good;
}

/* ---- reservations ---- */

/* A key that is not there any more makes room for one that is. */
static struct use *add_use(struct node_ivs *v, const uint64_t *marks, size_t len, uint64_t mark)
{
    if (v->keys_len < NODE_IVS_KEYS) {
        v->keys[v->keys_len] = (struct use){mark, 0};
        return &v->keys[v->keys_len++];
    }
    for (size_t i = 0; i < v->keys_len; i++) {
        bool here = false;
        for (size_t k = 0; k < len; k++)
            here = here || marks[k] == v->keys[i].mark;
        if (!here) {
            v->keys[i] = (struct use){mark, 0};
            return &v->keys[i];
        }
    }
    return NULL;
}

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
        struct use *u = find_use(v, marks[i]);
        if (u == NULL && (u = add_use(v, marks, n, marks[i])) == NULL)
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
        const struct use *u = find_use(v, marks[i]);
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
    uint64_t next = 0;
    struct node_ivs *v = calloc(1, sizeof *v);
    *out = NULL;
    if (v == NULL)
        return HELIO_ENOMEM;
    *v = (struct node_ivs){.crypto = crypto, .ring = ring};
    v->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int err = v->folder < 0 ? HELIO_EIO : load_note(v, folder, &next, why, why_cap);
    if (v->folder < 0)
        snprintf(why, why_cap, "%s: %s", folder, strerror(errno));
    if (err != 0) {
        node_ivs_free(v);
        return err;
    }
    const uint64_t clock = dtn_ms < UINT64_MAX >> 20 ? dtn_ms << 20 : 0;
    ring->iv_next = ring->iv_end = next > clock ? next : clock;
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
