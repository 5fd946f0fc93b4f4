/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry of the note is identified by a mark of the key. So a key with a new SPI continues with
 * its numbers, because an IV belongs to a key. Keys that only authenticate may be in several
 * associations; then the SPI is part of the mark. What can go wrong: the medium; then no number is
 * issued. A note that is damaged or in use is refused.
 */
#include "cla/framed/sdls_numbers.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/err.h"
#include "os/log/ivs_note.h"

enum { NAME_MAX_LEN = 240 };

struct sdls_numbers {
    const char *path; /* ours */
    const char *name; /* in it */
    int folder, lock;
    enum sdls_numbers_use use;
    struct sdls *s;
    struct ivs_note note;
    uint64_t marks[IVS_NOTE_KEYS]; /* of each association */
    int error;                     /* of the last reservation; 0: none */
    tick now;                      /* SDLS_RECEIVED_AHEAD: of the world; */
    tick noted[IVS_NOTE_KEYS];     /* of each association: when a step of received numbers */
    uint64_t steps[IVS_NOTE_KEYS]; /* was noted, and the next one's length; 0: none was */
};

/* A number that differs for different keys, and does not disclose them. */
static bool make_mark(const struct sdls *s, const struct sdls_association *a, uint64_t *out)
{
    static const char text[] = "helio sdls mark";
    uint8_t mac[CRYPTO_MAC_MAX];
    const uint16_t spi = a->algorithm == SDLS_GCM ? 0 : a->spi;
    const uint8_t octets[] = {(uint8_t)(spi >> 8), (uint8_t)(spi & 0xff)};
    const struct slice parts[] = {slice_of(text, sizeof text - 1), slice_of(octets, 2)};
    assert(a->key_len > 0 && a->key_len <= sizeof a->key);
    if (!s->crypto->mac(s->crypto->self, 256, slice_of(a->key, a->key_len), parts, 2, mac))
        return false;
    *out = 0;
    for (int i = 0; i < 8; i++)
        *out = *out << 8 | mac[i];
    return true;
}

/* Fewer where the sequence number is short: a kill shall not use it up. */
static uint64_t find_step(const struct sdls_association *a)
{
    return a->sequence_len == 0 || a->sequence_len > 3 ? SDLS_NUMBERS_STEP
           : a->sequence_len == 1                      ? 1
                                                       : 256;
}

/* The first number of the association that may be used from now on, on the medium with `save`. */
static bool note_number(struct sdls_numbers *n, size_t i, uint64_t first)
{
    struct ivs_use *u = ivs_note_use(&n->note, n->marks[i], n->marks, n->s->len);
    assert(i < n->s->len && first > 0);
    if (u == NULL)
        return false;
    u->uses = first;
    return true;
}

static bool reserve_step(void *self, struct sdls_association *a)
{
    struct sdls_numbers *n = self;
    const size_t i = (size_t)(a - n->s->at);
    const uint64_t step = find_step(a);
    assert(i < n->s->len && n->use == SDLS_SENT);
    assert(a->next <= a->end);
    if (a->end > UINT64_MAX - step || !note_number(n, i, a->end + step))
        return false;
    n->error = ivs_note_save(n->folder, n->name, &n->note);
    if (n->error != 0)
        return false;
    a->end += step;
    assert(a->next < a->end);
    return true;
}

/* Steps grow until one lasts a second. */
static bool note_ahead(void *self, struct sdls_association *a, uint64_t number)
{
    struct sdls_numbers *n = self;
    const size_t i = (size_t)(a - n->s->at);
    assert(i < n->s->len && n->use == SDLS_RECEIVED_AHEAD && number >= a->end);
    const tick passed = n->now - n->noted[i];
    uint64_t step = n->steps[i] == 0 ? 1 : n->steps[i];
    if (n->steps[i] != 0 && passed < TICK_S && step < SDLS_NUMBERS_STEP)
        step *= 2;
    else if (passed > 8 * TICK_S && step > 1)
        step /= 2;
    const uint64_t end = number < UINT64_MAX - step ? number + step : UINT64_MAX;
    if (end == number || !note_number(n, i, end))
        return false;
    n->error = ivs_note_save(n->folder, n->name, &n->note);
    if (n->error != 0)
        return false;
    n->noted[i] = n->now;
    n->steps[i] = step;
    a->end = end;
    assert(number < a->end && step >= 1 && step <= SDLS_NUMBERS_STEP);
    return true;
}

