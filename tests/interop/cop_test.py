# SPDX-License-Identifier: Apache-2.0
"""FOP-1's state table and FARM-1's windows against ccsds-cop of PyPI, which is not ours. Cells that differ are listed here, with
what another implementation (dariolucia's) does. And helio-frames fop and farm with ccsds-cop's engines at the other end.
usage: cop_test.py COP_TABLE BIN"""

import binascii
import contextlib
import json
import os
import random
import socket
import struct
import subprocess
import sys
import tempfile
import time
import types
import unittest

from ccsds_cop.cop_1.common.ccsds import ControlWord, Gvcid
from ccsds_cop.cop_1.farm import Farm1
from ccsds_cop.cop_1.fop.fop import Fop1
from ccsds_cop.cop_1.fop.transitions import _transitions
from ccsds_cop.cop_1.fop.types import (DirectiveRequest, DirectiveType, FopState, RequestToTransferFdu, Response, ResponseType, ServiceType,
                                       TransmitRequestForFrame)
from spacepackets.uslp import BypassSequenceControlFlag, ProtocolCommandFlag

# (event, state): ours, ccsds-cop's. E3 in S5: an impossible CLCW; dariolucia alerts, as we do, ccsds-cop ignores it.
# E42: the layer below rejects a type-AD frame; dariolucia's and ours end the service in any state, ccsds-cop alerts and stays.
DIFFERENT = {(3, 5): (6, 5), (42, 2): (6, 2), (42, 3): (6, 3), (42, 4): (6, 4), (42, 5): (6, 5)}
ONLY_OURS = {(104, 5)}  # the timer in S5 with timeout type 1: as with type 0; dariolucia's, too
TABLE = BIN = ""


def lines(name):
    out = subprocess.run([TABLE], capture_output=True, check=True, text=True, timeout=100).stdout
    return [[int(w) for w in line.split()[1:]] for line in out.splitlines() if line.split()[0] == name]


class CopTest(unittest.TestCase):
    def test_fop_table(self):
        ours = {(event, state): to for event, state, to in lines("fop")}
        theirs = {}
        for at, to in _transitions.items():
            state, event = at.__dict__.values() if hasattr(at, "__dict__") else at
            theirs[event.value, state.value] = to[0].value
        self.assertGreater(len(theirs), 240)
        self.assertEqual(set(theirs) - set(ours), set())
        self.assertEqual(set(ours) - set(theirs), ONLY_OURS)
        self.assertEqual({cell: (ours[cell], to) for cell, to in theirs.items() if ours[cell] != to}, DIFFERENT)

    def test_farm_windows(self):
        other = Farm1(20)
        other.v_r = 200
        for ahead, event, _verdict, state, _retransmit, v_r in lines("farm"):
            number = (200 + ahead) % 256
            expected = 1 if number == 200 else 3 if other.is_in_positive_window(number) else 4 if other.is_in_negative_window(number) else 5
            self.assertEqual(event, expected, ahead)
            self.assertEqual((state, v_r), (2 if event == 5 else 0, 201 if event == 1 else 200))


def crc(octets):
    return binascii.crc_hqx(octets, 0xffff).to_bytes(2, "big")


def tc_frame(bypass, command, number, data):
    head = struct.pack("!HHB", bypass << 13 | command << 12 | 1, 4 + len(data) + 2, number)
    return head + data + crc(head + data)


def read_tc(octets):
    """A TC frame as ccsds-cop's FARM-1 takes it: flags, number and data of a USLP frame."""
    first, second, number = struct.unpack("!HHB", octets[:5])
    assert len(octets) == (second & 1023) + 1 and first >> 14 == 0 and first & 1023 == 1 and crc(octets[:-2]) == octets[-2:]
    header = types.SimpleNamespace(bypass_seq_ctrl_flag=BypassSequenceControlFlag(first >> 13 & 1), prot_ctrl_cmd_flag=ProtocolCommandFlag(first >> 12 & 1),
                                   vcf_count=number, scid=1, vcid=second >> 10)
    return types.SimpleNamespace(header=header, tfdf=types.SimpleNamespace(tfdz=octets[5:-2]))


def telemetry(clcw, number):
    """An AOS frame of only idle data, 64 octets, with the control word of ccsds-cop."""
    body = struct.pack("!HI", 1 << 14 | 1 << 6 | 63, number << 8) + b"\x07\xfe" + bytes(50) + clcw.pack()
    return body + crc(body)


