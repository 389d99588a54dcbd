"""Tests of tools/verify_headers: each builds a small source tree, runs the script and reads what it says."""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "verify_headers"


@unittest.skipUnless(shutil.which("clang++-19"), "clang++-19 is not installed")
class Headers(unittest.TestCase):
    def setUp(self):
        self.root = Path(tempfile.mkdtemp()).resolve()
        self.addCleanup(shutil.rmtree, self.root)
        self.put("include/kernbench/size.h", "#include <cstdint>\nstruct Size { std::uint32_t bytes = 0; };\n")
        # Read before the others, so that what it includes would be there for them if all were one file.
        self.put("include/kernbench/all.h", '#include <bit>\n#include <type_traits>\n#include "kernbench/size.h"\n')

    def put(self, name, content, first="#pragma once\n"):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(first + content, encoding="utf-8")

    def run_script(self):
        return subprocess.run([sys.executable, str(SCRIPT), str(self.root)], capture_output=True, text=True,
                              check=False)

    def test_headers_that_include_what_they_use_are_clean(self):
        self.put("src/base/sizes.h", '#include "kernbench/size.h"\nstruct Sizes { Size each[2]; };\n')
        # What a header includes comes with what that one includes.
        self.put("src/base/word.h", '#include "base/sizes.h"\ninline std::uint32_t word(Size x) { return x.bytes; }\n')
        result = self.run_script()
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        self.assertIn("each of 4 headers", result.stdout)

    def test_each_missing_line_is_found_though_other_headers_have_it(self):
        self.put("src/base/sizes.h", "struct Sizes { Size each[2]; };\n")
        self.put("src/base/word.h", '#include "kernbench/size.h"\ninline int ones(Size x) { return std::popcount(x.bytes); }\n')
        result = self.run_script()
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("'Size' is used without #include \"kernbench/size.h\"", result.stdout)
        self.assertIn("src/base/sizes.h:2:", result.stdout)
        self.assertIn("'popcount' is used without #include <bit>", result.stdout)
        self.assertIn("src/base/word.h:3:", result.stdout)

    def test_a_header_without_pragma_once_is_found(self):
        self.put("src/base/twice.h", "inline int twice(int x) { return 2 * x; }\n", first="")
        result = self.run_script()
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertEqual(result.stdout, "src/base/twice.h:1: no `#pragma once`; fix: add it before the first #include\n")

    def test_a_warning_is_an_error(self):
        self.put("src/base/narrow.h", "inline char narrow(int x) { return x; }\n")
        result = self.run_script()
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("-Wimplicit-int-conversion", result.stdout)


class Usage(unittest.TestCase):
    def test_a_folder_that_is_no_source_tree_is_refused(self):
        folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        result = subprocess.run([sys.executable, str(SCRIPT), str(folder)], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn("no src/ folder", result.stderr)


if __name__ == "__main__":
    unittest.main()
