#!/usr/bin/env python3
"""Tests of the Makefile's install: what it builds and where it installs, with programs that only note their arguments."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
NOTES = '#!/bin/sh\nprintf "%s" "${0##*/}" >>"$NOTES"\nprintf " [%s]" "$@" >>"$NOTES"\necho >>"$NOTES"\n'


class Install(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())) / "a check out"
        (self.folder / "tools").mkdir(parents=True)
        (self.folder / "programs").mkdir()
        shutil.copy(ROOT / "Makefile", self.folder)
        for program in ("tools/setup", "programs/cmake"):
            (self.folder / program).write_text(NOTES)
            (self.folder / program).chmod(0o755)

    def noted(self, *arguments):
        """The calls of cmake in `make install`, without those of tools/setup."""
        notes = self.folder / "notes"
        notes.unlink(missing_ok=True)
        path = f"{self.folder / 'programs'}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "NOTES": str(notes)}
        environment.pop("MAKEFLAGS", None)
        subprocess.run(["make", "install", "JOBS=3", *arguments], cwd=self.folder, env=environment, check=True)
        return [line for line in notes.read_text().splitlines() if line.startswith("cmake")]

    def test_a_prefix_may_have_blanks_and_be_relative(self):
        (self.folder / "build/release").mkdir(parents=True)
        (self.folder / "build/release/build.ninja").touch()
        build = "cmake [--build] [--preset] [release] [-j] [3] [--target] [installable]"
        install = "cmake [--install] [build/release] [--prefix] "
        self.assertEqual(self.noted("PREFIX=/a b/in  st"), [build, install + "[/a b/in  st]"])
        self.assertEqual(self.noted("PREFIX=in st"), [build, install + f"[{self.folder.resolve()}/in st]"])

    def test_what_has_been_configured_is_not_configured_again(self):
        first = self.noted("PREFIX=/p")
        self.assertEqual(first[0], "cmake [--preset] [release] [-DKERNBENCH_BUILD_TESTS=OFF] [-DCMAKE_UNITY_BUILD=ON] "
                                   "[-DCMAKE_UNITY_BUILD_BATCH_SIZE=0]")
        (self.folder / "build/release").mkdir(parents=True)
        (self.folder / "build/release/build.ninja").touch()
        self.assertEqual(self.noted("PREFIX=/p"), first[1:])


if __name__ == "__main__":
    unittest.main()
