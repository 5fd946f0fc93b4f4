#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Green and orange blocks with an erasure code, over the Moon's fades in virtual time: the share of bundles that arrive. Bundles of 100 kB at
20 Mbit/s and 1.28 s light time, fresh realisations of trace F; orange bundles are sent again as often as recovery.resend says.
usage: erasure_colours.py BIN [--seeds 5001-5005] [--seconds 20]"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import erasure_fades as fades

CODES = ((None, ""), ((0.765, 2100, []), "0.765"), ((0.765, 2100, ["requests"]), "0.765, requests"))


def run(binaries, seed, colour, code, seconds):
    """Bundles that the peer's application acknowledged, of those that it was sent, and their mean time to the acknowledgement, s."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        trace, channel = folder / "f.htr", folder / "channel.yaml"
        subprocess.run([f"{binaries}/helio-trace", "gen", "--preset", "F", "--seed", str(seed), "-o", trace], check=True, stdout=subprocess.DEVNULL)
        channel.write_text(f"forward: {{rate: 20Mbit/s, delay: 1.28s, erasures: {{trace: {trace}}}}}\nreturn: {{delay: 1.28s}}\n", encoding="utf-8")
        nodes = [word for n in (1, 2) for word in ("--node", fades.write_node(folder, n, code, rate="20Mbit/s", colour=colour))]
        done = subprocess.run([f"{binaries}/helio-sim", *nodes, "--channel", channel, "--client", f"-d ipn:2.2000 -T {seconds} -W 200 -P 100kB",
                               "--duration", f"{seconds + 30}s", "--json"], check=False, capture_output=True, text=True)  # 1: some were lost
        client = json.loads(done.stdout)["clients"][0]
        return 100 * client["bundles_acked"] / client["bundles_sent"], client["goodput_bps"] / 1e6


def main():
    parser = argparse.ArgumentParser(description="green and orange blocks with an erasure code")
    parser.add_argument("binaries")
    parser.add_argument("--seeds", default="5001-5005")
    parser.add_argument("--seconds", type=int, default=20)
    args = parser.parse_args()
    first, last = (int(word) for word in args.seeds.split("-"))
    for colour in ("green", "orange", "red"):
        for code, words in CODES:
            shares, rates = zip(*(run(args.binaries, seed, colour, code, args.seconds) for seed in range(first, last + 1)))
            share, rate = fades.interval(list(shares)), fades.interval(list(rates))
            print(f"| {colour} | {words or 'no code'} | {share['mean']:.1f} ± {share['ci95']:.1f} % | {rate['mean']:.2f} ± {rate['ci95']:.2f} |", flush=True)


if __name__ == "__main__":
    main()
