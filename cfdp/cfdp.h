/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of the CCSDS File Delivery Protocol (CCSDS 727.0-B-5) that all of cfdp/ shares. Numbers
 * are those on the wire.
 */
#ifndef CFDP_CFDP_H
#define CFDP_CFDP_H

#include <stdbool.h>

#include "base/err.h"
#include "base/slice.h"
#include "base/tick.h"

#define CFDP_NAME_MAX 255    /* octets of a file name: an LV */
#define CFDP_HEAD_MAX 28     /* the longest fixed header */
#define CFDP_PDU_MAX 65563   /* the longest PDU */
#define CFDP_FIELD_MAX 65535 /* octets of a PDU's data field */

/* 5.2.2, table 5-5 */
#define CFDP_CONDITIONS(X)                                                                         \
    X(NO_ERROR, 0, "no error")                                                                     \
    X(ACK_LIMIT, 1, "positive ACK limit reached")                                                  \
    X(KEEP_ALIVE_LIMIT, 2, "keep alive limit reached")                                             \
    X(TRANSMISSION_MODE, 3, "invalid transmission mode")                                           \
    X(FILESTORE, 4, "filestore rejection")                                                         \
    X(CHECKSUM, 5, "file checksum failure")                                                        \
    X(FILE_SIZE, 6, "file size error")                                                             \
    X(NAK_LIMIT, 7, "NAK limit reached")                                                           \
    X(INACTIVITY, 8, "inactivity detected")                                                        \
    X(STRUCTURE, 9, "invalid file structure")                                                      \
    X(CHECK_LIMIT, 10, "check limit reached")                                                      \
    X(CHECKSUM_TYPE, 11, "unsupported checksum type")                                              \
    X(SUSPEND, 14, "suspend request received")                                                     \
    X(CANCEL, 15, "cancel request received")
#define CFDP_CONDITION_ENUM(name, value, text) CFDP_##name = value,
enum cfdp_condition { CFDP_CONDITIONS(CFDP_CONDITION_ENUM) };
#undef CFDP_CONDITION_ENUM
/* Static; "reserved" for other numbers. */
const char *cfdp_condition_text(unsigned condition);

/* 4.8, table 5-19 */
enum cfdp_handler {
    CFDP_HANDLE_CANCEL = 1,
    CFDP_HANDLE_SUSPEND = 2,
    CFDP_HANDLE_IGNORE = 3,
    CFDP_HANDLE_ABANDON = 4
};

enum cfdp_class { CFDP_CLASS_1 = 1, CFDP_CLASS_2 = 2 };

enum cfdp_file_status {
    CFDP_FILE_DISCARDED = 0,
    CFDP_FILE_REJECTED = 1, /* by the filestore */
    CFDP_FILE_RETAINED = 2,
    CFDP_FILE_UNREPORTED = 3
};

/* Of an ACK: 5.2.4 */
enum cfdp_transaction_status {
    CFDP_STATUS_UNDEFINED = 0,
    CFDP_STATUS_ACTIVE = 1,
    CFDP_STATUS_TERMINATED = 2,
    CFDP_STATUS_UNRECOGNIZED = 3
};

/* The checksum types of the SANA registry that this library computes. */
#define CFDP_CHECKSUMS(X)                                                                          \
    X(MODULAR, 0, "modular")                                                                       \
    X(CRC32C, 2, "crc-32c")                                                                        \
    X(CRC32, 3, "crc-32")                                                                          \
    X(NULL, 15, "null")
#define CFDP_CHECKSUM_ENUM(name, value, text) CFDP_CHECKSUM_##name = value,
enum cfdp_checksum { CFDP_CHECKSUMS(CFDP_CHECKSUM_ENUM) };
#undef CFDP_CHECKSUM_ENUM

/* 5.4.1, table 5-16. `status`: the number of a response, by action. */
#define CFDP_ACTIONS(X)                                                                            \
    X(CREATE_FILE, 0, "create file")                                                               \
    X(DELETE_FILE, 1, "delete file")                                                               \
    X(RENAME_FILE, 2, "rename file")                                                               \
    X(APPEND_FILE, 3, "append file")                                                               \
    X(REPLACE_FILE, 4, "replace file")                                                             \
    X(CREATE_FOLDER, 5, "create directory")                                                        \
    X(REMOVE_FOLDER, 6, "remove directory")                                                        \
    X(DENY_FILE, 7, "deny file")                                                                   \
    X(DENY_FOLDER, 8, "deny directory")
#define CFDP_ACTION_ENUM(name, value, text) CFDP_##name = value,
enum cfdp_action { CFDP_ACTIONS(CFDP_ACTION_ENUM) CFDP_ACTIONS_COUNT };
#undef CFDP_ACTION_ENUM
const char *cfdp_action_text(unsigned action);
/* Rename, append and replace have two names. */
bool cfdp_action_has_two(unsigned action);
#define CFDP_NOT_PERFORMED 15 /* a response's status for each action */

/* A transaction: the entity that sends the file, and its number. */
struct cfdp_id {
    uint64_t source, sequence;
};
static inline bool cfdp_id_same(struct cfdp_id a, struct cfdp_id b)
{
    return a.source == b.source && a.sequence == b.sequence;
}

#endif
