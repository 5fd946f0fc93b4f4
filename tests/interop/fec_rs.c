/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reed-Solomon against libfec (Phil Karn's code, Debian's package): 10,000 codewords of each code
 * and basis, with virtual fill, and with 0 errors up to 8 more than the code corrects. Check
 * symbols, verdicts, counts and corrected words must be equal. Prints what was compared as JSON.
 */
#include <fec.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "frames/rs.h"

enum { WORDS_EACH = 10000, BEYOND = 8 };

struct account {
    unsigned good, corrected, failed, wrong;
};

static void *open_codec(enum rs_code code, unsigned fill)
{
    int checks = code == RS_255_223 ? 32 : 16;
    return init_rs_char(8, 0x187, 128 - checks / 2, 11, checks, (int)fill);
}

/* libfec knows the dual basis of (255,223) alone; its tables change the basis of the other. */
static void change_basis(uint8_t *word, unsigned n, const unsigned char *table)
{
    for (unsigned i = 0; i < n; i++)
        word[i] = table[word[i]];
}

static void encode_other(enum rs_code code, enum rs_basis basis, uint8_t *word, unsigned data,
                         unsigned checks)
{
    unsigned fill = RS_WORD - data - checks;
    if (code == RS_255_223 && basis == RS_DUAL) {
        encode_rs_ccsds(word, word + data, (int)fill);
        return;
    }
    void *codec = open_codec(code, fill);
    if (basis == RS_DUAL)
        change_basis(word, data, Tal1tab);
    encode_rs_char(codec, word, word + data);
    if (basis == RS_DUAL)
        change_basis(word, data + checks, Taltab);
    free_rs_char(codec);
}

/* Returns libfec's count, below 0 for a failure: also when an error would be in the fill. */
static int decode_other(enum rs_code code, enum rs_basis basis, uint8_t *word, unsigned n)
{
    int fill = (int)(RS_WORD - n), count;
    if (code == RS_255_223 && basis == RS_DUAL) {
        count = decode_rs_ccsds(word, NULL, 0, fill);
    } else {
        void *codec = open_codec(code, (unsigned)fill);
        if (basis == RS_DUAL)
            change_basis(word, n, Tal1tab);
        count = decode_rs_char(codec, word, NULL, 0);
        if (basis == RS_DUAL)
            change_basis(word, n, Taltab);
        free_rs_char(codec);
    }
    return count;
}

static void add_errors(struct rng *r, uint8_t *word, unsigned n, unsigned errors)
{
    bool hit[RS_WORD] = {false};
    for (unsigned k = 0; k < errors;) {
        unsigned at = (unsigned)rng_below(r, n);
        if (hit[at])
            continue;
        hit[at] = true;
        word[at] ^= (uint8_t)(1 + rng_below(r, 255));
        k++;
    }
}

static bool compare_word(const struct rs *rs, enum rs_code code, enum rs_basis basis, struct rng *r,
                         struct account *a)
{
    uint8_t ours[RS_WORD], other[RS_WORD], sent[RS_WORD], received[RS_WORD];
    unsigned most = RS_WORD - rs->checks;
    unsigned data = rng_chance(r, 0.5) ? most : 1 + (unsigned)rng_below(r, most);
    unsigned n = data + rs->checks, errors = (unsigned)rng_below(r, rs->checks / 2 + BEYOND + 1);
    struct rs_result result;
    for (unsigned i = 0; i < data; i++)
        sent[i] = (uint8_t)rng_u64(r);
    memcpy(other, sent, data);
    rs_encode(rs, sent, data, 1, sent + data);
    encode_other(code, basis, other, data, rs->checks);
    if (memcmp(sent, other, n) != 0)
        return false;
    memcpy(received, sent, n);
    add_errors(r, received, n, errors < n ? errors : n);
    memcpy(ours, received, n);
    memcpy(other, received, n);
    bool decoded = rs_decode(rs, ours, data, 1, &result);
    int count = decode_other(code, basis, other, n);
    a->good += count == 0;
    a->corrected += count > 0;
    a->failed += count < 0;
    a->wrong += count >= 0 && memcmp(other, sent, n) != 0;
    if (count < 0)
        return !decoded && result.failed == 1 && memcmp(ours, received, n) == 0;
    return decoded && (int)result.corrected == count && memcmp(ours, other, n) == 0;
}

static bool compare_code(enum rs_code code, enum rs_basis basis)
{
    static struct rs rs;
    struct account a = {0};
    struct rng r;
    uint64_t seed = 2 * (uint64_t)code + basis;
    rs_init(&rs, code, basis);
    rng_init(&r, seed);
    for (unsigned k = 0; k < WORDS_EACH; k++) {
        if (!compare_word(&rs, code, basis, &r, &a)) {
            fprintf(stderr, "fec_rs: checks %u, basis %d: word %u of seed %llu differs\n",
                    rs.checks, basis, k, (unsigned long long)seed);
            return false;
        }
    }
    printf("{\"checks\": %u, \"basis\": \"%s\", \"words\": %d, \"good\": %u, \"corrected\": %u, "
           "\"failed\": %u, \"taken_for_another\": %u}\n",
           rs.checks, basis == RS_DUAL ? "dual" : "conventional", WORDS_EACH, a.good, a.corrected,
           a.failed, a.wrong);
    return a.good > 0 && a.corrected > 0 && a.failed > 0;
}

int main(void)
{
    bool good = true;
    for (int code = RS_255_223; code <= RS_255_239; code++)
        for (int basis = RS_DUAL; basis <= RS_CONVENTIONAL; basis++)
            good = compare_code((enum rs_code)code, (enum rs_basis)basis) && good;
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
