/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reference transfers of campaigns/sle-live.yaml: octets through a library's reliable stream over
 * UDP, as fast as it goes. The library is behind this table; transfer.c has what is the same for
 * all: the command line, the octets, the count.
 */
#ifndef TRANSFERS_TRANSFER_H
#define TRANSFERS_TRANSFER_H

#include <netinet/in.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TRANSFER_FAILED (-1)
#define TRANSFER_NOTHING (-2) /* recv: nothing came for a second */

/* Packets under way that a library is told to allow, so that octets are what limits it. */
#define TRANSFER_PACKET 1456
#define TRANSFER_PACKETS_MORE 25600

/* Sockets are the library's numbers. All but `close` and `reason` return TRANSFER_FAILED when it
 * failed. */
struct transfer_ops {
    const char *name; /* of the program */
    int (*start)(void);
    void (*stop)(void);
    /* A connection to `to`, or one that came to `at`; each way holds `buffer` octets at most. */
    int (*connect)(const struct sockaddr_in *to, int buffer);
    int (*listen)(const struct sockaddr_in *at, int buffer);
    int (*accept)(int listener);                        /* its `recv` waits for at most a second */
    int (*send)(int socket, const char *data, int len); /* waits for room; returns what was taken */
    int (*recv)(int socket, char *data,
                int len);        /* 0: the stream is over, all of it was received */
    void (*close)(int socket);   /* waits until all has been sent */
    const char *(*reason)(void); /* of the last failure */
};

/* Exit code: 0 done, 1 failed, 2 usage. */
int transfer_main(const struct transfer_ops *ops, int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif
