# SPDX-License-Identifier: Apache-2.0
"""What people write wrong, and the one message that each of it gets: messages_test.py runs the rows and prints them.

FOLDER in a text is the folder of the test. `place` is the line and the key that the message begins with, behind the file's name.
"""
import collections

Wrong = collections.namedtuple("Wrong", "what kind text place says more", defaults=({},))
Command = collections.namedtuple("Command", "what words says")
Missing = collections.namedtuple("Missing", "what hidden words says")

HEAD = "node: ipn:1.0\nsocket: FOLDER/n.sock\nstore: {durability: none}\n"
NAMED = "names:\n  - {name: relay, node: ipn:2.0}\n  - {name: mars, node: ipn:3.0}\n" + HEAD + "links: [{name: to-2, adapter: udp, peer: relay, local: 127.0.0.1:1111, remote: 127.0.0.1:1112}]\n"
LTP = HEAD + """links:
  - name: to-2
    adapter: ltp-udp
    peer: ipn:2.0
    local: 127.0.0.1:1111
    remote: 127.0.0.1:1112
    rto: 1s
"""
TCP = HEAD + """links:
  - name: to-2
    adapter: tcpcl
    peer: ipn:2.0
    remote: 127.0.0.1:1112
"""
PAIR = "links:\n  - {{name: a, peer: ipn:2.0, {}}}\n  - {{name: b, peer: ipn:3.0, {}}}\n"
LTPS = PAIR.replace("{}", "adapter: ltp-udp, local: 127.0.0.1:1111, remote: 127.0.0.1:1112, rto: 1s{}")
AT_1111 = "adapter: ltp-udp, local: 127.0.0.1:1111, remote: 127.0.0.1:1112, rto: 1s"
TLS = TCP + "    tls:\n      mode: required\n      key: FOLDER/KEY.key\n      ca: FOLDER/ca/ca.pem\n      certificate: FOLDER/KEY.pem\n"
POLICY = HEAD + "security_keys: FOLDER/keys\nsecurity:\n  - {role: source, context: bib-hmac-sha2, key: link}\n"
SECRET = "key: " + "0f" * 48 + "\n"
PLAN = "contacts:\n  - {from: 1, to: 2, start: 0s, end: 10s, rate: 1Mbit/s, owlt: 1s}\n"
LINE = "line: 2\n"
CAMPAIGN = "title: short\nmode: sim\nrepetitions: 1\nset: {duration: 100ms}\nexperiments:\n  - {name: one, title: One, sweep: {trace: [none]}}\n"


def node(what, text, place, says, **more):
    return Wrong(what, "node", text, place, says, more)


def lab(what, text, place, says, **more):
    return Wrong(what, "lab", LINE + text, place, says, more)


