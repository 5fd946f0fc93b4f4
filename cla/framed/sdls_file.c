/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file becomes a tree, each association is read by the table, then its texts (virtual channels,
 * mask, key file) and what relates to what. All errors are collected. What can go wrong is the
 * operator's: a key, a value, a key file that others may read.
 */
#include "cla/framed/sdls_file.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hex.h"
#include "base/secret.h"
#include "cla/framed/sdls_numbers.h"
#include "conf/conf_section.h"
#include "os/crypto/crypto.h"
#include "os/secret.h"

struct top {
    char *numbers, *received;
};

/* An association as it is written. */
struct written {
    uint64_t spi, iv, sequence, pad, mac, sender, window;
    int service, algorithm;
    char *vcids, *mask, *key_file;
};

#define AT(field) offsetof(struct top, field)
const struct conf_option sdls_file_options[] = {
    {.key = "numbers",
     .type = OPTION_PLACE,
     .offset = AT(numbers),
     .initial = "",
     .help = "file that keeps the numbers of sent frames over restarts; needed to send; with keys "
             "that never sent, write the word new in it first"},
    {.key = "received",
     .type = OPTION_PLACE,
     .offset = AT(received),
     .initial = "",
     .help = "file that keeps the numbers of received frames over restarts; empty: the first "
             "authentic frame of each run may have any number"},
    {0}};
#undef AT

#define AT(field) offsetof(struct written, field)
const struct conf_option sdls_association_options[] = {
    {.key = "spi",
     .type = OPTION_COUNT,
     .offset = AT(spi),
     .min = 1,
     .max = SDLS_SPI_MAX,
     .help = "security parameter index, which is in each frame"},
    {.key = "vcids",
     .type = OPTION_TEXT,
     .offset = AT(vcids),
     .help = "virtual channels, such as 0 or 1,3-5; the first association of a channel sends"},
    {.key = "service",
     .type = OPTION_CHOICE,
     .offset = AT(service),
     .choices = "authentication|authenticated-encryption",
     .help = "whether the data field is encrypted, too"},
    {.key = "algorithm",
     .type = OPTION_CHOICE,
     .offset = AT(algorithm),
     .choices = "aes-cmac|hmac-sha-256|aes-gcm",
     .help = "aes-gcm encrypts; to authenticate it is GMAC"},
    {.key = "key_file",
     .type = OPTION_FILE,
     .offset = AT(key_file),
     .help = "file with the key, hexadecimal, in one line; all users must not be able to read it"},
    {.key = "iv",
     .type = OPTION_COUNT,
     .offset = AT(iv),
     .initial = "auto",
     .min = 12,
     .max = 12,
     .choices = "auto",
     .help = "octets of the initialization vector; auto: 12 of aes-gcm, else none"},
    {.key = "sequence",
     .type = OPTION_COUNT,
     .offset = AT(sequence),
     .initial = "auto",
     .min = 1,
     .max = 8,
     .choices = "auto",
     .help = "octets of the sequence number; auto: none of aes-gcm, whose IV counts, else 4"},
    {.key = "pad",
     .type = OPTION_COUNT,
     .offset = AT(pad),
     .initial = "0",
     .max = 2,
     .help = "octets of the pad length, which is 0 here"},
    {.key = "mac",
     .type = OPTION_COUNT,
     .offset = AT(mac),
     .initial = "16",
     .min = 8,
     .max = SDLS_MAC_MAX,
     .help = "octets of the MAC: aes-gcm 16, aes-cmac 8 to 16, hmac-sha-256 8 to 32"},
    {.key = "sender",
     .type = OPTION_COUNT,
     .offset = AT(sender),
     .initial = "0",
     .max = UINT32_MAX,
     .help = "first four octets of the IV, different for each sender with the key"},
    {.key = "window",
     .type = OPTION_COUNT,
     .offset = AT(window),
     .initial = "1000000",
     .min = 1,
     .max = INT64_MAX,
     .help = "a received number is above the last one by at most this"},
    {.key = "mask",
     .type = OPTION_TEXT,
     .offset = AT(mask),
     .initial = "",
     .help = "more bits of the primary header that the MAC covers, hexadecimal from its front"},
    {0}};
#undef AT

struct reading {
    const char *path;
    const struct sdls_file_config *config;
    struct sdls_file *f;
    struct conf_errors *errors;
};

static uint32_t find_line(const struct conf_tree *map, const char *key)
{
    const struct conf_tree *t = conf_child(map, key);
    return t != NULL ? t->line : map->line;
}

