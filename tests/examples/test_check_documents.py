#!/usr/bin/env python3
"""What check_documents.py shows of the commands whose outputs the documents have."""

import unittest

import check_documents


class CommandsOfAnOutput(unittest.TestCase):
    def test_are_those_that_a_reader_types(self):
        self.assertEqual(check_documents.commands_of("kernbench run gemm -t tiny"), "$ kernbench run gemm -t tiny\n")
        self.assertEqual(check_documents.commands_of("kernbench run a.cpp -q (exit 3)"), "$ kernbench run a.cpp -q\n")

    def test_have_a_line_each_and_no_folder_of_the_test(self):
        chain = "kernbench run gemm --json $TMP/a.json && kernbench diff $TMP/a.json $TMP/b.json"
        self.assertEqual(check_documents.commands_of(chain),
                         "$ kernbench run gemm --json a.json\n$ kernbench diff a.json b.json\n")

    def test_of_a_section_tell_that_it_is_a_part(self):
        self.assertEqual(check_documents.commands_of("kernbench describe tiny (section Peaks)"),
                         "$ kernbench describe tiny\n…\n")

    def test_too_long_for_a_line_go_on_in_the_next_one_between_options(self):
        options = [f"--option-{number} value" for number in range(12)]
        shown = check_documents.commands_of("kernbench run gemm " + " ".join(options))
        lines = shown.removesuffix("\n").split("\n")
        self.assertGreater(len(lines), 1)
        for line in lines:
            self.assertLessEqual(len(line), check_documents.MOST_COLUMNS + 2)
        self.assertTrue(all(line.endswith(" \\") for line in lines[:-1]))
        self.assertEqual(" ".join(shown.replace("\\\n", "").split()), "$ kernbench run gemm " + " ".join(options))


if __name__ == "__main__":
    unittest.main()
