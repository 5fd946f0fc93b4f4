#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The packages on a bare Debian 12, which mmdebstrap makes from the package registry. Needs root, and network for packages alone.
usage: bare.py BUILD OUT [ROOT.tar], where ROOT.tar is an archive that mmdebstrap made before

In one root heliograph alone is installed, and copied to a second one. systemd-nspawn boots both, without any network but a cable
between them. A member of the group heliograph runs ping, perf, send and helio-sync between their nodes; another user cannot. Then the package
is removed while its node runs, and purged, and every path of the root is compared with those before. The second root gets all
packages, runs what needs their dependencies, and is purged and compared, too."""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SAMPLE = "/etc/heliograph/sample.yaml"
# Paths that apt and dpkg change by themselves
THEIRS = re.compile(r"^(var/lib/(apt|dpkg)|var/cache|var/log|tmp|run/lock|root|etc/(passwd|group|shadow|gshadow|subuid|subgid)-"
                    r"|etc/ld\.so\.cache|var/lib/systemd|etc/\.pwd\.lock|home|etc/machine-id|etc/\.updated|var/\.updated|var/lib/dbus|var/lib/private|var/tmp)(/|$)")
# What Debian's own packages leave after a purge (python3, fonts, locks)
LEFT_BY_OTHERS = re.compile(r"^(usr/local/(lib|share)|usr/lib/python3|etc/python3|usr/share/fonts|etc/fonts|var/lib/ucf)(/|$)")


def run(*words, code=0, **more):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, **more)
    if code is not None and done.returncode != code:
        raise AssertionError(f"{' '.join(map(str, words))}: {done.returncode}, not {code}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout + done.stderr


class Root:
    """A Debian of its own; booted by systemd-nspawn, with one end of a cable."""

    def __init__(self, path, number):
        self.path, self.number, self.cable = path, number, f"hbare{number}.{os.getpid() % 10000}"
        self.container, self.leader, self.groups = None, None, []

    def boot(self):
        self.groups = make_groups(f"heliobare{self.number}.{os.getpid()}")
        with open(self.path.parent / f"boot{self.number}.log", "w", encoding="utf-8") as log:
            self.container = subprocess.Popen(
                ["systemd-nspawn", "--quiet", f"--directory={self.path}", f"--machine=heliobare{self.number}", "--register=no", "--keep-unit", "--boot",
                 "--private-network"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=self.enter_groups)
        until(self.find_leader, f"no container: {log.name}")
        until(lambda: self.run("systemctl", "is-system-running", code=None).strip() in ("running", "degraded"), f"no systemd: {log.name}")
        run("ip", "link", "set", self.cable, "netns", self.leader)
        run("nsenter", "-t", self.leader, "-n", "ip", "addr", "add", f"10.77.0.{self.number}/24", "dev", self.cable)
        run("nsenter", "-t", self.leader, "-n", "ip", "link", "set", self.cable, "up")

    def enter_groups(self):
        for group in self.groups:
            (group / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")

    def find_leader(self):
        """Its process 1, a child of systemd-nspawn."""
        found = run("ps", "-o", "pid=,comm=", "--ppid", self.container.pid, code=None).split()
        self.leader = int(found[0]) if found[1:] == ["systemd"] else None
        return self.leader

    def words(self, *words):
        return ["nsenter", "-t", str(self.leader), "-m", "-u", "-i", "-n", "-p", "-r", "-w", "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", "HOME=/tmp", *map(str, words)]

    def run(self, *words, code=0):
        return run(*self.words(*words), code=code)

    def as_alice(self, *words):
        return self.run("runuser", "-u", "alice", "--", *words)

    def chroot(self, *words):
        """Not booted, with the network of this machine, which has the packages. Programs find their Python part by /proc."""
        return run("unshare", "--mount", "sh", "-c", 'mount --bind /proc "$1/proc" && exec chroot "$@"', "sh", self.path, "env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", *words)

    def install(self, *patterns):
        found = [p for pattern in patterns for p in (self.path / "root/packages").glob(pattern)]
        assert found, patterns
        self.chroot("apt-get", "-q", "-o", "Acquire::Retries=3", "install", "-y", "--no-install-recommends", *(f"/root/packages/{p.name}" for p in found))

    def paths(self):
        """Each path of its disk, without what apt and dpkg change."""
        found = set()
        for folder, folders, files in os.walk(self.path):
            here = os.path.relpath(folder, self.path)
            folders[:] = [f for f in folders if os.path.normpath(os.path.join(here, f)) not in ("proc", "sys", "dev", "run", "tmp")]
            found.update(os.path.normpath(os.path.join(here, name)) for name in (*folders, *files))
        return {path for path in found if not THEIRS.match(path)}

    def end(self):
        if self.container:
            os.kill(self.container.pid, signal.SIGTERM)  # it is shut down
            self.container.wait(timeout=180)
            self.container = None
        for group in self.groups:
            for folder, _, _ in os.walk(group, topdown=False):
                with contextlib.suppress(OSError):  # it is not empty yet
                    os.rmdir(folder)
        self.groups = []


def make_groups(name):
    """A control group of its own for each container, below this process's. In one group the units of both containers would have the same paths: each systemd
    would see processes of the other one, and a unit whose processes are gone would not look empty."""
    mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text(encoding="ascii").splitlines()]
    found = []
    for line in Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines():
        _, kind, path = line.split(":", 2)
        if kind not in ("", "name=systemd"):  # the hierarchies where systemd has its units
            continue
        for words in mounts:
            rest = words[words.index("-") + 1:]
            if rest[0] == ("cgroup" if kind else "cgroup2") and (not kind or kind in rest[2].split(",")):
                found.append(Path(words[4] + path) / name)
                break
    for group in found:
        group.mkdir(exist_ok=True)
    return found


def until(done, otherwise, seconds=600):
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, otherwise
        time.sleep(0.2)


def make_bare(root, archive):
    """Debian's smallest, with systemd. apt checks the registry's signatures."""
    if not archive.exists():
        run("mmdebstrap", "--variant=minbase", "--include=systemd-sysv", "--aptopt=Acquire::Retries 3", "bookworm", archive)
    root.path.mkdir()
    run("tar", "-xpf", archive, "-C", root.path, "--numeric-owner")
    assert (root.path / "etc/debian_version").read_text().startswith("12.")
    shutil.copy("/etc/resolv.conf", root.path / "etc/resolv.conf")
    root.chroot("apt-get", "-q", "update")
    for user in ("alice", "bob"):
        root.chroot("useradd", user)


def configure(root, peer):
    """The sample, as its first line says."""
    text = (root.path / SAMPLE[1:]).read_text(encoding="utf-8")
    new = {"ipn:1.0": f"ipn:{root.number}.0", "ipn:2.0": f"ipn:{peer.number}.0", "127.0.0.1:1113": f"10.77.0.{root.number}:1113",
           "127.0.0.1:2113": f"10.77.0.{peer.number}:1113"}
    assert all(text.count(old) == 1 for old in new), text
    text = re.sub("|".join(map(re.escape, new)), lambda m: new[m[0]], text)
    (root.path / "etc/heliograph/node1.yaml").write_text(text, encoding="utf-8")


def background(root, *words):
    return subprocess.Popen(root.words("runuser", "-u", "alice", "--", *words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def check_started(root):
    """The page's commands; ready means that systemd was told so. The unit's protections are in force."""
    root.run("systemctl", "enable", "--now", "heliod@node1")
    assert root.run("systemctl", "is-active", "heliod@node1").strip() == "active"
    root.run("systemctl", "reload", "heliod@node1")
    root.run("usermod", "-aG", "heliograph", "alice")
    pid = root.run("systemctl", "show", "-P", "MainPID", "heliod@node1").strip()
    status = root.run("cat", f"/proc/{pid}/status")
    assert re.search(r"NoNewPrivs:\s1", status) and re.search(r"Seccomp:\s2", status) and "CapBnd:\t0000000000800400" in status, status
    modes = root.run("stat", "-c", "%U:%G %a", "/run/heliograph", "/run/heliograph/node1.sock", "/var/lib/heliograph/node1.segments.csv")
    assert modes.split("\n")[:3] == ["heliograph:heliograph 750", "heliograph:heliograph 660", "heliograph:heliograph 640"], modes


def check_credentials(root):
    """The node started without a credential. With a private key that only root may read, its user alone gets a copy."""
    copy = "/run/credentials/heliod@node1.service/node1.key"
    root.run("install", "-d", "-m", "0700", "/etc/credstore")
    root.run("sh", "-c", "umask 077; echo secret >/etc/credstore/node1.key")
    root.run("systemctl", "restart", "heliod@node1")
    assert root.run("runuser", "-u", "heliograph", "--", "cat", copy).strip() == "secret"
    told = root.run("runuser", "-u", "alice", "--", "cat", copy, code=None)
    assert "ermission denied" in told, told
    root.run("rm", "/etc/credstore/node1.key")
    root.run("rmdir", "--ignore-fail-on-non-empty", "/etc/credstore")
    root.run("systemctl", "restart", "heliod@node1")


def check_traffic(one, two):
    """By a member of the group, and not by anybody else."""
    here = ("--socket", "/run/heliograph/node1.sock")
    refused = one.run("runuser", "-u", "bob", "--", "helio-ping", *here, "-c", "1", "ipn:2.128", code=None)
    assert "not permitted" in refused, refused
    told = one.as_alice("helio-ping", *here, "-c", "3", "ipn:2.128")
    assert re.search(r"\b3 received", told), told
    print("bare: ping:", told.strip().splitlines()[-1])
    two.run("systemd-run", "--quiet", "--unit=perf", "--uid=alice", "helio-perf", "server", *here)
    time.sleep(1)
    told = one.as_alice("helio-perf", "client", *here, "-d", "ipn:2.2000", "-T", "3", "-W", "4", "-P", "20kB", "--json=-")
    two.run("systemctl", "stop", "perf")
    assert float(re.search(r'"goodput_bps": *([\d.]+)', told)[1]) > 1e5, told
    print("bare: perf:", re.search(r'"goodput_bps": *[\d.]+', told)[0])
    two.run("install", "-d", "-o", "alice", "/srv/in")
    data = os.urandom(300_000)
    (one.path / "srv/file").write_bytes(data)
    receiver = background(two, "helio-recv", *here, "-o", "/srv/in", "--count", "1")
    time.sleep(1)
    one.as_alice("helio-send", *here, "ipn:2.2001", "/srv/file")
    said = receiver.communicate(timeout=60)[0]
    assert receiver.returncode == 0 and (two.path / "srv/in/file").read_bytes() == data, said
    print(f"bare: send: {len(data)} bytes")
    two.run("rm", "-r", "/srv/in")
    one.run("rm", "/srv/file")


def tree(folder):
    """Name -> content of all files but helio-sync's own."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file() and ".helio-sync" not in path.parts}