NODES = (
    node("another name of a key", LTP + "    speed: 5Mbit/s\n", "11: links[to-2].speed", "did you mean rate?"),
    node("a unit in the key", LTP + "    rto_ms: 100\n", "11: links[to-2].rto_ms", "did you mean rto?"),
    node("a wrong letter", LTP + "    sesions: 4\n", "11: links[to-2].sesions", "did you mean sessions?"),
    node("the key cut short", LTP + "    auth: {key: a}\n", "11: links[to-2].auth.key", "did you mean key_"),
    node("no key is near", LTP + "    weather: fine\n", "11: links[to-2].weather", "the keys here are: name, adapter"),
    node("a key of another adapter", LTP + "    tls: required\n", "11: links[to-2].tls", "write the adapter that has it: tcpcl"),
    node("a wrong key of the node", LTP + "rout: []\n", "11: rout", "did you mean routes?"),
    node("a wrong key of a section", HEAD + "bundles: {lifetim: 1h}\n", "4: bundles.lifetim", "did you mean lifetime?"),
    node("an adapter with a wrong letter", LTP.replace("ltp-udp", "ltp-upd"), "6: links[to-2].adapter", "did you mean ltp-udp?"),
    node("an unknown adapter", LTP.replace("ltp-udp", "telex"), "6: links[to-2].adapter", "write one of: ltp-udp, tcpcl, udp, stcp, mtcp, bibe"),
    node("a wrong key beside a wrong adapter", LTP.replace("ltp-udp", "ltp") + "    sesions: 4\n", "6: links[to-2].adapter", "did you mean ltp-udp?",
         also="11: links[to-2].sesions: unknown key; did you mean sessions?"),
    node("a unit by another name", LTP.replace("rto: 1s", "rto: 100 msec"), "10: links[to-2].rto", "write no space before the unit: 100ms"),
    node("a duration without a unit", LTP.replace("rto: 1s", "rto: 100"), "10: links[to-2].rto", "a duration with its unit, such as 30ms"),
    node("a rate in bits without a time", LTP + "    rate: 500Mb\n", "11: links[to-2].rate", "write 500Mbit/s"),
    node("a rate without a unit", LTP + "    rate: 500\n", "11: links[to-2].rate", "a rate with its unit, such as 500Mbit/s"),
    node("a size by another name", LTP + "    queue_bytes: 20 MBytes\n", "11: links[to-2].queue_bytes", "write no space before the unit: 20MB"),
    node("a size out of range, for want of a unit", HEAD + "bundles: {max: 12}\n", "4: bundles.max", "a value from 1kB to 4GB"),
    node("a share in percent", LTP + "    erasure:\n      mode: rs\n      rate: 77 %\n", "13: links[to-2].erasure.rate", "write 0.77"),
    node("a node where a number belongs", TCP + "    peers: \"ipn:3.0\"\n", "9: links[to-2].peers", "a whole number without unit: "),
    node("no space behind the colon", LTP.replace("rto: 1s", "rto:30ms"), "10: not YAML", "write a space after the colon: rto: 30ms"),
    node("no space behind the first colon", HEAD + "bundles:\n  lifetime:1h\n  max: 1MB\n", "5: not YAML", "write a space after the colon: lifetime: 1h"),
    node("no space behind the colon, in braces", HEAD + "links:\n  - {name: to-2, adapter: ltp-udp, peer: ipn:2.0, local: 127.0.0.1:1111, remote: 127.0.0.1:1112, rto:30ms}\n",
         "5: links[to-2].rto:30ms", "write a space after the colon: rto: 30ms"),
    node("a star without quotes", LTP + "routes:\n  - {to: *, via: to-2}\n", "12: not YAML", "write * in quotes: \"*\""),
    node("a brace without its end", HEAD + "bundles: {lifetime: 1h\n" + LTP[len(HEAD):], "4: not YAML", "this line has a { without its }"),
    node("a bracket without its end", HEAD + "routes: [\n  {to: \"ipn:3.*\", via: to-2}\n" + LTP[len(HEAD):], "4: not YAML", "this line has a [ without its ]"),
    node("an address without a port", LTP.replace("127.0.0.1:1112", "127.0.0.1"), "9: links[to-2].remote", "has no port; write one, such as 127.0.0.1:"),
    node("a name without a port", LTP.replace("127.0.0.1:1112", "gs1.example.net"), "9: links[to-2].remote", "has no port; write one, such as gs1.example.net:1113"),
    node("a port that does not exist", LTP.replace("127.0.0.1:1112", "127.0.0.1:70000"), "9: links[to-2].remote", "a port is a number from 1 to 65535, such as 127.0.0.1:"),
    node("a node without its service", LTP.replace("ipn:2.0", "ipn:2"), "7: links[to-2].peer", "did you mean ipn:2.0?"),
    node("a dtn name without its end", LTP.replace("ipn:2.0", "dtn://two"), "7: links[to-2].peer", "did you mean dtn://two/?"),
    node("a socket's path whose control path is too long", HEAD.replace("FOLDER", "/tmp/" + "x" * 95), "2: socket", "with .ctl for the control socket the path has"),
    node("a name that is nearly right", NAMED.replace("peer: relay", "peer: relai"), "7: links.peer", "\"relai\" is not in names; did you mean relay?"),
    node("a name with a wrong letter", NAMED.replace("name: relay", "name: 2relay"), "2: names.name", "\"2relay\" is no name; write a letter"),
    node("a name for an endpoint", NAMED.replace("node: ipn:2.0", "node: ipn:2.7"), "2: names.node", "it is an endpoint; write its node's id, ipn:2.0"),
    node("one name for two nodes", NAMED.replace("name: mars", "name: relay"), "3: names.name", "line 2 has the name relay, too"),
    node("two names for one node", NAMED.replace("ipn:3.0", "ipn:2.0"), "3: names.node", "line 2 names the node ipn:2.0, too"),
    node("names as a map", HEAD + "names: {relay: ipn:2.0}\n", "4: names", "a map is not expected here; write a list of maps"),
    node("the file of a lab", "line: 2\nlink: {rate: 1Mbit/s}\n", "1: this looks like a file of helio-lab", "not of heliod; run helio"),
    node("the file of a campaign", CAMPAIGN, "1: this looks like a file of helio-campaign", "not of heliod; run helio"),
    node("the file of a channel", "forward: {rate: 1Mbit/s}\n", "1: this looks like a file of helio-emu", "not of heliod; run helio"),
    node("a tab", LTP.replace("    rto: 1s", "\trto: 1s"), "10: not YAML", "a tab at line 10: use spaces"),
    node("a word that is none of the choices", HEAD + "log: {level: verbose}\n", "4: log.level", "write one of: error, warning, info"),
    node("yes or no", LTP + "    pacing: {batch: maybe}\n", "11: links[to-2].pacing.batch", "write yes or no"),
    node("a key twice", LTP + "    rto: 2s\n", "11: links[to-2].rto", "first in line 10; keep one"),
    node("a key that is missing", LTP.replace("    rto: 1s\n", ""), "5: links[to-2].rto", "", ),
    node("an address without a port's number", LTP.replace("1:1112", "1:peer"), "9: links[to-2].remote", "such as 127.0.0.1:"),
    node("the neighbour is this node", LTP.replace("ipn:2.0", "ipn:1.0"), "7: links[to-2].peer", "write the neighbour's id"),
    node("a route over a link that does not exist", LTP + "routes:\n  - {to: \"ipn:3.*\", via: to-3}\n", "12: routes.via", "did you mean to-2?"),
    node("the segment log at the socket's path", HEAD + "log: {segments: FOLDER/n.sock}\n", "4: log.segments", "the same path as socket; write another"),
    node("the bundle log at the path of control", HEAD + "log: {bundles: FOLDER/n.sock.ctl}\n", "4: log.bundles", "the same path as control; write another"),
    node("a limit that does not count", HEAD + "bundles: {total: 1MB}\n", "4: warning: bundles.total", "does nothing with durability: none; write store.limit", code=0),
    node("two links for one host's connections", HEAD + PAIR.format("adapter: stcp, local: 127.0.0.1:1111, remote: 127.0.0.2:1", "adapter: stcp, local: 127.0.0.1:1111, remote: 127.0.0.2:2"), "6: links[b].remote", "write another local"),
    node("two links for anybody's connections", HEAD + PAIR.format("adapter: mtcp, local: 127.0.0.1:1111, source: any", "adapter: mtcp, local: 127.0.0.1:1111, source: any"), "6: links[b].source", "write source: address at one of them"),
    node("two links to one address", HEAD + PAIR.format("adapter: udp, local: 127.0.0.1:1111, remote: 127.0.0.2:1", "adapter: udp, local: 127.0.0.1:1111, remote: 127.0.0.2:1"), "6: links[b].remote", "write another remote, or another local"),
    node("two tunnels with one endpoint", HEAD + PAIR.format("adapter: bibe, local: ipn:1.12, remote: ipn:2.12", "adapter: bibe, local: ipn:1.12, remote: ipn:3.12"), "6: links[b].local", "write another"),
    node("another engine at one address", HEAD + LTPS.format("", ", engine: 77"), "6: links[b].engine", "write the same number"),
    node("one peer engine twice", HEAD + LTPS.format("", ", peer_engine: 2"), "6: links[b].peer_engine", "write another local"),
    node("unknown peers at the second link", HEAD + LTPS.format("", ", unknown: {{accept: 5}}".format()), "6: links[b].unknown.accept", "with the first link"),
    node("frames beside none", HEAD + LTPS.format(", frames: aos", ""), "6: links[b].frames", "write another local"),
    node("an erasure code beside none", HEAD + LTPS.format("", ", rate: 1Mbit/s, erasure: rs"), "6: links[b].erasure", "write another local"),
    node("frames of another kind at one address", HEAD + LTPS.format(", frames: aos", ", frames: tm"), "6: links[b].frames", "write the same ones"),
    node("frames to two addresses from one", HEAD + LTPS.format(", frames: {mode: aos, vcid: 1}", ", frames: {mode: aos, vcid: 2}").replace("remote: 127.0.0.1:1112", "remote: 127.0.0.1:1113", 1), "6: links[b].remote", "write the same remote, or another local"),
    *(node(f"another {key} of frames at one address", HEAD + LTPS.format(f", frames: {{mode: aos, vcid: 1{one}}}{more}", f", frames: {{mode: aos, vcid: 2{other}}}{last}"), f"6: links[b].{key}", "write the same one, or another local")
      for key, one, other, more, last in (
          ("source", "", "", "", ", source: any"),
          ("pacing.dscp", "", "", ", pacing: {dscp: 46}", ""),
          ("frames.port", "", ", port: connect", "", ""),
          ("frames.record", ", port: file, record: FOLDER/one", ", port: file, record: FOLDER/other", "", ""),
          ("frames.replay_rate", ", port: file, record: FOLDER/one", ", port: file, record: FOLDER/one, replay_rate: 1Mbit/s", "", ""),
          ("sle.provider", ", in: aos, port: sle", ", in: aos, port: sle", *(f", sle: {{raf: sagr=1.spack=1.rsl-fg=1.raf=onlc1, user: CENTRE, provider: {name}}}" for name in ("ONE", "OTHER"))))),
    node("one virtual channel twice", HEAD + LTPS.format(", frames: aos", ", frames: aos"), "6: links[b].frames.vcid", "write another one"),
    node("one virtual channel twice, of what comes", HEAD + LTPS.format(", frames: {mode: aos, vcid: 1, vcid_in: 5}", ", frames: {mode: aos, vcid: 2, vcid_in: 5}"), "6: links[b].frames.vcid_in", "write another one"),
    node("two adapters at one UDP port", HEAD + PAIR.format(AT_1111, "adapter: udp, local: 127.0.0.1:1111, remote: 127.0.0.1:1113"), "6: links[b].local", "another adapter has this address and port"),
    node("two adapters at one TCP port", HEAD + PAIR.format("adapter: tcpcl, local: 127.0.0.1:1111", "adapter: stcp, local: 127.0.0.1:1111, source: any"), "6: links[b].local", "another adapter has this address and port"),
    node("frames by TCP at another adapter's port", HEAD + PAIR.format(AT_1111 + ", frames: {mode: aos, port: listen}", "adapter: tcpcl, local: 127.0.0.1:1111"), "6: links[b].local", "another adapter has this address and port"),
    node("an address beside all addresses", HEAD + PAIR.format(AT_1111.replace("127.0.0.1:1111", "0.0.0.0:1111"), AT_1111), "6: links[b].local", "has all addresses of this port"),
    node("a tunnel at the echo endpoint", HEAD + PAIR.format("adapter: tcpcl, remote: 127.0.0.1:1", "adapter: bibe, local: ipn:1.128, remote: ipn:3.12"), "6: links[b].local", "write another one, or echo: off"),
    node("keys that no rule uses", HEAD + "security_keys: FOLDER/keys\n", "4: warning: security_keys", "write rules at security", code=0, files={"keys/a": "id: link\nalgorithm: hmac-sha-384\n" + SECRET}),
    node("a list of security without rules", HEAD + "security:\n", "4: warning: security", "write the rules, or remove this key", code=0),
    node("a source rule of another node", POLICY.replace("{role", "{from: \"ipn:2.*\", role"), "6: warning: security.from", "write one of ipn:1.*, or another role", code=0,
         files={"keys/a": "id: link\nalgorithm: hmac-sha-384\n" + SECRET}),
    node("TLS off where other machines connect", HEAD + "links:\n  - {name: to-2, adapter: tcpcl, peer: ipn:2.0, local: 0.0.0.0:1112, tls: off}\n", "5: warning: links[to-2].tls",
         "any node; tls: required with certificates keeps others out", code=0),
    node("LTP at all addresses without auth", LTP.replace("127.0.0.1:1111", "0.0.0.0:1111"), "5: warning: links[to-2].auth.mode", "auth: require with a key keeps such senders out", code=0),
    node("LTP at all addresses, from any source", LTP.replace("127.0.0.1:1111", "0.0.0.0:1111") + "    source: any\n", "5: warning: links[to-2].auth.mode", "anyone who reaches it can send", code=0),
    node("a status page for all", HEAD + "http: {listen: \"0.0.0.0:9464\"}\n", "4: warning: http.listen", "write http.token", code=0),
    node("a burst without a rate", LTP + "rules:\n  - {peer: \"ipn:2.0\", way: in, burst: 5}\n", "12: warning: rules.burst", "does nothing without rate", code=0),
    node("a burst of data without a rate", HEAD + "applications:\n  - {user: any, data_burst: 5MB}\n", "5: warning: applications.data_burst", "does nothing without data_rate", code=0),
    node("no such plan", LTP + "plan: FOLDER/gone.yaml\n", "11: plan", "write the path of a contact plan"),
    node("a wrong key in a plan", LTP + "plan: FOLDER/plan.yaml\n", "2: contacts[0].rte", "did you mean rate?", file="plan.yaml",
         files={"plan.yaml": PLAN.replace("rate", "rte")}),
    node("a plan in YAML by another name", LTP + "plan: FOLDER/plan.txt\n", "1: \"contacts:\" is YAML", "rename the file to end in .yaml", file="plan.txt",
         files={"plan.txt": PLAN}),
    node("a rule for an endpoint of a neighbour", LTP + "rules:\n  - {peer: \"ipn:2.7\", way: in, rate: 5}\n", "12: rules.peer", "write the node's id, such as ipn:2.0"),
    node("no folder of keys", POLICY, "4: security_keys", "make the folder (mkdir -m 0700)"),
    node("a wrong word in a key file", POLICY, "2: algorithm", "hmac-sha-384", file="keys/a", files={"keys/a": "id: link\nalgorithm: sha384\n" + SECRET}),
    node("a wrong COSE_Key", POLICY, "2: cose_key", "k (-1) is missing: write the symmetric key", file="keys/a", files={"keys/a": "id: link\ncose_key: a10104\n"}),
    node("a rule whose key is in no file", POLICY, "6: security.key", "write a key file with this id", files={"keys/a": "id: other\nalgorithm: hmac-sha-384\n" + SECRET}),
    node("a rule with a wrong word", POLICY.replace("source,", "sender,"), "6: security.role", "write one of: source, verifier, acceptor"),
    node("a certificate of another node", TLS.replace("KEY", "ca/other"), "5: warning: links[to-2].tls.certificate",
         "names the node ipn:9.0, and this node is ipn:1.0: peers refuse it; write the certificate of this node", code=0),
    node("certificates, and TLS is not chosen", TCP + "    tls: {ca: FOLDER/ca/ca.pem}\n", "5: links[to-2].tls", "write tls: required, or tls: off"),
)

