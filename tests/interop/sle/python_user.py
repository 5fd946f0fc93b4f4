# SPDX-License-Identifier: Apache-2.0
"""A user of RAF or RCF over LibreCube's sle 0.3.0: takes N frames, writes them to a file, each behind its length.

usage: python_user.py PORT raf|rcf INSTANCE VERSION none|bind|all SHA-1|SHA-256 N OUT USER HEX PROVIDER HEX"""

import os
import socket
import struct
import sys
import time

import sle
import sle.proxy.transport

port, service, instance, version, level, hash_name, wanted, out, user, password, provider, provider_password = sys.argv[1:]
frames = []


class OneMessage(socket.socket):
    """Gives one message of the transport mapping at a time. This library takes one of what a recv gave, and looks at the rest when
    more comes: what has come together stays behind, in the end the UNBIND return, which nothing follows."""

    def recv(self, size, *flags):
        head = super().recv(8, socket.MSG_PEEK | socket.MSG_WAITALL)
        if len(head) < 8:
            return super().recv(size, *flags)
        return super().recv(8 + int.from_bytes(head[4:], "big"), socket.MSG_WAITALL)


sle.proxy.transport.socket.socket = OneMessage


def take(frame):
    frames.append(bytes(frame["data"]))


kinds = {"raf": sle.RafServiceUser, "rcf": sle.RcfServiceUser}
s = kinds[service](service_instance_identifier=instance, responder_host="127.0.0.1", responder_port=int(port), auth_level=level,
                   local_identifier=user, peer_identifier=provider, responder_port_identifier="PORT1", local_password=password,
                   peer_password=provider_password, version_number=int(version), hash_algorithm=hash_name,
                   heartbeat_interval=1, heartbeat_deadfactor=60)  # it reads one message of what has come when more comes
s.frame_indication = take


def reach(state):
    if not s.wait_for_state(state, 100):
        print("stuck in", s.state, len(frames))
        os._exit(1)


s.bind()
reach(sle.SleState.READY)
s.start([171, 1, 0]) if service == "rcf" else s.start()
reach(sle.SleState.ACTIVE)
deadline = time.monotonic() + 60
while len(frames) < int(wanted) and time.monotonic() < deadline:
    time.sleep(0.05)
time.sleep(0.5)  # more than was wanted would be seen now
s.stop()
reach(sle.SleState.READY)
s.unbind()
reach(sle.SleState.UNBOUND)
with open(out, "wb") as f:
    f.write(b"".join(struct.pack(">I", len(x)) + x for x in frames))
os._exit(0)  # its threads never end
