#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checks of words, sentences and public names can fail: each mutation of a good text is found, and the text itself is not.

usage: style_test.py"""
import sys
import tempfile
from pathlib import Path

import prose
import public_names

PAGE = "# Links\n\nA link has a peer. Its `carried` events are in the log.\n\n    this code is told nothing\n\n| key | meaning |\n|---|---|\n| a | b |\n"
SOURCE = '/* Sends a bundle. */\n#include "told.h"\nint told; /* `told`: a name */\nchar s[] = "a link"; // done\n'
PYTHON = '"""Runs a link."""\ntold = f"{told} links"  # done\n'
HEADER = "/* A box. */\nstruct box {\n    int a;\n};\n/* Opens it. */\nint box_open(struct box *b);\nvoid box_close(struct box *b); /* NULL is allowed */\n"
LONG = "This is " + "a word and " * 11 + "no more than that."

# (file, text before, text after)
MUTATIONS = [
    *(("page.md", "A link has a peer.", f"A link has {words}.") for words in (
        "a guest", "strangers", "two hubs", "a lane", "a peer of another make", "the peer of its next life", "a delay each way", "a house",
        "what the peer bears", "a guard", "a block that is given up", "a run that is over", "bundles that came", "data that it carried",
        "a reason that is told", "a bundle whose state is UNPLACED", "whoever connects", "data as far as it goes")),
    ("page.md", "# Links", "# Guests"),
    ("page.md", "| a | b |", "| a | the user is told |"),
    ("page.md", "A link has a peer.", LONG),
    ("page.md", "A link has a peer.", "- An item.\n- " + LONG),
    ("source.c", "Sends a bundle.", "A bundle that came."),
    ("source.c", "a link", "a guest"),
    ("source.c", "// done", "// went out"),
    ("module.py", "Runs a link", "Runs what came"),
    ("module.py", "# done", "# who is told"),
    ("header.h", "/* Opens it. */\n", ""),
    ("header.h", " /* NULL is allowed */", ""),
    ("header.h", "/* A box. */\n", ""),
]


def count(folder, name, text):
    """The faults of this text in a file of that name."""
    path = Path(folder) / name
    path.write_text(text, encoding="utf-8")
    return len(list(public_names.nameless(path) if name.endswith(".h") else prose.faults(name, text)))


def main():
    good = {"page.md": PAGE, "source.c": SOURCE, "module.py": PYTHON, "header.h": HEADER}
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        wrong += [f"{name}: a fault in a good text" for name, text in good.items() if count(folder, name, text) > 0]
        for name, before, after in MUTATIONS:
            if before not in good[name] or count(folder, name, good[name].replace(before, after)) != 1:
                wrong.append(f"{name}: {after!r} instead of {before!r} is not one fault")
    print("\n".join(wrong) or f"style test: {len(MUTATIONS)} mutations are found")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