LABS = (
    lab("a key by another name", "link: {speed: 1Mbit/s}\nduration: 1s\n", "2: links[to-2].speed", "did you mean rate?"),
    lab("a wrong letter", "link: {dealy: 5ms}\nduration: 1s\n", "2: links[to-2].dealy", "did you mean delay?"),
    lab("a wrong key of the lab", "trafic: []\n", "2: trafic", "did you mean traffic?"),
    lab("no space behind the colon", "link:\n  rate:1Mbit/s\n  delay: 5ms\n", "3: write a space", "after the colon: rate: 1Mbit/s"),
    lab("a star without quotes", "nodes: {1: {routes: [{to: *, via: to-2}]}}\n", "2: write *", "in quotes: \"*\""),
    lab("a brace without its end", "link: {rate: 1Mbit/s\nduration: 1s\n", "2: this line has a {", "without its }"),
    lab("spaces in a pair of nodes", "traffic:\n  - {perf: 1 - 2}\n", "3: traffic.0.perf", "has spaces; write 1-2"),
    lab("traffic that is a map", "traffic: {perf: 1-2}\n", "2: traffic", "a list is wanted, such as traffic: [{ping: 1-2}]"),
    lab("a trace that does not exist", "link: {rate: 1Mbit/s, trace: Q}\nduration: 1s\n", "2: forward.erasures.trace", "Q: cannot be opened"),
    Wrong("the file of a node as a lab", "lab", LTP, "1: this looks like a file of heliod", "not of helio-lab; run helio"),
    Wrong("the file of a campaign as a lab", "lab", CAMPAIGN, "1: this looks like a file of helio-campaign", "not of helio-lab; run helio"),
    Wrong("the file of a lab as a campaign", "campaign", LINE, "1: this looks like a file of helio-lab", "not of helio-campaign; run helio"),
    Wrong("the file of a node as a channel", "channel", LTP, "1: this looks like a file of heliod", "not of helio-emu; run helio"),
    Wrong("the file of a lab as a channel", "channel", LINE, "1: this looks like a file of helio-lab", "not of helio-emu; run helio"),
    Wrong("experiments without a dash", "campaign", CAMPAIGN.replace("  - {name: one", "  {name: one"), "6: experiments", "write \"- \" before the name of each"),
    lab("a tab", "link:\n\trate: 1Mbit/s\n", "3", "use spaces"),
    lab("no such node", "traffic:\n  - {perf: 1-3}\n", "3: traffic.0.perf", "there are 1, 2"),
    lab("a duration without a unit", "duration: 10\n", "2: duration", "write it like 30ms"),
    lab("no payload", "traffic:\n  - perf: 1-2\n    payload: 0\n", "4: traffic.0.payload", "\"0\" is too little"),
    lab("no window", "traffic:\n  - perf: 1-2\n    window: 0\n", "4: traffic.0.window", "\"0\" is too little"),
    lab("a window in words", "traffic:\n  - {perf: 1-2, window: some}\n", "3: traffic.0.window", "\"some\" is no whole number"),
    lab("a rate of nothing", "traffic:\n  - {perf: 1-2, rate: 0b}\n", "3: traffic.0.rate", "\"0b\" is too little"),
    lab("no time", "traffic:\n  - {perf: 1-2, duration: 0s}\n", "3: traffic.0.duration", "\"0s\" is too little"),
    lab("no ping", "traffic:\n  - {ping: 1-2, count: 0}\n", "3: traffic.0.count", "\"0\" is too little"),
    lab("a node without links", "nodes: {far: {}}\ntraffic:\n  - {perf: 1-far}\n", "4: traffic.0.perf", "no links lead from 1 to far"),
    lab("an event after the end", "duration: 5s\nevents:\n  - {at: 9s, link: 1-2, do: down}\n", "4: 1-2", "the lab is over after 5s (duration:); what is to happen at 9s would not"),
    lab("traffic at the end", "duration: 5s\ntraffic:\n  - {ping: 1-2, start: 5s}\n", "4: traffic.0.start", "the lab is over after 5s"),
    lab("no duration", "duration: 0s\n", "2: duration", "\"0s\" is too little"),
    lab("a payload that is no size", "traffic:\n  - perf: 1-2\n    payload: big\n", "4: traffic.0.payload", "\"big\" is not understood; write a size, such as 500000"),
    lab("a payload below nothing", "traffic:\n  - {perf: 1-2, payload: -1}\n", "3: traffic.0.payload", "\"-1\" is not understood; write a size"),
    lab("a list as a payload", "traffic:\n  - {perf: 1-2, payload: [1, 2]}\n", "3: traffic.0.payload", "one value is wanted"),
    lab("a priority that does not exist", "traffic:\n  - {perf: 1-2, priority: 9}\n", "3: traffic.0.priority", "\"9\" is not understood; write bulk, normal, expedited"),
    lab("a CRC that does not exist", "traffic:\n  - {perf: 1-2, crc: 7}\n", "3: traffic.0.crc", "\"7\" is not known; write one of: none, 16, 32c"),
    lab("a warm-up without an end", "traffic:\n  - {perf: 1-2, warmup: 20s}\n", "3: traffic.0", "warmup leaves nothing of duration to measure"),
    lab("a duration and an amount", "traffic:\n  - perf: 1-2\n    duration: 5s\n    data: 1M\n", "5: traffic.0.data", "there is duration already"),
    lab("a window and a rate", "traffic:\n  - {perf: 1-2, window: 5, rate: 1Mbit/s}\n", "3: traffic.0.rate", "there is window already"),
    lab("a service that is none", "traffic:\n  - {perf: 1-2, service: -1}\n", "3: traffic.0.service", "\"-1\" is not understood; write an endpoint"),
    lab("a ping that is too short", "traffic:\n  - {ping: 1-2, size: 3}\n", "3: traffic.0.size", "3 is out of range; write a value from 32B"),
    lab("a ping without a time", "traffic:\n  - {ping: 1-2, interval: soon}\n", "3: traffic.0.interval", "\"soon\" is not understood; write a time"),
    lab("no command", "traffic:\n  - {run: 1, command: ''}\n", "3: traffic.0.command", "is empty"),
    lab("a command with half a quotation", "traffic:\n  - {run: 1, command: 'echo \"'}\n", "3: traffic.0.command", "no closing quotation"),
    lab("a list as a command", "traffic:\n  - {run: 1, command: [echo, a]}\n", "3: traffic.0.command", "one value is wanted"),
    lab("traffic that is a word", "traffic: [perf]\n", "2: traffic.0", "right are perf: A-B"),
    lab("an event in the past", "duration: 5s\nevents:\n  - {at: -1s, link: 1-2, do: down}\n", "4: events.0.at", "\"-1s\" is no duration"),
    lab("a delay in words", "link: {rate: 1Mbit/s, delay: fast}\nduration: 1s\n", "2: forward.delay", "\"fast\" is not understood"),
    lab("a contact that ends first", "link: {rate: 1Mbit/s, delay: 1ms, contacts: [{from: 9s, to: 2s}]}\nduration: 1s\n", "2: forward.contacts", "not later than from"),
    lab("hand-overs that are a number", "links: {1-2: {handover: 5}}\nduration: 1s\n", "2: links.1-2.handover", "a list is wanted"),
    Wrong("a line without nodes", "lab", "line: 0\n", "1: line", "\"0\" is not understood"),
    Wrong("a list of nodes", "lab", "nodes: [a, b]\nlinks: {a-b: {}}\n", "1: nodes", "a map of keys and values is wanted, such as nodes: {1: {}, 2: {}}"),
    Wrong("a character that YAML does not have", "lab", "line: 2\ntitle: \0\n", "2: this character U+0000", "cannot be in YAML"),
    lab("both", "duration: 5s\ntraffic:\n  - {perf: 1-2, start: 6s}\nevents:\n  - {at: 5s, link: 1-2, do: up}\n", "4: traffic.0.start", "the lab is over",
        also=":6: 1-2: the lab is over"),
    Wrong("a wrong key of a campaign", "campaign", CAMPAIGN.replace("sweep", "swep"), "6: an experiment has no key \"swep\"", "did you mean sweep?"),
    *(Wrong(f"{key}: {value} in a campaign", "campaign", CAMPAIGN.replace("sweep: {trace: [none]}", f"sweep: {{{key}: [{good}, {value}]}}"), "6: ", says)
      for key, good, value, says in (("segment", "1024B", "1B", "segment: 1B is out of range; write a value from 64B"), ("bundle", "500kB", "0", "bundle: 0 is out of range; write a value from 1"),
                                     ("duration", "100ms", "0s", "duration: 0s is out of range"), ("warmup", "50ms", "9s", "warmup: it must be shorter"),
                                     ("drop", "'report:first=2'", "'reprot:first=2'", "did you mean report?"))),
    Wrong("a wrong key of a channel", "channel", "forward: {bandwidth: 1Mbit/s}\n", "1: forward.bandwidth", "did you mean rate?"),
    Wrong("a wrong drop rule of a channel", "channel", "forward:\n  rules: [\"reprot:first=2\"]\n", "2: forward.rules", "did you mean report?"),
    Wrong("a wrong key of an SLE provider", "station", "id: STATION\nlisten: 127.0.0.1:5100\nuser: []\n", "3: user", "did you mean users?"),
)

