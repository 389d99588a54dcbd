"""Tests of tools/verify_adr_lang_pairs: each builds a small tree, runs the script and reads what it says."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "verify_adr_lang_pairs"

ENGLISH = "# ADR-{0}: Events have structural keys\n\n## Status\n\nAccepted, 2025-01-02\n\n## Context\n\nTies.\n"
KOREAN = "# ADR-{0}: 이벤트 키는 구조에서 온다\n\n## Status\n\nAccepted, 2025-01-02\n\n## 배경\n\n동시 이벤트.\n"


class AdrPairs(unittest.TestCase):
    def setUp(self):
        self.root = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        for folder in ("adr", "adr-ko", "adr-proposed", "adr-history"):
            (self.root / "docs" / folder).mkdir(parents=True)
        self.put("adr/0001-event-keys.md", ENGLISH.format("0001"))
        self.put("adr-ko/0001-event-keys.md", KOREAN.format("0001"))

    def put(self, name, content):
        data = content.encode() if isinstance(content, str) else content
        (self.root / "docs" / name).write_bytes(data)

    def remove(self, name):
        (self.root / "docs" / name).unlink()

    def run_script(self, *arguments):
        arguments = arguments or (str(self.root),)
        return subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True,
                              encoding="utf-8", env={**os.environ, "PYTHONIOENCODING": "utf-8"}, check=False)

    def assert_clean(self):
        result = self.run_script()
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)

    def assert_finds(self, *expected):
        """Exactly the expected findings, each given as parts that its line must contain."""
        result = self.run_script()
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        lines = result.stdout.splitlines()
        self.assertEqual(len(lines), len(expected), result.stdout)
        for line, parts in zip(lines, expected):
            for part in parts:
                self.assertIn(part, line)
            self.assertIn("; fix: ", line)

    def git(self, *arguments):
        identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", str(self.root), *identity, *arguments], check=True, capture_output=True)

    # -- what is right ---------------------------------------------------------------------------------------------

    def test_a_pair_is_clean(self):
        self.assert_clean()

    def test_an_em_dash_after_the_id_is_clean(self):
        self.put("adr/0001-event-keys.md", ENGLISH.format("0001").replace("0001:", "0001 —"))
        self.assert_clean()

    def test_an_underscore_slug_in_name_and_title_is_clean(self):
        self.put("adr/0002_flat_grid.md", "# 0002_flat_grid\n\n## Status\n\nAccepted\n")
        self.put("adr-ko/0002_flat_grid.md", "# ADR-0002_flat_grid\n\n## Status\n\nAccepted\n")
        self.assert_clean()

    def test_line_ends_do_not_matter_in_the_status_block(self):
        self.put("adr-ko/0001-event-keys.md", KOREAN.format("0001").replace("\n", "\r\n"))
        self.assert_clean()

    def test_a_byte_order_mark_does_not_hide_the_title(self):
        self.put("adr/0001-event-keys.md", b"\xef\xbb\xbf" + ENGLISH.format("0001").encode())
        self.assert_clean()

    def test_readmes_need_no_mirror(self):
        self.put("adr/README.md", "The decisions.\n")
        self.assert_clean()

    def test_proposals_may_be_in_either_language_without_a_mirror(self):
        self.put("adr-proposed/0002-english.md", ENGLISH.format("0002"))
        self.put("adr-proposed/0003-korean.md", KOREAN.format("0003"))
        self.assert_clean()

    def test_the_history_needs_no_mirror(self):
        self.put("adr-history/0001-event-keys.md", "an older text\n")
        self.assert_clean()

    def test_the_repository_itself_is_clean(self):
        result = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    # -- completeness and names ------------------------------------------------------------------------------------

    def test_an_adr_without_mirror_is_found(self):
        self.remove("adr-ko/0001-event-keys.md")
        self.assert_finds(["docs/adr/0001-event-keys.md:1:", "no Korean mirror", "docs/adr-ko/0001-event-keys.md"])

    def test_a_mirror_without_adr_is_found(self):
        self.remove("adr/0001-event-keys.md")
        self.assert_finds(["docs/adr-ko/0001-event-keys.md:1:", "no English ADR"])

    def test_a_missing_mirror_folder_is_found(self):
        shutil.rmtree(self.root / "docs" / "adr-ko")
        self.assert_finds(["no Korean mirror"])

    def test_a_mirror_with_another_slug_is_one_finding_with_the_right_name(self):
        (self.root / "docs/adr-ko/0001-event-keys.md").rename(self.root / "docs/adr-ko/0001-event-key.md")
        self.assert_finds(["docs/adr-ko/0001-event-key.md:1:", "another name", "docs/adr-ko/0001-event-keys.md"])

    def test_a_file_name_without_number_is_found_in_both_folders(self):
        self.put("adr/notes.md", ENGLISH.format("0002"))
        self.put("adr-ko/notes.md", KOREAN.format("0002"))
        self.assert_finds(["docs/adr-ko/notes.md:1:", "NNNN-slug.md"], ["docs/adr/notes.md:1:", "NNNN-slug.md"])

    # -- ids -------------------------------------------------------------------------------------------------------

    def test_an_id_that_differs_from_the_file_name_is_found_with_its_line(self):
        self.put("adr/0001-event-keys.md", "\n" + ENGLISH.format("0007"))
        self.assert_finds(["docs/adr/0001-event-keys.md:2:", "0007", "0001"])

    def test_a_wrong_id_in_the_mirror_is_found(self):
        self.put("adr-ko/0001-event-keys.md", KOREAN.format("0002"))
        self.assert_finds(["docs/adr-ko/0001-event-keys.md:1:", "the title says 0002"])

    def test_a_title_without_id_is_found(self):
        self.put("adr/0001-event-keys.md", ENGLISH.format("0001").replace("ADR-0001: ", ""))
        self.assert_finds(["docs/adr/0001-event-keys.md:1:", "no ADR id"])

    def test_an_id_with_a_letter_behind_it_is_no_id(self):
        self.put("adr/0001-event-keys.md", ENGLISH.format("0001b"))
        self.assert_finds(["no ADR id"])

    def test_a_missing_title_is_found(self):
        self.put("adr/0001-event-keys.md", ENGLISH.format("0001").split("\n", 1)[1])
        self.assert_finds(["there is no title", "# ADR-0001"])

    def test_a_number_used_twice_is_found(self):
        for folder, text in (("adr", ENGLISH), ("adr-ko", KOREAN)):
            self.put(f"{folder}/0001-other.md", text.format("0001"))
        self.assert_finds(["docs/adr-ko/0001-other.md:1:", "0001 is taken"],
                          ["docs/adr/0001-other.md:1:", "0001 is taken by docs/adr/0001-event-keys.md"])

    def test_a_proposal_with_the_number_of_another_adr_is_found(self):
        self.put("adr-proposed/0001-other.md", ENGLISH.format("0001"))
        self.assert_finds(["docs/adr-proposed/0001-other.md:1:", "0001 is taken"])

    def test_an_adr_with_the_number_of_another_one_of_the_history_is_found(self):
        self.put("adr-history/0001-older.md", ENGLISH.format("0001"))
        self.assert_finds(["docs/adr/0001-event-keys.md:1:", "taken by docs/adr-history/0001-older.md"])

    # -- status ----------------------------------------------------------------------------------------------------

    def test_a_status_that_differs_is_found_at_its_line(self):
        self.put("adr-ko/0001-event-keys.md", KOREAN.format("0001").replace("Accepted", "Superseded"))
        self.assert_finds(["docs/adr-ko/0001-event-keys.md:5:", "Status block differs"])

    def test_a_space_at_the_end_of_a_status_line_is_a_difference(self):
        self.put("adr-ko/0001-event-keys.md", KOREAN.format("0001").replace("2025-01-02", "2025-01-02 "))
        self.assert_finds(["docs/adr-ko/0001-event-keys.md:5:", "byte for byte"])

    def test_a_further_status_line_is_a_difference(self):
        self.put("adr/0001-event-keys.md", ENGLISH.format("0001").replace("2025-01-02\n", "2025-01-02\nBy all.\n"))
        self.assert_finds(["docs/adr-ko/0001-event-keys.md:6:", "Status block differs"])

    def test_a_missing_status_block_is_found(self):
        self.put("adr-ko/0001-event-keys.md", KOREAN.format("0001").replace("## Status", "## 상태"))
        self.assert_finds(["docs/adr-ko/0001-event-keys.md:1:", "no Status block"])

    def test_headings_in_fenced_code_are_no_headings(self):
        fenced = "```\n# ADR-0009: not this\n## Status\nRejected\n```\n"
        self.put("adr/0001-event-keys.md", fenced + ENGLISH.format("0001"))
        self.assert_clean()

    # -- history ---------------------------------------------------------------------------------------------------

    @unittest.skipUnless(shutil.which("git"), "needs git")
    def test_a_changed_or_removed_file_of_the_history_is_found_until_it_is_restored(self):
        for name in ("0003-old.md", "0004-older.md"):
            self.put(f"adr-history/{name}", "as it was\n")
        self.git("init", "-q")
        self.git("add", "docs")
        self.git("commit", "-q", "-m", "history")
        self.assert_clean()
        self.put("adr-history/0003-old.md", "changed\n")
        self.git("commit", "-q", "-a", "-m", "a change that should not be")
        self.remove("adr-history/0004-older.md")
        self.assert_finds(["docs/adr-history/0003-old.md:1:", "was changed", "git checkout"],
                          ["docs/adr-history/0004-older.md:1:", "was removed", "git checkout"])
        self.put("adr-history/0003-old.md", "as it was\n")
        self.put("adr-history/0004-older.md", "as it was\n")
        self.assert_clean()

    # -- the program -----------------------------------------------------------------------------------------------

    def test_all_findings_are_reported_in_one_run(self):
        self.put("adr/0002-a.md", ENGLISH.format("0003"))
        self.put("adr-ko/0004-b.md", KOREAN.format("0004"))
        result = self.run_script()
        self.assertEqual(result.returncode, 1)
        self.assertEqual(len(result.stdout.splitlines()), 3, result.stdout)
        self.assertIn("3 finding(s)", result.stderr)

    def test_a_tree_without_adrs_is_an_error_of_its_own(self):
        with tempfile.TemporaryDirectory() as empty:
            result = self.run_script(empty)
        self.assertEqual(result.returncode, 2)
        self.assertIn("docs/adr", result.stderr)

    def test_unknown_arguments_show_the_usage(self):
        result = self.run_script("--frobnicate")
        self.assertEqual(result.returncode, 2)
        self.assertIn("usage:", result.stderr)

    def test_only_the_standard_library_is_imported(self):
        imported = [line.split()[1] for line in SCRIPT.read_text(encoding="utf-8").splitlines()
                    if line.startswith(("import ", "from "))]
        self.assertTrue(imported)
        for module in imported:
            self.assertIn(module, sys.stdlib_module_names)


if __name__ == "__main__":
    unittest.main()
