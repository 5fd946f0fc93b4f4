/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of an end of the plan service. The file plan-N.cbor is version N as its message. A
 * file gets its name when all of it is on the medium, so there is no version in part.
 */
#ifndef TOOLS_PLAN_PLANS_SHELF_H
#define TOOLS_PLAN_PLANS_SHELF_H

#include "plans/plans_message.h"

#define PLANS_FILES_MAX 4096 /* files of versions in a folder; further ones are not seen */
#define PLANS_PATH_CAP 4096
#define PLANS_NAME_CAP 48

#define PLANS_STATE_FILE "state.json" /* what the end shows of itself */
#define PLANS_NODE_FILE "plan.yaml"   /* the plan that the follower's node reads */
#define PLANS_MARK_FILE "applied"     /* the number of the version that the node has taken */

struct plans_shelf {
    char path[PLANS_PATH_CAP]; /* absolute */
    int fd, lock;              /* -1: not open; not locked */
};

/* Opens the folder, and makes it if it is missing. serve: one process at a time has it, and what a
 * killed one left in part is removed. 0, or HELIO_E* with the reason in why. plans_shelf_close in
 * any case. */
int plans_shelf_open(struct plans_shelf *s, const char *path, bool serve, char *why, size_t cap);
void plans_shelf_close(struct plans_shelf *s);

/* Numbers of the versions, in rising order: the highest PLANS_FILES_MAX. Returns how many there
 * are, or HELIO_E*. */
int plans_shelf_list(const struct plans_shelf *s, uint64_t numbers[PLANS_FILES_MAX]);

struct plans_file {
    uint8_t *octets; /* the message; the caller's to free */
    size_t len;
    struct plans_version version;
    struct slice contents; /* in octets */
};

/* 0; HELIO_EFORMAT: the file is damaged; HELIO_E* of the system. */
int plans_shelf_read(const struct plans_shelf *s, uint64_t number, struct plans_file *out);
/* 0; HELIO_EEXIST: this version is there already; HELIO_E* of the system: nothing is there. */
int plans_shelf_write(const struct plans_shelf *s, const struct plans_version *v,
                      struct slice contents);
void plans_shelf_remove(const struct plans_shelf *s, uint64_t number);

/* Another file, which takes the place of an old one at once. sync: it is on the medium then. */
int plans_shelf_put(const struct plans_shelf *s, const char *name, struct slice octets, bool sync);
/* The number in a file of one line; 0: there is none. */
uint64_t plans_shelf_number(const struct plans_shelf *s, const char *name);

#endif