static bool take_vcid(const char **p, unsigned long *out)
{
    char *end;
    if (**p < '0' || **p > '9')
        return false;
    *out = strtoul(*p, &end, 10);
    *p = end;
    return *out < 64;
}

/* "1,3-5" */
static bool read_vcids(const char *p, uint64_t *out)
{
    *out = 0;
    for (;; p++) {
        unsigned long from, to;
        if (!take_vcid(&p, &from))
            return false;
        to = from;
        if (*p == '-') {
            p++;
            if (!take_vcid(&p, &to))
                return false;
        }
        for (unsigned long v = from; v <= to; v++)
            *out |= UINT64_C(1) << v;
        if (*p != ',')
            return *p == '\0' && from <= to;
    }
}

/* The path that a name within the file means: relative to the file's own folder, so that another
 * working folder means no other note. The caller's; NULL: no memory. */
static char *place_beside(const char *file, const char *name)
{
    const char *slash = strrchr(file, '/');
    const size_t len = slash == NULL || *name == '/' ? 0 : (size_t)(slash - file) + 1;
    const size_t cap = len + strlen(name) + 1;
    char *out = malloc(cap);
    if (out != NULL)
        snprintf(out, cap, "%.*s%s", (int)len, file, name);
    return out;
}

/* The text is overwritten: it is a secret. */
static void read_key(struct reading *r, const struct conf_tree *map, const char *path,
                     struct sdls_association *a)
{
    char text[2 * SDLS_KEY_MAX + 3], why[256];
    char *place = place_beside(r->path, path);
    assert(a->key_len == 0);
    if (place == NULL) {
        conf_no_memory(r->errors, find_line(map, "key_file"));
        return;
    }
    const int len = secret_file_line(place, text, sizeof text, why, sizeof why);
    free(place);
    const int n = len < 0 ? 0 : hex_parse(text, (size_t)len, a->key, sizeof a->key);
    secret_wipe(text, sizeof text);
    if (len < 0)
        conf_error(r->errors, find_line(map, "key_file"), "associations.key_file: %s", why);
    else if (n < 0)
        conf_error(r->errors, find_line(map, "key_file"),
                   "associations.key_file: %s: expected a key of at most 64 octets, two "
                   "hexadecimal digits each",
                   path);
    else
        a->key_len = (uint8_t)n;
}

static void read_association(struct reading *r, const struct conf_tree *map,
                             const struct written *w, struct sdls_association *a)
{
    const bool gcm = w->algorithm == SDLS_GCM;
    assert(w->spi > 0 && w->spi <= SDLS_SPI_MAX && w->mac <= SDLS_MAC_MAX);
    *a = (struct sdls_association){.spi = (uint16_t)w->spi,
                                   .service = (enum sdls_service)w->service,
                                   .algorithm = (enum sdls_algorithm)w->algorithm,
                                   .iv_len = (uint8_t)(w->iv > 0 ? w->iv
                                                       : gcm     ? SDLS_IV
                                                                 : 0),
                                   .sequence_len = (uint8_t)(w->sequence > 0 ? w->sequence
                                                             : gcm           ? 0
                                                                             : 4),
                                   .pad_len = (uint8_t)w->pad,
                                   .mac_len = (uint8_t)w->mac,
                                   .sender = (uint32_t)w->sender,
                                   .window = w->window,
                                   .next = 1,
                                   .end = 1};
    if (!read_vcids(w->vcids, &a->vcids))
        conf_error(r->errors, find_line(map, "vcids"),
                   "associations.vcids: '%s': expected virtual channels such as 0 or 1,3-5",
                   w->vcids);
    if (hex_parse(w->mask, strlen(w->mask), a->mask, sizeof a->mask) < 0)
        conf_error(r->errors, find_line(map, "mask"),
                   "associations.mask: '%s': expected at most %d octets, two hexadecimal digits "
                   "each",
                   w->mask, SDLS_PRIMARY_MAX);
    read_key(r, map, w->key_file, a);
}

static void read_item(struct reading *r, const struct conf_tree *map)
{
    struct written w = {0};
    const struct conf_part part = {sdls_association_options, &w, NULL};
    const size_t before = r->errors->total;
    struct sdls *s = &r->f->sdls;
    assert(s->len < SDLS_FILE_ASSOCIATIONS);
    if (conf_options_default(sdls_association_options, &w, conf_option_set) < 0)
        conf_no_memory(r->errors, map->line);
    else
        conf_section_read(map, "associations.", &part, 1, NULL, r->errors);
    if (r->errors->total == before)
        read_association(r, map, &w, &s->at[s->len++]);
    size_t which;
    const char *wrong = r->errors->total == before ? sdls_problem(s, &which) : NULL;
    if (wrong != NULL)
        conf_error(r->errors, map->line, "associations: spi %u: %s", s->at[which].spi, wrong);
    conf_options_free(sdls_association_options, &w);
}

