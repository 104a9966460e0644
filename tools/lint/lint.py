"""./dev lint: formatting, house rules, self-contained headers, clang-tidy, which also reads what
base/thread/mutex.h says of locks.

usage: lint.py [--jobs=N] [FILE...]        without files: every source that git knows

What passed is remembered in build-lint by the content of the file and of all project headers it
includes, so that a second run looks only at what changed. Exit code 1 with findings.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build-lint"  # each file by itself, without precompiled headers: it includes what it uses
PASSED = BUILD / "passed"
CLANG_FORMAT = "clang-format-14"
CLANG_TIDY = "clang-tidy-16"
HEADER_FLAGS = ["-std=c++20", "-fsyntax-only", "-x", "c++", "-Wall", "-Wextra", "-Werror",
                f"-I{ROOT}", "-isystem", f"{BUILD}/generated"]
INCLUDE = re.compile(rb'^\s*#\s*include\s+"([^"]+)"', re.M)


def sources_of(folder):
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.h", "*.cc", "*.cu", "*.cuh"],
        cwd=folder, capture_output=True, text=True, check=True).stdout.split()
    return sorted(path for path in set(listed) if (folder / path).exists())


def closure_of(path, known):
    """The file and all project headers that it includes, directly or not."""
    if path not in known:
        known[path] = {path}
        for name in INCLUDE.findall((ROOT / path).read_bytes()):
            for candidate in (Path(name.decode()), Path(path).parent / name.decode()):
                if (ROOT / candidate).exists():
                    known[path] = known[path] | closure_of(candidate.as_posix(), known)
                    break
    return known[path]


class Memory:
    """Which checks passed on which content."""

    def __init__(self):
        PASSED.mkdir(parents=True, exist_ok=True)
        self._closures = {}
        self._rules = hashlib.sha256(Path(__file__).read_bytes() + (ROOT / ".clang-tidy").read_bytes())

    def _stamp(self, check, path):
        digest = self._rules.copy()
        for file in sorted(closure_of(path, self._closures)):
            digest.update(file.encode() + b"\0" + (ROOT / file).read_bytes())
        return PASSED / f"{check}-{digest.hexdigest()}-{Path(path).name}"

    def has(self, check, path):
        return self._stamp(check, path).exists()

    def add(self, check, path):
        self._stamp(check, path).touch()


def run(command):
    """(passed, output) of one tool."""
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    return done.returncode == 0, done.stdout


def check_each(name, files, command_of, memory, jobs):
    """Runs one tool on each file that has not passed yet; returns the number of files that fail."""
    to_do = [file for file in files if not memory.has(name, file)]
    print(f"{name}: {len(to_do)} files to look at, {len(files) - len(to_do)} unchanged since they "
          "passed", file=sys.stderr)
    failed = 0
    with ThreadPoolExecutor(jobs) as pool:
        for file, (passed, output) in zip(to_do, pool.map(lambda f: run(command_of(f)), to_do)):
            if passed:
                memory.add(name, file)
                continue
            failed += 1
            print(f"--- {name}: {file}\n{output.strip()}", flush=True)
    return failed


def compiled_files():
    """The files that a build of this machine compiles."""
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    return {os.path.relpath(entry["file"], ROOT) for entry in entries}


def main(arguments):
    parser = argparse.ArgumentParser(description="Checks the sources.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("files", nargs="*")
    options = parser.parse_args(arguments)
    sources = options.files or sources_of(ROOT)
    memory = Memory()
    compiled = compiled_files()
    failed = 0

    passed, output = run([CLANG_FORMAT, "--dry-run", "-Werror", *sources])
    if not passed:
        failed += 1
        print(f"--- format: run ./dev format\n{output.strip()}", flush=True)
    passed, output = run([sys.executable, "tests/tools/layering_test.py"])
    if not passed:
        failed += 1
        print(f"--- house rules\n{output.strip()}", flush=True)

    headers = [source for source in sources if source.endswith(".h")]
    failed += check_each("header", headers, lambda file: ["c++", *HEADER_FLAGS, "-include", file, "/dev/null"], memory,
                         options.jobs)
    units = [source for source in sources if source in compiled and source.endswith(".cc")]
    failed += check_each("clang-tidy", units,
                         lambda file: [CLANG_TIDY, "--quiet", "-p", str(BUILD),
                                       "--extra-arg=-Wno-unknown-warning-option",
                                       "--extra-arg=-Wno-unused-command-line-argument",
                                       "--extra-arg=-Wno-sign-conversion",
                                       "--extra-arg=-Wno-shadow",
                                       "--extra-arg=-Wthread-safety", file],
                         memory, options.jobs)
    print(f"lint: {'no findings' if failed == 0 else f'{failed} checks or files with findings'}",
          file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