def sync_until_equal(one, two, kills=0):
    """How often both nodes and both programs were killed before the copy was equal."""
    source, copy, done, end = one.path / "srv/data", two.path / "srv/copy", 0, time.monotonic() + 600
    while tree(source) != tree(copy):
        assert time.monotonic() < end, (sorted(tree(source)), sorted(tree(copy)))
        if done < kills and len(tree(copy)) > (done + 1) * len(tree(source)) // (kills + 2):
            for root in (one, two):  # SIGKILL ends all of it at any step; systemd starts it again
                for unit in ("heliod@node1", "sync"):
                    pid = root.run("systemctl", "show", "-P", "MainPID", unit).strip()
                    if pid != "0":  # else it is about to start again; 0 would be this test
                        root.run("sh", "-c", f"kill -KILL {pid}")  # the root has no program kill
            done += 1
        time.sleep(0.3)
    return done


def check_sync(one, two):
    """A folder and its copy over a wire that loses every twentieth datagram. Nodes and programs are killed in the middle."""
    for root in (one, two):
        for rule in ("table inet lossy", "chain inet lossy in { type filter hook input priority 0; }", "rule inet lossy in udp dport 1113 numgen random mod 100 < 5 counter drop"):
            run("nsenter", "-t", root.leader, "-n", "nft", "add", rule)
    here, unit = ("--socket", "/run/heliograph/node1.sock", "--reconnect=60"), ("systemd-run", "--quiet", "--unit=sync", "--uid=alice", "--property=Restart=always", "--property=RestartSec=1",
                                                                               "--property=StartLimitIntervalSec=0")
    one.run("install", "-d", "-o", "alice", "/srv/data", "/srv/data/deep")
    two.run("install", "-d", "-o", "alice", "/srv/copy")
    for i in range(60):
        (one.path / f"srv/data/{'deep/' if i % 3 else ''}{i}").write_bytes(os.urandom(300_000 if i % 10 == 0 else 3000))
    two.run(*unit, "helio-sync", "receive", *here, "--from", "ipn:1.*", "--delete", "/srv/copy")
    one.run(*unit, "helio-sync", "send", *here, "--rest", "200ms", "-b", "100kB", "/srv/data", "ipn:2.2003")
    killed = sync_until_equal(one, two, 3)
    (one.path / "srv/data/0").rename(one.path / "srv/data/deep/renamed")
    (one.path / "srv/data/deep/1").unlink()
    sync_until_equal(one, two)
    lost = [int(re.search(r"counter packets (\d+)", run("nsenter", "-t", root.leader, "-n", "nft", "list", "table", "inet", "lossy"))[1]) for root in (one, two)]
    assert all(lost) and killed > 0, (lost, killed)
    for root, folder in ((one, "/srv/data"), (two, "/srv/copy")):
        root.run("systemctl", "stop", "sync")
        run("nsenter", "-t", root.leader, "-n", "nft", "delete", "table", "inet", "lossy")
        root.run("rm", "-r", folder)
    print(f"bare: sync: equal after nodes and programs were killed {killed} times, {sum(lost)} datagrams lost")


