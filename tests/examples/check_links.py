#!/usr/bin/env python3
"""Checks that the documents name files that exist: relative links, their anchors, and paths in backticks.

A path in backticks is checked when it begins with a folder of the repository (`src/sim/fiber.h`, `tests/tile/`). A `*` must
match something; of `src/hardware/<component>/` and `benches/NAME.cpp` the folder is checked.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDERS = ("src", "include", "tests", "docs", "benches", "examples", "topologies", "collectives", "tools", "perf", "cmake")
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?)\s*$", re.MULTILINE)
ANCHOR = re.compile(r'<a (?:id|name)="([^"]+)"')
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
PATH = re.compile(rf"(?:{'|'.join(FOLDERS)})/[\w./<>*-]*")
PLACEHOLDER = re.compile(r"<|\b[A-Z]{4,}\b")


def slug(title):
    """The anchor that a heading gets."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(path):
    text = FENCE.sub("", path.read_text())
    return {slug(title) for title in HEADING.findall(text)} | set(ANCHOR.findall(text))


def wrong_links(document, text):
    for link in LINK.findall(SPAN.sub("", text)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (document.parent / name).resolve() if name else document
        if not target.exists():
            yield f"link to {link}, which does not exist"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            yield f"link to {link}, but {target.name} has no such heading"


def wrong_paths(text):
    for span in SPAN.findall(text):
        if not PATH.fullmatch(span):
            continue
        shown = span
        while PLACEHOLDER.search(shown):
            shown = shown.rpartition("/")[0]
        if not any(ROOT.glob(shown.rstrip("/"))):
            yield f"`{span}`, which does not exist"


def findings(document):
    text = FENCE.sub("", document.read_text())
    return [*wrong_links(document, text), *wrong_paths(text)]


def documents():
    yield ROOT / "README.md"
    for folder in ("docs", "src", "include", "tests", "examples"):
        yield from sorted((ROOT / folder).rglob("*.md"))


def main():
    wrong = [f"{document.relative_to(ROOT)}: {finding}" for document in documents() for finding in findings(document)]
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
