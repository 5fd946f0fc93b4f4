# SPDX-License-Identifier: Apache-2.0
"""Datagrams at a link with CCSDS frames, from the modem's address, that hold no frame: each costs the node's loop the time to find that out."""
import os
import socket
import time

from attack import cpu_seconds, main, paced

UDP_SEGMENT = 103  # linux/udp.h: what is sent is cut into datagrams of so many octets
A_SECOND, BATCH = 20000, 40
KEYS = {"rate": "200Mbit/s", "rto": "50ms", "sessions": 16}
FRAMES = {"rate": "10Mbit/s", "rto": "1s", "frames": "aos", "frames.scid": 171, "frames.vcid": 5}
CADUS = {**FRAMES, "cadu": "rs223", "cadu.interleave": 5}
MODEM, STATION = "127.0.0.3", "127.0.0.2"
ANSWER, END = 1.0, 2.0  # seconds: an answer of the control socket, the end after SIGTERM


def cadu():
    """A marker, and a codeblock that cannot be decoded."""
    return bytes.fromhex("1acffc1d") + os.urandom(1275)


def frame():
    """An AOS frame of the link's spacecraft and virtual channel, whose check value is wrong."""
    return (0x4000 | 171 << 6 | 5).to_bytes(2, "big") + os.urandom(1113)


def run(scene):
    """The address of a link's modem sends 20,000 CADUs, or AOS frames, a second that are damaged. The honest peer of another link of the node is
    measured, beside the same flood at a node of its own; the control socket is asked, and the node ended, under the flood."""
    for name, keys, make in (("CADUs", CADUS, cadu), ("frames", FRAMES, frame)):
        p1, p2, p3, p4, p5, p6 = scene.ports(6)
        framed = {**scene.link(3, p3, p4, **keys), "local": f"{STATION}:{p3}", "remote": f"{MODEM}:{p4}"}
        beside = {**scene.link(3, p5, p6, **keys), "local": f"{STATION}:{p5}", "remote": f"{MODEM}:{p6}"}
        scene.node(1, [scene.link(2, p1, p2, **KEYS)])
        victim = scene.node(2, [scene.link(1, p2, p1, **KEYS), framed])
        other = scene.node(4, [beside])
        scene.receiver(2)

        def flood_at(local, remote, make=make):
            def flood(until):
                os.setpriority(os.PRIO_PROCESS, 0, 10)  # attackers have machines of their own
                units = [make() for _ in range(BATCH)]
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                    s.bind((MODEM, remote))
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
                    s.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, len(units[0]))
                    for _ in paced(until, A_SECOND // BATCH):
                        try:
                            s.sendto(b"".join(units), (STATION, local))
                        except OSError:  # the node has ended
                            time.sleep(0.001)
            return flood

        def counted(number):
            line = next(row for row in scene.control(number, "links")["links"] if "frames" in row)["frames"]
            return line["line"].get("cadu_erred", 0) + sum(line["verdicts"].values())

        result = {"before": scene.goodput(1, 2)}
        used, began = cpu_seconds(other.pid), time.monotonic()
        with scene.attack(flood_at(p5, p6)):
            result["beside"] = scene.goodput(1, 2)
        result["processor of the node beside"] = round((cpu_seconds(other.pid) - used) / (time.monotonic() - began), 2)
        had, used, began = counted(2), cpu_seconds(victim.pid), time.monotonic()
        with scene.attack(flood_at(p3, p4)):
            result["at it"] = scene.goodput(1, 2)
            result["processor of the node"] = round((cpu_seconds(victim.pid) - used) / (time.monotonic() - began), 2)
            waits = []
            for _ in range(20):
                asked = time.monotonic()
                now = counted(2)
                waits.append(time.monotonic() - asked)
            result["units a second"] = round((now - had) / (time.monotonic() - began))
        result["after"] = scene.recovery(lambda: scene.goodput(1, 2), result["before"], name)
        with scene.attack(flood_at(p3, p4)):
            scene.receivers.pop(2).terminate()
            scene.nodes.pop(2)
            ended = time.monotonic()
            victim.terminate()
            code = victim.wait(60)
            ended = time.monotonic() - ended
        scene.figure(name, result)
        scene.bound(f"goodput kept, {name}", round(result["at it"] / max(result["beside"], 0.001), 3), ">=", 0.4)
        scene.bound(f"units that were read, {name}", now - had, ">", 0)
        scene.bound(f"longest answer of the control socket, s, {name}", round(max(waits), 3), "<=", ANSWER)
        scene.bound(f"end after SIGTERM, s, {name}", round(ended, 3), "<=", END)
        scene.bound(f"exit code, {name}", code, "==", 0)
        for n in (1, 4):
            scene.end(n)


if __name__ == "__main__":
    main(run)
