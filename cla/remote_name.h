/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a link's `remote` is: at one address, if it is numeric; else at those that the system's
 * resolver answered last. The adapter asks with each attempt to connect, or has it asked again and
 * again. Only a name without any address yet waits for the answer; a known address is used at once.
 *
 * A look-up that fails leaves the addresses of the last answer as they are: a name server that is
 * out of order does not stop a link that works. Who can forge the answers is the link's peer as far
 * as its address says (SECURITY.md).
 */
#ifndef CLA_REMOTE_NAME_H
#define CLA_REMOTE_NAME_H

#include "os/lookup.h"
#include "os/udp_io.h"

#define REMOTE_NAME_REFRESH (60 * TICK_S) /* from an answer to the next question */
#define REMOTE_NAME_PAUSE TICK_S          /* after a look-up that failed; doubled for each, up to */
#define REMOTE_NAME_PAUSE_MAX (60 * TICK_S)
#define REMOTE_NAME_WHY_MAX 160

struct json_t;

/* All 0: not given, and all calls are allowed. */
struct remote_name {
    struct world *world;
    struct host_address at;
    struct lookup lookup;
    struct alarm alarm; /* of the next question; of an answer that could not be asked for */
    bool watched, unasked;
    tick pause;
    struct address found[LOOKUP_ADDRESSES_MAX]; /* of the last good answer, in its order */
    struct address tried[LOOKUP_ADDRESSES_MAX]; /* since the last remote_name_reached */
    size_t found_len, tried_len;
    struct address current; /* the last one that remote_name_next chose */
    bool failed;            /* the last look-up did: */
    char why[REMOTE_NAME_WHY_MAX];
    tick say_after; /* then the next failure has a line */
    uint64_t lookups, lookups_failed;
    void (*answered)(void *context);
    void *context;
};

/* Copies *at. family: of the addresses that count, AF_UNSPEC: any. `answered`: from the world's
 * loop, after each look-up; it may end the link. 0, or HELIO_EINVAL with a text: this world has no
 * resolver. */
int remote_name_open(struct remote_name *r, struct world *w, const struct host_address *at,
                     int family, char *why, size_t why_cap);
void remote_name_on_answer(struct remote_name *r, void (*answered)(void *context), void *context);
/* A look-up under way is forgotten. */
void remote_name_close(struct remote_name *r);

/* Has it to be looked up? */
bool remote_name_is_name(const struct remote_name *r);

/* Of a name: `answered` follows, later than the call; a look-up that runs already is the one. */
void remote_name_ask(struct remote_name *r);

/* Of a name: it is asked for now, and again after each answer, in REMOTE_NAME_REFRESH or the
 * growing pause. Nothing for an address. */
void remote_name_watch(struct remote_name *r);

/* The address for the next attempt: the first one of the last answer that was not tried since the
 * last remote_name_reached, else the first one. False: none is known. */
bool remote_name_next(struct remote_name *r, struct address *out);
/* The peer was reached: the next attempt begins with the first address. */
void remote_name_reached(struct remote_name *r);

/* Of an adapter that connects, in `answered`: the last answer has addresses, and the one of the
 * last attempt is not among them. False before the first attempt. */
bool remote_name_moved(const struct remote_name *r);

/* The line that a look-up which failed has in the operator's log; "": none is due. There is one at
 * once, then each 10 min. */
#define REMOTE_NAME_SAY_MAX 512
void remote_name_failure(struct remote_name *r, char text[REMOTE_NAME_SAY_MAX]);

/* Of an adapter that sends datagrams to one address, in `answered`: when the last answer lacks that
 * of *to, it becomes the answer's first one, io forgets the former one, and true is returned. text:
 * a line for the operator's log, *level as in cla_events.say; "": none is due. */
bool remote_name_update(struct remote_name *r, struct udp_io *io, struct udp_peer *to, int *level,
                        char text[REMOTE_NAME_SAY_MAX]);

/* Is this the host of one of its addresses? False: none is known. */
bool remote_name_has_host(const struct remote_name *r, const struct address *from);
/* The same of the first ADDRESS_KEY_HOST bytes of an address_key. */
bool remote_name_has_key(const struct remote_name *r, const uint8_t *key);

/* "192.0.2.7:4556", "gs1.example.net:4556 (192.0.2.7:4556)": with the address of the last attempt.
 */
#define REMOTE_NAME_TEXT_MAX (HOST_ADDRESS_TEXT_MAX + ADDRESS_TEXT_MAX + 4)
const char *remote_name_write(const struct remote_name *r, char text[REMOTE_NAME_TEXT_MAX]);

/* Of a name: adds remote_address, lookups and lookups_failed. Nothing for an address. */
void remote_name_status(const struct remote_name *r, struct json_t *object);

#endif
