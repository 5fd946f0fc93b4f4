/* SPDX-License-Identifier: Apache-2.0 */
/* A transfer by SRT (libsrt), in its mode for files: a stream, with congestion control, that loses
 * nothing. */
#include <srt/srt.h>

#include "tests/transfers/transfer.h"

static int srt_open(int buffer)
{
    SRTSOCKET s = srt_create_socket();
    int type = SRTT_FILE, packets = buffer / TRANSFER_PACKET + TRANSFER_PACKETS_MORE;
    if (s == SRT_INVALID_SOCK || srt_setsockflag(s, SRTO_TRANSTYPE, &type, sizeof type) != 0 ||
        srt_setsockflag(s, SRTO_FC, &packets, sizeof packets) != 0 ||
        srt_setsockflag(s, SRTO_SNDBUF, &buffer, sizeof buffer) != 0 ||
        srt_setsockflag(s, SRTO_RCVBUF, &buffer, sizeof buffer) != 0)
        return TRANSFER_FAILED;
    return s;
}

static int make_connection(const struct sockaddr_in *to, int buffer)
{
    SRTSOCKET s = srt_open(buffer);
    if (s == TRANSFER_FAILED ||
        srt_connect(s, (const struct sockaddr *)to, sizeof *to) == SRT_ERROR)
        return TRANSFER_FAILED;
    return s;
}

static int make_listener(const struct sockaddr_in *at, int buffer)
{
    SRTSOCKET s = srt_open(buffer);
    if (s == TRANSFER_FAILED || srt_bind(s, (const struct sockaddr *)at, sizeof *at) == SRT_ERROR ||
        srt_listen(s, 1) == SRT_ERROR)
        return TRANSFER_FAILED;
    return s;
}

static int accept_one(int listener)
{
    int wait_ms = 1000;
    SRTSOCKET s = srt_accept(listener, NULL, NULL);
    if (s == SRT_INVALID_SOCK || srt_setsockflag(s, SRTO_RCVTIMEO, &wait_ms, sizeof wait_ms) != 0)
        return TRANSFER_FAILED;
    return s;
}

static int send_piece(int s, const char *data, int len)
{
    int n = srt_send(s, data, len);
    return n == SRT_ERROR ? TRANSFER_FAILED : n;
}

static int receive_piece(int s, char *data, int len)
{
    int n = srt_recv(s, data, len);
    if (n != SRT_ERROR)
        return n;
    switch (srt_getlasterror(NULL)) {
    case SRT_ETIMEOUT:
        return TRANSFER_NOTHING;
    case SRT_ECONNLOST:
        return 0;
    default:
        return TRANSFER_FAILED;
    }
}

static int start_library(void)
{
    return srt_startup() < 0 ? TRANSFER_FAILED : 0;
}

static void stop_library(void)
{
    srt_cleanup();
}

static void close_socket(int s)
{
    srt_close(s);
}

int main(int argc, char **argv)
{
    static const struct transfer_ops ops = {.name = "transfer_srt",
                                            .start = start_library,
                                            .stop = stop_library,
                                            .connect = make_connection,
                                            .listen = make_listener,
                                            .accept = accept_one,
                                            .send = send_piece,
                                            .recv = receive_piece,
                                            .close = close_socket,
                                            .reason = srt_getlasterror_str};
    return transfer_main(&ops, argc, argv);
}
