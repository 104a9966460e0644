"""./dev: wrong usage is refused by name, and the closing line of the tests counts right.

usage: dev_test.py
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[2]

JUNIT = """<testsuite tests="7">
<testcase name="a" status="run"/>
<testcase name="b" status="run"/>
<testcase name="c" status="fail"/>
<testcase name="d" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/></testcase>
<testcase name="e" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
<testcase name="f" status="disabled"/>
<testcase name="g" status="notrun"><skipped message="Unable to find executable"/></testcase>
</testsuite>"""


def dev(*words):
    return subprocess.run([str(ROOT / "dev"), *words], capture_output=True, text=True, check=False)


def summary(junit, exit_code):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tests.xml"
        if junit is not None:
            file.write_text(junit)
        return subprocess.run(
            [sys.executable, str(ROOT / "tools/dev/test_summary.py"), str(file), str(exit_code)],
            capture_output=True, text=True, check=False)


class Usage(unittest.TestCase):
    def test_unknown_names_are_refused_with_the_nearest(self):
        for words, part in [
                (("tset",), "did you mean 'test'?"),
                (("build", "--cud=on"), "did you mean '--cuda='?"),
                (("test", "--asna"), "did you mean '--asan'?"),
                (("chaos",), "unknown command 'chaos'"),
                (("build", "--cuda=maybe"), "auto, on or off"),
                (("build", "--asan", "--tsan"), "only one of"),
                (("test", "a", "b"), "one REGEX"),
                (("soak", "--only=chaos"), "invalid choice: 'chaos'"),
                (("soak", "--cycles=0"), "--cycles must be 1 or more"),
                (("soak", "--cycles=5"), "--cycles needs --only="),
                (("soak", "--only=kill", "--seeds=5"), "--seeds needs --only= one of sim"),
                (("demo", "now"), "unexpected argument 'now'"),
                (("build", "--cuda"), "--cuda=")]:
            result = dev(*words)
            self.assertEqual(result.returncode, 2, words)
            self.assertIn(part, result.stderr)
            self.assertEqual(result.stdout, "")

    def test_help_names_every_command(self):
        result = dev("help")
        self.assertEqual(result.returncode, 0)
        for command in ("setup", "build", "test", "demo", "soak", "lint", "format", "docs", "clean"):
            self.assertIn(f"\n  {command}", result.stdout)


class ClosingLine(unittest.TestCase):
    def test_counts_every_outcome(self):
        result = summary(JUNIT, 8)
        self.assertEqual(result.stdout, "2 passed, 2 failed, 3 skipped\n")
        self.assertEqual(result.returncode, 1)

    def test_all_passed(self):
        result = summary('<testsuite><testcase name="a" status="run"/></testsuite>', 0)
        self.assertEqual((result.stdout, result.returncode), ("1 passed, 0 failed, 0 skipped\n", 0))

    def test_an_unhappy_ctest_or_no_report_is_a_failure(self):
        self.assertEqual(summary('<testsuite/>', 8).stdout, "0 passed, 1 failed, 0 skipped\n")
        self.assertEqual(summary(None, 0).stdout, "0 passed, 1 failed, 0 skipped\n")


if __name__ == "__main__":
    unittest.main()
