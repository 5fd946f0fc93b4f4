/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of version 5 is a header of 128 bytes and elements, each of a type, a length and so many
 * bytes; a variable is one, perhaps inside of a compressed one, and consists of elements itself:
 * flags, dimensions, name, values; those of a struct or a cell array are variables again. matio
 * does not look whether all of that is there: of a file that was cut off it returns what the memory
 * held. So it is looked at before.
 */
#include "channel-emu/trace/trace_mat.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/err.h"
#include "channel-emu/trace/trace_file.h"

#define HEADER 128u
#define TAG 8u
#define RANK_MAX 32u
#define DEPTH_MAX 16 /* structs in structs */
#define FIELDS_MAX 4096u

enum { MI_INT8 = 1, MI_INT32 = 5, MI_UINT32 = 6, MI_MATRIX = 14, MI_COMPRESSED = 15 };
enum { CLASS_CELL = 1, CLASS_STRUCT = 2, CLASS_CHAR = 4, CLASS_DOUBLE = 6, CLASS_UINT64 = 15 };

struct input {
    FILE *file;
    bool swap;       /* the other byte order */
    uint64_t room;   /* bytes that may still be taken of what is looked at */
    uint64_t packed; /* of a compressed element: bytes not read from the file */
    z_stream *z;     /* NULL: not compressed */
    unsigned char in[4096];
};

/* The next bytes that come out of the compressed element. */
static bool take_inflated(struct input *s, void *out, size_t n)
{
    s->z->next_out = out;
    s->z->avail_out = (uInt)n;
    while (s->z->avail_out > 0) {
        if (s->z->avail_in == 0 && s->packed > 0) {
            size_t want = s->packed < sizeof s->in ? (size_t)s->packed : sizeof s->in;
            if (fread(s->in, 1, want, s->file) != want)
                return false;
            s->packed -= want;
            s->z->next_in = s->in;
            s->z->avail_in = (uInt)want;
        }
        if (inflate(s->z, Z_NO_FLUSH) != Z_OK)
            return s->z->avail_out == 0;
    }
    return true;
}

static bool take_bytes(struct input *s, void *out, size_t n)
{
    if (n > s->room)
        return false;
    s->room -= n;
    return s->z != NULL ? take_inflated(s, out, n) : fread(out, 1, n, s->file) == n;
}

static bool skip_bytes(struct input *s, uint64_t n)
{
    unsigned char bytes[4096];
    for (; n > sizeof bytes; n -= sizeof bytes) {
        if (!take_bytes(s, bytes, sizeof bytes))
            return false;
    }
    return take_bytes(s, bytes, (size_t)n);
}

static uint32_t read_number(const struct input *s, const unsigned char *at)
{
    uint32_t v;
    memcpy(&v, at, sizeof v);
    return s->swap ? __builtin_bswap32(v) : v;
}

struct tag {
    uint32_t type, bytes;
    bool small; /* its data, four bytes at most, stands in the tag */
    unsigned char data[4];
};

static bool take_tag(struct input *s, struct tag *t)
{
    unsigned char b[TAG];
    if (!take_bytes(s, b, sizeof b))
        return false;
    uint32_t first = read_number(s, b);
    t->small = first >> 16 != 0;
    t->type = t->small ? first & 0xffff : first;
    t->bytes = t->small ? first >> 16 : read_number(s, b + 4);
    memcpy(t->data, b + 4, sizeof t->data);
    return !t->small || t->bytes <= sizeof t->data;
}

/* With the filling up to a multiple of eight. */
static uint64_t rest_of(const struct tag *t)
{
    return t->small ? 0 : ((uint64_t)t->bytes + 7) / 8 * 8;
}

/* The product of the dimensions; 2^32 stands for more. */
static bool take_dimensions(struct input *s, uint64_t *count)
{
    struct tag t;
    unsigned char b[4 * RANK_MAX];
    if (!take_tag(s, &t) || t.type != MI_INT32 || t.small || t.bytes > sizeof b ||
        !take_bytes(s, b, (size_t)rest_of(&t)))
        return false;
    *count = 1;
    for (uint32_t i = 0; i < t.bytes / 4; i++) {
        *count *= read_number(s, b + (size_t)4 * i);
        if (*count > UINT32_MAX)
            *count = (uint64_t)UINT32_MAX + 1;
    }
    return true;
}

static uint32_t size_of(uint32_t type)
{
    static const unsigned char sizes[] = {0, 1, 1, 2, 2, 4, 4, 4, 0, 8, 0, 0, 8, 8};
    return type < sizeof sizes ? sizes[type] : 0;
}

static bool check_matrix(struct input *s, int depth);

/* Variables one after another, empty ones without anything in them. */
static bool check_inner(struct input *s, uint64_t count, int depth)
{
    struct tag t;
    for (uint64_t i = 0; i < count; i++) {
        if (depth == 0 || !take_tag(s, &t) || t.type != MI_MATRIX || t.small || t.bytes > s->room)
            return false;
        uint64_t behind = s->room - t.bytes;
        s->room = t.bytes;
        if (t.bytes > 0 && !check_matrix(s, depth - 1))
            return false;
        s->room = behind;
    }
    return true;
}

/* The length of the fields' names, the names, and the fields of each struct. */
static bool check_struct(struct input *s, uint64_t count, int depth)
{
    struct tag length, names;
    if (!take_tag(s, &length) || !length.small || length.type != MI_INT32 || length.bytes != 4 ||
        !take_tag(s, &names) || names.type != MI_INT8)
        return false;
    uint32_t each = read_number(s, length.data);
    if (each == 0 || names.bytes % each != 0 || names.bytes / each > FIELDS_MAX ||
        !skip_bytes(s, rest_of(&names)))
        return false;
    return count <= UINT32_MAX && check_inner(s, count * (names.bytes / each), depth);
}

