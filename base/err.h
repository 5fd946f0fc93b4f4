/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own failures, as negative returns; 0 and positive values are success. What a peer sent is
 * never one of these: it is a verdict of the engine that read it.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#ifdef __cplusplus
extern "C" {
#endif

#define HELIO_ERRORS(X)                                                                            \
    X(NOMEM, -1, "out of memory")                                                                  \
    X(INVAL, -2, "invalid argument")                                                               \
    X(AGAIN, -3, "a configured limit is reached; try again later")                                 \
    X(NOENT, -4, "no such object")                                                                 \
    X(EXIST, -5, "already exists")                                                                 \
    X(SPACE, -6, "no space left in a buffer or a store")                                           \
    X(IO, -7, "input/output error")                                                                \
    X(FORMAT, -8, "malformed input")                                                               \
    X(STOPPED, -9, "stopped by the caller")

#define HELIO_ERR_ENUM(name, value, text) HELIO_E##name = value,
enum helio_error { HELIO_OK = 0, HELIO_ERRORS(HELIO_ERR_ENUM) };
#undef HELIO_ERR_ENUM

/* A static English text for an error code. Never NULL. */
const char *helio_strerror(int error);

/* The code for an errno of the system, which is above 0; IO for what has none of its own. The text
 * that a person reads is strerror's: it says more. */
int helio_from_errno(int number);

#ifdef __cplusplus
}
#endif

#endif
