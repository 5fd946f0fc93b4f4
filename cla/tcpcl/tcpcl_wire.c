/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of code points. What can go wrong: a code in no table. */
#include "cla/tcpcl/tcpcl_wire.h"

#include <stddef.h>

#define TEXT_AT(name, code, text) [code] = text,

static const char *text_at(const char *const *texts, unsigned count, unsigned code,
                           const char *otherwise)
{
    return code < count && texts[code] != NULL ? texts[code] : otherwise;
}

const char *tcpcl_message_text(unsigned code)
{
    static const char *const texts[TCPCL_MESSAGE_COUNT] = {TCPCL_MESSAGES(TEXT_AT)};
    return text_at(texts, TCPCL_MESSAGE_COUNT, code, NULL);
}

const char *tcpcl_refusal_text(unsigned code)
{
    static const char *const texts[TCPCL_REFUSAL_COUNT] = {TCPCL_REFUSALS(TEXT_AT)};
    return text_at(texts, TCPCL_REFUSAL_COUNT, code, "unknown");
}

const char *tcpcl_rejection_text(unsigned code)
{
    static const char *const texts[TCPCL_REJECTION_COUNT] = {TCPCL_REJECTIONS(TEXT_AT)};
    return text_at(texts, TCPCL_REJECTION_COUNT, code, "unknown");
}

const char *tcpcl_term_text(unsigned code)
{
    static const char *const texts[TCPCL_TERM_COUNT] = {TCPCL_TERMS(TEXT_AT)};
    return text_at(texts, TCPCL_TERM_COUNT, code, "unknown");
}
