"""./dev soak: long runs that look for faults. One kind so far: every fuzz target under libFuzzer.

usage: soak.py [--only=fuzz] [--cycles=N] [--jobs=N] [--check]

Ends with one JSON line per kind: {soak, cycles, seeds, operations, acked, lost, doubled, wrong, hangs,
seconds}. For fuzz, cycles is the number of inputs for each target, seeds the number of targets,
operations the inputs that ran, wrong the crashes and hangs the inputs that took too long. Inputs that
reach new code are kept in build-fuzz/corpus, those that fail in build-fuzz/findings.
Exit code 1 when anything was found.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BUILD = Path(__file__).resolve().parents[2] / "build-fuzz"
KINDS = ["fuzz"]
INPUT_SECONDS_MAX = 10
EXECUTED = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
HANG_MARKS = ("ERROR: libFuzzer: timeout", "ERROR: libFuzzer: out-of-memory")
TAIL_LINES = 30


def fuzz(program, cycles):
    """(inputs run, failed, hung) of one target."""
    corpus = BUILD / "corpus" / program.name
    findings = BUILD / "findings"
    corpus.mkdir(parents=True, exist_ok=True)
    findings.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [str(program), f"-runs={cycles}", f"-timeout={INPUT_SECONDS_MAX}", "-print_final_stats=1",
         "-rss_limit_mb=2048", f"-artifact_prefix={findings}/{program.name}-", str(corpus)],
        capture_output=True, text=True, errors="replace", check=False)
    executed = EXECUTED.search(done.stderr)
    operations = int(executed.group(1)) if executed else 0
    failed = done.returncode != 0
    hung = failed and any(mark in done.stderr for mark in HANG_MARKS)
    print(f"{program.name}: {operations} inputs{', FAILED' if failed else ''}", file=sys.stderr)
    if failed:
        print("\n".join(done.stderr.splitlines()[-TAIL_LINES:]), file=sys.stderr)
    return operations, failed and not hung, hung


def soak_fuzz(cycles, jobs):
    programs = sorted(path for path in (BUILD / "bin").glob("fuzz_*") if os.access(path, os.X_OK))
    if not programs:
        sys.exit(f"soak: no fuzz target in {BUILD}/bin")
    began = time.monotonic()
    with ThreadPoolExecutor(jobs) as pool:
        outcomes = list(pool.map(lambda program: fuzz(program, cycles), programs))
    return {"soak": "fuzz", "cycles": cycles, "seeds": len(programs),
            "operations": sum(outcome[0] for outcome in outcomes), "acked": 0, "lost": 0,
            "doubled": 0, "wrong": sum(outcome[1] for outcome in outcomes),
            "hangs": sum(outcome[2] for outcome in outcomes),
            "seconds": round(time.monotonic() - began, 1)}


def main(arguments):
    parser = argparse.ArgumentParser(description="Looks for faults for a long time.")
    parser.add_argument("--only", choices=KINDS, default="fuzz")
    parser.add_argument("--cycles", type=int, default=2_000_000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--check", action="store_true", help="look at the options only")
    options = parser.parse_args(arguments)
    if options.cycles < 1:
        parser.error("--cycles must be 1 or more")
    if options.check:
        return 0
    result = soak_fuzz(options.cycles, options.jobs)
    print(json.dumps(result), flush=True)
    return 1 if result["wrong"] or result["hangs"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