/* Characters may be one to four bytes each. */
static bool check_values(struct input *s, uint32_t kind, uint64_t count)
{
    struct tag t;
    if (count == 0)
        return true;
    if (!take_tag(s, &t) || rest_of(&t) > s->room)
        return false;
    if (kind == CLASS_CHAR)
        return count <= t.bytes;
    return size_of(t.type) != 0 && count * size_of(t.type) == t.bytes;
}

/* Of variables that are none of these, only that they are there. */
static bool check_matrix(struct input *s, int depth)
{
    struct tag t;
    unsigned char flags[8];
    uint64_t count;
    if (!take_tag(s, &t) || t.type != MI_UINT32 || t.small || t.bytes != sizeof flags ||
        !take_bytes(s, flags, sizeof flags))
        return false;
    uint32_t kind = read_number(s, flags) & 0xff;
    bool numbers = kind >= CLASS_DOUBLE && kind <= CLASS_UINT64, fine = true;
    if (numbers || kind == CLASS_CHAR || kind == CLASS_STRUCT || kind == CLASS_CELL) {
        if (!take_dimensions(s, &count) || !take_tag(s, &t) || t.type != MI_INT8 ||
            !skip_bytes(s, rest_of(&t)))
            return false;
        fine = kind == CLASS_STRUCT ? check_struct(s, count, depth)
               : kind == CLASS_CELL ? check_inner(s, count, depth)
                                    : check_values(s, kind, count);
    }
    return fine && skip_bytes(s, s->room);
}

static bool check_packed(struct input *s, uint32_t bytes)
{
    z_stream z = {.avail_in = 0};
    struct tag t = {0};
    unsigned char none;
    if (inflateInit(&z) != Z_OK)
        return false;
    s->z = &z;
    s->packed = bytes;
    s->room = TAG;
    bool ok = take_tag(s, &t) && t.type == MI_MATRIX && !t.small;
    s->room = t.bytes;
    ok = ok && check_matrix(s, DEPTH_MAX);
    ok = ok && !take_inflated(s, &none, 1) && z.avail_out == 1 &&
         z.total_out == TAG + (uLong)t.bytes && inflate(&z, Z_FINISH) == Z_STREAM_END;
    s->z = NULL;
    inflateEnd(&z);
    return ok;
}

/* One element of the file at the place *at, which moves behind it. */
static bool check_element(struct input *s, uint64_t *at, uint64_t size)
{
    struct tag t;
    s->room = TAG;
    if (size - *at < TAG || fseeko(s->file, (off_t)*at, SEEK_SET) != 0 || !take_tag(s, &t) ||
        t.small || t.bytes > size - *at - TAG)
        return false;
    *at += TAG + (uint64_t)t.bytes;
    s->room = t.bytes;
    return t.type == MI_COMPRESSED ? check_packed(s, t.bytes)
           : t.type == MI_MATRIX   ? check_matrix(s, DEPTH_MAX)
                                   : true;
}

/* Where the superblock of HDF5 says that the file ends; 0: there is none. Matlab puts it behind 512
 * bytes of its own; version 0 and 1 of it have three addresses after their sizes, 2 and 3 a shorter
 * head. */
static uint64_t end_of_hdf5(FILE *file)
{
    static const unsigned char mark[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    unsigned char b[64];
    uint64_t end = 0;
    for (off_t at = 512; at <= 4096; at *= 2) {
        if (fseeko(file, at, SEEK_SET) != 0 || fread(b, 1, sizeof b, file) != sizeof b)
            return 0;
        if (memcmp(b, mark, sizeof mark) != 0)
            continue;
        bool old = b[8] < 2;
        size_t place = b[8] == 0 ? 40 : b[8] == 1 ? 44 : 28;
        if (b[old ? 13 : 9] != 8) /* bytes of an address */
            return 0;
        for (size_t i = 0; i < 8; i++)
            end |= (uint64_t)b[place + i] << 8 * i;
        return end;
    }
    return 0;
}

int trace_mat_check_hdf5(const char *path, char *error)
{
    struct stat st;
    FILE *file = fopen(path, "rb");
    uint64_t end = file == NULL || fstat(fileno(file), &st) != 0 ? 0 : end_of_hdf5(file);
    if (file != NULL)
        fclose(file);
    if (end > 0 && end <= (uint64_t)st.st_size)
        return 0;
    snprintf(error, TRACE_FILE_ERROR_MAX, "%s: damaged or cut off; copy or save it again", path);
    return HELIO_EFORMAT;
}

int trace_mat_check(const char *path, char *error)
{
    struct stat st;
    unsigned char mark;
    struct input s = {.file = fopen(path, "rb")};
    uint64_t at = HEADER, begin = 0;
    bool ok = s.file != NULL && fstat(fileno(s.file), &st) == 0 &&
              fseeko(s.file, HEADER - 2, SEEK_SET) == 0 && fread(&mark, 1, 1, s.file) == 1;
    s.swap = ok && (mark == 'I') != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    while (ok && at < (uint64_t)st.st_size) {
        begin = at;
        ok = check_element(&s, &at, (uint64_t)st.st_size);
    }
    if (s.file != NULL)
        fclose(s.file);
    if (ok)
        return 0;
    snprintf(error, TRACE_FILE_ERROR_MAX,
             "%s: damaged or cut off: the variable at byte %" PRIu64 " is not whole; copy or save "
             "it again",
             path, begin);
    return HELIO_EFORMAT;
}