def check_missing(one):
    """What is in another package is said."""
    told = one.run("helio-analyze", "/var/lib/heliograph/node1.segments.csv", "--html", "/srv/page.html", code=2)
    assert "the package heliograph-lab has it" in told, told


def check_left(root, before):
    left = sorted(path for path in root.paths() - before if not LEFT_BY_OTHERS.match(path))
    assert not left, left[:20]
    for file in ("passwd", "group", "shadow", "gshadow"):
        assert "heliograph" not in (root.path / "etc" / file).read_text(), f"{file} names heliograph"


def check_removed(root, before):
    """While the node runs. Removed: configuration and store stay. Purged: nothing stays, and nothing has failed."""
    root.run("apt-get", "-q", "remove", "-y", "heliograph")
    assert root.run("systemctl", "is-active", "heliod@node1", code=None).strip() == "inactive"
    now = {path for path in root.paths() - before if "heli" in path}
    assert not [path for path in now if path.startswith("usr/")] and {"etc/heliograph/node1.yaml", "var/lib/heliograph/node1.segments.csv"} <= now, now
    root.run("apt-get", "-q", "purge", "-y", "heliograph")
    root.run("apt-get", "-q", "autoremove", "--purge", "-y")
    check_left(root, before)
    assert not root.run("dpkg", "--audit").strip()
    units = root.run("systemctl", "list-units", "--all", "--plain")
    assert "heliod@" not in units, f"systemd knows a node:\n{units}"  # its slice may stay
    assert "heliod" not in root.run("systemctl", "--failed", "--plain")
    assert not (Path(f"/proc/{root.leader}/root/run/heliograph")).exists(), "sockets are left"


