# SPDX-License-Identifier: Apache-2.0
"""A recorder between two TCP ends, which needs no privilege: what it forwards is kept as a pcap file of TCP over IPv4."""
import socket
import struct
import threading
import time

import dissect

WHOLE = 4 << 20  # of a connection: more is forwarded, but not kept
SEGMENT = 16000
PORT = 4556  # of the side that was connected to, in the capture: tshark knows it
FIN, SYN, PSH, ACK = 1, 2, 8, 16


def segment(flags, number, acknowledged, data, source, target):
    tcp = struct.pack(">HHIIBBHHH", source, target, number & 0xFFFFFFFF, acknowledged & 0xFFFFFFFF, 5 << 4, flags, 65535, 0, 0)
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40 + len(data), 0, 0, 64, 6, 0, *[socket.inet_aton("127.0.0.1")] * 2)
    return head[:10] + struct.pack(">H", dissect.ipv4_checksum(head)) + head[12:] + tcp + data


class Connection:
    """From a client to the port behind: two threads that forward, one for each way."""

    def __init__(self, client, behind, number):
        self.ends = [client, behind]
        self.ports = (50000 + number, PORT)
        self.pieces = []  # ns, way, data; a way has ended: no data
        self.kept = 0
        self.lock = threading.Lock()
        for way in (0, 1):
            threading.Thread(target=self.forward, args=(way,), daemon=True).start()

    def keep(self, way, data):
        with self.lock:
            if self.kept <= WHOLE:
                self.pieces.append((time.time_ns(), way, data))
                self.kept += len(data)

    def forward(self, way):
        data = b"."
        while data:
            try:
                data = self.ends[way].recv(1 << 18)
                if data:
                    self.keep(way, data)
                    self.ends[1 - way].sendall(data)
            except OSError:
                data = b""
        self.keep(way, b"")
        for end, how in ((self.ends[1 - way], socket.SHUT_WR), (self.ends[way], socket.SHUT_RD)):
            try:
                end.shutdown(how)
            except OSError:
                pass

    def close(self):
        for end in self.ends:
            end.close()

    def packets(self):
        """As TCP would have sent it, with a handshake that nobody saw."""
        at = [1, 1]
        if not self.pieces:
            return
        begin = self.pieces[0][0] - 3
        for i, (way, flags) in enumerate(((0, SYN), (1, SYN | ACK), (0, ACK))):
            yield begin + i, segment(flags, 0 if i < 2 else 1, 1 if i > 0 else 0, b"", self.ports[way], self.ports[1 - way])
        for ns, way, data in self.pieces:
            for i in range(0, max(len(data), 1), SEGMENT):
                part = data[i:i + SEGMENT]
                yield ns, segment(PSH | ACK if part else FIN | ACK, at[way], at[1 - way], part, self.ports[way],
                                  self.ports[1 - way])
                at[way] += len(part) if part else 1


class StreamRecorder:
    """Who connects to `port` is connected to `to`; each connection that came is in the capture."""

    def __init__(self, path, to):
        self.path = path
        self.to = to
        self.connections = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            try:
                behind = socket.create_connection(("127.0.0.1", self.to))
            except OSError:  # nobody is there yet
                client.close()
                continue
            self.connections.append(Connection(client, behind, len(self.connections)))

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)  # accept() ends
        self.listener.close()
        for c in self.connections:
            c.close()
        dissect.pcap_write(self.path, sorted((p for c in self.connections for p in c.packets()), key=lambda p: p[0]))

    def whole(self):
        """Nothing was left out."""
        return all(c.kept <= WHOLE for c in self.connections)

    def came(self, way):
        """The first bytes of each connection in this way: 0 to the port behind, 1 back."""
        return [b"".join(data for _, w, data in c.pieces if w == way) for c in self.connections]
