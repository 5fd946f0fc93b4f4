# SPDX-License-Identifier: Apache-2.0
"""AAP 2.0 in a few lines of standard library, for tests: protobuf fields by their numbers, so that illegal messages
can be made as well. A message is a list of (field number, value), where a value is an int, bytes, str or such a list."""

import socket

SUCCESS, ACK, ERROR, INVALID_REQUEST, UNAUTHORIZED = 1, 2, 8, 10, 12
NOT_FOUND = 11
WELCOME, CONFIG, ADU, DISPATCH, LINK, KEEPALIVE = 1, 2, 3, 4, 5, 6
CANCEL = 100


def varint(n):
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def pack(fields):
    out = bytearray()
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
            continue
        data = value.encode() if isinstance(value, str) else pack(value) if isinstance(value, list) else bytes(value)
        out += varint(number << 3 | 2) + varint(len(data)) + data
    return bytes(out)


def read_varint(data, at):
    n = shift = 0
    while True:
        n |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return n, at


def unpack(data):
    """{field number: last value}, for messages of varints and strings."""
    fields, at = {}, 0
    while at < len(data):
        tag, at = read_varint(data, at)
        if tag & 7 == 0:
            fields[tag >> 3], at = read_varint(data, at)
        else:
            assert tag & 7 == 2, tag
            n, at = read_varint(data, at)
            fields[tag >> 3] = data[at:at + n]
            at += n
    return fields


def framed(fields):
    data = pack(fields)
    return varint(len(data)) + data


def config(endpoint, subscribe=False, secret="s", auth=0, keepalive=0, window=0):
    return framed([(CONFIG, [(1, int(subscribe)), (2, auth), (3, secret), (4, endpoint), (5, keepalive), (100, window)])])


def adu(destination, payload, source="", lifetime_ms=0, flags=(), priority=0, ordinal=0):
    head = [(1, source), (2, destination), (5, len(payload)), (100, lifetime_ms)] + [(6, f) for f in flags]
    head += [(number, value) for number, value in ((103, priority), (104, ordinal)) if value]
    return framed([(ADU, head)]) + payload


def cancel(headers):
    """`headers`: of the bundle, as the answer to its request had them."""
    return framed([(CANCEL, [(1, headers.get(3, 0)), (2, headers.get(4, 0))])])


def response(status=SUCCESS):
    return framed([(1, status)])


class Client:
    """One connection. `responses` is what the other end's messages are: after subscribing they are requests."""

    def __init__(self, path, timeout=300):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.connect(path)  # waits while the node's queue is full; with a timeout set it would fail instead
        self.s.settimeout(timeout)
        self.file = self.s.makefile("rb")
        assert self.exactly(1) == b"\x2f"
        self.node = unpack(unpack(self.message())[WELCOME])[1].decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        try:
            self.s.shutdown(socket.SHUT_RDWR)  # wakes a thread that reads
        except OSError:
            pass
        self.file.close()
        self.s.close()

    def exactly(self, n):
        data = self.file.read(n)
        if len(data) != n:
            raise EOFError("the node ended the connection")
        return data

    def message(self):
        size, shift = 0, 0
        while True:
            byte = self.exactly(1)[0]
            size |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return self.exactly(size)

    def send(self, data):
        self.s.sendall(data)

    def answer(self):
        """(status, text, fields of the bundle named or None)"""
        f = unpack(self.message())
        return f.get(1, 0), f.get(100, b"").decode(), unpack(f[3]) if 3 in f else None

    def configure(self, *arguments, **keys):
        self.send(config(*arguments, **keys))
        return self.answer()[0]

    def request(self, *arguments, **keys):
        self.send(adu(*arguments, **keys))
        return self.answer()

    def delivery(self, answer=SUCCESS):
        """(source, payload) of the next bundle, answered unless `answer` is None; keepalives are answered."""
        head, payload = self.arrival(answer)
        return head[1].decode(), payload

    def arrival(self, answer=SUCCESS):
        """The same with all fields of its head."""
        while True:
            m = unpack(self.message())
            if KEEPALIVE in m:
                self.send(response(ACK))
                continue
            head = unpack(m[ADU])
            payload = self.exactly(head.get(5, 0))
            if answer is not None:
                self.send(response(answer))
            return head, payload
