/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NASA's CryptoLib applies or removes Space Data Link Security of frames in hexadecimal, a line
 * each: cryptolib_sdls apply|process tm|aos|tc gcm|cmac|hmac KEY SPI LENGTH IV_OR_NUMBER < frames
 * One frame of `apply` to TM and AOS has its whole length, with zeros where security will be.
 *
 * Built against a CryptoLib of its own: cc -I CRYPTOLIB/include cryptolib_sdls.c -o cryptolib_sdls
 * -L CRYPTOLIB/build -lcryptolib -lgcrypt -Wl,-rpath,CRYPTOLIB/build
 */
#include <string.h>

#include "crypto.h"
#include "sa_interface.h"

enum { CRAFT = 1, CHANNEL = 0, LINE_MAX_LEN = 8192 };

static int parse_hex(const char *text, uint8_t *out)
{
    int n = 0;
    for (unsigned v; sscanf(text, "%2x", &v) == 1; text += 2)
        out[n++] = (uint8_t)v;
    return n;
}

static void print_hex(const uint8_t *data, size_t len)
{
    for (size_t i = 0; i < len; i++)
        fprintf(stderr, "%02x", data[i]);
    fputc('\n', stderr);
}

static SecurityAssociation_t *set_association(char **argv)
{
    SaInterface sa_if = get_sa_interface_inmemory();
    SecurityAssociation_t *sa;
    int gcm = strcmp(argv[3], "gcm") == 0, tc = strcmp(argv[2], "tc") == 0;
    uint8_t number[64];
    for (uint16_t spi = 1; spi < 20; spi++) {
        sa = NULL;
        (void)sa_if->sa_get_from_spi(spi, &sa);
        if (sa != NULL)
            sa->sa_state = SA_NONE;
    }
    sa = NULL; /* one that is not configured yet is an error to it, and is found all the same */
    (void)sa_if->sa_get_from_spi((uint16_t)atoi(argv[5]), &sa);
    if (sa == NULL)
        return NULL;
    sa->sa_state = SA_OPERATIONAL;
    sa->gvcid_blk = (crypto_gvcid_t){
        .tfvn = strcmp(argv[2], "aos") == 0, .scid = CRAFT, .vcid = CHANNEL, .mapid = TYPE_TC};
    sa->gvcid_blk.mapid = 0;
    sa->est = gcm;
    sa->ast = 1;
    sa->ecs_len = 1;
    sa->ecs = gcm ? CRYPTO_CIPHER_AES256_GCM : CRYPTO_CIPHER_NONE;
    sa->acs_len = 1;
    sa->acs = gcm                            ? CRYPTO_MAC_NONE
              : strcmp(argv[3], "cmac") == 0 ? CRYPTO_MAC_CMAC_AES256
                                             : CRYPTO_MAC_HMAC_SHA256;
    sa->shplf_len = 0;
    sa->stmacf_len = 16;
    sa->iv_len = sa->shivf_len = gcm ? 12 : 0;
    sa->arsn_len = sa->shsnf_len = gcm ? 0 : 4;
    sa->arsnw_len = 1;
    sa->arsnw = 1000;
    sa->abm_len = ABM_SIZE;
    memset(sa->abm, 0xff, ABM_SIZE);
    memset(sa->abm, 0, tc ? 5 : 6);
    sa->abm[tc ? 2 : 1] = tc ? 0xfc : strcmp(argv[2], "tm") == 0 ? 0x0e : 0x3f;
    if (gcm)
        memset(sa->abm + (tc ? 5 : 6) + 2, 0, 12);
    parse_hex(argv[7], number);
    memcpy(gcm ? sa->iv : sa->arsn, number, gcm ? 12 : 4);
    sa->ekid = sa->akid = 130;
    crypto_key_t *key = key_if->get_key(130);
    key->key_len = (uint32_t)parse_hex(argv[4], key->value);
    key->key_state = KEY_ACTIVE;
    return sa;
}

