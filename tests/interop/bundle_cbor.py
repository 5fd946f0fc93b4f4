# SPDX-License-Identifier: Apache-2.0
"""CBOR (RFC 8949) and CRCs of bundles for the second opinions on bundle security: written from the documents, and without a library."""


def head(major, value):
    """The shortest head of an item."""
    size = next(i for i in range(4) if value < 1 << (8 << i))
    return bytes([major << 5 | value]) if value < 24 else bytes([major << 5 | 24 + size]) + value.to_bytes(1 << size, "big")


def cbor(value):
    if value is None or isinstance(value, bool):
        return {None: b"\xf6", True: b"\xf5", False: b"\xf4"}[value]
    if isinstance(value, int):
        return head(0, value) if value >= 0 else head(1, -1 - value)
    if isinstance(value, bytes):
        return head(2, len(value)) + value
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(map(cbor, value))
    return head(5, len(value)) + b"".join(cbor(k) + cbor(v) for k, v in value.items())


def sorted_map(value):
    """Deterministic encoding (section 4.2.1)."""
    return dict(sorted(value.items(), key=lambda item: cbor(item[0])))


def read(data, at=0):
    """One item and where the next one begins."""
    major, low = data[at] >> 5, data[at] & 31
    if major == 7:
        return {0xF4: False, 0xF5: True, 0xF6: None}[data[at]], at + 1
    size = 0 if low < 24 or low == 31 else 1 << (low - 24)
    n, at = int.from_bytes(data[at + 1: at + 1 + size], "big") if size else low, at + 1 + size
    if major < 2:
        return (n if major == 0 else -1 - n), at
    if major < 4:
        return (data[at: at + n] if major == 2 else data[at: at + n].decode()), at + n
    items = []
    while data[at] != 0xFF if low == 31 else len(items) < (n if major == 4 else 2 * n):
        item, at = read(data, at)
        items.append(item)
    at += low == 31
    return (items if major == 4 else dict(zip(items[::2], items[1::2]))), at


def checked(fields, kind):
    """An array of fields, with its X.25 CRC-16 or its CRC-32C behind them."""
    if kind == 0:
        return cbor(fields)
    poly, ones, size = (0x8408, 0xFFFF, 2) if kind == 1 else (0x82F63B78, 0xFFFFFFFF, 4)
    value = ones
    for byte in cbor(fields + [bytes(size)]):
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (poly if value & 1 else 0)
    return cbor(fields + [(value ^ ones).to_bytes(size, "big")])
