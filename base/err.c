/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of the error codes, made from the one list in the header. */
#include "base/err.h"

const char *helio_strerror(int error)
{
#define HELIO_ERR_CASE(name, value, text)                                                          \
    case HELIO_E##name:                                                                            \
        return text;
    switch (error) {
        HELIO_ERRORS(HELIO_ERR_CASE)
    case HELIO_OK:
        return "success";
    default:
        return "unknown error";
    }
#undef HELIO_ERR_CASE
}
