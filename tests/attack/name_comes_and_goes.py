# SPDX-License-Identifier: Apache-2.0
"""A host that only says the peer's name connects and ends again and again, while the peer is away: the link connects to its peer when it is back."""
import socket
import time

from attack import drain, main
from tcpcl_wire import CONTACT, init

# sessions of the link, seconds that each of the host's connections lasts, whether the link had a session with its peer before
CASES = ((1, 0.03, True), (4, 0.03, True), (1, 1.1, False))
DELAY = "150ms"  # one way, to the peer
AWAY, BACK = 6, 15  # seconds of the attack before the peer is back, and before the goodput is measured
KEPT = 0.4


def run(scene):
    """The attacker is at 127.0.0.9 and says the name of the honest node, whose path has a round trip of 300 ms."""
    tcpcl = {"adapter": "tcpcl", "tls": "off", "keepalive": "5s"}
    before = 0  # of the last case with it: the path is the same
    for number, (sessions, lasts, met) in enumerate(CASES):
        victim, honest = 2 * number + 2, 2 * number + 1
        entry, path, peer = scene.ports(3)
        scene.node(honest, [{**tcpcl, "name": f"to-{victim}", "peer": f"ipn:{victim}.0", "local": f"127.0.0.1:{peer}"}])
        scene.node(victim, [{**tcpcl, "name": f"to-{honest}", "peer": f"ipn:{honest}.0", "local": f"127.0.0.1:{entry}", "remote": f"127.0.0.2:{path}",
                             "sessions": sessions, "timers.reconnect_max": "2s"}])
        scene.receiver(honest)

        def relay(name, path=path, peer=peer):
            return scene.start(name, "helio-emu", "stream", "--listen", f"127.0.0.2:{path}", "--to", f"127.0.0.1:{peer}", "--delay", DELAY)

        def claim(until, entry=entry, honest=honest, sessions=sessions, lasts=lasts):
            while time.monotonic() < until:
                opened = []
                for _ in range(sessions):
                    s = socket.socket()
                    try:
                        s.bind(("127.0.0.9", 0))
                        s.settimeout(2)
                        s.connect(("127.0.0.1", entry))
                        s.sendall(CONTACT + init(f"ipn:{honest}.0"))
                        s.setblocking(False)
                        opened.append(s)
                    except OSError:
                        s.close()
                time.sleep(lasts)
                for s in opened:
                    drain(s)
                    s.close()

        name = f"sessions: {sessions}, {lasts} s each, {'after' if met else 'before'} the first one"
        if met:
            emulator = relay(f"path{number}")
            time.sleep(4)
            before = scene.goodput(victim, honest, payload="20kB", window=20)
            emulator.terminate()
            emulator.wait(20)
        with scene.attack(claim, settle=AWAY, least={"connections": 5}, name=name):
            emulator = relay(f"path{number}again")
            time.sleep(BACK)
            during = scene.goodput(victim, honest, payload="20kB", window=20)
            own = [s.get("claim") for s in scene.control(victim, "links")["links"][0]["sessions"]]
        scene.figure(name, {"before": before, "during": during, "sessions": own})
        scene.bound(f"goodput kept, {name}", round(during / before, 4) if before else 0.0, ">=", KEPT)
        for n in (victim, honest):
            scene.end(n)
        emulator.terminate()
        emulator.wait(20)


if __name__ == "__main__":
    main(run)
