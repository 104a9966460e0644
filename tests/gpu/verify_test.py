"""verify.sh judges each step by what it ends with and prints, keeps to its limits, and says so.

usage: verify_test.py

Its programs are stand-ins here: scripts that end and print as the real ones would.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).parent / "verify.sh"

NAMES = """bin/own-kernel bin/own-model bin/array-blocks bin/strata-server bin/strata-soak-kill bin/strata-soak-client
bin/strata-bench bin/strata-admin tests/kernels_device_test tests/storage_gpu_test tests/sparse_gpu_test
tests/embedding_group_test tests/spread_group_test tests/gpu_contract_test tests/tree_blocks_gpu_test
tests/gpu_sets_test tests/item_set_gpu_test tests/ps_server_gpu_test tests/gpu_trees_gpu_test
tests/tree_engine_gpu_test tests/trees_soak_gpu_test tests/cluster_gpu_test tests/cluster_gpu_processes_test
tests/dense_gpu_test tests/gpu_network_test tests/gpu_trainer_test
tests/gpu_job_test tests/bench_histogram_gpu_test tests/catboost_gpu_test
tests/catboost_train_gpu_test""".split()

PASSES = "echo '[  PASSED  ] 3 tests.'"
SANITIZER = """
for word in "$@"; do
  case $word in
    --tool=memcheck) summary='ERROR SUMMARY: 0 errors' ;;
    --tool=initcheck) summary='ERROR SUMMARY: 2 errors' code=9 ;;
    --tool=racecheck) summary='RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)' ;;
    --tool=synccheck) summary='' ;;
    */tests/*) program=$word ;;
  esac
done
"$program"
[ -z "$summary" ] || echo "========= $summary"
exit ${code:-0}
"""
SERVER = """
case $* in
  *cuda:99*) echo 'GPU 99 is not there; this process sees 1'; exit 2 ;;
esac
echo 'an end of another kind'; exit 1
"""


class Verify(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.build = self.folder / "build"
        for name in NAMES:
            self.program(self.build / name, PASSES if name.startswith("tests/") else "echo done")
        self.sanitizer = self.program(self.folder / "sanitizer", SANITIZER)

    def program(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n" + text + "\n")
        path.chmod(0o755)
        return path

    def environment(self):
        return os.environ | {"COMPUTE_SANITIZER": str(self.sanitizer)}

    def verify(self, *words, script=SCRIPT):
        return subprocess.run([str(script), *words], capture_output=True, text=True, check=False,
                              cwd=self.folder, env=self.environment())

    def run_steps(self, *words):
        """The line of each step of a run, by name, and how it ended."""
        result = self.verify(f"--build={self.build}", f"--out={self.folder / 'out'}", *words)
        table = (self.folder / "out/table.txt").read_text().splitlines()
        lines = {line[16:62].strip(): (line[:8].strip(), line[62:].strip()) for line in table[2:-1]}
        self.assertIn("\n".join(table), result.stdout)
        return lines, table[-1], result.returncode

    def test_all_that_passes_is_a_success(self):
        self.program(self.build / "bin/strata-server",
                     "case $* in *99*) echo 'GPU 99 is not there';; *) echo 'GPU 0 has 80.0 GiB of "
                     "memory in all';; esac; exit 2")
        self.program(self.build / "bin/strata-bench", "echo '{}'; echo '{}'")
        self.program(self.sanitizer, SANITIZER.replace(" code=9", "").replace("2 errors", "0 errors")
                     .replace("summary='' ", "summary='ERROR SUMMARY: 0 errors' "))
        lines, last, code = self.run_steps("--jobs=4")
        self.assertEqual({verdict for verdict, _ in lines.values()}, {"passed"}, lines)
        self.assertEqual(code, 0)
        self.assertRegex(last, r"^\d+ passed, 0 failed, 0 skipped in \d+ s; logs: /.*/out$")
        self.assertEqual(lines["bench table"], ("passed", "lines: 2"))
        self.assertEqual(lines["gpu_contract_test, part 6 of 6"], ("passed", "3 passed"))
        log = (self.folder / "out/13-gpu_contract_test-part-6-of-6.log").read_text()
        self.assertIn("env GTEST_TOTAL_SHARDS=6 GTEST_SHARD_INDEX=5 ", log.splitlines()[0])

    def test_tests_are_judged_by_what_they_count(self):
        for name, text in [
                ("storage_gpu", "echo '[  PASSED  ] 31 tests.'; echo '[  SKIPPED ] 4 tests, listed below:'"),
                ("sparse_gpu",
                 "echo '[  PASSED  ] 1 test.'; echo '[  FAILED  ] 2 tests, listed below:'; exit 1"),
                ("tree_blocks_gpu", "echo 'a.cu:3: Skipped'; echo 'needs two'; echo '[  PASSED  ] 0 tests.'; "
                 "echo '[  SKIPPED ] 1 test, listed below:'"),
                ("gpu_sets", "echo 'segments of memory'; exit 139"),
                ("gpu_trees_gpu", "echo '[  PASSED  ] 0 tests.'")]:
            self.program(self.build / f"tests/{name}_test", text)
        (self.build / "tests/tree_engine_gpu_test").unlink()
        lines, last, code = self.run_steps(
            "--only=^(storage|sparse|tree_blocks|gpu_sets|gpu_trees|tree_engine)")
        self.assertEqual(lines["storage_gpu_test"], ("passed", "31 passed, 4 skipped"))
        self.assertEqual(lines["sparse_gpu_test"], ("failed", "1 passed, 2 failed"))
        self.assertEqual(lines["tree_blocks_gpu_test"], ("skipped", "0 passed, 1 skipped: needs two"))
        self.assertEqual(lines["gpu_sets_test"],
                         ("failed", "0 passed; exit code 139: segments of memory"))
        self.assertEqual(lines["gpu_trees_gpu_test"], ("failed", "no test ran"))
        self.assertEqual(lines["tree_engine_gpu_test"],
                         ("failed", "tests/tree_engine_gpu_test is not built, or was not packed"))
        self.assertRegex(last, "^1 passed, 4 failed, 1 skipped in")
        self.assertEqual(code, 1)

    def test_a_sanitizer_is_judged_by_its_summary(self):
        lines, _, code = self.run_steps("--only=check storage")
        name = "storage_gpu_test map"
        self.assertEqual(lines["memcheck " + name], ("passed", "3 passed; ERROR SUMMARY: 0 errors"))
        self.assertEqual(lines["racecheck " + name][0], "passed")
        self.assertEqual(lines["initcheck " + name][0], "failed")
        self.assertIn("ERROR SUMMARY: 2 errors", lines["initcheck " + name][1])
        self.assertEqual(lines["synccheck " + name][0], "failed")
        self.assertIn("no summary", lines["synccheck " + name][1])
        self.assertEqual(code, 1)

    def test_without_a_sanitizer_its_steps_are_skipped(self):
        self.sanitizer.unlink()
        if shutil.which("compute-sanitizer") or list(Path("/usr/local").glob("cuda*/**/compute-sanitizer")):
            self.skipTest("this machine has one")
        lines, _, code = self.run_steps("--only=memcheck storage")
        self.assertEqual(lines["memcheck storage_gpu_test map"][0], "skipped")
        self.assertEqual(code, 0)

    def test_programs_are_judged_by_how_they_end(self):
        self.program(self.build / "bin/strata-server", SERVER)
        self.program(self.build / "bin/strata-bench",
                     "case $1 in table) echo '{}';; tiered) echo '{}'; echo why; exit 1;; esac")
        self.program(self.build / "bin/strata-soak-kill", "echo '{\"lost\": 1}'; exit 1")
        lines, _, code = self.run_steps("--only=bench t|GPU has|not there|killed")
        self.assertEqual(lines["bench table"], ("passed", "lines: 1"))
        self.assertEqual(lines["bench tiered"], ("failed", "lines: 1; exit code 1: why"))
        self.assertEqual(lines["bench tree-blocks"], ("failed", "lines: 0"))
        self.assertEqual(lines["a GPU that is not there"][0], "passed")
        self.assertEqual(lines["more memory than a GPU has"],
                         ("failed", "exit code 1: an end of another kind"))
        self.assertEqual(lines["servers that are killed"], ("failed", 'exit code 1: {"lost": 1}'))
        self.assertEqual(code, 1)

    def test_what_does_not_end_is_ended_at_its_limit(self):
        self.program(self.build / "tests/storage_gpu_test", "exec tail -f /dev/null")
        lines, last, code = self.run_steps("--only=^(storage|sparse)", "--limit=5")
        self.assertEqual(lines["storage_gpu_test"], ("failed", "not done after 5 s"))
        self.assertEqual(lines["sparse_gpu_test"], ("passed", "3 passed"))
        self.assertRegex(last, "^1 passed, 1 failed, 0 skipped in")
        self.assertEqual(code, 1)

    def test_one_that_is_ended_says_how_far_it_came(self):
        self.program(self.build / "tests/sparse_gpu_test", "echo $$ >pid; exec tail -f /dev/null")
        with subprocess.Popen(
                [str(SCRIPT), f"--build={self.build}", f"--out={self.folder / 'out'}",
                 "--only=^(storage|sparse|embedding)"],
                stdout=subprocess.PIPE, text=True, cwd=self.folder, env=self.environment()) as process:
            for line in process.stdout:
                if line.startswith("passed"):
                    break
            process.send_signal(signal.SIGTERM)
            rest = process.stdout.read()
        self.assertEqual(process.returncode, 1)
        self.assertIn("1 passed, 0 failed, 0 skipped, 2 not run", rest)
        pid = self.folder / "out/pid"
        if pid.exists():
            with self.assertRaises(ProcessLookupError):
                os.kill(int(pid.read_text()), 0)

    def test_without_a_gpu_nothing_runs(self):
        self.program(self.build / "bin/own-kernel", "echo 'no GPU, as CUDA says' >&2; exit 77")
        result = self.verify(f"--build={self.build}")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("there is no GPU to verify: no GPU, as CUDA says", result.stderr)

    def test_an_emulated_gpu_has_no_benches(self):
        self.program(self.build / "bin/own-kernel", "# STRATA_SIMT_GPUS")
        lines, _, code = self.run_steps("--only=bench table|memcheck storage|fault")
        self.assertEqual(lines["bench table"], ("skipped", "the GPU is emulated"))
        self.assertEqual(lines["memcheck storage_gpu_test map"][0], "skipped")
        self.assertEqual(lines["gpu_fault_process_test"][0], "failed", "it is not built")
        self.assertEqual(code, 1)

    def test_wrong_usage_is_refused(self):
        for words, part in [
                (("--buld=x",), "unknown argument '--buld=x'; see verify.sh --help"),
                (("table",), "unknown argument 'table'"),
                (("--jobs=0",), "--jobs is a number from 1 to 99; found '0'"),
                (("--limit=1h",), "--limit is a number of seconds, 1 or more; found '1h'"),
                (("--build=/no/such",), "/no/such/bin/own-kernel is not there"),
                ((f"--build={self.build}", "--only=nothing of that"), "fits no step"),
                ((f"--build={self.build}", f"--out={self.build}"), "is there already"),
                ((f"--build={self.build}", f"--pack={self.build}"), "is there already")]:
            result = self.verify(*words)
            self.assertEqual((result.returncode, result.stdout), (2, ""), words)
            self.assertIn(part, result.stderr)
        result = self.verify("--help")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("Exit codes: 0 nothing failed", result.stdout)

    def test_a_list_finds_filters_that_fit_no_test(self):
        self.program(self.build / "tests/storage_gpu_test",
                     "case $* in *DeviceMap*) ;; *) echo 'A.'; echo '  B';; esac")
        result = self.verify(f"--build={self.build}", "--list", "--only=storage")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"storage_gpu_test +600  tests: 1\n")
        self.assertRegex(result.stdout, r"memcheck storage_gpu_test map +600  no test fits its filter\n")
        self.assertFalse((self.folder / "out").exists())

    def test_a_packed_folder_is_enough(self):
        program = self.build / "bin/strata-admin"
        shutil.copy(shutil.which("python3"), program)  # a program with libraries
        (self.build / "tests/gpu_sets_test").unlink()
        packed = self.folder / "packed"
        result = self.verify(f"--build={self.build}", f"--pack={packed}")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("left out: tests/gpu_sets_test is not built", result.stdout)
        libraries = {file.name for file in (packed / "lib").iterdir()}
        self.assertFalse([name for name in libraries if name.startswith(("libc.so", "ld-linux"))])
        shutil.rmtree(self.build)
        result = self.verify("--only=storage_gpu_test$", "--out=packed-out", script=packed / "verify.sh")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("3 passed", (self.folder / "packed-out/table.txt").read_text())


if __name__ == "__main__":
    sys.exit(unittest.main())
