/* SPDX-License-Identifier: Apache-2.0 */
/* libpcap reads; microseconds become nanoseconds. What can go wrong: a file that is cut or damaged,
 * and times before 1970. */
#include "tools/analyze/input/pcap_input.h"

#include <assert.h>
#include <pcap.h>
#include <stdlib.h>

#include "base/err.h"

struct pcap_input {
    pcap_t *pcap;
};

int pcap_input_open(struct pcap_input **out, FILE *f, char error[PCAP_INPUT_ERROR_MAX])
{
    char why[PCAP_ERRBUF_SIZE] = "";
    struct pcap_input *in = calloc(1, sizeof *in);
    if (in == NULL) {
        fclose(f);
        return HELIO_ENOMEM;
    }
    in->pcap = pcap_fopen_offline_with_tstamp_precision(f, PCAP_TSTAMP_PRECISION_NANO, why);
    if (in->pcap == NULL) {
        snprintf(error, PCAP_INPUT_ERROR_MAX, "%.200s", why);
        fclose(f);
        free(in);
        return HELIO_EFORMAT;
    }
    *out = in;
    return 0;
}

void pcap_input_close(struct pcap_input *in)
{
    if (in == NULL)
        return;
    pcap_close(in->pcap);
    free(in);
}

int pcap_input_link(const struct pcap_input *in)
{
    return pcap_datalink(in->pcap);
}

int pcap_input_next(struct pcap_input *in, struct pcap_packet *out,
                    char error[PCAP_INPUT_ERROR_MAX])
{
    struct pcap_pkthdr *head;
    int rc = pcap_next_ex(in->pcap, &head, &out->bytes);
    if (rc == PCAP_ERROR_BREAK) /* of a file: its end */
        return 0;
    if (rc != 1) {
        snprintf(error, PCAP_INPUT_ERROR_MAX, "%.200s", pcap_geterr(in->pcap));
        return HELIO_EIO;
    }
    tick seconds = head->ts.tv_sec > 0 ? (tick)head->ts.tv_sec : 0;
    tick rest = head->ts.tv_usec > 0 ? (tick)head->ts.tv_usec : 0;
    out->now = seconds * TICK_S + rest;
    out->have = head->caplen < head->len ? head->caplen : head->len;
    out->len = head->len;
    assert(out->have <= out->len);
    return 1;
}