def check_node(one, two, before):
    run("ip", "link", "add", one.cable, "type", "veth", "peer", "name", two.cable)
    for root, peer in ((one, two), (two, one)):
        root.boot()
        configure(root, peer)
        check_started(root)
    check_credentials(one)
    check_traffic(one, two)
    check_sync(one, two)
    check_missing(one)
    check_removed(one, before)
    print("bare: heliograph was installed, used by a member of its group, removed: nothing is left, nothing failed")


def check_all(root, before):
    """All packages in the other root, and what they need."""
    root.install("*.deb")
    for program in sorted((root.path / "usr/bin").glob("helio*")):
        assert program.name in root.chroot(program.name, "--version")
    root.chroot("helio-trace", "gen", "--preset", "leo-low", "--duration", "1s", "-o", "/srv/t.htr")
    root.chroot("helio-trace", "info", "/srv/t.htr", "--plot", "/srv/plot.png")
    root.chroot("helio-analyze", "/var/lib/heliograph/node1.segments.csv", "--html", "/srv/page.html")
    assert (root.path / "srv/plot.png").stat().st_size > 10000 and (root.path / "srv/page.html").stat().st_size > 10000
    root.chroot("/usr/bin/python3", "-Bc", "import sys; sys.path.insert(0, '/usr/lib/heliograph'); import yaml, sgp4.api, heliograph.lab.orbits, heliograph.campaign.report")
    for file in ("t.htr", "plot.png", "page.html"):
        (root.path / "srv" / file).unlink()
    root.chroot("apt-get", "-q", "purge", "-y", "heliograph", "heliograph-lab", "heliograph-sle", "libheliograph-dev")
    root.chroot("apt-get", "-q", "autoremove", "--purge", "-y")
    check_left(root, before)
    print("bare: all packages were installed, used, removed: nothing is left")


def main():
    build, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    if os.getuid() != 0 or not shutil.which("mmdebstrap") or not shutil.which("systemd-nspawn"):
        sys.exit("bare: this needs root, mmdebstrap and systemd-nspawn (tools/setup.sh test)")
    if out.exists():
        shutil.rmtree(out)  # says what cannot be removed: something of an earlier run still uses it
    out.mkdir(parents=True)
    print(run("bash", HERE / "packages.sh", build, out / "packages"), end="", flush=True)
    one, two = Root(out / "one", 1), Root(out / "two", 2)
    begun = time.monotonic()
    make_bare(one, Path(sys.argv[3]) if len(sys.argv) > 3 else out / "root.tar")
    (one.path / "root/packages").mkdir()
    for package in (out / "packages").glob("*.deb"):
        shutil.copy(package, one.path / "root/packages")
    before = one.paths()
    one.install("heliograph_*.deb")
    run("cp", "-a", one.path, two.path)
    print(f"bare: two roots with heliograph after {time.monotonic() - begun:.0f} s", flush=True)
    try:
        check_node(one, two, before)
        two.end()
        check_all(two, before)
    finally:
        one.end()
        two.end()
        run("ip", "link", "del", one.cable, code=None)
    for root in (one, two):
        shutil.rmtree(root.path)


if __name__ == "__main__":
    main()