void sdls_numbers_time(struct sdls_numbers *n, tick now)
{
    assert(n->use == SDLS_RECEIVED_AHEAD && now >= n->now);
    n->now = now;
}

static void set_number(struct sdls_numbers *n, size_t i)
{
    struct sdls_association *a = &n->s->at[i];
    const struct ivs_use *u = ivs_note_find(&n->note, n->marks[i]);
    const uint64_t first = u == NULL || u->uses == 0 ? 1 : u->uses;
    assert(first > 0 && !a->begun);
    if (n->use == SDLS_SENT) {
        a->next = a->end = first;
    } else if (u == NULL) {
        a->end = 0;
    } else {
        a->begun = true;
        a->last = first - 1;
        a->end = first;
    }
}

static int open_folder(struct sdls_numbers *n, char *why, size_t cap)
{
    char folder[4096];
    const char *slash = strrchr(n->path, '/');
    const size_t len = slash == NULL ? 1 : slash == n->path ? 1 : (size_t)(slash - n->path);
    n->name = slash == NULL ? n->path : slash + 1;
    if (len >= sizeof folder || *n->name == '\0' || strlen(n->name) > NAME_MAX_LEN) {
        snprintf(why, cap, "%s: it is no name of a file, or too long a one", n->path);
        return HELIO_EINVAL;
    }
    memcpy(folder, slash == NULL ? "." : n->path, len);
    folder[len] = '\0';
    n->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (n->folder >= 0)
        return 0;
    snprintf(why, cap, "%s: its folder cannot be opened: %s", n->path, strerror(errno));
    return HELIO_EIO;
}

