"""./dev: wrong usage is refused by name, and the closing line of the tests counts right.

usage: dev_test.py
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools/dev"))
sys.dont_write_bytecode = True
import soak  # noqa: E402

JUNIT = """<testsuite tests="7">
<testcase name="a" status="run"/>
<testcase name="b" status="run"/>
<testcase name="c" status="fail"><system-out>why
it failed
</system-out></testcase>
<testcase name="d" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/></testcase>
<testcase name="e" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
<testcase name="f" status="disabled"/>
<testcase name="g" status="notrun"><skipped message="Unable to find executable"/></testcase>
</testsuite>"""


def dev(*words, **environment):
    return subprocess.run([str(ROOT / "dev"), *words], capture_output=True, text=True, check=False,
                          env=os.environ | environment)


def summary(junit, exit_code):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tests.xml"
        if junit is not None:
            file.write_text(junit)
        return subprocess.run(
            [sys.executable, str(ROOT / "tools/dev/test_summary.py"), str(file), str(exit_code)],
            capture_output=True, text=True, check=False)


class Soak(unittest.TestCase):
    def test_as_many_cycles_run_as_are_asked_for(self):
        for kind in ("kill", "items", "copies", "images", "sets", "client", "flip", "links", "sim"):
            for count in (1, 9, 17, 18, 19, 300, 301):
                for jobs in (1, 2, 3, 16):
                    parts = soak.shares(kind, count, jobs)
                    self.assertEqual(sum(parts), count)
                    self.assertGreaterEqual(min(parts), min(count, 9 if kind == "client" else 1))


class Usage(unittest.TestCase):
    def test_unknown_names_are_refused_with_the_nearest(self):
        for words, part in [
                (("tset",), "did you mean 'test'?"),
                (("build", "--cud=on"), "did you mean '--cuda='?"),
                (("test", "--asna"), "did you mean '--asan'?"),
                (("chaos",), "unknown command 'chaos'"),
                (("bench", "servcie"), "unknown suite 'servcie'; did you mean 'service'?"),
                (("bench", "embeding"), "did you mean 'embedding'?"),
                (("bench",), "one of: table service"),
                (("build", "--foo"), "unknown option '--foo'. See"),
                (("build", "--cuda=maybe"), "auto, on or off"),
                (("build", "--asan", "--tsan"), "only one of --asan and --tsan"),
                (("test", "a", "b"), "one REGEX"),
                (("soak", "--only=chaos"),
                 "unknown kind 'chaos'; --only= is one of kill, items, copies, images, trees, sets, failpoint, client, flip, links, hostile, sim, fuzz"),
                (("soak", "--only=flop"), "did you mean 'flip'?"),
                (("soak", "--only=fuzz", "--first=3"), "--first needs --only= one of kill,"),
                (("soak", "--cycles=0"), "--cycles must be 1 or more"),
                (("soak", "--cycles=5"), "--cycles needs --only="),
                (("soak", "--only=kill", "--seeds=5"), "--seeds needs --only= one of sim"),
                (("demo", "now"), "unexpected argument 'now'"),
                (("build", "--cuda"), "--cuda=")]:
            result = dev(*words)
            self.assertEqual(result.returncode, 2, words)
            self.assertIn(part, result.stderr)
            self.assertNotIn("usage: soak.py", result.stderr)
            self.assertEqual(result.stdout, "")

    def test_a_gpus_bench_without_a_compiler_for_it_says_so(self):
        for words in ("embedding", "--device=cuda"), ("tree-blocks", "--device=cuda:1"):
            result = dev("bench", *words, CUDACXX="/no/such/nvcc")
            self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
            self.assertIn("there is no /no/such/nvcc. Put nvcc of CUDA 13 on the PATH", result.stderr)

    def test_help_names_every_command(self):
        result = dev("help")
        self.assertEqual(result.returncode, 0)
        for command in ("setup", "build", "test", "demo", "soak", "lint", "format", "docs", "clean"):
            self.assertIn(f"\n  {command}", result.stdout)


    def test_each_command_has_help_of_its_own(self):
        listed = dev("help").stdout
        for command, part, foreign in [
                ("setup", "install what is missing", "build/"), ("build", "--cuda=", "--failover"),
                ("test", "--failpoints", "--cuda"), ("demo", "--failover", "--only"),
                ("soak", "--first=SEED", "--failover"), ("bench", "--filter=", "self-contained"),
                ("lint", "clang-tidy", "in place"), ("format", "in place", "clang-tidy"),
                ("docs", "configuration.md", "remove"), ("clean", "remove", "Exit codes")]:
            self.assertEqual(dev("help", "--help").stdout, listed)
            for flag in "--help", "-h":
                result = dev(command, flag)
                self.assertEqual((result.returncode, result.stderr), (0, ""), command)
                self.assertIn(f"./dev {command}", result.stdout)
                self.assertIn(part, result.stdout)
                self.assertNotIn(foreign, result.stdout)
                self.assertTrue(all(line in listed for line in result.stdout.splitlines()[1:]))


class Names(unittest.TestCase):
    """./dev bench --list, in a folder of its own whose tools only write down that they ran."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        shutil.copy(ROOT / "dev", self.root)
        shutil.copytree(ROOT / "tools" / "dev", self.root / "tools" / "dev")
        (self.root / "CMakePresets.json").touch()
        self.program("tools/apt-get", "exit 1")
        self.program("tools/dpkg-query")
        self.program("tools/sudo", "exit 1")
        self.program("tools/nvcc")
        self.program("tools/cmake")
        self.program("tools/strata-bench")
        self.program("tools/ninja", "mkdir -p build/bin && cp tools/strata-bench build/bin")

    def program(self, path, more=""):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'#!/bin/sh\necho "${{0##*/}} $*" >>"{self.root}/ran"\n{more}\n')
        file.chmod(0o755)

    def ran(self, *words):
        (self.root / "ran").write_text("")
        path = f"{self.root}/tools:{os.environ['PATH']}"
        result = subprocess.run([str(self.root / "dev"), "bench", *words], capture_output=True,
                                text=True, check=False, env=os.environ | {"PATH": path})
        return result.returncode, (self.root / "ran").read_text().splitlines()

    def test_are_those_of_the_program_that_is_there(self):
        self.program("build/bin/strata-bench")
        for words in ("table", "--list"), ("table", "--device=cuda", "--list", "--all"):
            self.assertEqual(self.ran(*words), (0, ["strata-bench " + " ".join(words)]))
        code, calls = self.ran("table", "--device=cuda")  # would install
        self.assertEqual((code, calls[0][:10]), (1, "dpkg-query"))

    def test_build_the_program_where_there_is_none_as_it_was_configured(self):
        code, calls = self.ran("table", "--device=cuda", "--list")
        self.assertEqual(code, 0, calls)
        self.assertEqual([calls[0], calls[2]],
                         ["cmake --preset release", "strata-bench table --device=cuda --list"])
        self.assertRegex(calls[1], "^ninja -C build -j [0-9]+ strata-bench$")
        self.assertEqual(len(calls), 3)

    def test_say_what_installs_when_a_build_cannot_begin(self):
        self.program("tools/cmake", "exit 1")
        self.assertEqual(self.ran("table", "--list"), (1, ["cmake --preset release"]))


class ClosingLine(unittest.TestCase):
    def test_counts_every_outcome_and_says_what_failed(self):
        result = summary(JUNIT, 8)
        self.assertEqual(
            result.stdout,
            "failed: c\n  why\n  it failed\nfailed: g\n2 passed, 2 failed, 3 skipped\n")
        self.assertEqual(result.returncode, 1)

    def test_all_passed(self):
        result = summary('<testsuite><testcase name="a" status="run"/></testsuite>', 0)
        self.assertEqual((result.stdout, result.returncode), ("1 passed, 0 failed, 0 skipped\n", 0))

    def test_an_unhappy_ctest_or_no_report_is_a_failure(self):
        for result, why in [(summary('<testsuite/>', 8), "ctest ended with exit code 8"),
                            (summary(None, 0), "no test ran: ")]:
            first, last = result.stdout.splitlines()
            self.assertTrue(first.startswith(f"failed: {why}"), first)
            self.assertEqual(last, "0 passed, 1 failed, 0 skipped")


if __name__ == "__main__":
    unittest.main()
