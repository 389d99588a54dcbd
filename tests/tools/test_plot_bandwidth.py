"""plot_bandwidth draws each algorithm's line where its figures are, and refuses what is no table of kernbench ccl."""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "tools/plot_bandwidth"
HEAD = "operation,algorithm,ranks,size,count,type,redop,root,form,time_us,algbw,busbw,wrong\n"
SVG = "{http://www.w3.org/2000/svg}"


def row(algorithm, size, busbw, form="in_place"):
    return f"all_reduce,{algorithm},4,{size},1,float,sum,-1,{form},1,1,{busbw},\n"


def run(text, *options):
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write(text)
        file.flush()
        return subprocess.run([sys.executable, SCRIPT, file.name, *options], capture_output=True, text=True, check=False)


class PlotBandwidth(unittest.TestCase):
    def lines(self, text):
        done = run(text)
        self.assertEqual(done.returncode, 0, done.stderr)
        root = ElementTree.fromstring(done.stdout)
        return [[tuple(map(float, point.split(","))) for point in line.get("points").split()]
                for line in root.iter(SVG + "polyline")]

    def test_points_lie_at_the_logarithm_of_size_and_bandwidth(self):
        (line,) = self.lines(HEAD + row("ring", 1024, 1) + row("ring", 4096, 10) + row("ring", 16384, 100))
        (x0, y0), (x1, y1), (x2, y2) = line
        self.assertAlmostEqual(x1 - x0, x2 - x1, delta=0.2)
        self.assertAlmostEqual(y0 - y1, y1 - y2, delta=0.2)
        self.assertGreater(y0, y1)

    def test_each_algorithm_has_one_line_whatever_the_form(self):
        text = HEAD + row("ring", 8, 1) + row("ring", 8, 9, "out_of_place") + row("ring", 16, 2) + row("tree", 8, 3)
        self.assertEqual([len(line) for line in self.lines(text)], [2, 1])

    def test_names_at_the_end_do_not_cover_each_other(self):
        done = run(HEAD + "".join(row(f"a{i}", size, 1 + i / 1000) for i in range(5) for size in (8, 16)))
        places = [float(y) for y in re.findall(r'x="720" y="([\d.]+)"', done.stdout)]
        self.assertEqual(len(places), 5)
        self.assertGreaterEqual(min(b - a for a, b in zip(sorted(places), sorted(places)[1:])), 14)

    def test_a_name_is_escaped(self):
        self.assertIn("a&lt;b", run(HEAD + row("a<b", 8, 1)).stdout)

    def test_what_is_no_table_is_refused(self):
        self.assertIn("no row of kernbench ccl", run("a,b\n1,2\n").stderr)
        self.assertIn("no row with a size", run(HEAD).stderr)
        self.assertEqual(run(HEAD).returncode, 2)


if __name__ == "__main__":
    unittest.main()
