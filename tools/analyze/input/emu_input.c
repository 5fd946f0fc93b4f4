/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of draft-ietf-opsawg-pcapng: a type, a length, a body, the length again. What can go
 * wrong: a file that ends within a block, lengths that contradict each other, memory. */
#include "tools/analyze/input/emu_input.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define SECTION 0x0a0d0d0au
#define INTERFACE 1u
#define PACKET 6u
#define ORDER 0x1a2b3c4du
#define BLOCK_MAX (1u << 18)
#define PACKET_HEAD 20u /* interface, time (2), captured, length */
#define OPTION_DESCRIPTION 3u

struct emu_input {
    struct stream *in;
    uint32_t interface;
    uint8_t block[BLOCK_MAX];
};

static uint32_t word(const uint8_t *at)
{
    uint32_t v;
    memcpy(&v, at, sizeof v);
    return v;
}

static uint16_t half(const uint8_t *at)
{
    uint16_t v;
    memcpy(&v, at, sizeof v);
    return v;
}

/* "helio-emu before RUN" or "helio-emu after RUN", RUN in hexadecimal digits; then free text. */
static bool read_words(const uint8_t *text, size_t len, struct emu_mark *out)
{
    char line[64], place[8];
    size_t n = len < sizeof line - 1 ? len : sizeof line - 1;
    memcpy(line, text, n);
    line[n] = '\0';
    if (sscanf(line, "helio-emu %7s %16" SCNx64, place, &out->run) != 2)
        return false;
    out->after = strcmp(place, "after") == 0;
    return out->after || strcmp(place, "before") == 0;
}

/* Options of an interface: code, length, value in whole words. */
static bool read_options(const uint8_t *at, size_t len, struct emu_mark *out)
{
    while (len >= 4) {
        size_t size = half(at + 2), whole = 4 + ((size + 3) & ~(size_t)3);
        if (half(at) == 0 || whole > len)
            return false;
        if (half(at) == OPTION_DESCRIPTION)
            return read_words(at + 4, size, out);
        at += whole;
        len -= whole;
    }
    return false;
}

bool emu_mark_of(const uint8_t *bytes, size_t len, struct emu_mark *out)
{
    if (len < 28 || word(bytes) != SECTION || word(bytes + 8) != ORDER)
        return false;
    size_t section = word(bytes + 4);
    if (section > len || len - section < 16)
        return false;
    const uint8_t *at = bytes + section;
    size_t size = word(at + 4);
    if (word(at) != INTERFACE || size < 20 || size > len - section)
        return false;
    return read_options(at + 16, size - 20, out);
}

struct emu_input *emu_input_new(struct stream *in, uint32_t interface)
{
    struct emu_input *e = malloc(sizeof *e);
    if (e == NULL)
        return NULL;
    e->in = in;
    e->interface = interface;
    return e;
}

void emu_input_free(struct emu_input *in)
{
    free(in);
}

/* All of `len` bytes: 1, 0 at the end, HELIO_EIO. */
static int read_whole(struct emu_input *in, uint8_t *out, size_t len, bool begun,
                      char error[PCAP_INPUT_ERROR_MAX])
{
    size_t have = 0;
    while (have < len) {
        long n = stream_read(in->in, out + have, len - have);
        if (n == 0 && have == 0 && !begun)
            return 0;
        if (n <= 0) {
            snprintf(error, PCAP_INPUT_ERROR_MAX, "%s",
                     n == 0 ? "truncated: the file ends within a block" : "it cannot be read");
            return HELIO_EIO;
        }
        have += (size_t)n;
    }
    return 1;
}

/* The next block's type and body: 1, 0 at the end, HELIO_EIO. */
static int read_block(struct emu_input *in, uint32_t *type, size_t *body,
                      char error[PCAP_INPUT_ERROR_MAX])
{
    uint8_t head[8];
    int rc = read_whole(in, head, sizeof head, false, error);
    if (rc != 1)
        return rc;
    size_t len = word(head + 4);
    if (len < 12 || len > BLOCK_MAX || len % 4 != 0) {
        snprintf(error, PCAP_INPUT_ERROR_MAX, "a block of %zu bytes is none of helio-emu's", len);
        return HELIO_EIO;
    }
    rc = read_whole(in, in->block, len - sizeof head, true, error);
    *type = word(head);
    *body = len - 12;
    return rc;
}

int emu_input_next(struct emu_input *in, struct pcap_packet *out, char error[PCAP_INPUT_ERROR_MAX])
{
    uint32_t type;
    size_t body;
    int rc;
    while ((rc = read_block(in, &type, &body, error)) == 1) {
        if (type != PACKET || body < PACKET_HEAD || word(in->block) != in->interface)
            continue;
        uint32_t have = word(in->block + 12), len = word(in->block + 16);
        if (have > body - PACKET_HEAD) {
            snprintf(error, PCAP_INPUT_ERROR_MAX, "a packet is longer than its block");
            return HELIO_EIO;
        }
        *out = (struct pcap_packet){
            .now = (tick)word(in->block + 4) << 32 | word(in->block + 8),
            .bytes = in->block + PACKET_HEAD,
            .have = have < len ? have : len,
            .len = len,
        };
        assert(out->have <= out->len);
        return 1;
    }
    return rc;
}
