"""Tests of tools/verify_layers: each builds a small source tree, runs the script and reads what it says."""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "verify_layers"


class Layers(unittest.TestCase):
    def setUp(self):
        self.root = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        self.put("src/base/quantity.h", "#include <cstdint>\n")

    def put(self, name, content):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")

    def run_script(self, *arguments):
        return subprocess.run([sys.executable, str(SCRIPT), *(arguments or (str(self.root),))], capture_output=True,
                              text=True, check=False)

    def assert_clean(self):
        result = self.run_script()
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)

    def assert_finds(self, *parts):
        result = self.run_script()
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertEqual(len(result.stdout.splitlines()), 1, result.stdout)
        for part in parts:
            self.assertIn(part, result.stdout)

    def test_includes_downwards_and_within_a_layer_are_clean(self):
        self.put("src/tile/tile.cpp", '#include <vector>\n#include "base/quantity.h"\n#include "numerics/bytes.h"\n'
                 '#include "hardware/machine.h"\n#include "tile/tile.h"\n')
        self.assert_clean()

    def test_an_include_upwards_is_found_with_file_line_and_fix(self):
        self.put("src/sim/scheduler.h", '#pragma once\n\n#include "hardware/machine.h"\n')
        self.assert_finds("src/sim/scheduler.h:3:", "'hardware' is above 'sim'", "; fix: ")

    def test_numerics_may_not_know_time(self):
        self.put("src/numerics/bytes.cpp", '#include "sim/scheduler.h"\n')
        self.assert_finds("src/numerics/bytes.cpp:1:", "nothing of time")

    def test_numerics_may_not_know_hardware(self):
        self.put("src/numerics/bytes.cpp", '#include "hardware/machine.h"\n')
        self.assert_finds("'hardware' is above 'numerics'")

    def test_hardware_may_not_know_numerics(self):
        self.put("src/hardware/dma/dma.cpp", '#include "numerics/bytes.h"\n')
        self.assert_finds("src/hardware/dma/dma.cpp:1:", "nothing of tensors")

    def test_topology_may_not_know_time(self):
        self.put("src/topology/spec.h", '#include "sim/phase.h"\n')
        self.assert_finds("nothing of time")

    def test_angle_brackets_and_spaces_do_not_hide_an_include(self):
        self.put("src/base/text.cpp", "  #  include  <cli/main.h>\n")
        self.assert_finds("src/base/text.cpp:1:", "'cli' is above 'base'")

    def test_an_include_in_a_comment_does_not_count(self):
        self.put("src/base/text.cpp", '// #include "cli/main.h"\n')
        self.assert_clean()

    def test_a_folder_that_is_no_layer_is_found(self):
        self.put("src/utilities/misc.h", "")
        self.assert_finds("src/utilities", "no layer")

    def test_an_include_without_its_folder_is_found(self):
        self.put("src/base/text.cpp", '#include "units.h"\n')
        self.assert_finds("src/base/text.cpp:1:", "without its folder")

    def test_public_headers_have_layers(self):
        self.put("include/kernbench/tl.h", '#include "kernbench/dtype.h"\n')
        self.put("include/kernbench/dtype.h", "#include <cstdint>\n")
        self.put("src/numerics/value.h", '#include "kernbench/dtype.h"\n')
        self.assert_clean()
        self.put("src/numerics/value.h", '#include "kernbench/tl.h"\n')
        self.assert_finds("src/numerics/value.h:1:", "'tile' is above 'numerics'")

    def test_a_public_header_is_of_the_runtime_unless_listed(self):
        self.put("include/kernbench/new.h", '#include "kernbench/tl.h"\n')
        self.put("src/runtime/context.h", '#include "kernbench/new.h"\n')
        self.assert_clean()
        self.put("src/tile/program/program.h", '#include "kernbench/new.h"\n')
        self.assert_finds("src/tile/program/program.h:1:", "'runtime' is above 'tile'")

    def test_a_public_header_shows_no_internals(self):
        self.put("include/kernbench/tl/types.h", '#include "base/quantity.h"\n')
        self.assert_finds("include/kernbench/tl/types.h:1:", "internal")

    def test_programs_see_public_headers_only(self):
        self.put("benches/gemm.cpp", '#include "kernbench/kernbench.h"\n#include "runtime/context.h"\n')
        self.assert_finds("benches/gemm.cpp:2:", "public headers")

    def test_benches_see_no_more_than_other_programs(self):
        self.put("benches/gemm.cpp", '#include <kernbench/kernbench.h>\n#include "cli/bench.h"\n')
        self.assert_finds("benches/gemm.cpp:2:", "public headers")

    def test_programs_may_have_headers_of_their_own(self):
        self.put("benches/gemm.cpp", '#include <kernbench/kernbench.h>\n#include "measure.h"\n')
        self.assert_clean()

    def test_the_repository_itself_is_clean(self):
        result = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_a_folder_without_sources_is_an_error_of_its_own(self):
        with tempfile.TemporaryDirectory() as empty:
            result = self.run_script(empty)
        self.assertEqual(result.returncode, 2)
        self.assertIn("src/", result.stderr)


if __name__ == "__main__":
    unittest.main()
