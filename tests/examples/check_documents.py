#!/usr/bin/env python3
"""Holds the documents to the programs: listings equal the sources, outputs equal what a run prints.

A listing or an output stands between `<!-- KIND: WHAT -->` and `<!-- end -->`, as one fenced block:
  source: examples/first_kernel/first_kernel.cpp    that file
  output: kernbench run gemm -t tiny                what the command prints (run in the repository's root)
  output: kernbench run gemm (section Metrics)      of that the part under this title, up to the next empty line
Of several commands, joined by `&&`, the last one's output is shown; $TMP is a folder for what they hand on.
The block of an output begins with the commands, since readers do not see the comment.
Wall-clock figures may differ. A command that is expected to fail says so: `output: kernbench run … (exit 3)`.
With KERNBENCH_UPDATE_GOLDEN=1 the blocks are rewritten instead.
"""

import argparse
import functools
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
REGION = re.compile(r"<!-- (source|output): (.+?) -->\n(.*?)<!-- end -->", re.DOTALL)
EXIT = re.compile(r" \(exit (\d+)\)$")
SECTION = re.compile(r" \(section (.+)\)$")
MOST_COLUMNS = 110
LANGUAGES = {".cpp": "cpp", ".h": "cpp", ".yaml": "yaml", ".txt": "cmake", ".py": "python"}
# What must be there: a document that loses all its regions would be held to nothing.
LEAST_REGIONS = {"README.md": 3, "docs/benches.md": 1}


def without_wall_clock(text):
    return re.sub(r"wall time .*", "wall time …", text)


def block(language, text):
    return f"```{language}\n{text.rstrip()}\n```\n"


def typed(command):
    """The command as a reader types it, with an option and its value on one line."""
    lines = ["$ kernbench"]
    for part in re.split(r" (?=-)", command.replace("$TMP/", "").removeprefix("kernbench ")):
        if len(lines[-1]) + len(part) > MOST_COLUMNS:
            lines[-1] += " \\"
            lines.append("   ")
        lines[-1] += " " + part
    return "\n".join(lines) + "\n"


def commands_of(what):
    commands = "".join(map(typed, EXIT.sub("", SECTION.sub("", what)).split(" && ")))
    return commands + ("…\n" if SECTION.search(what) else "")


def run(what, kernbench, temporary, expected_exit=0):
    command = shlex.split(what.replace("$TMP", temporary))
    if command[0] != "kernbench":
        sys.exit(f"`{what}`: outputs are those of kernbench")
    command[0] = kernbench
    environment = {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=200, check=False)
    if done.returncode != expected_exit:
        sys.exit(f"`{what}` ended with exit code {done.returncode}:\n{done.stdout}{done.stderr}")
    return (done.stdout + (done.stderr if expected_exit else "")).replace(temporary + "/", "")


@functools.cache
def output_of(what, kernbench):
    """Of a command of which a document shows two sections as of one that it shows once."""
    expected_exit = EXIT.search(what)
    *before, last = EXIT.sub("", what).split(" && ")
    with tempfile.TemporaryDirectory() as temporary:
        for command in before:
            run(command, kernbench, temporary)
        return run(last, kernbench, temporary, int(expected_exit.group(1)) if expected_exit else 0)


def section_of(output, title, what):
    for part in output.split("\n\n"):
        if part.split("\n", 1)[0] == title:
            return part
    sys.exit(f"`{what}`: the output has no section {title}")


def expected(kind, what, kernbench):
    if kind == "source":
        path = ROOT / what
        if not path.is_file():
            sys.exit(f"a document shows {what}, which does not exist")
        return block(LANGUAGES.get(path.suffix, ""), path.read_text())
    output = output_of(SECTION.sub("", what), kernbench)
    if section := SECTION.search(what):
        output = section_of(output, section.group(1), what)
    return block("", commands_of(what) + output)


def check(document, kernbench):
    """The regions of one document that differ from what is true."""
    name = document.relative_to(ROOT).as_posix()
    text = document.read_text()
    wrong = []

    def replace(match):
        kind, what, shown = match.groups()
        true = expected(kind, what, kernbench)
        if without_wall_clock(shown) == without_wall_clock(true):
            return match.group(0)
        wrong.append(f"{name}: {kind}: {what}")
        return f"<!-- {kind}: {what} -->\n{true}<!-- end -->"

    new_text, regions = REGION.subn(replace, text)
    if regions < LEAST_REGIONS.get(name, 0):
        sys.exit(f"{name} has lost a region: it needs at least {LEAST_REGIONS[name]} of {REGION.pattern}")
    if regions != len(re.findall(r"^<!-- (?:source|output):", text, re.MULTILINE)):
        sys.exit(f"{name} has a region without its `<!-- end -->`")
    if wrong and os.environ.get("KERNBENCH_UPDATE_GOLDEN") == "1":
        document.write_text(new_text)
    return wrong


def programs_that_nothing_runs(documents):
    """Programs that a document lists and no output is of: whoever reads them runs them as they stand."""
    regions = [match.groups()[:2] for document in documents for match in REGION.finditer(document.read_text())]
    listed = {what for kind, what in regions if kind == "source" and what.endswith(".cpp")}
    run_by = {word for kind, what in regions if kind == "output" for word in EXIT.sub("", what).split()}
    return sorted(listed - run_by)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kernbench", required=True)
    options = parser.parse_args()
    documents = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if idle := programs_that_nothing_runs(documents):
        sys.exit("documents list programs without an output of `kernbench run`:\n  " + "\n  ".join(idle))
    wrong = [region for document in documents for region in check(document, options.kernbench)]
    if not wrong:
        return
    if os.environ.get("KERNBENCH_UPDATE_GOLDEN") == "1":
        print("updated:", *wrong, sep="\n  ")
    else:
        sys.exit("documents differ from what runs (KERNBENCH_UPDATE_GOLDEN=1 rewrites them):\n  " + "\n  ".join(wrong))


if __name__ == "__main__":
    main()
