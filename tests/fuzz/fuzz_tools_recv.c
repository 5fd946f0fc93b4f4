/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-recv's shelf and its journals: pieces, questions and damaged payloads of a few files from
 * several sources, in any order; the process may end and begin again at any move, with its journals
 * and its list of finished files damaged in between. The shelf's invariants are checked after each
 * move; a file that has its name has its content, and who is told that it is whole finds it there.
 */
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "tools/files/files_id.h"
#include "tools/files/files_receiver.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define FILES 4
#define SIZE_MAX_HERE 600
#define MOVES 80

static char folder[64];
static uint8_t sums[FILES][FILES_SHA], ids[FILES][FILES_ID], content[FILES][SIZE_MAX_HERE];
static const size_t sizes[FILES] = {0, 10, 100, SIZE_MAX_HERE};
static const char *const names[FILES + 4] = {"a",    "folder/b", "folder/c", "d",
                                             "../e", "folder",   "a/f",      ".helio-recv/x"};

struct run {
    struct files_receiver r;
    bool open;
    tick now;
    const uint8_t *p, *end;
};

static uint8_t octet(struct run *r)
{
    return r->p == r->end ? 0 : *r->p++;
}

/* Removes what is below a folder. */
static void empty(const char *path)
{
    char below[512];
    DIR *d = opendir(path);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(below, sizeof below, "%.200s/%.255s", path, e->d_name);
        if (unlink(below) != 0) {
            empty(below);
            rmdir(below);
        }
    }
    if (d != NULL)
        closedir(d);
}

static void remove_folder(void)
{
    empty(folder);
    rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    const char *parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(folder, sizeof folder, "%s/fuzz-recv-XXXXXX", parent);
    assert(mkdtemp(folder) != NULL);
    atexit(remove_folder);
    for (size_t i = 0; i < FILES; i++) {
        struct files_digest *d = files_digest_new();
        for (size_t k = 0; k < sizes[i]; k++)
            content[i][k] = (uint8_t)(i * 31 + k);
        files_digest_add(d, slice_of(content[i], sizes[i]));
        assert(files_digest_end(d, sums[i]));
        struct files_head h = {.size = sizes[i], .name = slice_of(names[i], strlen(names[i]))};
        memcpy(h.sha, sums[i], FILES_SHA);
        assert(files_id_make(&h, ids[i]));
    }
    return 0;
}

static void begin(struct run *r)
{
    const struct files_limits limits = {.file_max = 1000,
                                        .items_max = 4,
                                        .space_max = 1200,
                                        .forget = 3600 * TICK_S,
                                        .share = 50,
                                        .neighbour = 75,
                                        .idle = 60 * TICK_S};
    const int rc = files_receiver_init(&r->r, folder, &limits, false, 1);
    r->open = rc == 0;
    if (!r->open)
        files_receiver_fini(&r->r);
    else
        files_shelf_check(&r->r.shelf);
}

static void end(struct run *r)
{
    if (r->open)
        files_receiver_fini(&r->r);
    r->open = false;
}

/* ---- what comes ---- */

static const struct files_outcome *take(struct run *r, struct slice payload)
{
    static const char *const sources[] = {"ipn:1.5", "ipn:2.5", "dtn://x/y", "ipn:1.6"};
    static struct files_outcome out;
    const uint8_t from = octet(r);
    const int rc = files_receiver_take(&r->r, sources[from % 4], from & 16 ? "ipn:9.0" : "",
                                       payload, r->now, &out);
    assert(rc == 0 || helio_code(rc) != 0);
    files_shelf_check(&r->r.shelf);
    return &out;
}

/* Is a file of that content there, under the name or a numbered one? */
static bool is_there(const char *name, size_t i)
{
    uint8_t got[SIZE_MAX_HERE + 1];
    bool found = false;
    for (int k = 0; k < 10 && !found; k++) {
        char path[512], number[8] = "";
        if (k > 0)
            snprintf(number, sizeof number, ".%d", k);
        snprintf(path, sizeof path, "%s/%s%s", folder, name, number);
        const int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        found = read(fd, got, sizeof got) == (ssize_t)sizes[i] &&
                memcmp(got, content[i], sizes[i]) == 0;
        close(fd);
    }
    return found;
}

/* Who is told that a file is whole finds it there. */
static void check_done(const struct files_outcome *out, const struct files_head *h, size_t i)
{
    struct files_head in;
    struct files_receipt receipt;
    struct slice body;
    if (out->receipt_len == 0)
        return;
    assert(files_parse(slice_of(out->receipt, out->receipt_len), &in, &body) == FILES_OK);
    assert(files_parse_receipt(body, in.size, &receipt));
    if (receipt.state != FILES_STATE_DONE)
        return;
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)h->name.len, (const char *)h->name.data);
    assert(in.size == sizes[i] && memcmp(in.sha, sums[i], FILES_SHA) == 0);
    assert(is_there(name, i));
}

