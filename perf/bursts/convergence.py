#!/usr/bin/env python3
"""Times of the shipped benches at several sizes of the fabric's burst, with fixed buffers.

    perf/bursts/convergence.py --kernbench build/release/bin/kernbench [--bursts 256B,4KiB] [--benches gemm,softmax]

Prints a Markdown table: for each bench the time of its launches (of its copies where it launches nothing) at the
smallest burst, and how much longer it is at the others. With --against another program, the same at its own default.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent

# name: (arguments, the topology)
BENCHES = {
    "vector_add": ([], "ahbm-1sip"),
    "gemm_single_pe": ([], "ahbm-1sip"),
    "gemm 1024": ([], "ahbm-1sip"),
    "gemm 2048": (["-p", "M=2048", "-p", "N=2048", "-p", "K=2048"], "ahbm-1sip"),
    "gemm rows": (["-p", "b=rows"], "ahbm-1sip"),
    "gemm cube_rows": (["-p", "b=cube_rows"], "ahbm-1sip"),
    "gemm transposed": (["-p", "transpose_b=true"], "ahbm-1sip"),
    "softmax": ([], "ahbm-1sip"),
    "layer_norm": ([], "ahbm-1sip"),
    "memory_sweep load": ([], "ahbm-1sip"),
    "memory_sweep store": (["-p", "access=store"], "ahbm-1sip"),
    "roofline": ([], "ahbm-1sip"),
    "copy_bandwidth": (["-p", "factor=16", "-p", "largest=16777216"], "ahbm-2sip"),
    "copy_bandwidth device": (["-p", "factor=16", "-p", "largest=16777216", "-p", "place=device"], "ahbm-2sip"),
    "va_offset_verify": ([], "ahbm-1sip"),
    "gpt3_qkv": ([], "ahbm-1sip"),
    "ccl_allreduce": ([], "ahbm-2sip"),
    "p2p_bandwidth": ([], "ahbm-2sip"),
    "scaled_add_ddp": ([], "ahbm-2sip"),
    "beside_traffic": (None, "ahbm-2sip"),  # the program beside this file: one row for each of its launches
}

# Room for a burst of 64 KiB and the way there and back of every link, whatever the burst.
BUFFERS = {
    "host.link": "256KiB",
    "system.sips.link": "512KiB",
    "sip.cubes.link": "128KiB",
    "cube.noc.link": "128KiB",
    "cube.hbm": "128KiB",
    "pe.tcm": "128KiB",
}


def run(program, bench, settings, collectives=None):
    arguments, topology = BENCHES[bench]
    source = str(HERE / "beside_traffic.cpp") if arguments is None else bench.split()[0]
    command = [program, "run", source, "-t", topology, "--no-data", "-q", "--json", "-"]
    command += arguments or []
    for setting in settings:
        command += ["--set", setting]
    with tempfile.TemporaryDirectory() as folder:
        if collectives is not None:
            Path(folder, "ccl.yaml").write_text(collectives)
        answer = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    if answer.returncode != 0:
        sys.exit(f"{' '.join(command)}: {answer.stderr}")
    return json.loads(answer.stdout)


def figures(result, bench):
    """Picoseconds by row."""
    if bench == "beside_traffic":
        small = {}
        for each in result["launches"]:
            name = each["name"].split("#")[0]
            if name in ("traffic", "fill"):
                continue
            small[f"{name} beside traffic"] = small.get(f"{name} beside traffic", 0) + each["end_ps"] - each["start_ps"]
        return small
    launches = [each for each in result["launches"] if each["in_region"]]
    spent = sum(each["end_ps"] - each["start_ps"] for each in launches)
    return {bench: spent if spent and "copy" not in bench else result["simulated_time_ps"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernbench", required=True)
    parser.add_argument("--bursts", default="64B,256B,1KiB,2KiB,4KiB,8KiB,16KiB,64KiB")
    parser.add_argument("--benches", default=",".join(BENCHES))
    parser.add_argument("--against", help="another program, both with their own defaults")
    options = parser.parse_args()
    benches = options.benches.split(",")
    if options.against:
        print("| bench | before | after | |\n|---|---|---|---|")
        for bench in benches:
            before = run(str(Path(options.against).resolve()), bench, [])
            after = run(str(Path(options.kernbench).resolve()), bench, [])
            now = figures(after, bench)
            for row, was in figures(before, bench).items():
                events = f"{before['events']:,} → {after['events']:,}"
                print(f"| {row} | {was / 1e6:.3f} us | {now[row] / 1e6:.3f} us | {(now[row] / was - 1) * 100:+.2f} % | {events} |",
                      flush=True)
        return
    bursts = options.bursts.split(",")
    print("| bench | " + " | ".join(bursts) + " |\n|" + "---|" * (len(bursts) + 1))
    buffers = [f"{part}.buffer={size}" for part, size in BUFFERS.items()]
    shipped = (HERE.parents[1] / "collectives" / "ccl.yaml").read_text()
    unit = next(line for line in shipped.splitlines() if "vc_chunk_size" in line)
    for bench in benches:
        rows = {}
        for burst in bursts:
            size = "16KiB" if burst == "64KiB" else burst  # of a slot
            collectives = shipped.replace(unit, f"  vc_chunk_size: {size}")
            result = run(str(Path(options.kernbench).resolve()), bench, [f"cube.noc.burst={burst}", *buffers], collectives)
            for row, time in figures(result, bench).items():
                rows.setdefault(row, []).append(time)
        for row, times in rows.items():
            cells = [f"{times[0] / 1e6:.3f} us"] + [f"{(time / times[0] - 1) * 100:+.2f} %" for time in times[1:]]
            print(f"| {row} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
