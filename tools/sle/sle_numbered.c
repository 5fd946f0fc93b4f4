/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers are big-endian, as all in frames. */
#include "tools/sle/sle_numbered.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#define AT_NUMBER 6
#define AT_TIME 14
#define CONTROL_WORD 4

static uint8_t octet_at(size_t i)
{
    return (uint8_t)(i * 167 + (i >> 8) * 59 + 13);
}

static void put64(uint8_t *at, uint64_t v)
{
    v = htobe64(v);
    memcpy(at, &v, sizeof v);
}

static uint64_t get64(const uint8_t *at)
{
    uint64_t v;
    memcpy(&v, at, sizeof v);
    return be64toh(v);
}

void numbered_fill(const struct numbered *n, uint8_t *frame)
{
    assert(n->length >= NUMBERED_FRAME_MIN && n->vcids >= 1);
    for (size_t i = 0; i < n->length; i++)
        frame[i] = octet_at(i);
}

static void write_aos(const struct numbered *n, uint64_t number, uint8_t *frame)
{
    uint8_t vcid = (uint8_t)(number % n->vcids);
    uint32_t count = (uint32_t)(number / n->vcids);
    frame[0] = (uint8_t)(0x40 | (n->scid >> 2 & 0x3f));
    frame[1] = (uint8_t)(n->scid << 6 | vcid);
    frame[2] = (uint8_t)(count >> 16);
    frame[3] = (uint8_t)(count >> 8);
    frame[4] = (uint8_t)count;
    frame[5] = 0;
}

static void write_tm(const struct numbered *n, uint64_t number, uint8_t *frame)
{
    uint8_t vcid = (uint8_t)(number % n->vcids);
    uint8_t *word = frame + n->length - CONTROL_WORD;
    frame[0] = (uint8_t)(n->scid >> 4 & 0x3f);
    frame[1] = (uint8_t)(n->scid << 4 | vcid << 1 | 1);
    frame[2] = (uint8_t)number;
    frame[3] = (uint8_t)(number / n->vcids);
    frame[4] = 0x1f; /* no packet begins here */
    frame[5] = 0xff;
    word[0] = 0; /* a CLCW of virtual channel 0, whose report value counts */
    word[1] = 0;
    word[2] = 0;
    word[3] = (uint8_t)number;
}

void numbered_write(const struct numbered *n, uint64_t number, uint64_t time, uint8_t *frame)
{
    if (n->tm)
        write_tm(n, number, frame);
    else
        write_aos(n, number, frame);
    put64(frame + AT_NUMBER, number);
    put64(frame + AT_TIME, time);
}

bool numbered_read(struct slice frame, uint64_t *number, uint64_t *time)
{
    if (frame.len < NUMBERED_FRAME_MIN)
        return false;
    bool tm = frame.data[0] >> 6 == 0;
    size_t end = frame.len - (tm ? CONTROL_WORD : 0);
    *number = get64(frame.data + AT_NUMBER);
    *time = get64(frame.data + AT_TIME);
    /* a look at some: reading all of them would cost more than carrying them */
    for (size_t i = NUMBERED_HEAD; i < end; i += 61)
        if (frame.data[i] != octet_at(i))
            return false;
    return end <= NUMBERED_HEAD || frame.data[end - 1] == octet_at(end - 1);
}
