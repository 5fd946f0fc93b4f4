# SPDX-License-Identifier: Apache-2.0
"""A recorder between two UDP ends, which needs no privilege: what it forwards is kept as a pcap file."""
import select
import socket
import threading
import time

import dissect

SO_RCVBUFFORCE = 33
BUFFER = 64 << 20
WHOLE = 8 << 20  # longer captures keep only the heads of their packets
HEADS = 256  # a report of 20 claims


def bound(port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
    except OSError:  # not root: as much as the kernel allows
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
    s.bind(("127.0.0.1", port))
    s.setblocking(False)
    return s


class Recorder(threading.Thread):
    """End 1 at port `to1` has the port `in1` for its peer, end 2 at `to2` has `in2`: each sees one address only. Each
    `drop`-th datagram of a direction is lost (0: none). Everything that came is written to `path` at the end."""

    def __init__(self, path, in1, in2, to1, to2, drop=0):
        super().__init__(daemon=True)
        self.path = path
        self.drop = drop
        self.packets = []  # ns, direction, datagram
        self.sockets = [bound(in1), bound(in2)]
        self.to = [to2, to1]
        self.count = [0, 0]
        self.done = False

    def run(self):
        while not self.done:
            for s in select.select(self.sockets, [], [], 0.05)[0]:
                self.forward(self.sockets.index(s))

    def forward(self, way):
        for _ in range(256):
            try:
                data = self.sockets[way].recv(65535)
            except OSError:  # nothing more, or the end that we sent to is gone
                return
            self.count[way] += 1
            self.packets.append((time.time_ns(), way, data))
            if self.drop and self.count[way] % self.drop == 0:
                continue
            try:
                self.sockets[1 - way].sendto(data, ("127.0.0.1", self.to[way]))
            except OSError:
                pass

    def stop(self):
        """The end: all that was recorded, in a file."""
        if self.done:
            return
        self.done = True
        self.join()
        for s in self.sockets:
            s.close()
        # LTP's port on one side, so that the dissector is chosen as for any user.
        ends = [("127.0.0.1", 40000), ("127.0.0.1", 1113)]
        snap = 65535 if sum(len(data) for _, _, data in self.packets) < WHOLE else HEADS
        dissect.pcap_write(self.path, [(ns, dissect.datagram(data, ends[way], ends[1 - way]))
                                       for ns, way, data in self.packets], snap)