COMMANDS = (
    Command("a wrong command", "helioctl --socket /none lnks", "did you mean links?"),
    Command("a link's change in another order", "helioctl --socket /none link to-2 set rate=1Mbit/s", "link set to-2 KEY=VALUE"),
    Command("a link's state in another order", "helioctl --socket /none link down to-2", "the link's name comes first; write: link NAME down"),
    Command("a link's state by another name", "helioctl --socket /none link to-2 off", "write: link NAME up|down, not off"),
    Command("a change without =", "helioctl --socket /none link set to-2 rate", "write KEY=VALUE, not rate"),
    Command("a wrong choice of bundles", "helioctl --socket /none bundles destinaton=ipn:2.0", "did you mean destination=?"),
    Command("no node is named", "helioctl links", "write --socket PATH or its CONFIG.yaml"),
    Command("a configuration that does not exist", "heliod --check FOLDER/gone.yaml", "gone.yaml: cannot be read: No such file or directory"),
    Command("an unknown option", "heliod --chek FOLDER/gone.yaml", "heliod: --chek is unknown; did you mean --check? Try"),
    Command("a misspelt option with a value", "helio-perf client --lifteime=5s", "helio-perf client: --lifteime is unknown; did you mean --lifetime?"),
    Command("a misspelt option behind another one", "helio-sim --rto 30ms --sesions 4", "helio-sim: --sesions is unknown; did you mean --sessions?"),
    Command("a wrong command of a tool", "helio-plan rout", "did you mean route?"),
    Command("a node that the plan does not have", "helio-plan route FOLDER/plan.yaml 1 9 1kB", "no contact of the plan has node 9"),
    Command("a wrong number of routes", "helio-plan route FOLDER/plan.yaml 1 2 1kB --alternatives many", "--alternatives: \"many\" is not understood; write a whole number from 1 to 1000"),
    Command("a node id in a plan's place", "helio-plan route FOLDER/plan.yaml ipn:1.0 2 1kB", "a plan has numbers of nodes; write 1"),
    Command("a plan in YAML by another name", "helio-plan check FOLDER/plan.txt", "rename the file to end in .yaml"),
    Command("a duration by another name", "helio-sim --rto 100msec", "write 100ms"),
    Command("a wrong drop rule", "helio-emu relay --listen 127.0.0.1:5 --to 127.0.0.1:6 --drop reprot:first=2", "did you mean report?"),
    Command("a wrong key of a rule", "helio-emu relay --listen 127.0.0.1:5 --to 127.0.0.1:6 --drop report:frist=2", "did you mean first?"),
    Command("no socket", "helio-ping ipn:2.128", "--socket"),
    Command("a number or a word", "helio-sim --sessions many", "--sessions: \"many\" is not understood; write a whole number from 1 to 65536, or auto"),
    Command("a short option", "helio-perf client -W 0", "-W: 0 is out of range; write a value from 1 to 1048576"),
    Command("another name of an option", "helio-perf client --count 0", "--count: 0 is out of range; write a value of at least 1"),
    Command("a share in percent", "helio-frames gen --erase 5%", "--erase: \"5%\" is not understood; write 0.05"),
    Command("no share", "helio-sle sim --loss 2", "--loss: \"2\" is not understood; write a number from 0 to below 1, such as 0.05"),
    Command("a mean margin without its unit", "helio-trace from-power x.csv --mean-margin 3",
            "--mean-margin: \"3\" is not understood; write a value from 0dB to 60dB, such as 3dB"),
    Command("an address without its port", "helio-csts monitor 127.0.0.1", "ADDRESS: \"127.0.0.1\" is not understood; write a numeric address and a port, such as 127.0.0.1:1113"),
    Command("another format", "helio-plan convert FOLDER/plan.yaml --to xml", "--to: \"xml\" is not known; write one of: yaml, ion, hdtn"),
    Command("an owner that is a node", "helio-plan follow f --socket s --control c --owner ipn:1.0", "--owner: \"ipn:1.0\" is not understood; write an endpoint of one node, such as ipn:2.71"),
    Command("no owner", "helio-plan follow f --socket s --control c", "--owner ENDPOINT is missing: the owner, such as ipn:1.70"),
    Command("a plan without dates for many nodes", "helio-plan publish FOLDER/plans FOLDER/plan.yaml", "it has times without a date; write start: DATE in it, or --start DATE"),
    Command("no such version", "helio-plan rollback FOLDER 7", "version 7: there is no such version; helio-plan versions shows them"),
    Command("a time of effect that is none", "helio-plan publish FOLDER FOLDER/plan.yaml --effect noon", "--effect: \"noon\" is not understood; write a date, such as 2026-11-22T12:00:00Z, or a time from now: 2h"),
    Command("a number that is no node", "helio-plan route FOLDER/plan.yaml 1 x 1kB", "TO: \"x\" is not understood; write the number of a node, such as 2"),
    Command("a duration of nothing", "helio-emu stream --duration 0", "--duration: 0 is out of range; write a value above 0"),
    Command("an option of the emulator", "helio-emu relay --delay 5", "--delay: both.delay: \"5\" is not understood; write a duration with its unit"),
    Command("a size that is too large", "helio-ltp send x --red 5GB", "--red: 5GB is out of range; write a value from 0 to 4.29GB, or all, or none"),
    Command("a time of a console", "helioctl --socket /none --timeout soon links", "--timeout: \"soon\" is not understood; write a time such as"),
    Command("a ping to the node itself", "helio-ping --socket /none ipn:2.0", "ipn:2.0 is the node itself, which does not answer; write its echo, ipn:2.128"),
    Command("a ping to a dtn node itself", "helio-ping --socket /none dtn://two/", "write its echo, dtn://two/echo"),
    Command("no endpoint", "helio-perf client --socket /none -n 1 -W 1", "-d EID is missing: the server's endpoint, such as ipn:2.2000"),
    Command("how much to send", "helio-perf client --socket /none -d ipn:2.2000 -W 1", "exactly one of -T, -D, -n and -F"),
    Command("a wrong command of a lab", "helio-lab FOLDER/lab.yaml chek", "did you mean check?"),
    Command("a lab that is started", "helio-lab FOLDER/lab.yaml start", "did you mean up?"),
    Command("a lab that does not exist", "helio-lab FOLDER/gone.yaml check", "gone.yaml"),
    Command("a trace that does not exist", "helio-sim --trace X", "; write a file, or A, F, H"),
)

