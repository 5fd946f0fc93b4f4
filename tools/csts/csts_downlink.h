/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a file, or datagrams, for the user of a buffered data delivery service. */
#ifndef TOOLS_CSTS_DOWNLINK_H
#define TOOLS_CSTS_DOWNLINK_H

#include "csts/delivery.h"
#include "os/log/say.h"
#include "os/world.h"
#include "tools/csts/csts_conn.h"
#include "tools/sle/sle_frames_file.h"
#include "tools/sle/sle_target.h"

struct csts_downlink_config {
    const char *path;  /* of a file, unless there is an address: */
    struct address at; /* where datagrams arrive */
    size_t frame;      /* octets of each of the file; 0: lengths are in the file */
    uint64_t rate;     /* of the file, bit/s; 0: all its frames are there at the start */
    size_t store_max;  /* octets of frames that are kept for users; of datagrams */
};

/* A frame that was generated, and that users may still ask for. */
struct csts_downlink_held {
    struct list node;
    struct sle_time time;
    struct slice data; /* of a file: in `file`; else behind this struct */
};

/* Frames are generated from the program's start on, one after the other. Complete mode keeps them:
 * a user has those of its window. Real-time mode passes them to the user that is there. */
struct csts_downlink {
    const struct csts_downlink_config *config;
    struct csts_host *host;
    struct csts_service *service;
    struct say *log;
    bool complete;
    struct alarm generator, alarm; /* the next frame of the file; the end of a window */
    struct port *port;             /* NULL: a file */
    struct frames_file file;
    struct air air;
    size_t generated;                /* frames of the file */
    struct list held;                /* struct csts_downlink_held, the oldest first */
    size_t octets;                   /* that they need */
    struct csts_downlink_held *next; /* of the user; NULL: it has had all */
    bool waits;                      /* it is slow */
    bool lost;                       /* frames that it has not had were removed */
    bool queued;                     /* something that its link has not written */
    struct sle_when removed;         /* time of the frame that was removed last */
    uint64_t frames, bad, overwritten;
};

/* 0, HELIO_EFORMAT (no file of frames), or HELIO_E*. Production is operational then. */
int csts_downlink_open(struct csts_downlink *d, struct csts_host *h, struct csts_service *v,
                       const struct csts_downlink_config *config, bool complete, struct say *log);
void csts_downlink_start(struct csts_downlink *d); /* the user has started */
void csts_downlink_room(struct csts_downlink *d);  /* there may be room for its data */
/* Logs what was delivered. */
void csts_downlink_close(struct csts_downlink *d);

#endif
