# SPDX-License-Identifier: Apache-2.0
"""LTP segments from RFC 5326 alone, for attackers."""

RED, RED_CHECKPOINT, RED_END_OF_BLOCK, GREEN_END = 0, 1, 3, 7
REPORT, REPORT_ACK, CANCEL_BY_SENDER, CANCEL_ACK_TO_SENDER, CANCEL_BY_RECEIVER, CANCEL_ACK_TO_RECEIVER = 8, 9, 12, 13, 14, 15
BUNDLES = 1  # client service


def sdnv(n):
    """RFC 5326 §2, RFC 6256."""
    out = [n & 0x7F]
    while n > 0x7F:
        n >>= 7
        out.insert(0, n & 0x7F | 0x80)
    return bytes(out)


def read_sdnv(data, at):
    """(number, offset behind it)"""
    n = 0
    while True:
        n = n << 7 | data[at] & 0x7F
        at += 1
        if not data[at - 1] & 0x80:
            return n, at


def head(kind, engine, session, headers=b"", trailers=b""):
    """Version 0. Extensions: lists of (tag, value), at most 15 each; the caller appends the trailers' extension()."""
    counts = bytes([len(headers) << 4 | len(trailers)])
    return bytes([kind]) + sdnv(engine) + sdnv(session) + counts + b"".join(extension(*e) for e in headers)


def extension(tag, value):
    """RFC 5326 3.1.4"""
    return bytes([tag]) + sdnv(len(value)) + value


def data(kind, engine, session, offset, content, service=BUNDLES, serial=1, report_serial=0, length=None):
    """A data segment of any kind; length: what it says of its data, if not the truth."""
    out = head(kind, engine, session) + sdnv(service) + sdnv(offset) + sdnv(len(content) if length is None else length)
    return out + (sdnv(serial) + sdnv(report_serial) if kind in (1, 2, 3) else b"") + content


def red_data(engine, session, data, offset=0, service=BUNDLES):
    """A red segment that is no checkpoint."""
    return head(RED, engine, session) + sdnv(service) + sdnv(offset) + sdnv(len(data)) + data


def red_checkpoint(engine, session, data, offset=0, serial=1, service=BUNDLES):
    """A red segment that wants a report; the block goes on."""
    return head(RED_CHECKPOINT, engine, session) + sdnv(service) + sdnv(offset) + sdnv(len(data)) + sdnv(serial) + sdnv(0) + data


def red_block(engine, session, data, serial=1, service=BUNDLES):
    """A whole red block in one segment: checkpoint, end of the red part and of the block."""
    return head(RED_END_OF_BLOCK, engine, session) + sdnv(service) + sdnv(0) + sdnv(len(data)) + sdnv(serial) + sdnv(0) + data


def green_block(engine, session, data, service=BUNDLES, offset=0):
    """The end of a green block, all of it without `offset`."""
    return head(GREEN_END, engine, session) + sdnv(service) + sdnv(offset) + sdnv(len(data)) + data


def report(engine, session, serial, checkpoint, upper, lower, claims):
    """claims: [(offset, length)]"""
    out = head(REPORT, engine, session) + sdnv(serial) + sdnv(checkpoint) + sdnv(upper) + sdnv(lower) + sdnv(len(claims))
    return out + b"".join(sdnv(offset) + sdnv(length) for offset, length in claims)


def report_ack(engine, session, serial):
    return head(REPORT_ACK, engine, session) + sdnv(serial)


def cancel(kind, engine, session, reason=0):
    return head(kind, engine, session) + bytes([reason])
