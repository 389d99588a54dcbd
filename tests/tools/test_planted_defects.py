"""The list of planted defects fits the sources: each has its place, and the script says so when one has not."""

import importlib.machinery
import importlib.util
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent.parent


def planted_defects():
    """The script as a module."""
    loader = importlib.machinery.SourceFileLoader("planted_defects", str(ROOT / "tools/planted_defects"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("planted_defects", loader))
    loader.exec_module(module)
    return module


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

    def test_a_program_of_every_layer_with_defects_is_known(self):
        module = planted_defects()
        for defect in module.read_list()[0]:
            self.assertTrue(module.programs_of(defect), defect["promise"])

    def test_processor_time_ends_a_program_and_a_busy_machine_does_not(self):
        module = planted_defects()
        module.PROCESSOR_LIMIT = 1
        with tempfile.TemporaryDirectory() as folder:
            copy = module.Copy.__new__(module.Copy)
            copy.build = Path(folder)
            copy.run = mock.Mock()
            (copy.build / "bin").mkdir()
            for name, commands in {"waits": "sleep 2", "works": "while :; do :; done"}.items():
                program = copy.build / "bin" / name
                program.write_text(f"#!/bin/sh\n{commands}\n")
                program.chmod(0o755)
            self.assertIsNone(copy.passes("waits"))
            self.assertEqual(copy.passes("works"), "no end after 1 s of processor time")


if __name__ == "__main__":
    unittest.main()
