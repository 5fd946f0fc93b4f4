/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another implementation's configuration as one of heliod. Readers fill in the fields that they
 * understand and note each line without a counterpart. The rest is written as YAML that `heliod
 * --check` accepts. Nothing in the files is trusted: counts and lengths have limits, and a value is
 * written to the YAML only after it was read as a number or an address.
 */
#ifndef TOOLS_PLAN_IMPORT_H
#define TOOLS_PLAN_IMPORT_H

#include <stdio.h>

#include "base/tick.h"
#include "conf/conf_tree.h"

#define IMPORT_LINKS_MAX 256
#define IMPORT_ROUTES_MAX 256
#define IMPORT_RANGES_MAX 4096
#define IMPORT_NOTES_MAX 10000
#define IMPORT_ADDRESS_CAP 272 /* a name of 253 characters and a port */

enum import_adapter { IMPORT_LTP, IMPORT_UDP, IMPORT_TCPCL, IMPORT_STCP, IMPORT_ADAPTERS };

struct import_link {
    enum import_adapter adapter;
    uint64_t peer;                               /* the neighbour's node number */
    uint64_t engine;                             /* LTP: its engine number */
    char remote[IMPORT_ADDRESS_CAP];             /* with port; "": not known */
    char local[IMPORT_ADDRESS_CAP];              /* "": that of all links of the adapter */
    bool clash;                                  /* local and remote exclude each other */
    uint64_t rate;                               /* bit/s; 0: none */
    uint64_t segment, sessions, import_sessions; /* 0: not given */
    tick owlt, margin;                           /* 0: not given */
    uint64_t window, window_bytes;               /* STCP; 0: not given */
    tick keepalive;                              /* STCP, where keepalive_given; 0: never */
    bool keepalive_given;
    bool tls_unknown; /* TLS is requested: not written as a link */
};

struct import_route {
    uint64_t first, last, via; /* nodes; the gateway's number */
};

struct import_range {
    uint64_t from, to;
    tick owlt;
};

struct import {
    uint64_t node;   /* 0: not known yet */
    uint64_t engine; /* LTP engine of this node; 0: as node */
    uint64_t bundle_max;
    uint64_t store_limit;
    const char *plan;                                /* file with contacts; borrowed; NULL: none */
    char local[IMPORT_ADAPTERS][IMPORT_ADDRESS_CAP]; /* "": not given */
    bool own[IMPORT_ADAPTERS];                       /* a duct led to this node itself */
    bool lone[IMPORT_ADAPTERS]; /* local is set, and no link names the sender */
    struct import_link links[IMPORT_LINKS_MAX];
    struct import_route routes[IMPORT_ROUTES_MAX];
    struct import_range
        ranges[IMPORT_RANGES_MAX]; /* the first ones; of each pair the longest counts */
    size_t links_len, routes_len, ranges_len;
    size_t taken, notes; /* lines or keys that were understood; lines of the notes */
    FILE *to;            /* where notes go; NULL: nowhere */
    const char *file;    /* that is being read */
};

void import_init(struct import *im, FILE *notes);

/* What has no counterpart, or was left out: "FILE:LINE: what: why". */
void import_note(struct import *im, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The link to this neighbour, made when there is none; NULL: too many, noted. */
struct import_link *import_link(struct import *im, enum import_adapter adapter, uint64_t peer,
                                uint32_t line);

/* The remote address of the link: "localhost", a numeric address, or a name, which heliod looks up.
 * False, and noted: it is none of these, or the link already has another one. */
bool import_remote(struct import *im, struct import_link *l, const char *host, uint64_t port,
                   uint32_t line);

/* The local address of this adapter's links. A name of this host means all its addresses. False,
 * and noted: the port is invalid, or another duct was given before. */
bool import_local(struct import *im, enum import_adapter adapter, const char *host, uint64_t port,
                  uint32_t line);

/* Digits alone, at most `max`. */
bool import_number(const char *text, uint64_t max, uint64_t *out);

/* One file of ION: a file of all programs in sections, or that of the program that its name ends
 * with (.ionrc, .ltprc, .bprc, .ipnrc). 0, or -1 with an error. */
int import_ion(struct import *im, const char *path, const char *text, size_t len,
               struct conf_errors *e);
/* A configuration of HDTN (JSON). 0, or -1 with errors. */
int import_hdtn(struct import *im, const char *path, const char *text, size_t len,
                struct conf_errors *e);

/* The configuration of heliod. 0, or -1: the file's error. */
int import_write(FILE *f, struct import *im);

#endif
