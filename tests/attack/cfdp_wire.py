# SPDX-License-Identifier: Apache-2.0
"""PDUs of CFDP (CCSDS 727.0-B-5) as bytes, for attackers."""
import struct

EOF, FINISHED, ACK, METADATA, NAK, PROMPT, KEEP_ALIVE = 4, 5, 6, 7, 8, 9, 12
TO_RECEIVER, TO_SENDER = False, True
NO_CHECKSUM = 15
PUT_REQUEST, LISTING_REQUEST = 0x00, 0x10  # messages to the user, 6.2 and 6.3
CREATE, DELETE, RENAME, APPEND, REPLACE, CREATE_FOLDER, REMOVE_FOLDER, DENY, DENY_FOLDER = range(9)  # 5.4.1


def pdu(body, source, number, destination, direction=TO_RECEIVER, data=False, class_1=False, large=False, ids=1, numbers=4, length=None, metadata=False):
    """5.1; body: a directive, or offset and octets; length: what the header says of it, if not the truth."""
    flags = 0x20 | data << 4 | direction << 3 | class_1 << 2 | large
    head = struct.pack(">BHB", flags, len(body) if length is None else length, (ids - 1) << 4 | metadata << 3 | (numbers - 1))
    return head + source.to_bytes(ids, "big") + number.to_bytes(numbers, "big") + destination.to_bytes(ids, "big") + body


def size(value, large=False):
    return struct.pack(">Q" if large else ">I", value)


def lv(text):
    text = text if isinstance(text, bytes) else text.encode()
    return bytes([len(text)]) + text


def metadata(name, octets=0, options=b"", source=None, large=False, checksum=NO_CHECKSUM):
    return bytes([METADATA, checksum]) + size(octets, large) + lv(name if source is None else source) + lv(name) + options


def eof(octets=0, condition=0, large=False, checksum=0):
    return bytes([EOF, condition << 4]) + struct.pack(">I", checksum) + size(octets, large)


def finished(condition=0, incomplete=False, status=2):
    return bytes([FINISHED, condition << 4 | incomplete << 2 | status])


def ack(of, condition=0, status=1):
    return bytes([ACK, of << 4 | (of == FINISHED), condition << 4 | status])


def nak(lo, hi, ranges, large=False):
    return bytes([NAK]) + size(lo, large) + size(hi, large) + b"".join(size(a, large) + size(b, large) for a, b in ranges)


def keep_alive(octets, large=False):
    return bytes([KEEP_ALIVE]) + size(octets, large)


def file_data(offset, octets, large=False):
    return size(offset, large) + octets


def tlv(kind, value):
    return bytes([kind, len(value)]) + value


def request(action, *names):
    """A filestore request."""
    return tlv(0, bytes([action << 4]) + b"".join(lv(n) for n in names))


def message(kind, *values):
    """A message to the user, such as a proxy put request with entity, source and destination file."""
    return tlv(2, b"cfdp" + bytes([kind]) + b"".join(lv(v) for v in values))
