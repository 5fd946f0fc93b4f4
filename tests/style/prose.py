#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plain words: the pages, and the comments and texts of C and Python sources, use the standards' terms and not the words
below. No sentence of a page has more than 35 words.

usage: prose.py [FILE...]     without one: all of the checkout; exit code 0, or 1 and a line for each fault"""
import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

SENTENCE_MAX = 35
NOT_OURS = ("CHANGELOG.md",)  # names what was renamed

# word (a regular expression), and what to write
WORDS = [(re.compile(rf"(?<![\w-])(?:{word})(?![\w-])", re.IGNORECASE), right) for word, right in (
    (r"guests?|strangers?|newcomers?", "unconfigured peer"),
    (r"bears|bearings?|bore|borne", "supports; peer capabilities"),
    (r"guards?|guarded", "authentication; protects"),
    (r"hubs?", "local endpoint"),
    (r"lanes?", "queue"),
    (r"(?:link|bundle)'s ways?|ways? of (?:a|an|the|one|each|this) (?:link|bundle)|each way", "direction; route"),
    (r"(?:an)?(?:other|any|same) makes?|makes? of (?:a |the )?(?:peer|receiver|sender)s?", "implementation"),
    (r"colours? of (?:a|an|the|its|this) (?:bundle|block)s?|(?:bundle|block)'s colours?", "service class (red, green, orange)"),
    (r"(?:next|last|former|earlier|present|new|one|two|both|its|other) (?:life|lives)|life of (?:a|an|the) (?:node|engine|peer|receiver)",
     "run, incarnation"),
    (r"g[ai]ve[sn]? up|giving up", "failed after N attempts"),
    (r"(?:is|are|was|were) over(?= *(?:[.,;:!?)]|and |$))", "finished"),
    (r"carried|came|went(?! (?:up|down|back|wrong)\b)", "transmitted, forwarded, received"),
    (r"as it falls|as far as it (?:goes|reaches)", "by default; up to the limit"),
    (r"told", "reported, logged, shown, documented"),
    (r"houses?|rooms", "modules, layers"),
    (r"whoever", "name who it is"),
)] + [(re.compile(r"\b(?:UNPLACED|PIECE|ASIDE)\b"), "dispatch pending, reassembly pending, no route")]

# Terms: what is permitted where. (path, text, why)
TERMS = [
    ("lab/heliograph/campaign/data.py", '"carried, by', "the carried share's text in tables"),
    ("", '"carried', "an event of the bundle log, a field of helio-sim"),
    ("", "CARRIED", "the same"),
    ("", "carried share", "the term of docs/glossary.md"),
    ("", "share carried", "its column in tables"),
    ("docs/scenario.md", "guard slots", "PPM's term"),
    ("erasure/", "lane", "of a vector of the processor"),
    ("cla/tcpcl/", '"newcomers"', "an old name of a key, which its error message needs"),
]


def is_term(path, text, start, end):
    """Is the word at [start, end) of the text a part of a permitted one?"""
    return any(where in path and (at := text.find(term, max(0, start - len(term)), end + len(term))) >= 0
               and at < end and start < at + len(term) for where, term, _ in TERMS)


C_PROSE = re.compile(r'^[ \t]*#[ \t]*include[^\n]*|/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'',
                     re.DOTALL | re.MULTILINE)


def c_prose(text):
    """(line, comment or string) of a C source. Names between backquotes count in neither."""
    for match in C_PROSE.finditer(text):
        if match[0][0] in "/\"":
            yield text.count("\n", 0, match.start()) + 1, re.sub(r"\n[ \t]*\*?", "\n", match[0])


def python_prose(text):
    """(line, comment or string) of Python. A formatted string counts without what it formats."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT):
            yield token.start[0], re.sub(r"\{[^{}]*\}", lambda m: "{" * len(m[0]), token.string)


def page_prose(text):
    """(line, paragraph, item or cell of a table) of a page, without code blocks."""
    fenced, parts, first = False, [], 0
    for number, line in enumerate([*text.split("\n"), ""], 1):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        bare = line.strip()
        code = fence or fenced or (line.startswith("    ") and not parts and not re.match(r"[-*] ", bare))
        if parts and (not bare or code or re.match(r"[|#]|[-*] |\d+\. ", bare)):
            yield first, " ".join(parts)
            parts = []
        if bare.startswith("#") and not code:
            yield number, bare
        if not bare or code or bare.startswith(("#", "|--")):
            continue
        if bare.startswith("|"):
            yield from ((number, cell) for cell in re.split(r"(?<!\\)\|", bare))
            continue
        first = first if parts else number
        parts.append(bare)


def sentences(text):
    """The sentences of a paragraph; a colon ends one, too. Code counts as one word."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "code", text))
    return re.split(r"(?<=[.!?:])[)*\"]*\s+", text)


def faults(path, text):
    page = path.endswith(".md")
    for first, part in page_prose(text) if page else python_prose(text) if path.endswith(".py") else c_prose(text):
        flat = re.sub(r"`[^`]*`", lambda m: "`" * len(m[0]), re.sub(r"\s", " ", part))
        for pattern, right in WORDS:
            for match in pattern.finditer(flat):
                if not is_term(path, flat, *match.span()):
                    line = first + part.count("\n", 0, match.start())
                    yield f"{path}:{line}: \"{match[0]}\"; write: {right}"
        for sentence in sentences(part) if page else ():
            count = sum(bool(re.search(r"\w", word)) for word in sentence.split())
            if count > SENTENCE_MAX:
                yield f"{path}:{first}: a sentence of {count} words; {SENTENCE_MAX} at most: {sentence[:60]}…"


def main():
    names = sys.argv[1:] or subprocess.run(["git", "ls-files", "*.md", "*.c", "*.h", "lab/heliograph/*.py", "tools/*.py", ":!tests/*.c", ":!tests/*.h"],
                                           capture_output=True, text=True, check=True).stdout.split()
    found = [fault for name in names if Path(name).name not in NOT_OURS
             for fault in faults(name, Path(name).read_text(encoding="utf-8"))]
    print("\n".join(found) or f"prose: {len(names)} files")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
