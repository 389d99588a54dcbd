#!/usr/bin/env python3
"""Checks that the pictures in docs/pictures show the figures of the topologies that they are drawn after.

Each key below has the text in which the picture shows its value, with {} in its place. A value is shown as in the file, with a
space before its unit; a mesh as "4 x 2". Pictures stay small, and their text is text.
"""

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent.parent
PICTURES = ROOT / "docs/pictures"
TOPOLOGIES = ("ahbm-1sip", "ahbm-2sip")
LARGEST = 20_000  # bytes

SHOWN = {
    "machine.svg": {
        "host.link.bandwidth": "{}",
        "host.link.latency": "{}",
        "system.sips.link.bandwidth": "{},",
        "system.sips.link.latency": ", {} between IO chiplets",
        "sip.cubes.mesh": "{} cubes",
        "sip.cubes.link.bandwidth": "cube to cube: {},",
        "sip.cubes.link.latency": ", {}. All figures",
        "cube.pes.mesh": "{} PEs",
        "cube.noc.link.bandwidth": "router: {},",
        "cube.noc.link.latency": ", {} to the next one",
        "cube.hbm.bandwidth": "HBM of the cube: {},",
        "cube.hbm.capacity": ", {},",
        "cube.hbm.channels": "{} channels",
        "cube.hbm.latency": "{}",
        "cube.sram.capacity": "{}",
        "cube.sram.bandwidth": "{}",
    },
    "pe.svg": {
        "pe.clock": "clock {}",
        "pe.contexts": "{} contexts",
        "pe.control.start_latency": "program start {}",
        "pe.control.issue": "one command {}",
        "pe.control.scalar_read": "reading a scalar {}",
        "pe.gemm.array": "{} cells",
        "pe.gemm.queue": "queue of {}",
        "pe.vector.lanes": "{} lanes",
        "pe.vector.queue": "queue of {}",
        "pe.tcm.capacity": "{} of tiles",
        "pe.dma.queues": "{} queues of",
        "pe.dma.depth": "queues of {} descriptors",
        "pe.dma.outstanding": "{} under way in each",
        "pe.dma.setup": "set-up {}",
        "pe.mmu.tlb_entries": "{} pages",
        "pe.mmu.page": "pages of {}",
        "pe.mmu.miss": "a miss {}",
        "pe.ipcq.queues": "{} queues to send",
        "pe.ipcq.capacity": "{} of slots",
        "pe.ipcq.signals": "{} signals",
        "cube.hbm.latency": ", {}",
        "cube.noc.link.bandwidth": "{},",
        "cube.noc.link.latency": ", {}",
    },
}


def values_of(topology):
    """The leaves of a shipped topology by path; its files are plain nested mappings."""
    path, values = [], {}
    for line in (ROOT / "topologies" / f"{topology}.yaml").read_text().splitlines():
        match = re.match(r"( *)(\w+):\s*([^#]*)", line)
        if not match:
            continue
        path = [*path[: len(match.group(1)) // 2], match.group(2)]
        if match.group(3).strip():
            values[".".join(path)] = match.group(3).strip()
    return values


def as_shown(value):
    mesh = re.fullmatch(r"\[(\d+), (\d+)\]", value)
    return f"{mesh.group(1)} x {mesh.group(2)}" if mesh else re.sub(r"(?<=\d)(?=[A-Za-z])", " ", value)


def findings(picture, shown, values):
    path = PICTURES / picture
    texts = [element.text or "" for element in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]
    if path.stat().st_size > LARGEST:
        yield f"{picture} has {path.stat().st_size} bytes, more than {LARGEST}"
    for key, form in shown.items():
        expected = form.format(as_shown(values[key]))
        if not any(re.search(rf"(?<![\d.]){re.escape(expected)}(?![\w])", text) for text in texts):
            yield f"{picture} does not say \"{expected}\" for {key}"


def main():
    wrong = [finding for topology in TOPOLOGIES for picture, shown in SHOWN.items()
             for finding in findings(picture, shown, values_of(topology))]
    if wrong:
        sys.exit("\n".join(dict.fromkeys(wrong)))


if __name__ == "__main__":
    main()
