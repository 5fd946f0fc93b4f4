#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The site that tools/site.py makes: each link leads to a file and to a heading, and its search works in a page opened as a file.

usage: site.py OUT"""
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[2]
OUT = Path(sys.argv[1]).resolve()


def make(out):
    return subprocess.run([str(ROOT / "tools/site.py"), str(out)], capture_output=True, text=True, timeout=300)


def dead_links(out):
    """Links within the site whose file or heading is missing."""
    texts = {page: page.read_text(encoding="utf-8") for page in out.rglob("*.html")}
    names = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in texts.items()}
    seen = 0
    for page, text in texts.items():
        for link in map(unescape, re.findall(r'<a[^>]* href="([^"]+)"', text)):
            if re.match(r"[a-z]+:", link) or page.name == "404.html":
                continue
            path, _, heading = link.partition("#")
            target = (page.parent / unquote(path)).resolve() if path else page
            seen += 1
            if not target.exists():
                yield f"{page.relative_to(out)}: {link}: no such file"
            elif heading and target in names and unquote(heading) not in names[target]:
                yield f"{page.relative_to(out)}: {link}: no such heading"
    assert seen > 1000, f"only {seen} links seen"


def search(out, words):
    """The text of the search's page for these words, as a browser shows it."""
    browser = shutil.which("chromium")
    assert browser, "chromium is missing: tools/setup.sh test"
    shown = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=30000", "--dump-dom",
                            f"file://{out}/search.html?q={words}"], capture_output=True, text=True, timeout=300)
    return shown.stdout.partition('id="mkdocs-search-results"')[2]


site = OUT / "site"
shutil.rmtree(OUT, ignore_errors=True)
OUT.mkdir(parents=True)
done = make(site)
assert done.returncode == 0, done.stdout + done.stderr
pages = len(list((ROOT / "docs").glob("*.md")))
assert len(list((site / "docs").glob("*.html"))) == pages, "a page is missing"
dead = list(dead_links(site))
assert not dead, "\n".join(dead)

found = search(site, "report_defer")
assert "docs/recovery.html" in found, found[:2000]
assert "Nothing found" in search(site, "nosuchwordanywhere")

# an earlier site is replaced; a folder of the user's is not
assert make(site).returncode == 0
(OUT / "mine").mkdir()
(OUT / "mine/letter.txt").write_text("keep\n", encoding="utf-8")
refused = make(OUT / "mine")
assert refused.returncode == 1 and "is not empty" in refused.stderr and (OUT / "mine/letter.txt").exists(), refused
print(f"{pages} pages of docs, all links right, search works")
