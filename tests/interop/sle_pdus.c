/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For an oracle: reads PDUs, a line of hexadecimal digits each, decodes them and writes them again.
 * Of a TRANSFER-BUFFER, which is made otherwise, it prints what is in it: a word for each item.
 * A line that cannot be decoded is answered by "bad".
 *
 *   sle_pdus SERVICE VERSION user|provider     SERVICE: raf, rcf, rocf or cltu
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sle/pdu.h"

#define LONGEST 65536

static void print_hex(struct slice s)
{
    for (size_t i = 0; i < s.len; i++)
        printf("%02x", s.data[i]);
}

static size_t parse_hex(const char *text, uint8_t *out)
{
    size_t n = 0;
    for (unsigned v; n < LONGEST && sscanf(text + 2 * n, "%2x", &v) == 1; n++)
        out[n] = (uint8_t)v;
    return n;
}

static void print_item(const struct sle_item *i)
{
    if (i->is_sync) {
        printf(" sync:%d", (int)i->sync.kind);
        return;
    }
    printf(" frame:%u.%" PRIu32 ".%" PRIu32 ":", i->time.day, i->time.ms, i->time.ps);
    print_hex(i->antenna);
    printf(":%d:%" PRId32 ":%d:", i->antenna_global, i->continuity, (int)i->quality);
    print_hex(i->annotation);
    printf(":");
    print_hex(i->data);
}

static void print_buffer(const struct sle_dialect *d, struct slice rest)
{
    struct sle_item item;
    enum sle_pdu_verdict v;
    printf("buffer");
    while ((v = sle_buffer_next(d, &rest, &item)) == SLE_PDU_OK)
        print_item(&item);
    printf(v == SLE_PDU_BAD ? " bad\n" : "\n");
}

static void print_again(const struct sle_dialect *d, struct sle_pdu *p)
{
    static uint8_t out[2 * LONGEST];
    static struct sle_gvcid set[SLE_GVCIDS_MAX];
    if (p->kind == SLE_PDU_GET_RETURN && p->u.value.gvcid_set.len > 0) {
        struct sle_gvcids walk = {.rest = p->u.value.gvcid_set};
        struct sle_value *v = &p->u.value;
        v->gvcids = set;
        v->gvcid_count = 0;
        while (v->gvcid_count < SLE_GVCIDS_MAX && sle_gvcids_next(&walk, &set[v->gvcid_count]))
            v->gvcid_count++;
    }
    size_t n = sle_pdu_write(d, p, out, sizeof out, NULL);
    print_hex(slice_of(out, n));
    printf("\n");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        enum sle_service service;
    } services[] = {{"raf", SLE_RAF}, {"rcf", SLE_RCF}, {"rocf", SLE_ROCF}, {"cltu", SLE_FCLTU}};
    static char line[2 * LONGEST + 2];
    static uint8_t in[LONGEST];
    struct sle_dialect d = {0};
    if (argc != 4)
        return 2;
    for (size_t i = 0; i < sizeof services / sizeof *services; i++)
        if (strcmp(argv[1], services[i].name) == 0)
            d.service = services[i].service;
    d.version = (uint8_t)atoi(argv[2]);
    d.speaker = strcmp(argv[3], "user") == 0 ? SLE_FROM_USER : SLE_FROM_PROVIDER;
    while (fgets(line, sizeof line, stdin) != NULL) {
        struct sle_pdu p;
        size_t n = parse_hex(line, in);
        if (sle_pdu_read(&d, slice_of(in, n), &p) != SLE_PDU_OK)
            printf("bad\n");
        else if (p.kind == SLE_PDU_GET_RETURN && p.diag == SLE_OK &&
                 !sle_parameter_exists(&d, p.u.value.parameter))
            printf("not of this version\n");
        else if (p.kind == SLE_PDU_BUFFER)
            print_buffer(&d, p.u.buffer);
        else
            print_again(&d, &p);
    }
    return 0;
}
