"""./dev lint: formatting, house rules, self-contained headers, clang-tidy, which also reads what
base/thread/mutex.h says of locks.

usage: lint.py [--jobs=N] [--recent] [FILE...]        without files: every source that git knows

--recent takes a few minutes: formatting and house rules of all sources, and clang-tidy over those
that the newest 40 commits changed, the newest first, as many as there is time for.

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
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build-lint"  # each file by itself, without precompiled headers: it includes what it uses
PASSED = BUILD / "passed"
CLANG_FORMAT = "clang-format-14"
CLANG_TIDY = "clang-tidy-16"
RECENT_COMMITS = 40
RECENT_SECONDS = 180  # for clang-tidy
HEADER_FLAGS = ["-std=c++20", "-fsyntax-only", "-x", "c++", "-Wall", "-Wextra", "-Werror",
                f"-I{ROOT}", f"-I{ROOT}/include", "-isystem", f"{BUILD}/generated"]
INCLUDE = re.compile(rb'^\s*#\s*include\s+"([^"]+)"', re.M)


def git(*arguments):
    """The words that git says. The checkout may belong to somebody else, as in a container."""
    return subprocess.run(["git", "-c", "safe.directory=*", *arguments], cwd=ROOT,
                          stdout=subprocess.PIPE, text=True, check=True).stdout.split()


def sources():
    listed = git("ls-files", "--cached", "--others", "--exclude-standard", "*.h", "*.cc", "*.cu", "*.cuh")
    return sorted(path for path in set(listed) if (ROOT / path).exists())


def recent_files():
    """What is not committed yet and what the newest commits changed, the newest first. The last
    commit of a shallow clone counts as one that made all files."""
    return list(dict.fromkeys(
        git("diff", "--name-only", "HEAD") +
        git("log", f"--max-count={RECENT_COMMITS}", "--no-merges", "--name-only", "--format=")))


def closure_of(path, known):
    """The file and all project headers that it includes, directly or not."""
    if path not in known:
        known[path] = {path}
        for name in INCLUDE.findall((ROOT / path).read_bytes()):
            for folder in (".", "include", Path(path).parent):
                candidate = Path(folder, name.decode())
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


def check_each(name, files, command_of, memory, jobs, seconds=float("inf")):
    """Runs one tool on each file that has not passed yet, as long as there is time; returns the
    number of files that fail."""
    to_do = [file for file in files if not memory.has(name, file)]
    end = time.monotonic() + seconds

    def look(file):
        return run(command_of(file)) if time.monotonic() < end else None

    print(f"{name}: {len(to_do)} files to look at, {len(files) - len(to_do)} unchanged since they "
          "passed", file=sys.stderr)
    failed = not_looked_at = 0
    with ThreadPoolExecutor(jobs) as pool:
        for file, found in zip(to_do, pool.map(look, to_do)):
            if found is None:
                not_looked_at += 1
                continue
            passed, output = found
            if passed:
                memory.add(name, file)
                continue
            failed += 1
            print(f"--- {name}: {file}\n{output.strip()}", flush=True)
    if not_looked_at > 0:
        print(f"{name}: there was no time for {not_looked_at} of these files", file=sys.stderr)
    return failed


def compiled_files():
    """The files that a build of this machine compiles."""
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    return {os.path.relpath(entry["file"], ROOT) for entry in entries}


def main(arguments):
    parser = argparse.ArgumentParser(description="Checks the sources.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--recent", action="store_true")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args(arguments)
    files = options.files or sources()
    memory = Memory()
    compiled = compiled_files()
    failed = 0

    passed, output = run([CLANG_FORMAT, "--dry-run", "-Werror", *files])
    if not passed:
        failed += 1
        print(f"--- format: run ./dev format\n{output.strip()}", flush=True)
    passed, output = run([sys.executable, "tests/tools/layering_test.py"])
    if not passed:
        failed += 1
        print(f"--- house rules\n{output.strip()}", flush=True)

    if options.recent:
        files = [file for file in recent_files() if (ROOT / file).exists()]
    else:
        headers = [file for file in files if file.endswith(".h")]
        failed += check_each("header", headers,
                             lambda file: ["c++", *HEADER_FLAGS, "-include", file, "/dev/null"],
                             memory, options.jobs)
    units = [file for file in files if file in compiled and file.endswith(".cc")]
    failed += check_each("clang-tidy", units,
                         lambda file: [CLANG_TIDY, "--quiet", "-p", str(BUILD),
                                       "--extra-arg=-Wno-unknown-warning-option",
                                       "--extra-arg=-Wno-unused-command-line-argument",
                                       "--extra-arg=-Wno-sign-conversion",
                                       "--extra-arg=-Wno-shadow",
                                       "--extra-arg=-Wthread-safety", file],
                         memory, options.jobs, RECENT_SECONDS if options.recent else float("inf"))
    print(f"lint: {'no findings' if failed == 0 else f'{failed} checks or files with findings'}",
          file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
