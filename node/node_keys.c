/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each file is opened relative to the folder's descriptor and judged by its own descriptor, so that
 * it cannot be replaced in between. What can go wrong: permissions, a link or a pipe instead of a
 * file, a file that is no key. One invalid file refuses the folder: a rule would lack its key.
 */
#include "node/node_keys.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/secret.h"
#include "bp/codec/security/security_key.h"
#include "os/crypto/token_keys.h"
#include "os/private_file.h"
#include "os/secret.h"

struct reading {
    const char *folder;
    int fd;
    struct security_ring *ring;
    struct token_keys *tokens;
    char *text; /* SECURITY_KEY_FILE + 1 bytes of secret memory */
    char *why;
    size_t cap;
};

static int refuse_file(const struct reading *r, const char *name, const char *text)
{
    snprintf(r->why, r->cap, "%s/%s: %s", r->folder, name, text);
    return HELIO_EFORMAT;
}

static const char *open_error(int error)
{
    return error == ELOOP    ? "it is a link; put the file itself there"
           : error == EACCES ? "Permission denied; chown it to the node's user"
                             : strerror(error);
}

static int open_file(const struct reading *r, const char *name, int *fd)
{
    struct stat st;
    *fd = openat(r->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (*fd < 0)
        return refuse_file(r, name, open_error(errno));
    if (fstat(*fd, &st) != 0)
        return refuse_file(r, name, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return refuse_file(r, name, "it is no regular file; only key files belong here");
    const char *wrong = private_file_judge(*fd, &st, geteuid());
    return wrong == NULL ? 0 : refuse_file(r, name, wrong);
}

/* "line 3: algorithm: …" becomes FOLDER/NAME:3: algorithm: … */
static int refuse_line(const struct reading *r, const char *name, const char *text)
{
    const size_t digits = strncmp(text, "line ", 5) == 0 ? strspn(text + 5, "0123456789") : 0;
    if (digits == 0)
        return refuse_file(r, name, text);
    snprintf(r->why, r->cap, "%s/%s:%.*s%s", r->folder, name, (int)digits, text + 5,
             text + 5 + digits);
    return HELIO_EFORMAT;
}

/* A key of a token gets its name among them. */
static int open_token(const struct reading *r, const char *name, struct security_key *k)
{
    static const struct {
        enum token_use use;
        unsigned bits;
    } uses[SECURITY_KEY_ALGORITHMS] = {
        [SECURITY_KEY_HMAC_256] = {TOKEN_HMAC, 256}, [SECURITY_KEY_HMAC_384] = {TOKEN_HMAC, 384},
        [SECURITY_KEY_HMAC_512] = {TOKEN_HMAC, 512}, [SECURITY_KEY_AES_128] = {TOKEN_GCM, 128},
        [SECURITY_KEY_AES_256] = {TOKEN_GCM, 256},   [SECURITY_KEY_WRAP_128] = {TOKEN_WRAP, 128},
        [SECURITY_KEY_WRAP_256] = {TOKEN_WRAP, 256},
    };
    static_assert(TOKEN_NAME_MAX <= SECURITY_KEY_MAX, "a name has room where a secret has");
    char text[400];
    const struct token_want want = {.uri = k->uri,
                                    .folder = r->folder,
                                    .use = uses[k->algorithm].use,
                                    .bits = uses[k->algorithm].bits};
    if (k->uri[0] == '\0' ||
        token_keys_open(r->tokens, &want, k->secret, &k->secret_len, text, sizeof text) == 0)
        return 0;
    snprintf(r->why, r->cap, "%s/%s:%u: key: %s", r->folder, name, k->uri_line, text);
    secret_wipe(k, sizeof *k);
    return HELIO_EFORMAT;
}

/* Key i of the file; *count: how many it has. */
static int parse_key(const struct reading *r, const char *name, size_t len, size_t i, size_t *count)
{
    char why[600] = "";
    if (r->ring->len == SECURITY_KEYS_MAX)
        return refuse_file(r, name, "there are more than 64 keys; remove old ones");
    struct security_key *k = &r->ring->at[r->ring->len];
    *count = 1;
    if ((security_key_is_cose(r->text, len)
             ? security_key_parse_cose(r->text, len, i, count, k, why, sizeof why)
             : security_key_parse(r->text, len, k, why, sizeof why)) != 0)
        return refuse_line(r, name, why);
    if (security_key_check(k, token_keys_crypto(r->tokens), why, sizeof why) != 0) {
        char text[700];
        snprintf(text, sizeof text, "key %zu (%s): %s", i + 1, k->id, why);
        return refuse_file(r, name, *count > 1 ? text : why);
    }
    const int err = open_token(r, name, k);
    r->ring->len += err == 0;
    return err;
}

static int parse_file(const struct reading *r, const char *name, size_t len)
{
    size_t count = 1;
    int err = 0;
    if (len > SECURITY_KEY_FILE)
        return refuse_file(r, name, "it is longer than 16384 bytes, and no key file");
    for (size_t i = 0; i < count && err == 0; i++)
        err = parse_key(r, name, len, i, &count);
    return err;
}

static int read_file(const struct reading *r, const char *name)
{
    int fd;
    int err = open_file(r, name, &fd);
    size_t len = 0;
    ssize_t n = 1;
    while (err == 0 && n != 0 && len <= SECURITY_KEY_FILE) {
        n = read(fd, r->text + len, SECURITY_KEY_FILE + 1 - len);
        if (n < 0 && errno != EINTR)
            err = refuse_file(r, name, strerror(errno));
        len += n > 0 ? (size_t)n : 0;
    }
    if (err == 0)
        err = parse_file(r, name, len);
    secret_wipe(r->text, SECURITY_KEY_FILE + 1);
    if (fd >= 0)
        close(fd);
    return err;
}

static int is_key_name(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

/* By name, which decides between keys of equal times. */
static int read_all(const struct reading *r)
{
    struct dirent **names;
    const int n = scandirat(r->fd, ".", &names, is_key_name, alphasort);
    int err = n < 0 ? HELIO_EIO : 0;
    if (n < 0)
        snprintf(r->why, r->cap, "%s: %s", r->folder, strerror(errno));
    for (int i = 0; i < n; i++) {
        if (err == 0)
            err = read_file(r, names[i]->d_name);
        free(names[i]);
    }
    if (n >= 0)
        free(names);
    return err;
}

static int open_folder(struct reading *r)
{
    struct stat st;
    r->fd = open(r->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r->fd < 0 || fstat(r->fd, &st) != 0) {
        snprintf(r->why, r->cap, "%s: %s%s", r->folder, open_error(errno),
                 errno == ENOENT ? "; make the folder (mkdir -m 0700)" : "");
        return HELIO_EIO;
    }
    const char *wrong = private_file_judge(r->fd, &st, geteuid());
    if (wrong == NULL)
        return 0;
    snprintf(r->why, r->cap, "%s: %s", r->folder, wrong);
    return HELIO_EFORMAT;
}

int node_keys_read(const char *folder, struct security_ring *ring, struct token_keys *tokens,
                   char *why, size_t why_cap)
{
    bool locked;
    struct reading r = {
        .folder = folder, .fd = -1, .ring = ring, .tokens = tokens, .why = why, .cap = why_cap};
    token_keys_begin(tokens);
    ring->len = 0;
    r.text = secret_memory_new(SECURITY_KEY_FILE + 1, &locked);
    int err = r.text == NULL ? HELIO_ENOMEM : open_folder(&r);
    if (r.text == NULL)
        snprintf(why, why_cap, "out of memory");
    if (err == 0)
        err = read_all(&r);
    if (err != 0) {
        secret_wipe(ring->at, sizeof ring->at);
        ring->len = 0;
    }
    if (r.fd >= 0)
        close(r.fd);
    secret_memory_free(r.text, SECURITY_KEY_FILE + 1);
    return err;
}
