#!/usr/bin/env python3
"""Holds programs of growth_program to a constant number of instructions for each step, whatever the number of steps.

usage: check_growth.py VALGRIND GROWTH_PERF PROGRAM

Instructions are counted by valgrind, so that the load of the machine does not matter. The cost of a step between the
second size and the third may exceed that between the first and the second by the factor of PROGRAMS.
"""

import re
import subprocess
import sys

# Arguments of growth_program for a number of steps, three numbers of steps, the largest ratio.
PROGRAMS = {
    "launches": (lambda n: ["launches", n, 10], (100, 250, 750), 1.01),
    "launches_without_wait": (lambda n: ["long_launches", n], (100, 250, 750), 1.01),
    # Bursts that have run on are taken back by each message that begins beside them: all that are under way.
    "small_chunks": (lambda n: ["small_chunks", n], (1024, 2048, 4096), 1.3),
    "streams": (lambda n: ["streams", n], (100, 300, 900), 1.2),
    "tensors": (lambda n: ["tensors", n], (500, 1000, 2500), 1.3),
    "part_overrides": (lambda n: ["part_overrides", n], (30, 90, 270), 1.5),
}


def instructions(valgrind, program, arguments):
    command = [valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null", program, *map(str, arguments)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", process.stderr)
    if process.returncode != 0 or not found:
        sys.exit(f"{' '.join(command)} failed:\n{process.stderr}")
    return int(found.group(1))


def main():
    valgrind, program, name = sys.argv[1:]
    arguments, sizes, most = PROGRAMS[name]
    counts = [instructions(valgrind, program, arguments(size)) for size in sizes]
    steps = [(counts[i + 1] - counts[i]) / (sizes[i + 1] - sizes[i]) for i in range(2)]
    print(f"{name}: {steps[0]:,.0f} instructions a step up to {sizes[1]}, {steps[1]:,.0f} up to {sizes[2]}")
    if steps[1] > most * steps[0]:
        sys.exit(f"the cost of a step grows by a factor of {steps[1] / steps[0]:.3f}, at most {most} is allowed")


if __name__ == "__main__":
    main()
