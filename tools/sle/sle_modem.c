/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading is strict: whatever has no meaning is refused, so that a later version can give it one.
 * What can go wrong: values out of their range, lengths beyond the limits.
 */
#include "tools/sle/sle_modem.h"

#include <assert.h>
#include <string.h>

enum {
    AT_KIND = 4,
    AT_QUALITY,
    AT_PRODUCTION,
    AT_LOCKS,
    AT_DAY,
    AT_MS = 10,
    AT_PS = 14,
    AT_ANTENNA = 18,
    AT_ANNOTATION,
    AT_MISSING,
    AT_LENGTH = 24
};
#define GLOBAL 128u
#define DAY_MS UINT32_C(86400000)
#define LEAP_MS UINT32_C(1000)
#define MS_PS UINT32_C(1000000000)
static const uint8_t magic[4] = {'H', 'S', 'F', '1'};

static uint32_t get_be(const uint8_t *at, unsigned octets)
{
    uint32_t v = 0;
    for (unsigned i = 0; i < octets; i++)
        v = v << 8 | at[i];
    return v;
}

static void put_be(uint8_t *at, uint32_t v, unsigned octets)
{
    for (unsigned i = 0; i < octets; i++)
        at[i] = (uint8_t)(v >> 8 * (octets - 1 - i));
}

static size_t antenna_len(const uint8_t *head)
{
    return head[AT_ANTENNA] & (GLOBAL - 1);
}

enum modem_verdict modem_length(const uint8_t *head, size_t frame_max, size_t *out)
{
    const uint32_t data = get_be(head + AT_LENGTH, 4);
    const bool frame = head[AT_KIND] == MODEM_FRAME;
    if (memcmp(head, magic, sizeof magic) != 0 || head[AT_KIND] > MODEM_END ||
        antenna_len(head) > SLE_ANTENNA_MAX || head[AT_ANNOTATION] > SLE_ANNOTATION_MAX ||
        data > frame_max || (data > 0) != frame)
        return MODEM_BAD;
    *out = MODEM_HEAD + antenna_len(head) + head[AT_ANNOTATION] + data;
    return MODEM_OK;
}

static bool read_time(const uint8_t *head, struct sle_time *out)
{
    *out = (struct sle_time){.day = (uint16_t)get_be(head + AT_DAY, 2),
                             .ms = get_be(head + AT_MS, 4),
                             .ps = get_be(head + AT_PS, 4),
                             .pico = true};
    return out->day >= SLE_TIME_UNIX_DAY && out->ms < DAY_MS + LEAP_MS && out->ps < MS_PS;
}

/* Only a subcarrier may be “not in use”. */
static bool read_locks(uint8_t locks, struct sle_locks *out)
{
    *out = (struct sle_locks){.frame = (enum sle_lock)(locks >> 6),
                              .symbol = (enum sle_lock)(locks >> 4 & 3),
                              .subcarrier = (enum sle_lock)(locks >> 2 & 3),
                              .carrier = (enum sle_lock)(locks & 3)};
    return out->frame != SLE_NOT_IN_USE && out->symbol != SLE_NOT_IN_USE &&
           out->carrier != SLE_NOT_IN_USE;
}

/* What only frames have is 0 in the others. */
static bool is_plain(const uint8_t *head)
{
    return head[AT_QUALITY] == 0 && head[AT_ANTENNA] == 0 && head[AT_ANNOTATION] == 0 &&
           get_be(head + AT_MISSING, 4) == 0;
}

static bool read_head(const uint8_t *head, struct modem_unit *out)
{
    *out = (struct modem_unit){.kind = (enum modem_kind)head[AT_KIND],
                               .quality = head[AT_QUALITY],
                               .production = (enum sle_production)head[AT_PRODUCTION],
                               .antenna_global = (head[AT_ANTENNA] & GLOBAL) != 0,
                               .missing = get_be(head + AT_MISSING, 4)};
    if (out->kind != MODEM_FRAME && !is_plain(head))
        return false;
    return out->quality <= MODEM_QUALITY_NOT_SAID && head[AT_PRODUCTION] <= SLE_HALTED &&
           (out->missing <= MODEM_MISSING_MAX || out->missing == MODEM_MISSING_NOT_SAID) &&
           (antenna_len(head) > 0 || !out->antenna_global) && read_time(head, &out->time) &&
           read_locks(head[AT_LOCKS], &out->locks);
}

enum modem_verdict modem_read(struct slice in, size_t frame_max, struct modem_unit *out,
                              size_t *used)
{
    size_t whole;
    if (in.len < MODEM_HEAD)
        return MODEM_SHORT;
    if (modem_length(in.data, frame_max, &whole) != MODEM_OK || !read_head(in.data, out))
        return MODEM_BAD;
    if (in.len < whole)
        return MODEM_SHORT;
    const size_t antenna = antenna_len(in.data), annotation = in.data[AT_ANNOTATION];
    const uint8_t *at = in.data + MODEM_HEAD;
    out->antenna = slice_of(at, antenna);
    out->annotation = slice_of(at + antenna, annotation);
    out->data = slice_of(at + antenna + annotation, whole - MODEM_HEAD - antenna - annotation);
    *used = whole;
    return MODEM_OK;
}

size_t modem_write(const struct modem_unit *u, uint8_t *out)
{
    assert(u->antenna.len <= SLE_ANTENNA_MAX && u->annotation.len <= SLE_ANNOTATION_MAX);
    assert(u->time.ps < MS_PS && u->data.len <= SLE_FRAME_MAX);
    memcpy(out, magic, sizeof magic);
    out[AT_KIND] = (uint8_t)u->kind;
    out[AT_QUALITY] = u->quality;
    out[AT_PRODUCTION] = (uint8_t)u->production;
    out[AT_LOCKS] = (uint8_t)(u->locks.frame << 6 | u->locks.symbol << 4 |
                              u->locks.subcarrier << 2 | u->locks.carrier);
    put_be(out + AT_DAY, u->time.day, 2);
    put_be(out + AT_MS, u->time.ms, 4);
    put_be(out + AT_PS, u->time.ps, 4);
    out[AT_ANTENNA] = (uint8_t)(u->antenna.len | (u->antenna_global ? GLOBAL : 0));
    out[AT_ANNOTATION] = (uint8_t)u->annotation.len;
    put_be(out + AT_MISSING, u->missing, 4);
    put_be(out + AT_LENGTH, (uint32_t)u->data.len, 4);
    if (u->antenna.len > 0)
        memcpy(out + MODEM_HEAD, u->antenna.data, u->antenna.len);
    if (u->annotation.len > 0)
        memcpy(out + MODEM_HEAD + u->antenna.len, u->annotation.data, u->annotation.len);
    return MODEM_HEAD + u->antenna.len + u->annotation.len;
}
