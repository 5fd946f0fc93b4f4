/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of the error codes, made from the one list in the header. The lowest byte of an error, made
 * positive, is its code, what is above it the system's number. */
#include "base/err.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#define CODE_BITS 8
#define NUMBER_MAX 4095

static const char *code_text(int error)
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

static int code_of(int number)
{
    switch (number) {
    case ENOMEM:
        return HELIO_ENOMEM;
    case EINVAL:
    case ENAMETOOLONG:
        return HELIO_EINVAL;
    case EAGAIN:
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ETIMEDOUT:
        return HELIO_EAGAIN;
    case ENOENT:
    case ENODEV:
    case ENXIO:
        return HELIO_ENOENT;
    case EEXIST:
    case EADDRINUSE:
        return HELIO_EEXIST;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return HELIO_ESPACE;
    case EBADMSG:
    case EILSEQ:
        return HELIO_EFORMAT;
    default:
        return HELIO_EIO;
    }
}

int helio_from_errno(int number)
{
    assert(number >= 0 && number <= NUMBER_MAX);
    int code = number == 0 ? 0 : code_of(number);
    return code == 0 || code == HELIO_ENOMEM ? code : -(number << CODE_BITS | -code);
}

int helio_code(int error)
{
    return error < 0 ? -(int)((0 - (unsigned)error) % (1u << CODE_BITS)) : 0;
}

int helio_errno(int error)
{
    return error < 0 ? (int)((0 - (unsigned)error) >> CODE_BITS) : 0;
}

/* strerror may translate, and has a buffer of its own for what it does not know. */
const char *helio_strerror(int error)
{
    int number = helio_errno(error);
    const char *text = number == 0 ? code_text(error) : strerrordesc_np(number);
    return text != NULL ? text : "unknown error";
}
