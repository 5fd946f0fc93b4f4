#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The pages as a site that can be searched. It needs neither network nor server: open OUT/index.html.

usage: site.py [OUT]     OUT: a new or earlier site's folder (default out/site); exit code 0, or 1 where a page or a link is wrong

Needs mkdocs (Debian: mkdocs)."""
import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\[([^\]]*)\]\(([^()\s#]+)(?:#[^()\s]*)?\)")
MARK = "helio-site.txt"  # tells an earlier site, which may be replaced, from a folder of the user's


# Tables as wide as the window; on a phone they scroll.
STYLE = """.wy-nav-content { max-width: 75rem }
.rst-content table { display: block; overflow-x: auto; border: 0 }
.rst-content th, .rst-content td { padding: .3rem .6rem; vertical-align: top; text-align: left }
"""
# mkdocs' own search asks a server for its index; a page opened as a file may only load scripts.
SEARCH = """(function () {
    const query = new URLSearchParams(location.search).get("q") || "";
    const place = document.getElementById("mkdocs-search-results");
    const field = document.getElementById("mkdocs-search-query");
    if (!place) return;
    function load(name, then) {
        const script = document.createElement("script");
        script.src = base_url + "/search/" + name;
        script.onload = then;
        document.head.appendChild(script);
    }
    function add(parent, tag, text) {
        const element = parent.appendChild(document.createElement(tag));
        element.textContent = text;
        return element;
    }
    function around(text, words) {
        const at = Math.max(0, ...words.map(word => text.toLowerCase().indexOf(word)));
        return (at > 80 ? "\u2026 " : "") + text.slice(Math.max(0, at - 80), at + 240) + " \u2026";
    }
    function name(page) { // a section with its page
        const whole = pages.find(other => other.location === page.location.split("#")[0]);
        return whole && whole !== page ? whole.title + ": " + page.title : page.title;
    }
    function show() {
        lunr.tokenizer.separator = /[\s:,;()]+/;
        const index = lunr(function () {
            this.ref("place");
            this.field("title", { boost: 10 });
            this.field("text");
            pages.forEach((page, place) => this.add({ place, title: page.title, text: page.text }));
        });
        const words = query.toLowerCase().split(/\s+/).filter(word => word);
        const found = index.query(q => words.forEach(word => {
            q.term(lunr.tokenizer(word), { boost: 10 });
            q.term(word, { wildcard: lunr.Query.wildcard.TRAILING, usePipeline: false });
        }));
        place.textContent = "";
        add(place, "p", found.length ? found.length + " results" : "Nothing found for \u201c" + query + "\u201d.");
        for (const { ref } of found.slice(0, 50)) {
            const page = pages[ref], article = add(place, "article", "");
            add(add(article, "h3", ""), "a", name(page)).href = base_url + "/" + page.location;
            add(article, "p", around(page.text, words));
        }
    }
    if (field) field.value = query;
    if (query) load("lunr.js", () => load("pages.js", show));
})();
"""


def pages():
    """The pages, relative to the root: those that git has, or in an unpacked source archive those that are there."""
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "*.md"], capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        return [Path(name) for name in listed.stdout.split()]
    skipped = {"build", "out"}
    return [p.relative_to(ROOT) for p in sorted(ROOT.rglob("*.md")) if p.relative_to(ROOT).parts[0] not in skipped]


def links(page):
    """What the page links to within the project: files, relative to the root."""
    for _, target in LINK.findall((ROOT / page).read_text(encoding="utf-8")):
        path = (ROOT / page.parent / target).resolve()
        if not re.match(r"[a-z]+:", target) and path.is_file() and path.is_relative_to(ROOT):
            yield path.relative_to(ROOT)


def stage(folder):
    """Copies the pages and the files that they show or link to, in their folders, so that each relative link stays right."""
    for page in pages():
        for name in {page, *links(page)}:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)


def reading_order():
    """The navigation: the sections of docs/README.md and their pages."""
    order = []
    for line in (ROOT / "docs/README.md").read_text(encoding="utf-8").splitlines():
        if section := re.fullmatch(r"\*\*(.+)\*\*", line):
            order.append({section[1]: []})
        elif order:
            order[-1][next(iter(order[-1]))] += [(Path("docs") / target).as_posix() for _, target in LINK.findall(line)]
    return [{name: [path.removeprefix("docs/../") for path in paths]} for section in order for name, paths in section.items()]


def anchor(title, separator):
    """A heading's name in links: as code forges make it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", separator)


def build(staged, out):
    from mkdocs.commands.build import build as mkdocs_build
    from mkdocs.config import load_config

    empty = staged.parent / "site.yml"
    empty.write_text("site_name: Heliograph\n", encoding="utf-8")
    mkdocs_build(load_config(
        str(empty), docs_dir=str(staged), site_dir=str(out), nav=reading_order(), strict=True, use_directory_urls=False,
        theme={"name": "readthedocs", "highlightjs": False, "include_homepage_in_sidebar": False},
        extra_css=["site.css"], markdown_extensions=["sane_lists", {"toc": {"slugify": anchor, "permalink": False}}], plugins=["search"]))


def write_search(out):
    """Replaces mkdocs' search by one that works in a page opened as a file."""
    index = json.loads((out / "search/search_index.json").read_text(encoding="utf-8"))
    (out / "search/pages.js").write_text(f"const pages = {json.dumps(index['docs'])};\n", encoding="utf-8")
    (out / "search/main.js").write_text(SEARCH, encoding="utf-8")
    for unused in ("search_index.json", "worker.js"):
        (out / "search" / unused).unlink()


def main():
    args = argparse.ArgumentParser(description="The pages as a site that can be searched.", epilog="example: tools/site.py /tmp/pages")
    args.add_argument("out", nargs="?", type=Path, default=ROOT / "out/site", help="a new or earlier site's folder (default: out/site)")
    out = args.parse_args().out.resolve()
    if out.exists() and any(out.iterdir()) and not (out / MARK).exists():
        print(f"site: {out} is not empty and no earlier site; name another folder", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        staged = Path(folder) / "pages"
        stage(staged)
        (staged / MARK).write_text("This folder is made by tools/site.py, which replaces it whole.\n", encoding="utf-8")
        (staged / "site.css").write_text(STYLE, encoding="utf-8")
        try:
            build(staged, out)
        except ImportError:
            print("site: mkdocs is not installed (Debian: apt-get install mkdocs)", file=sys.stderr)
            return 1
        write_search(out)
    print(f"site: {len(list(out.rglob('*.html')))} pages in {out}: open {out}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