static void configure(char **argv)
{
    uint16_t length = (uint16_t)atoi(argv[6]);
    Crypto_Config_CryptoLib(KEY_TYPE_INTERNAL, MC_TYPE_INTERNAL, SA_TYPE_INMEMORY,
                            CRYPTOGRAPHY_TYPE_LIBGCRYPT, IV_INTERNAL);
    Crypto_Config_TC(CRYPTO_TC_CREATE_FECF_TRUE, TC_PROCESS_SDLS_PDUS_FALSE, TC_NO_PUS_HDR,
                     TC_IGNORE_SA_STATE_FALSE, TC_IGNORE_ANTI_REPLAY_FALSE,
                     TC_UNIQUE_SA_PER_MAP_ID_FALSE, TC_CHECK_FECF_TRUE, 0x3F,
                     SA_INCREMENT_NONTRANSMITTED_IV_TRUE);
    Crypto_Config_TM(CRYPTO_TM_CREATE_FECF_TRUE, TM_IGNORE_ANTI_REPLAY_FALSE, TM_CHECK_FECF_TRUE,
                     0x3F, SA_INCREMENT_NONTRANSMITTED_IV_TRUE);
    Crypto_Config_AOS(CRYPTO_AOS_CREATE_FECF_TRUE, AOS_IGNORE_ANTI_REPLAY_FALSE,
                      AOS_CHECK_FECF_TRUE, 0x3F, SA_INCREMENT_NONTRANSMITTED_IV_TRUE);
    TCGvcidManagedParameters_t tc = {0, CRAFT, CHANNEL, TC_HAS_FECF, TC_NO_SEGMENT_HDRS, 1024, 1};
    TMGvcidManagedParameters_t tm = {0, CRAFT, CHANNEL, TM_HAS_FECF, length, TM_NO_OCF, 1};
    AOSGvcidManagedParameters_t aos = {1,         CRAFT, CHANNEL, AOS_HAS_FECF, AOS_NO_FHEC,
                                       AOS_NO_IZ, 0,     length,  AOS_NO_OCF,   1};
    if (strcmp(argv[2], "tc") == 0)
        Crypto_Config_Add_TC_Gvcid_Managed_Parameters(tc);
    else if (strcmp(argv[2], "tm") == 0)
        Crypto_Config_Add_TM_Gvcid_Managed_Parameters(tm);
    else
        Crypto_Config_Add_AOS_Gvcid_Managed_Parameters(aos);
}

static int apply_frame(const char *kind, uint8_t *frame, int len)
{
    uint8_t *out = NULL;
    uint16_t out_len = (uint16_t)len;
    int status;
    if (strcmp(kind, "tc") == 0) {
        status = Crypto_TC_ApplySecurity(frame, (uint16_t)len, &out, &out_len);
        if (status == CRYPTO_LIB_SUCCESS)
            print_hex(out, out_len);
        return status;
    }
    status = strcmp(kind, "tm") == 0 ? Crypto_TM_ApplySecurity(frame, (uint16_t)len)
                                     : Crypto_AOS_ApplySecurity(frame, (uint16_t)len);
    if (status == CRYPTO_LIB_SUCCESS)
        print_hex(frame, (size_t)len);
    return status;
}

/* Prints the data field alone. */
static int process_frame(const char *kind, uint8_t *frame, int len)
{
    static TC_t tc;
    static TM_t tm;
    static AOS_t aos;
    uint16_t out_len = 0;
    int status;
    if (strcmp(kind, "tc") == 0) {
        status = Crypto_TC_ProcessSecurity(frame, &len, &tc);
        if (status == CRYPTO_LIB_SUCCESS)
            print_hex(tc.tc_pdu, tc.tc_pdu_len);
    } else if (strcmp(kind, "tm") == 0) {
        status = Crypto_TM_ProcessSecurity(frame, (uint16_t)len, &tm, &out_len);
        if (status == CRYPTO_LIB_SUCCESS)
            print_hex(tm.tm_pdu, tm.tm_pdu_len);
    } else {
        status = Crypto_AOS_ProcessSecurity(frame, (uint16_t)len, &aos, &out_len);
        if (status == CRYPTO_LIB_SUCCESS)
            print_hex(aos.aos_pdu, aos.aos_pdu_len);
    }
    return status;
}

int main(int argc, char **argv)
{
    static char line[LINE_MAX_LEN];
    static uint8_t frame[LINE_MAX_LEN];
    if (argc != 8)
        return 2;
    configure(argv);
    int begun = Crypto_Init();
    if (begun != CRYPTO_LIB_SUCCESS || set_association(argv) == NULL) {
        fprintf(stderr, "error %d\n", begun);
        return 1;
    }
    while (fgets(line, sizeof line, stdin) != NULL) {
        int len = parse_hex(line, frame);
        int status = strcmp(argv[1], "apply") == 0 ? apply_frame(argv[2], frame, len)
                                                   : process_frame(argv[2], frame, len);
        if (status != CRYPTO_LIB_SUCCESS)
            fprintf(stderr, "error %d\n", status);
    }
    return 0;
}
