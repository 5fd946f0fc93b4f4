# SPDX-License-Identifier: Apache-2.0
"""A node of its own kind for a lab: it answers each bundle that it gets by UDP with the same payload. usage: echo.py LOCAL REMOTE NODE

The payload is the last block. Behind it a bundle has the CRC of that block, and one byte that ends the list of blocks (RFC 9171 section 4).
"""
import json
import socket
import subprocess
import sys


def address(text):
    host, _, port = text.rpartition(":")
    return host, int(port)


def bundle(*words, data=None):
    return subprocess.run(["helio-bundle", *words], input=data, stdout=subprocess.PIPE, check=True).stdout


def payload_of(data, shown):
    block = shown["blocks"][-1]
    end = len(data) - 1 - {"none": 0, "crc16": 3, "crc32c": 5}[block["crc"]]
    return data[end - block["bytes"]:end]


local, remote, node = address(sys.argv[1]), address(sys.argv[2]), sys.argv[3]
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.bind(local)
    print(f"{node} listens at {sys.argv[1]}", flush=True)
    while True:
        data = s.recv(65535)
        got = json.loads(bundle("show", "--json", "-", data=data))
        payload = payload_of(data, got)
        s.sendto(bundle("make", "-s", got["destination"], "-d", got["source"], "-p", "-", data=payload), remote)
        print(f"{len(payload)} bytes from {got['source']} sent back", flush=True)