static void take_head(struct run *r, enum files_kind kind)
{
    static uint8_t out[FILES_HEAD + FILES_NAME_MAX + SIZE_MAX_HERE];
    const uint8_t what = octet(r), how = octet(r);
    const size_t i = what % FILES, name = how & 32 ? octet(r) % (FILES + 4) : i;
    struct files_head h = {.kind = kind,
                           .flags = how & 1,
                           .size = sizes[i] + (how & 64 ? octet(r) : 0),
                           .number = what,
                           .name = slice_of(names[name], strlen(names[name]))};
    memcpy(h.sha, sums[i], FILES_SHA);
    if (how & 4) /* another content */
        h.sha[0] ^= 1;
    assert(files_id_make(&h, h.id));
    if (how & 2) /* of a file that it is not */
        memcpy(h.id, ids[octet(r) % FILES], FILES_ID);
    const size_t at = sizes[i] == 0 ? 0 : (octet(r) | (size_t)octet(r) << 8) % sizes[i];
    const size_t most = sizes[i] - at, len = how & 8 ? most : most < 40 ? most : octet(r) % 40u;
    h.offset = kind == FILES_PIECE ? at : 0;
    const struct slice body = slice_of(content[i] + at, kind == FILES_PIECE ? len : 0);
    size_t n = files_write(&h, body, out);
    if (body.len > 0)
        memcpy(out + n, body.data, body.len);
    n += body.len;
    if (how & 16) /* damaged on its way */
        out[octet(r) % n] ^= octet(r);
    check_done(take(r, slice_of(out, n)), &h, i);
}

static void take_octets(struct run *r)
{
    const size_t left = (size_t)(r->end - r->p), want = octet(r);
    const struct slice s = slice_of(r->p, want < left ? want : left > 0 ? left - 1 : 0);
    (void)take(r, s);
    r->p += s.len;
}

/* ---- what becomes of the journals ---- */

/* The nth file of the hidden folder. */
static int open_nth(unsigned n)
{
    char path[512], below[800];
    snprintf(path, sizeof path, "%s/" FILES_FOLDER, folder);
    DIR *d = opendir(path);
    unsigned found = 0;
    int fd = -1;
    for (struct dirent *e; fd < 0 && d != NULL && (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.' || found++ != n)
            continue;
        snprintf(below, sizeof below, "%s/%s", path, e->d_name);
        fd = open(below, O_RDWR | O_CLOEXEC);
    }
    if (d != NULL)
        closedir(d);
    return fd;
}

static void damage(struct run *r)
{
    struct stat st;
    uint8_t value;
    const uint8_t how = octet(r);
    end(r);
    const int fd = open_nth(how % 8);
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0) {
        const off_t at = (octet(r) | octet(r) << 8) % st.st_size;
        if (how & 16)
            (void)!ftruncate(fd, at);
        else if (how & 32) { /* a record that was begun */
            value = octet(r);
            (void)!pwrite(fd, &value, 1, st.st_size);
        } else if (pread(fd, &value, 1, at) == 1) {
            value ^= octet(r) | 1;
            (void)!pwrite(fd, &value, 1, at);
        }
    }
    if (fd >= 0)
        close(fd);
    begin(r);
}

static void move(struct run *r)
{
    switch (octet(r) % 10) {
    case 7:
        take_octets(r);
        break;
    case 6:
        take_head(r, FILES_ASK);
        break;
    case 8:
        damage(r);
        break;
    case 9:
        end(r);
        begin(r);
        r->now += octet(r) * 30 * TICK_S;
        break;
    default:
        take_head(r, FILES_PIECE);
        break;
    }
}

/* Files of one size each: what has a name was checked. */
static void check_files(void)
{
    char path[512];
    uint8_t got[SIZE_MAX_HERE + 1];
    for (size_t i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        const int fd = open(path, O_RDONLY | O_CLOEXEC);
        const ssize_t n = fd < 0 ? -1 : read(fd, got, sizeof got);
        bool known = n < 0;
        for (size_t k = 0; k < FILES && !known; k++)
            known = (size_t)n == sizes[k] && memcmp(got, content[k], sizes[k]) == 0;
        assert(known);
        if (fd >= 0)
            close(fd);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct run r;
    r = (struct run){.now = TICK_S, .p = data, .end = data + len};
    begin(&r);
    for (int i = 0; i < MOVES && r.open && r.p < r.end; i++)
        move(&r);
    end(&r);
    check_files();
    empty(folder);
    return 0;
}