class LiveTest(unittest.TestCase):
    """Our programs against ccsds-cop's engines over datagrams."""

    def setUp(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(0.05)
        self.here = f"127.0.0.1:{self.socket.getsockname()[1]}"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind(("127.0.0.1", 0))
            self.there = s.getsockname()
        self.folder = tempfile.TemporaryDirectory(prefix="helio-cop-")

    def tearDown(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        self.socket.close()
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def program(self, command, *words):
        address = f"{self.there[0]}:{self.there[1]}"
        self.process = subprocess.Popen([os.path.join(BIN, "helio-frames"), command, "--local", address, "--remote", self.here, "-l", "64", "--json", *words],
                                        stdout=subprocess.PIPE, text=True)
        return self.process

    def make_packets(self, count):
        subprocess.run([os.path.join(BIN, "helio-frames"), "gen", "--to", "packets", "-n", str(count), "--packet", "40", "-o", self.path("packets")], check=True, timeout=100)
        with open(self.path("packets"), "rb") as f:
            return f.read()

    def test_their_farm(self):
        """600 telecommands, numbers that wrap twice, a fifth of all datagrams lost both ways: their FARM-1 gets each once, in order."""
        sent, got, rng, farm = self.make_packets(600), b"", random.Random(3), Farm1(20)
        ours = self.program("fop", self.path("packets"), "--to", "frames", "--timer", "200ms", "--limit", "200", "--rate", "unlimited")
        reports = 0
        while ours.poll() is None:
            with contextlib.suppress(TimeoutError):
                frame = read_tc(self.socket.recv(2000))
                if rng.random() >= 0.2:
                    farm._process_frame(frame)
            while farm.higher_interface.buffer:
                got += farm.higher_interface.buffer.pop().tfdf.tfdz
            farm.higher_interface.signal.clear()
            clcw = ControlWord(lockout=farm.lockout, wait=farm.wait, retransmit=farm.retransmit, farm_b_counter=farm.b_counter, report_value=farm.v_r)
            if rng.random() >= 0.2:
                self.socket.sendto(telemetry(clcw, reports & 0xffffff), self.there)
            reports += 1
        result = json.loads(ours.communicate(timeout=100)[0])
        self.assertEqual((ours.returncode, result["confirmed"], farm.v_r), (0, 600, 600 % 256))
        self.assertGreater(result["retransmissions"], 20)
        self.assertEqual(got, sent)

    def take_telemetry(self, fop):
        """The CLCWs of our frames that are there, to their engine."""
        with contextlib.suppress(TimeoutError):
            frame = self.socket.recv(2000)
            self.assertEqual((len(frame), crc(frame[:-2])), (64, frame[-2:]))
            fop.on_clcw_arrived(ControlWord.unpack(frame[-6:-2]))
            return True
        return False

    def send_their_frames(self, fop):
        """What their engine wants to be sent goes to our farm, and is taken."""
        while fop.interface.to_lower:
            t = fop.interface.to_lower.pop()
            if isinstance(t, TransmitRequestForFrame):
                self.socket.sendto(tc_frame(t.bypass_flag.value, t.command_flag.value, t.v_s, t.tfdf), self.there)
                fop.on_receive_response_from_lower_layer(Response(t.gvcid, ResponseType.AD_ACCEPTED))

    def test_their_fop(self):
        """100 telecommands of their FOP-1, one at a time: there an acknowledgement of some of several ends all of them, and the answer to a
        control command is an exception."""
        data, octets = [], self.make_packets(100)
        while octets:
            data.append(octets[:octets[1]])
            octets = octets[octets[1]:]
        ours = self.program("farm", "--from", "frames", "-n", "100", "--numbered", "--linger", "300ms", "--interval", "10ms", "-o", self.path("got"))
        gvcid = Gvcid(12, 1, 0)
        fop = Fop1(gvcid, k=1, timer_initial_value=1000)
        fop.ad_out = fop.bc_out = fop.bd_out = True
        deadline = time.monotonic() + 100
        while not self.take_telemetry(fop) and time.monotonic() < deadline:
            pass
        fop.on_receive_directive(DirectiveRequest(gvcid, 1, DirectiveType.INITIATE_AD_NO_CLCW))
        at = 0
        while ours.poll() is None and time.monotonic() < deadline:
            self.send_their_frames(fop)
            self.take_telemetry(fop)
            if fop.state == FopState.ACTIVE and at < len(data) and fop._wait_queue is None:
                fop.on_receive_request_to_transfer_fdu(RequestToTransferFdu(gvcid, at, data[at], ServiceType.AD))
                at += 1
            fop.interface.to_higher.clear()
        fop.cancel_timer()
        if ours.poll() is None:
            ours.terminate()
        result = json.loads(ours.communicate(timeout=100)[0])
        self.assertEqual((ours.returncode, result["packets"], result["commands"], result["v_r"]), (0, 100, 0, 100))


if __name__ == "__main__":
    TABLE, BIN = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
