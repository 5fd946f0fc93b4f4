/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of the error codes, made from the one list in the header. */
#include "base/err.h"

#include <errno.h>

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

int helio_from_errno(int number)
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