static void read_tree(struct reading *r, const struct conf_tree *root, struct top *top)
{
    static const char *const words[] = {"associations", NULL};
    const struct conf_part part = {sdls_file_options, top, NULL};
    size_t n = 0;
    bool locked;
    /* Nothing is quoted of another file, which who named it may not be allowed to read. */
    if (root->kind != CONF_MAP || conf_child(root, "associations") == NULL) {
        conf_error(r->errors, root->line, "associations: expected at least one");
        return;
    }
    if (conf_options_default(sdls_file_options, top, conf_option_set) < 0)
        conf_no_memory(r->errors, root->line);
    conf_section_read(root, "", &part, 1, words, r->errors);
    const struct conf_tree *t =
        conf_list(root, "", "associations", SDLS_FILE_ASSOCIATIONS, &n, r->errors);
    if (t == NULL && r->errors->total == 0)
        conf_error(r->errors, root->line, "associations: expected at least one");
    if (t == NULL)
        return;
    r->f->sdls.at = secret_memory_new(SDLS_FILE_ASSOCIATIONS * sizeof *r->f->sdls.at, &locked);
    if (r->f->sdls.at == NULL)
        conf_no_memory(r->errors, root->line);
    for (; t != NULL && r->f->sdls.at != NULL; t = t->next)
        read_item(r, t);
}

static void open_note(struct reading *r, const char *key, const char *place,
                      enum sdls_numbers_use use)
{
    char why[512];
    struct sdls_file *f = r->f;
    struct sdls_numbers **n = use == SDLS_SENT ? &f->sent : &f->received;
    const int err = r->config->check ? sdls_numbers_check(place, use, why, sizeof why)
                                     : sdls_numbers_open(n, place, use, &f->sdls, why, sizeof why);
    if (err < 0)
        conf_error(r->errors, 1, "%s: %s", key, why);
}

static void open_numbers(struct reading *r, const struct top *top)
{
    static const enum sdls_numbers_use uses[] = {SDLS_SENT, SDLS_RECEIVED, SDLS_RECEIVED_AHEAD};
    const enum sdls_file_use use = r->config->use;
    const char *key = use == SDLS_FILE_SEND ? "numbers" : "received";
    const char *name = use == SDLS_FILE_SEND ? top->numbers : top->received;
    const char *given = r->config->note == NULL ? "" : r->config->note;
    assert(r->f->sent == NULL && r->f->received == NULL && r->f->sdls.len > 0);
    if (*given == '\0' && *name == '\0') {
        if (use != SDLS_FILE_RECEIVE)
            conf_error(r->errors, 1,
                       "%s: expected a file that keeps the numbers of %s frames over restarts", key,
                       use == SDLS_FILE_SEND ? "sent" : "received");
        return;
    }
    char *place = *given != '\0' ? strdup(given) : place_beside(r->path, name);
    if (place == NULL)
        conf_no_memory(r->errors, 1);
    else
        open_note(r, key, place, uses[use]);
    free(place);
}

static void read_file(struct reading *r, const char *path)
{
    size_t len;
    struct top top = {0};
    char *text = conf_file_read(path, &len, r->errors);
    struct conf_tree *root = text == NULL ? NULL
                                          : conf_tree_parse(text, len,
                                                            "it needs at least the key "
                                                            "associations",
                                                            r->errors);
    if (root != NULL)
        read_tree(r, root, &top);
    if (r->errors->total == 0 && top.numbers != NULL && top.received != NULL)
        open_numbers(r, &top);
    conf_options_free(sdls_file_options, &top);
    conf_tree_free(root);
    free(text);
}

/* The errors are the caller's to look at, also after 0. */
static int open_file(struct sdls_file **out, const struct sdls_file_config *c,
                     const struct frame_format *format, struct conf_errors *errors)
{
    struct sdls_file *f = calloc(1, sizeof *f);
    struct reading r = {c->path, c, f, errors};
    *out = NULL;
    assert(frame_format_problem(format) == NULL);
    conf_errors_init(errors, c->path);
    if (f == NULL || !crypto_open(&f->crypto)) {
        free(f);
        conf_error(errors, 1,
                   "the cryptography cannot be used: OpenSSL lacks an algorithm, or memory is out");
        return HELIO_ENOMEM;
    }
    f->sdls.format = *format;
    f->sdls.crypto = &f->crypto;
    read_file(&r, c->path);
    *out = f;
    return conf_errors_code(errors);
}

