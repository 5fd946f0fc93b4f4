// SPDX-License-Identifier: Apache-2.0
// A transfer by UDT (libudt). Its interface is C++, and so this file is; there is nothing else in
// it than the calls.
#include <udt.h>

#include "tests/transfers/transfer.h"

namespace
{

int open_socket(int buffer)
{
    UDTSOCKET s = UDT::socket(AF_INET, SOCK_STREAM, 0);
    int packets = buffer / TRANSFER_PACKET + TRANSFER_PACKETS_MORE;
    if (s == UDT::INVALID_SOCK ||
        UDT::setsockopt(s, 0, UDT_FC, &packets, sizeof packets) == UDT::ERROR ||
        UDT::setsockopt(s, 0, UDT_SNDBUF, &buffer, sizeof buffer) == UDT::ERROR ||
        UDT::setsockopt(s, 0, UDT_RCVBUF, &buffer, sizeof buffer) == UDT::ERROR)
        return TRANSFER_FAILED;
    return s;
}

int make_connection(const sockaddr_in *to, int buffer)
{
    int s = open_socket(buffer);
    if (s == TRANSFER_FAILED ||
        UDT::connect(s, reinterpret_cast<const sockaddr *>(to), sizeof *to) == UDT::ERROR)
        return TRANSFER_FAILED;
    return s;
}

int make_listener(const sockaddr_in *at, int buffer)
{
    int s = open_socket(buffer);
    if (s == TRANSFER_FAILED ||
        UDT::bind(s, reinterpret_cast<const sockaddr *>(at), sizeof *at) == UDT::ERROR ||
        UDT::listen(s, 1) == UDT::ERROR)
        return TRANSFER_FAILED;
    return s;
}

int accept_one(int listener)
{
    sockaddr_in from{};
    int len = sizeof from, wait_ms = 1000;
    UDTSOCKET s = UDT::accept(listener, reinterpret_cast<sockaddr *>(&from), &len);
    if (s == UDT::INVALID_SOCK ||
        UDT::setsockopt(s, 0, UDT_RCVTIMEO, &wait_ms, sizeof wait_ms) == UDT::ERROR)
        return TRANSFER_FAILED;
    return s;
}

int send_piece(int s, const char *data, int len)
{
    int n = UDT::send(s, data, len, 0);
    return n == UDT::ERROR ? TRANSFER_FAILED : n;
}

int receive_piece(int s, char *data, int len)
{
    int n = UDT::recv(s, data, len, 0);
    if (n != UDT::ERROR)
        return n;
    int code = UDT::getlasterror().getErrorCode();
    if (code == CUDTException::ETIMEOUT)
        return TRANSFER_NOTHING;
    return code == CUDTException::ECONNLOST ? 0 : TRANSFER_FAILED;
}

int start_library()
{
    return UDT::startup() == UDT::ERROR ? TRANSFER_FAILED : 0;
}

void stop_library()
{
    UDT::cleanup();
}

void close_socket(int s)
{
    UDT::close(s);
}

const char *reason()
{
    return UDT::getlasterror_desc();
}

} // namespace

int main(int argc, char **argv)
{
    const transfer_ops ops = {"transfer_udt", start_library, stop_library, make_connection,
                              make_listener,  accept_one,    send_piece,   receive_piece,
                              close_socket,   reason};
    return transfer_main(&ops, argc, argv);
}
