"""Tests of tools/setup with a stand-in for dpkg-query, so that nothing is ever installed."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "setup"


class Setup(unittest.TestCase):
    def setUp(self):
        self.bin = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.bin)
        for program in ("bash", "env", "sort", "cat"):
            (self.bin / program).symlink_to(shutil.which(program))

    def tool(self, name, script):
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def installed(self, *packages):
        self.tool("dpkg-query", "printf '%s'" + "".join(f" '{package}=installed '" for package in packages))

    def run_setup(self, *arguments):
        return subprocess.run([str(SCRIPT), *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env={**os.environ, "PATH": str(self.bin)}, check=False)

    def test_nothing_missing_is_silent(self):
        self.installed("libgtest-dev", "libgmock-dev", "python3")
        result = self.run_setup("test")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_check_names_what_is_missing_and_installs_nothing(self):
        self.installed("libgtest-dev")
        result = self.run_setup("--check", "test")
        self.assertEqual(result.returncode, 1)
        self.assertIn("missing: libgmock-dev python3", result.stderr)

    def test_a_package_whose_name_begins_alike_does_not_count(self):
        self.installed("libgtest-dev", "libgmock-dev", "python3-minimal")
        self.assertIn("missing: python3\n", self.run_setup("--check", "test").stderr)

    def test_root_installs_what_is_missing_and_says_so(self):
        self.installed("libgtest-dev", "libgmock-dev")
        self.tool("id", "echo 0")
        self.tool("apt-get", 'echo "apt-get $*"')
        result = self.run_setup("test")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("installing python3", result.stdout)
        self.assertRegex(result.stdout, r"apt-get install .*--no-install-recommends python3")

    def test_without_root_it_asks_sudo(self):
        self.installed("libgtest-dev", "libgmock-dev")
        self.tool("id", "echo 1000")
        self.tool("sudo", 'echo "sudo $*"')
        result = self.run_setup("test")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("sudo -n apt-get update", result.stdout)

    def test_without_root_and_sudo_it_says_what_to_do(self):
        self.installed("libgtest-dev", "libgmock-dev")
        self.tool("id", "echo 1000")
        result = self.run_setup("test")
        self.assertEqual(result.returncode, 1)
        self.assertIn("needs root", result.stderr)
        self.assertIn("python3", result.stderr)

    def test_a_failed_download_is_a_clear_error(self):
        self.installed("libgtest-dev", "libgmock-dev")
        self.tool("id", "echo 0")
        self.tool("apt-get", "exit 100")
        result = self.run_setup("test")
        self.assertEqual(result.returncode, 1)
        self.assertIn("apt-get update failed", result.stderr)

    def test_another_system_is_told_what_it_needs(self):
        result = self.run_setup("test")
        self.assertEqual(result.returncode, 0)
        self.assertIn("libgtest-dev", result.stderr)

    def test_an_unknown_purpose_shows_the_usage(self):
        self.installed()
        result = self.run_setup("nonsense")
        self.assertEqual(result.returncode, 2)
        self.assertIn("usage:", result.stderr)


if __name__ == "__main__":
    unittest.main()
