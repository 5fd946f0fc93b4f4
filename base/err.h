/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own failures, as negative returns; 0 and positive values are success. What a peer sent is
 * never one of these: it is a verdict of the engine that read it.
 *
 * There is one space of errors. A failure of the system is one of these codes, too, and carries the
 * system's number with it, for what a person is told: where an error may come from the system, it
 * is compared by helio_code, or by helio_errno. HELIO_ENOMEM never carries a number.
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

/* A static English text: the system's words for an error that carries its number. Never NULL. */
const char *helio_strerror(int error);

/* The error for an errno of the system, 1..4095; IO is the code of what has none of its own. 0 for
 * 0. */
int helio_from_errno(int number);

/* HELIO_E* of an error, without a number; 0 for what is none. */
int helio_code(int error);
/* The system's number that it carries; 0: none. */
int helio_errno(int error);

#ifdef __cplusplus
}
#endif

#endif
