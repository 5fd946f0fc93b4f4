/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failures of this program, as negative return values; 0 and positive values are success. Errors in
 * a peer's data are never among them: they are verdicts of the engine that read the data. There is
 * one set of codes. A code from a system call also contains the system's errno, for messages. So
 * compare codes that may be of the system with helio_code or helio_errno. HELIO_ENOMEM never
 * contains an errno.
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

/* The text of an error, from the system if the code contains an errno. Static; never NULL. */
const char *helio_strerror(int error);

/* The error for an errno, 1..4095. Its code is HELIO_EIO for an errno without a code of its own. 0
 * for 0. */
int helio_from_errno(int number);

/* HELIO_E* of an error, without a number; 0 for what is none. */
int helio_code(int error);
/* The errno that it contains; 0: none. */
int helio_errno(int error);

#ifdef __cplusplus
}
#endif

#endif
