"""The public headers keep to their budget of preprocessed lines, and one that does not is found."""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "tools/header_cost"


def run(script):
    return subprocess.run([sys.executable, script, "--print"], capture_output=True, text=True, check=False)


@unittest.skipUnless(shutil.which("g++"), "no g++ here to preprocess with")
class HeaderCost(unittest.TestCase):
    def test_the_public_headers_keep_to_their_budget(self):
        done = run(SCRIPT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("kernbench/kernbench.h", done.stdout)

    def with_header(self, content):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = Path(folder.name)
        (root / "tools").mkdir()
        (root / "include/kernbench").mkdir(parents=True)
        shutil.copy(SCRIPT, root / "tools")
        (root / "include/kernbench/new.h").write_text(content)
        return run(root / "tools/header_cost")

    def test_a_header_above_its_budget_is_found(self):
        done = self.with_header("#pragma once\n#include <filesystem>\n")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("kernbench/new.h: ", done.stderr)
        self.assertIn("; fix: ", done.stderr)

    def test_a_header_that_does_not_compile_ends_with_two(self):
        self.assertEqual(self.with_header("#include <no_such_header>\n").returncode, 2)


if __name__ == "__main__":
    unittest.main()
