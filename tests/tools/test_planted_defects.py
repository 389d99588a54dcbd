"""The list of planted defects fits the sources and the tests, and the script does what it says of them."""

import importlib.machinery
import importlib.util
import subprocess
import sys
import tempfile
import threading
import tomllib
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent.parent


def script(*arguments):
    return subprocess.run([sys.executable, "-B", ROOT / "tools/planted_defects", *arguments], capture_output=True, text=True,
                          check=False)


def planted_defects():
    """The script as a module."""
    loader = importlib.machinery.SourceFileLoader("planted_defects", str(ROOT / "tools/planted_defects"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("planted_defects", loader))
    sys.modules["planted_defects"] = module
    loader.exec_module(module)
    return module


class ListTest(unittest.TestCase):
    def test_every_defect_has_its_place_and_its_test(self):
        done = script("--check")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreaterEqual(int(done.stdout.split()[0]), 40)

    def test_an_unknown_defect_is_an_error(self):
        done = script("--only", "no such promise")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no defect has", done.stderr)

    def test_an_entry_that_nobody_knows_is_an_error(self):
        module = planted_defects()
        with tempfile.TemporaryDirectory() as folder:
            module.LIST = Path(folder) / "defects.toml"
            module.LIST.write_text('[[defect]]\npromise = "p"\nfile = "src/sim/x.cpp"\nfind = "a"\nreplace = "b"\nfirst = []\n')
            _, problems = module.read_list()
        self.assertIn("'first'", problems[0])


class HintTest(unittest.TestCase):
    def setUp(self):
        self.module = planted_defects()
        self.defect = self.module.Defect(1, "a promise", "src/tile/x.cpp", "a", "b", "queues_test: Windows.*")

    def test_the_program_that_is_to_catch_a_defect_comes_first(self):
        programs = self.defect.programs()
        self.assertEqual(programs[:2], ["queues_test", "tile_parts_test"])
        self.assertEqual(len(programs), len(set(programs)))

    def test_tests_of_all_kinds_are_known_by_their_program(self):
        tests = self.module.tests_by_program()
        for program, pattern in [("sim_test", "FiberTest.ACpuFiber*"), ("sim_test", "NoSuite.*"), ("tile_test", "FiberTest.*")]:
            self.assertFalse(self.module.names_a_test(pattern, tests[program]), pattern)
        for program, pattern in [("sim_test", "FiberTest.StacksAreUsedAgain"), ("hardware_test", "Kinds/WindowLaw.*"),
                                 ("hardware_test", "*WindowLaw.AGetTakesARequestAndItsTransfer/3"), ("sim_test", "*"),
                                 ("numerics_threads_test", "Replicas.ShareTheirBytes*")]:
            self.assertTrue(self.module.names_a_test(pattern, tests[program]), pattern)

    def test_a_hint_of_a_test_or_program_that_is_gone_is_a_problem(self):
        for hint, problem in {"": "no test is named", "tile_test": "no test is named", "tile_tests: A.B": "no program",
                              "tile_test: Fuse.*:Fuse.Gone": "has no test Fuse.Gone"}.items():
            self.defect.caught_by = hint
            problems = self.module.problems_of_hints([self.defect])
            self.assertEqual(len(problems), 1, hint)
            self.assertIn(problem, problems[0])

    def test_a_hint_is_of_any_parameter_and_not_of_how_the_program_ended(self):
        for found, hint in {"sim_test: A.B": "sim_test: A.B", "sim_test: P/A.B/3 (exit code -11)": "sim_test: P/A.B/*",
                            "sim_test: A/0.B": "sim_test: A/0.B"}.items():
            self.assertEqual(self.module.hint_of(found), hint)

    def test_a_hint_is_written_in_its_place(self):
        text = ('# first\n\n[[defect]]\npromise = "one"\nfind = "x"\n\n# ---- next\n\n[[defect]]\npromise = "two"\n'
                'caught_by = "a: b"\nfind = "y"\n')
        text = self.module.write_hint(text, "two", "sim_test: C.D")
        text = self.module.write_hint(text, "one", "sim_test: A.B")
        self.assertEqual([entry["caught_by"] for entry in tomllib.loads(text)["defect"]], ["sim_test: A.B", "sim_test: C.D"])
        self.assertEqual(text.count("\n\n"), 3)

    def test_a_sample_is_the_same_for_the_same_seed(self):
        defects = [self.module.Defect(i, f"promise {i}", "src/sim/x.cpp", "a", "b") for i in range(1, 101)]
        options = mock.Mock(only="", first=11, sample=5, seed=3)
        chosen = self.module.chosen_of(defects, options)
        self.assertEqual([d.position for d in chosen], [d.position for d in self.module.chosen_of(defects, options)])
        self.assertEqual(len(chosen), 5)
        self.assertGreaterEqual(chosen[0].position, 11)


class PlantTest(unittest.TestCase):
    """A test program that is a script, and a build that makes nothing."""

    def setUp(self):
        self.module = planted_defects()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = self.module.Build.__new__(self.module.Build)
        self.build.source = self.build.build = Path(folder.name)
        self.build.started = threading.Lock()
        self.build.make = mock.Mock()
        (self.build.build / "bin").mkdir()

    def program(self, name, commands):
        path = self.build.build / "bin" / name
        path.write_text(f"#!/bin/sh\n{commands}\n")
        path.chmod(0o755)
        return path

    def outcome(self, commands, limits=(5, 60)):
        return self.build.run_test("p", self.program("p", commands), "*", self.build.build / "log", limits)

    def test_processor_time_ends_a_program_and_a_busy_machine_does_not(self):
        self.assertIsNone(self.outcome("sleep 2", (1, 60)))
        self.assertEqual(self.outcome("while :; do :; done", (1, 60)),
                         "no test has begun (no end after 1 s of processor time)")
        self.assertEqual(self.outcome("exec sleep 60", (60, 1)), "no test has begun (no end after 1 s)")

    def test_what_fails_is_named(self):
        self.assertEqual(self.outcome("echo '[ RUN      ] A.B'; echo '[ RUN      ] C.D'; kill -TRAP $$"), "C.D")
        self.assertEqual(self.outcome("echo '[ RUN      ] A.B'; kill -SEGV $$"), "A.B (exit code -11)")
        self.assertEqual(self.outcome("exit 3"), "no test has begun (exit code 3)")

    def test_a_filter_without_tests_catches_nothing(self):
        self.assertEqual(self.outcome("echo '[==========] Running 0 tests from 0 test suites.'"), "")

    def caught_by(self, hint, failing):
        """What a run says of a defect with which some programs fail."""
        defect = self.module.Defect(1, "a promise", "src/cli/x.cpp", "a", "b", hint)
        planted = mock.Mock()
        planted.outcome = lambda program, tests, limits: failing.get((program, tests))
        for program in defect.programs():
            self.program(program, "exit 0")
        return self.module.Run(self.build, trust=False, jobs=1).caught_by(defect, planted)

    def test_the_test_that_the_list_names_catches(self):
        self.assertEqual(self.caught_by("cli_test: A.B", {("cli_test", "A.B"): "A.B"}), ("cli_test: A.B", False))

    def test_a_stale_hint_costs_time_only(self):
        self.assertEqual(self.caught_by("report_test: A.B", {("cli_test", "*"): "C.D"}), ("cli_test: C.D", True))
        self.assertEqual(self.caught_by("", {("cli_process_test", "*"): "C.D"}), ("cli_process_test: C.D", True))
        self.assertEqual(self.caught_by("report_test: A.B", {}), ("", True))

    def test_a_test_that_fails_without_a_defect_catches_nothing(self):
        run = self.module.Run(self.build, trust=False, jobs=1)
        self.program("cli_test", "echo '[ RUN      ] A.B'; kill -TRAP $$")
        with self.assertRaisesRegex(self.module.Wrong, "cli_test fails without any defect: A.B"):
            run.require_sound("cli_test", "A.B")


if __name__ == "__main__":
    unittest.main()