PACKAGES = (
    Missing("a lab's file", "yaml", "helio-lab FOLDER/lab.yaml check", "the package python3-yaml has it (pip: PyYAML;"),
    Missing("a campaign's file", "yaml", "helio-campaign FOLDER/campaign.yaml --check", "the package python3-yaml has it (pip: PyYAML;"),
    Missing("tuning", "yaml", "helio-tune --trace none --duration 200ms", "the package python3-yaml has it (pip: PyYAML;"),
    Missing("a campaign's report", "jinja2", "helio-campaign FOLDER/campaign.yaml --out FOLDER/a", "the package python3-jinja2 has it (pip: Jinja2;"),
    Missing("a campaign's figures", "matplotlib", "helio-campaign FOLDER/campaign.yaml --out FOLDER/b", "the package python3-matplotlib has it"),
    Missing("numbers of figures", "numpy", "helio-campaign FOLDER/campaign.yaml --out FOLDER/c", "the package python3-"),
    Missing("passes of satellites", "sgp4", "helio-lab passes --tle FOLDER/tle --station rome=41.9,12.5", "the package python3-sgp4 has it (pip: sgp4;"),
    Missing("the analyzer's page", "jinja2", "helio-analyze --html FOLDER/page FOLDER/log.csv", "apt-get install heliograph-lab"),
    Missing("the analyzer's figures", "matplotlib", "helio-analyze --plot FOLDER/plots FOLDER/log.csv", "apt-get install heliograph-lab"),
    Missing("a trace's figure", "matplotlib", "helio-trace info A --plot FOLDER/a.png", "apt-get install heliograph-lab"),
    Missing("a plan's figure", "matplotlib", "helio-plan show FOLDER/plan.yaml --plot FOLDER/p.png", "apt-get install heliograph-lab"),
    Missing("namespaces of a lab", "ip", "helio-lab FOLDER/lab.yaml up --mode netns --out FOLDER/n", "the package iproute2 has it"),
)
