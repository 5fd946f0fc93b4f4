# SPDX-License-Identifier: Apache-2.0
"""Is a lab right, as the mode has it that it would run in? Nothing is started."""
import tempfile
import time

from . import lab_derive, lab_live, lab_sim


def check(lab, mode):
    """Lets each program read what it would get; PlacesError."""
    with tempfile.TemporaryDirectory(prefix="helio-lab-") as folder:
        if mode == "sim":
            derived = lab_sim.derive(lab, folder, folder)
        else:
            addresses = lab_derive.SpaceAddresses(lab) if mode == "netns" else lab_derive.Addresses(lab, 20000)
            begin = lab_live.utc(int(time.time()) + 60)
            derived = lab_derive.derive(lab, folder, folder, addresses, begin)
        lab_derive.write(derived)
        lab_derive.check(derived)
        if mode == "sim":
            lab_sim.command_line(lab, derived)
        else:
            lab_derive.check_events(lab, addresses, begin)
