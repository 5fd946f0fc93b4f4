# SPDX-License-Identifier: Apache-2.0
"""Security blocks as bytes (RFC 9172, RFC 9173), true and false ones, for attackers."""
import hashlib
import hmac

from bundle_wire import block, bundle, eid, head

BIB, BCB = 11, 12
HMAC_384, AES_256, SCOPE_ALL = 6, 3, 7
MAC = 48  # bytes


def sequence(items, begin=4):
    return head(len(items), begin) + b"".join(items)


def pair(number, value):
    return b"\x82" + head(number) + value


def octets(data):
    return head(len(data), 2) + data


def asb(targets, context, source, parameters, results):
    """The abstract security block (RFC 9172 §3.6); results: one of each target, as octets."""
    return (sequence([head(t) for t in targets]) + head(context) + head(1) + eid(*source) + sequence(parameters)
            + sequence([sequence([pair(1, octets(r))]) for r in results]))


def bib(number, targets, source, results):
    return block(BIB, number, asb(targets, 1, source, [pair(1, head(HMAC_384)), pair(3, head(SCOPE_ALL))], results))


def bcb(number, targets, source, results, iv=bytes(12)):
    return block(BCB, number, asb(targets, 2, source, [pair(1, octets(iv)), pair(2, head(AES_256)), pair(4, head(SCOPE_ALL))], results), flags=1)


def primary(source, destination, sequence_number, payload, **keys):
    """The primary block of the bundle that bundle() makes of this."""
    whole = bundle(source, destination, sequence_number, payload=payload, **keys)
    return whole[1:-1 - len(block(1, 1, payload))]


def mac(key, primary_block, number, payload):
    """Of the payload, by a BIB of that number which covers all headers (RFC 9173 §3.7)."""
    text = head(SCOPE_ALL) + primary_block + head(1) + head(1) + head(0) + head(BIB) + head(number) + head(0) + octets(payload)
    return hmac.new(key, text, hashlib.sha384).digest()


def signed(key, source, destination, sequence_number, payload=b"x", more=b"", number=2, copies=1, **keys):
    """A bundle whose payload so many BIBs sign truly, with other blocks behind them."""
    first = primary(source, destination, sequence_number, payload, **keys)
    blocks = b"".join(bib(number + k, [1], (source[0], 0), [mac(key, first, number + k, payload)]) for k in range(copies))
    return bundle(source, destination, sequence_number, payload=payload, blocks=blocks + more, **keys)
