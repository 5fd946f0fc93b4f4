/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file's numbers are in this machine's byte order, which its first word shows; those of the
 * packets are in network order. UDP's checksum is 0, "none" (RFC 768). A failed write is detected
 * at the end.
 */
#include "tests/sim/pcap.h"

#include <assert.h>
#include <errno.h>

enum { IPV4_BYTES = 20, UDP_BYTES = 8, RAW_IP = 101, LTP_PORT = 1113 };

bool pcap_open(struct pcap *p, const char *path)
{
    p->out = fopen(path, "wb");
    if (p->out == NULL)
        return false;
    const uint16_t version[2] = {2, 4};
    const uint32_t magic = 0xa1b23c4d, rest[4] = {0, 0, UINT16_MAX, RAW_IP};
    fwrite(&magic, sizeof magic, 1, p->out);
    fwrite(version, sizeof version, 1, p->out);
    fwrite(rest, sizeof rest, 1, p->out);
    return true;
}

static void put16(uint8_t *at, size_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

/* RFC 791: the one's complement of the one's complement sum. */
static uint16_t checksum(const uint8_t *header)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < IPV4_BYTES; i += 2)
        sum += (uint32_t)(header[i] << 8 | header[i + 1]);
    while (sum > UINT16_MAX)
        sum = (sum & UINT16_MAX) + (sum >> 16);
    return (uint16_t)~sum;
}

void pcap_segment(struct pcap *p, tick now, size_t from, size_t to, const uint8_t *data, size_t len)
{
    assert(len <= 65000 && from - 1 < 254 && to - 1 < 254);
    const size_t whole = IPV4_BYTES + UDP_BYTES + len;
    uint8_t head[IPV4_BYTES + UDP_BYTES] = {[0] = 0x45, [8] = 64, [9] = 17, [12] = 10, [16] = 10};
    head[15] = (uint8_t)from;
    head[19] = (uint8_t)to;
    put16(head + 2, whole);
    put16(head + 10, checksum(head));
    put16(head + IPV4_BYTES, LTP_PORT);
    put16(head + IPV4_BYTES + 2, LTP_PORT);
    put16(head + IPV4_BYTES + 4, UDP_BYTES + len);
    const uint32_t record[4] = {(uint32_t)(now / TICK_S), (uint32_t)(now % TICK_S), (uint32_t)whole,
                                (uint32_t)whole};
    fwrite(record, sizeof record, 1, p->out);
    fwrite(head, sizeof head, 1, p->out);
    fwrite(data, 1, len, p->out);
}

bool pcap_close(struct pcap *p)
{
    bool good = ferror(p->out) == 0;
    if (!good)
        errno = EIO;
    return fclose(p->out) == 0 && good;
}
