/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a capture file: packets, fragments, segments, rows. Each row that comes out is one
 * that a segment log could have, and the analyzer takes it. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/analyze/analyze.h"
#include "tools/analyze/input/capture.h"
#include "tools/analyze/input/emu_input.h"
#include "tools/analyze/input/packet.h"
#include "tools/analyze/input/pcap_input.h"
#include "tools/analyze/input/reassembly.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void take_rows(struct watch *w, struct analyze *a)
{
    const struct csv_columns all = seglog_columns_all();
    const struct seglog_row *row;
    while (watch_row(w, &row) == 1) {
        char line[EVENT_CSV_MAX];
        struct seglog_row back;
        uint32_t n = event_csv(&row->event, row->node, 0, line);
        must(seglog_row_parse(&all, line, n - 1, &back) == NULL);
        must(back.event.kind == row->event.kind && back.event.cause == row->event.cause);
        must(analyze_row(a, row) == 0);
    }
}

static void take_packet(int link, const struct pcap_packet *raw, struct watch *w,
                        struct reassembly *parts)
{
    struct packet p = {.udp = {.now = raw->now}};
    enum packet_kind kind = packet_parse(link, raw->bytes, raw->have, raw->len, &p);
    if (kind == PACKET_OTHER)
        return;
    must(p.udp.have <= p.udp.len);
    if (kind == PACKET_UDP || reassembly_add(parts, &p, &p.udp) == 1)
        must(watch_input(w, &p.udp) == 0);
}

static void read_all(struct pcap_input *in, int link)
{
    static const struct watch_options options = {.rto = 30 * TICK_MS};
    struct watch *w = watch_new(&options);
    struct reassembly *parts = reassembly_new();
    struct analyze a;
    struct pcap_packet raw;
    char error[PCAP_INPUT_ERROR_MAX];
    must(w != NULL && parts != NULL && analyze_init(&a, NULL, NULL) == 0);
    a.bin = TICK_S;
    while (pcap_input_next(in, &raw, error) == 1) {
        take_packet(link, &raw, w, parts);
        take_rows(w, &a);
    }
    must(watch_end(w) == 0);
    take_rows(w, &a);
    must(analyze_end(&a) == 0);
    analyze_fini(&a);
    reassembly_free(parts);
    watch_free(w);
}

/* As a capture of helio-emu: as both files of a run. */
static void read_as_emulators(const uint8_t *data, size_t size)
{
    static const struct watch_options options = {.rto = 30 * TICK_MS};
    struct emu_mark mark;
    struct stream *in[2];
    struct capture *c;
    const struct seglog_row *row;
    char path[40], error[256];
    if (!emu_mark_of(data, size < EMU_MARK_BYTES ? size : EMU_MARK_BYTES, &mark))
        return;
    int fd = memfd_create("capture", MFD_CLOEXEC);
    must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    for (int i = 0; i < 2; i++)
        must(stream_open(&in[i], path, error) == 0);
    must(capture_open_end(&c, in[0], in[1], mark.after, &options) == 0);
    while (capture_next(c, &row) == 1) {
    }
    capture_close(c);
    stream_close(in[0]);
    stream_close(in[1]);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_as_emulators(data, size);
    char error[PCAP_INPUT_ERROR_MAX];
    struct pcap_input *in;
    FILE *f = size == 0 ? NULL : fmemopen((void *)(uintptr_t)data, size, "rb");
    if (f == NULL || pcap_input_open(&in, f, error) != 0)
        return 0;
    if (packet_link_known(pcap_input_link(in)))
        read_all(in, pcap_input_link(in));
    pcap_input_close(in);
    return 0;
}
