/* SPDX-License-Identifier: Apache-2.0 */
/* What helio-ltp was asked to do. */
#ifndef TOOLS_LTP_TOOL_OPTIONS_H
#define TOOLS_LTP_TOOL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/tick.h"
#include "os/net/address.h"
#include "tools/ltp/ltp_arguments.h"

#define LTP_TOOL_ALL UINT64_MAX /* --red all */

struct ltp_tool_options {
    bool receive, json;
    struct ltp_span span;         /* as far as options say it */
    struct ltp_arguments ltp;     /* reads them */
    struct address local, remote; /* remote not given: answers go to the source of the datagrams */
    enum address_check source;    /* with remote: permitted sources of datagrams */
    uint64_t engine, peer_engine, service;
    uint64_t rate_bps, overhead;
    tick timeout;    /* timeout 0: none */
    const char *log; /* segment log, or NULL */
    /* send */
    uint64_t red;
    bool orange; /* red is 0 */
    char **files;
    size_t count;
    /* receive */
    const char *output;
    uint64_t blocks; /* end after so many; 0: at a signal */
    uint64_t block_max;
    tick idle;
};

/* Reads `send …` or `receive …` (argv[1]). Exits with 2 and a message when the line is wrong, with
 * 0 after --help. */
void ltp_tool_options_read(struct ltp_tool_options *o, int argc, char **argv);

#endif
