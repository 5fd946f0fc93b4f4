/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a modem knows of a frame, before its octets: the input of sources with `head: modem`. A unit
 * is a head of 28 octets, then antenna identifier, annotation and data; a datagram has one unit, a
 * connection one behind the other. Numbers are big-endian. docs/helio-sle.md has the table.
 *
 *   0 "HSF1"(4)  4 kind  5 quality  6 production  7 locks  8 day(2) ms(4) ps(4)
 *   18 antenna: its octets, + 128 in global form  19 octets of the annotation
 *   20 missing(4)  24 octets of the data(4)
 */
#ifndef TOOLS_SLE_MODEM_H
#define TOOLS_SLE_MODEM_H

#include "sle/sle.h"

#define MODEM_HEAD 28u
#define MODEM_FRONT_MAX (MODEM_HEAD + SLE_ANTENNA_MAX + SLE_ANNOTATION_MAX) /* before the data */
#define MODEM_QUALITY_NOT_SAID 3u
#define MODEM_MISSING_NOT_SAID UINT32_C(0xffffffff)
#define MODEM_MISSING_MAX UINT32_C(16777214)

enum modem_kind { MODEM_FRAME, MODEM_STATUS, MODEM_END };

struct modem_unit {
    enum modem_kind kind;
    uint8_t quality; /* enum sle_quality, or MODEM_QUALITY_NOT_SAID; of frames */
    enum sle_production production;
    struct sle_locks locks;
    struct sle_time time; /* earth receive time; of others: when it happened */
    bool antenna_global;
    uint32_t missing; /* frames before this one, or MODEM_MISSING_NOT_SAID; of frames */
    struct slice antenna, annotation, data;
};

enum modem_verdict { MODEM_OK, MODEM_SHORT, MODEM_BAD };

/* Octets of the whole unit whose head these are, at least MODEM_HEAD of them. MODEM_BAD: no head,
 * or its data is longer than `frame_max`. */
enum modem_verdict modem_length(const uint8_t *head, size_t frame_max, size_t *out);
/* Reads a unit from the beginning of `in`; its slices lie in `in`. MODEM_SHORT: more octets are
 * needed. MODEM_BAD: a value is none. *used: its octets. */
enum modem_verdict modem_read(struct slice in, size_t frame_max, struct modem_unit *out,
                              size_t *used);
/* Octets before the data, written at `out` (MODEM_FRONT_MAX); the unit must be one that is read. */
size_t modem_write(const struct modem_unit *u, uint8_t *out);

#endif
