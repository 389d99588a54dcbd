"""The tests that docs/validation.md names are there, and one that is not is found."""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "tools/verify_validation"

TABLE = "| what | test |\n|---|---|\n"


def run(*arguments):
    return subprocess.run([sys.executable, "-B", SCRIPT, *arguments], capture_output=True, text=True, check=False)


class VerifyValidation(unittest.TestCase):
    def with_page(self, page):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = Path(folder.name)
        (root / "docs").mkdir()
        (root / "tests/rings").mkdir(parents=True)
        (root / "docs/validation.md").write_text(page)
        (root / "tests/rings/ring_test.cpp").write_text("TEST(Ring, Turns) {\n}\nTEST_P(Rings, Turn) {\n}\n")
        return run(root)

    def test_the_page_names_tests_that_there_are(self):
        done = run()
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_page_maps_what_this_field_tests(self):
        page = (ROOT / "docs/validation.md").read_text()
        for behaviour in ["parallel state", "concatenate", "orphan", "spawn", "closed list", "agree bitwise",
                          "world_size"]:
            self.assertIn(behaviour, page)

    def test_names_suites_and_paths_are_found(self):
        done = self.with_page(TABLE + "| a | `Ring.Turns`, `Rings.*` |\n| b | the same |\n| c | `tests/rings` |\n")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_test_a_suite_and_a_path_that_are_gone_are_named_with_their_line(self):
        done = self.with_page(TABLE + "| a | `Ring.Stands` |\n| b | `Mill.*` |\n| c | `tests/mills` |\n")
        self.assertEqual(done.returncode, 1)
        self.assertEqual([line.split(";")[0] for line in done.stderr.splitlines()],
                         ["docs/validation.md:3: there is no test Ring.Stands",
                          "docs/validation.md:4: there is no test Mill.*",
                          "docs/validation.md:5: there is no tests/mills"])

    def test_a_row_without_a_test_is_found(self):
        done = self.with_page(TABLE + "| a | somebody looked |\n\n| what | figure |\n|---|---|\n| b | 3 |\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn(":3: this row names no test", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_a_tree_without_the_page_ends_with_two(self):
        self.assertEqual(run(tempfile.gettempdir()).returncode, 2)


if __name__ == "__main__":
    unittest.main()
