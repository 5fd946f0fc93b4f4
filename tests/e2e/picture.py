# SPDX-License-Identifier: Apache-2.0
"""Pictures in docs/figures of pages and terminals, made by the tests. With HELIO_PICTURES=1 a test writes them. Without, it compares what
a picture shows (headings, columns, keys: pictures.json) with what is there now, so no picture stays that shows something else.

    HELIO_PICTURES=1 ctest -R 'e2e_(watch|http|lab_page|analyze_page|dashboard)$'
"""
import html
import json
import os
from pathlib import Path

FIGURES = Path(__file__).resolve().parent.parent.parent / "docs/figures"
LISTED = FIGURES / "pictures.json"
SHOWN = "[...document.querySelectorAll('h2, th, .tile > span:first-child, button')].filter((e) => e.getBoundingClientRect().width > 0).map((e) => e.innerText.replace(/[0-9]+/g, '#').trim())"


def compare(name, words):
    """True: the picture is to be written."""
    listed = json.loads(LISTED.read_text(encoding="utf-8")) if LISTED.exists() else {}
    if os.environ.get("HELIO_PICTURES"):
        LISTED.write_text(json.dumps({**listed, name: words}, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
        return True
    assert listed.get(name) == words, f"docs/figures/{name} shows {listed.get(name)}, now there is {words}: make it anew ({__file__})"
    return False


def of_page(page, name, whole=True):
    if compare(name, page.evaluate(SHOWN)):
        page.screenshot(FIGURES / name, whole=whole)


def of_terminal(lines, name, words):
    """An SVG of a terminal's lines. words: what of them has no figures."""
    if not compare(name, words):
        return
    wide, high = 8 * max(map(len, lines)) + 24, 18 * len(lines) + 24
    rows = "".join(f'<text x="12" y="{18 * i + 26}" xml:space="preserve">{html.escape(line)}</text>\n' for i, line in enumerate(lines) if line)
    (FIGURES / name).write_text(f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}">\n<rect width="100%" height="100%" fill="#12161d" rx="6"/>\n'
                                f'<g font-family="monospace" font-size="13" fill="#e4e8ef">\n{rows}</g></svg>\n', encoding="utf-8")
