# SPDX-License-Identifier: Apache-2.0
"""A neighbour's bundles that the next hop refuses, over the contacts of a plan that another neighbour uses, too."""
import contextlib

from attack import main
from refused_again import DOWN, UP, measure_case

END = 600  # seconds of the plan


def write_plan(path):
    link = "rate: 100Mbit/s, owlt: 1ms"
    rows = [f"  - {{from: 1, to: 3, start: {t}s, end: {t + UP}s, {link}, both: yes}}" for t in range(0, END, UP + DOWN)]
    rows.append(f"  - {{from: 3, to: 9, start: 0s, end: {END}s, {link}, both: yes}}")  # node 3 does not know it
    with open(path, "w", encoding="utf-8") as f:
        f.write("contacts:\n" + "\n".join(rows) + "\n")


def run(scene):
    """Node 2's goodput to node 3 in the contacts of node 1's plan, beside node 4's bundles for node 9, which node 3 refuses."""
    scene.seconds = max(scene.seconds, 2 * (UP + DOWN))
    plan = scene.lab.path("plan.yaml")
    write_plan(plan)
    measure_case(scene, "contacts of a plan", lambda *_: contextlib.nullcontext(), extra=f"plan: {plan}\n")


if __name__ == "__main__":
    main(run)
