"""The list of planted defects fits the sources: each has its place, and the script says so when one has not."""

import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


class PlantedDefectsTest(unittest.TestCase):
    def test_every_defect_has_its_place(self):
        done = subprocess.run([sys.executable, "-B", ROOT / "tools/planted_defects", "--check"], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreaterEqual(int(done.stdout.split()[0]), 40)

    def test_an_unknown_defect_is_an_error(self):
        done = subprocess.run([sys.executable, "-B", ROOT / "tools/planted_defects", "--only", "no such promise"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no defect has", done.stderr)


if __name__ == "__main__":
    unittest.main()
