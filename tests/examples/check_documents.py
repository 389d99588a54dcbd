#!/usr/bin/env python3
"""Holds README.md to the programs: listings equal the example's source, outputs equal what a run prints.

A listing or an output stands between `<!-- KIND:NAME -->` and `<!-- /KIND:NAME -->`, as one fenced block:
  source:first_kernel    examples/first_kernel/first_kernel.cpp
  output:first_kernel    what that program prints
  output:gemm            what `kernbench run gemm …` prints for the 2048^3 GEMM, wall-clock figures aside
With KERNBENCH_UPDATE_GOLDEN=1 the blocks are rewritten instead.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
GEMM = ["run", "gemm", "-t", "ahbm-1sip", "-p", "dtype=f16", "-p", "M=2048", "-p", "N=2048", "-p", "K=2048"]
REGION = re.compile(r"<!-- (\w+):(\w+) -->\n(.*?)<!-- /\1:\2 -->", re.DOTALL)


def run(command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def without_wall_clock(text):
    return re.sub(r"wall time .*", "wall time …", text)


def block(language, text):
    return f"```{language}\n{text.rstrip()}\n```\n"


def expected(kind, name, options):
    if kind == "source":
        return block("cpp", (ROOT / "examples" / name / f"{name}.cpp").read_text())
    if kind == "output" and name == "gemm":
        return block("", run([options.kernbench, *GEMM]))
    if kind == "output":
        return block("", run([str(Path(options.programs) / name)]))
    raise ValueError(f"unknown region {kind}:{name}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kernbench", required=True)
    parser.add_argument("--programs", required=True)
    options = parser.parse_args()
    readme = ROOT / "README.md"
    text = readme.read_text()
    wrong = []

    def replace(match):
        kind, name, shown = match.groups()
        true = expected(kind, name, options)
        if without_wall_clock(shown) == without_wall_clock(true):
            return match.group(0)
        wrong.append(f"{kind}:{name}")
        return f"<!-- {kind}:{name} -->\n{true}<!-- /{kind}:{name} -->"

    new_text, regions = REGION.subn(replace, text)
    if regions < 3:
        sys.exit("README.md has lost a region: it needs source:first_kernel, output:first_kernel and output:gemm")
    if wrong and os.environ.get("KERNBENCH_UPDATE_GOLDEN") == "1":
        readme.write_text(new_text)
        print("updated:", ", ".join(wrong))
    elif wrong:
        sys.exit(f"README.md differs from what runs in {', '.join(wrong)}; KERNBENCH_UPDATE_GOLDEN=1 rewrites it")


if __name__ == "__main__":
    main()