static int lock_note(struct sdls_numbers *n, char *why, size_t cap)
{
    char name[NAME_MAX_LEN + 8];
    assert(n->folder >= 0 && n->lock < 0);
    assert(strlen(n->name) <= NAME_MAX_LEN);
    snprintf(name, sizeof name, "%s.lock", n->name);
    n->lock = openat(n->folder, name, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (n->lock < 0) {
        snprintf(why, cap, "%s.lock: %s", n->path, strerror(errno));
        return HELIO_EIO;
    }
    if (flock(n->lock, LOCK_EX | LOCK_NB) == 0)
        return 0;
    snprintf(why, cap, "%s: another program uses it; end that first", n->path);
    return HELIO_EEXIST;
}

/* Does the file say that no key ever sent? A missing one does not: it may have been removed, or the
 * folder may be another one. */
static bool is_new(const struct sdls_numbers *n)
{
    static const char word[] = "new\n";
    char text[sizeof word] = "";
    const int fd = openat(n->folder, n->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    const ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text);
    if (fd >= 0)
        close(fd);
    return len == sizeof word - 1 && memcmp(text, word, sizeof word - 1) == 0;
}

static int load_note(struct sdls_numbers *n, char *why, size_t cap)
{
    assert(n->folder >= 0);
    if (n->use == SDLS_SENT && is_new(n))
        return 0;
    if (n->use == SDLS_SENT && faccessat(n->folder, n->name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
        errno == ENOENT) {
        snprintf(why, cap,
                 "%s: there is no such file, so used numbers are not known; if no frame was ever "
                 "sent with these keys, make it: echo new > %s",
                 n->path, n->path);
        return HELIO_ENOENT;
    }
    const int err = ivs_note_load(n->folder, n->name, &n->note);
    if (err == HELIO_EFORMAT && n->use == SDLS_SENT)
        snprintf(why, cap,
                 "%s: it is damaged, so used numbers are not known; replace all keys, then remove "
                 "this file",
                 n->path);
    else if (err == HELIO_EFORMAT)
        snprintf(why, cap,
                 "%s: it is damaged, so received frames are not known; remove it to accept any "
                 "number first",
                 n->path);
    else if (err != 0)
        snprintf(why, cap, "%s: %s", n->path, strerror(helio_errno(err)));
    return err;
}

static void free_numbers(struct sdls_numbers *n)
{
    if (n->lock >= 0)
        close(n->lock);
    if (n->folder >= 0)
        close(n->folder);
    free((char *)n->path);
    free(n);
}

static int start_numbers(struct sdls_numbers *n, char *why, size_t cap)
{
    int err = open_folder(n, why, cap);
    if (err == 0)
        err = lock_note(n, why, cap);
    if (err == 0)
        err = load_note(n, why, cap);
    for (size_t i = 0; err == 0 && i < n->s->len; i++) {
        if (!make_mark(n->s, &n->s->at[i], &n->marks[i])) {
            snprintf(why, cap, "%s: the cryptography failed", n->path);
            err = HELIO_EIO;
        }
    }
    for (size_t i = 0; err == 0 && i < n->s->len; i++)
        set_number(n, i);
    return err;
}

int sdls_numbers_open(struct sdls_numbers **out, const char *path, enum sdls_numbers_use use,
                      struct sdls *s, char *why, size_t why_cap)
{
    struct sdls_numbers *n = calloc(1, sizeof *n);
    char *copy = strdup(path);
    *out = NULL;
    assert(s->len <= IVS_NOTE_KEYS);
    if (n == NULL || copy == NULL) {
        free(n);
        free(copy);
        snprintf(why, why_cap, "%s: out of memory", path);
        return HELIO_ENOMEM;
    }
    *n = (struct sdls_numbers){.path = copy, .folder = -1, .lock = -1, .use = use, .s = s};
    const int err = start_numbers(n, why, why_cap);
    if (err != 0) {
        free_numbers(n);
        return err;
    }
    if (use == SDLS_SENT)
        s->reserve = reserve_step;
    if (use == SDLS_RECEIVED_AHEAD)
        s->note = note_ahead;
    s->self = n;
    *out = n;
    return 0;
}

int sdls_numbers_check(const char *path, enum sdls_numbers_use use, char *why, size_t why_cap)
{
    struct sdls_numbers *n = calloc(1, sizeof *n);
    char *copy = strdup(path);
    if (n == NULL || copy == NULL) {
        free(n);
        free(copy);
        snprintf(why, why_cap, "%s: out of memory", path);
        return HELIO_ENOMEM;
    }
    *n = (struct sdls_numbers){.path = copy, .folder = -1, .lock = -1, .use = use};
    int err = open_folder(n, why, why_cap);
    if (err == 0)
        err = load_note(n, why, why_cap);
    free_numbers(n);
    return err;
}

/* False: no association has anything to note. */
static bool note_all(struct sdls_numbers *n, bool *good)
{
    bool any = false;
    *good = true;
    for (size_t i = 0; i < n->s->len; i++) {
        const struct sdls_association *a = &n->s->at[i];
        const bool used = n->use == SDLS_SENT ? a->end > 1 || a->next > 1 : a->begun;
        const uint64_t first = n->use == SDLS_SENT     ? a->next
                               : a->last == UINT64_MAX ? UINT64_MAX
                                                       : a->last + 1;
        if (used)
            *good = note_number(n, i, first) && *good;
        any = any || used;
    }
    return any;
}

int sdls_numbers_close(struct sdls_numbers *n, char *why, size_t why_cap)
{
    int error = 0;
    bool good;
    if (n == NULL)
        return 0;
    assert(n->s->len <= IVS_NOTE_KEYS && n->lock >= 0);
    n->s->reserve = NULL;
    n->s->note = NULL;
    if (note_all(n, &good))
        error = good ? ivs_note_save(n->folder, n->name, &n->note) : ENOSPC;
    if (error == 0)
        error = n->error;
    if (error != 0)
        snprintf(why, why_cap, "%s: it cannot be written: %s", n->path, strerror(error));
    free_numbers(n);
    return error == 0 ? 0 : HELIO_EIO;
}
