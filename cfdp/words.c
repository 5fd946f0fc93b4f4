/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of cfdp.h's and pdu.h's numbers. Nothing can fail: other numbers have a text as well.
 */
#include "cfdp/pdu.h"

#define TEXT_OF(name, value, text)                                                                 \
    case value:                                                                                    \
        return text;

const char *cfdp_condition_text(unsigned condition)
{
    switch (condition) {
        CFDP_CONDITIONS(TEXT_OF)
    default:
        return "reserved";
    }
}

const char *cfdp_action_text(unsigned action)
{
    switch (action) {
        CFDP_ACTIONS(TEXT_OF)
    default:
        return "reserved";
    }
}

bool cfdp_action_has_two(unsigned action)
{
    return action == CFDP_RENAME_FILE || action == CFDP_APPEND_FILE || action == CFDP_REPLACE_FILE;
}

const char *cfdp_pdu_text(unsigned kind)
{
    switch (kind) {
        TEXT_OF(EOF, CFDP_PDU_EOF, "EOF")
        TEXT_OF(FINISHED, CFDP_PDU_FINISHED, "Finished")
        TEXT_OF(ACK, CFDP_PDU_ACK, "ACK")
        TEXT_OF(METADATA, CFDP_PDU_METADATA, "Metadata")
        TEXT_OF(NAK, CFDP_PDU_NAK, "NAK")
        TEXT_OF(PROMPT, CFDP_PDU_PROMPT, "Prompt")
        TEXT_OF(KEEP_ALIVE, CFDP_PDU_KEEP_ALIVE, "Keep Alive")
        TEXT_OF(DATA, CFDP_PDU_FILE_DATA, "File Data")
    default:
        return "unknown";
    }
}

const char *cfdp_pdu_result_text(enum cfdp_pdu_result result)
{
#define TEXT(name, text) text,
    static const char *const texts[CFDP_PDU_RESULT_COUNT] = {CFDP_PDU_RESULTS(TEXT)};
#undef TEXT
    return result < CFDP_PDU_RESULT_COUNT ? texts[result] : "unknown";
}