int sdls_file_open(struct sdls_file **out, const char *path, enum sdls_file_use use,
                   const struct frame_format *format, void (*say)(const char *line))
{
    const struct sdls_file_config c = {.path = path, .use = use};
    struct conf_errors errors;
    const int err = open_file(out, &c, format, &errors);
    for (size_t i = 0; i < errors.len; i++)
        say(errors.text[i]);
    if (err == 0)
        return 0;
    (void)sdls_file_close(*out, say);
    *out = NULL;
    return err;
}

int sdls_file_read(struct sdls_file **out, const struct sdls_file_config *c,
                   const struct frame_format *format, char *why, size_t why_cap)
{
    struct conf_errors errors;
    char ignored[512];
    const int err = open_file(out, c, format, &errors);
    if (err == 0)
        return 0;
    snprintf(why, why_cap, "%s", errors.len > 0 ? errors.text[0] : "out of memory");
    (void)sdls_file_end(*out, ignored, sizeof ignored);
    *out = NULL;
    return err;
}

/* One program at a time has a note, so the former one is closed first: with it all numbers. */
int sdls_file_renew(struct sdls_file **f, const struct sdls_file_config *c, char *why,
                    size_t why_cap)
{
    struct sdls_file *was = *f, *fresh;
    char ignored[512];
    assert(was != NULL && was->sdls.len > 0 && !c->check);
    int err = sdls_numbers_close(was->sent, why, why_cap);
    const int e = sdls_numbers_close(was->received, why, why_cap);
    was->sent = was->received = NULL;
    for (size_t i = 0; i < was->sdls.len; i++)
        was->sdls.at[i].end = was->sdls.at[i].next;
    err = err == 0 ? e : err;
    if (err == 0)
        err = sdls_file_read(&fresh, c, &was->sdls.format, why, why_cap);
    if (err != 0)
        return err;
    assert((fresh->sent != NULL) == (c->use == SDLS_FILE_SEND));
    memcpy(fresh->sdls.applied, was->sdls.applied, sizeof fresh->sdls.applied);
    memcpy(fresh->sdls.processed, was->sdls.processed, sizeof fresh->sdls.processed);
    (void)sdls_file_end(was, ignored, sizeof ignored);
    *f = fresh;
    return 0;
}

static bool same_association(const struct sdls_association *a, const struct sdls_association *b)
{
    return a->spi == b->spi && a->service == b->service && a->algorithm == b->algorithm &&
           a->vcids == b->vcids && a->iv_len == b->iv_len && a->sequence_len == b->sequence_len &&
           a->pad_len == b->pad_len && a->mac_len == b->mac_len && a->sender == b->sender &&
           a->window == b->window && memcmp(a->mask, b->mask, sizeof a->mask) == 0 &&
           a->key_len == b->key_len && secret_same(a->key, b->key, a->key_len);
}

bool sdls_file_same(const struct sdls_file *a, const struct sdls_file *b)
{
    bool same = a->sdls.len == b->sdls.len;
    for (size_t i = 0; same && i < a->sdls.len; i++)
        same = same_association(&a->sdls.at[i], &b->sdls.at[i]);
    return same;
}

/* Stores the note and frees it. Errors are written to `why` (the last one remains), or to `say`. */
static int end_file(struct sdls_file *f, char *why, size_t why_cap, void (*say)(const char *line))
{
    int err = 0;
    if (f == NULL)
        return 0;
    struct sdls_numbers *const both[] = {f->sent, f->received};
    for (int i = 0; i < 2; i++) {
        const int e = sdls_numbers_close(both[i], why, why_cap);
        if (e < 0 && say != NULL)
            say(why);
        err = err == 0 ? e : err;
    }
    secret_memory_free(f->sdls.at, SDLS_FILE_ASSOCIATIONS * sizeof *f->sdls.at);
    crypto_close(&f->crypto);
    free(f);
    return err;
}

int sdls_file_end(struct sdls_file *f, char *why, size_t why_cap)
{
    return end_file(f, why, why_cap, NULL);
}

int sdls_file_close(struct sdls_file *f, void (*say)(const char *line))
{
    char why[512];
    return end_file(f, why, sizeof why, say);
}
