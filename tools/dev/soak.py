"""./dev soak: long runs that look for faults, one kind after the other.

usage: soak.py [--only=KIND] [--cycles=N] [--seeds=N] [--first=SEED] [--jobs=N] [--check]

  kill       a server is killed at a random moment under load (cycles: kills; tests/soak)
  items      a server is killed at a random moment under changes of a collection and searches
             (cycles: kills; doubled: documents that came back)
  copies     the same, where each document is on two servers and searches look into copies
  images     collections of item sets, without servers, are killed while they change, are saved and
             searched, and while they are opened (cycles: kills; tests/soak/items)
  trees      random trainings of boosted trees: what training prints, task = evaluate and the metric by
             hand from predictions are one number (cycles: trainings; operations: numbers that were
             compared; tests/soak/trees)
  sets       random searches in up to 10 million documents by both engines are compared with a plain
             reference (cycles: batches of queries; operations: answers; tests/soak/sets)
  failpoint  a server dies, or a call of it fails, at each failpoint (cycles: of each of both)
  client     a worker, client or admin is killed in a push, a checkpoint, a restore (cycles: kills,
             spread evenly over nine kinds, "kills" in the JSON line)
  flip       10,000 random bits of each kind of file, and each bit of its head, are flipped under its
             readers; then the files of a stopped server are damaged (cycles: faults)
  links      groups of ranks at work are hurt: killed and stopped ranks, cut and reset connections,
             ranks that disagree, strangers (cycles: faults, which go round all kinds; "faults" in the
             JSON line has the times from fault to error; tests/soak/links)
  sim        whole clusters on a simulated network and disk (seeds; tests/soak/sim)
  hostile    peers without manners attack a server at every port, beside honest load with exact sums
             (cycles: periods of three seconds, each followed by as many bytes of honest load;
             operations: honest ones; tests/soak/hostile)
  fuzz       every decoder under libFuzzer (cycles: inputs for each target)

Each kind ends with one JSON line: {soak, cycles, seeds, operations, acked, lost, doubled, wrong, hangs,
..., seconds}. For fuzz, seeds is the number of targets, operations the inputs that ran, wrong the crashes
and hangs the inputs that took too long; a target begins with its seeds; inputs that reach new code are
kept in build-fuzz/corpus, those that fail in build-fuzz/findings. Exit code 1 when anything was found.

--check looks at the options, and prints what must be built first: a preset and its targets on a line.
"""

import argparse
import ctypes
import difflib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build-fuzz"
# kind: (preset, the program's name and arguments, what --cycles or --seeds is by default)
PROGRAMS = {
    "kill": ("release", "strata-soak-kill", ["--kind=server"], 2000),
    "items": ("release", "strata-soak-kill", ["--kind=items"], 1000),
    "copies": ("release", "strata-soak-kill", ["--kind=items", "--copies=2"], 500),
    "images": ("release", "strata-soak-items", ["--kind=kill"], 1000),
    "trees": ("release", "strata-soak-trees", [], 2000),
    "sets": ("release", "strata-soak-sets", [], 2000),
    "failpoint": ("failpoints", "strata-soak-kill", ["--kind=failpoint"], 20),
    "client": ("release", "strata-soak-caller", [], 300),
    "flip": ("release", "strata-soak-flip", [], 500),
    "links": ("release", "strata-soak-links", [], 500),
    "hostile": ("release", "strata-soak-hostile", [], 300),
    "sim": ("release", "strata-soak-sim", [], 20_000),
}
FLIPPED_BITS = 10_000
CALLER_KINDS = 9  # of kills, in tests/soak/caller_soak.cc
FUZZ_CYCLES = 2_000_000
KINDS = [*PROGRAMS, "fuzz"]
INPUT_SECONDS_MAX = 10
EXECUTED = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
HANG_MARKS = ("ERROR: libFuzzer: timeout", "ERROR: libFuzzer: out-of-memory")
TAIL_LINES = 30


class Arguments(argparse.ArgumentParser):
    """Wrong usage in the words of ./dev, whose user never sees this program."""

    def error(self, message):
        print(f"./dev soak: {message}. See ./dev soak --help.", file=sys.stderr)
        sys.exit(2)


def end_all(number, _):
    """What TERM and INT do: nothing that was started stays, no process and no file. Processes whose
    parent is gone become children of this one (adopt_orphans)."""
    signal.signal(number, signal.SIG_IGN)
    while children := [int(pid) for listed in Path("/proc/self/task").glob("*/children")
                       for pid in listed.read_text().split()]:
        for pid in children:
            os.kill(pid, signal.SIGKILL)
        for pid in children:
            try:
                os.waitpid(pid, 0)
            except ChildProcessError:
                pass  # the thread that started it was faster
    shutil.rmtree(os.environ["TMPDIR"], ignore_errors=True)
    print(f"./dev soak: ended by {signal.Signals(number).name}", file=sys.stderr, flush=True)
    os._exit(128 + number)  # no other thread begins anything


def adopt_orphans():
    set_child_subreaper = 36  # linux/prctl.h
    ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)


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


def shares(kind, count, jobs):
    """What each instance of a kind's program does of `count`: their sum. Each instance of client has
    its cycles go round all kinds of kills. links and hostile have times, of which no sum says anything;
    sets takes all cores."""
    least = CALLER_KINDS if kind == "client" else 1
    instances = 1 if kind in ("hostile", "links", "sets", "sim") else max(1, min(count // least, max(2, jobs)))
    return [count // instances + (one < count % instances) for one in range(instances)]


def soak_program(kind, count, first, jobs):
    """The JSON line of the kind: the sum of what several instances of its program say, each with seeds
    of its own from `first` on, since most of a kill's time is waiting."""
    preset, program, arguments, default = PROGRAMS[kind]
    parts = shares(kind, count or default, jobs)
    folder = ROOT / ("build" if preset == "release" else f"build-{preset}")
    counted, seed = ("--seeds", "--first") if kind == "sim" else ("--cycles", "--seed")
    if kind == "flip":
        arguments = [f"--bits={-(-FLIPPED_BITS // len(parts))}"]
    began = time.monotonic()
    running = [subprocess.Popen(
        [str(folder / "bin" / program), *arguments, f"{counted}={part}",
         f"{seed}={first + 10_000 * instance}"],
        stdout=subprocess.PIPE, text=True, errors="replace") for instance, part in enumerate(parts)]
    outputs = [one.communicate()[0] for one in running]
    total = {"soak": kind}
    for one, output in zip(running, outputs):
        result = last_json(output)
        # Whatever ends without its line, or badly in spite of it, has found something.
        if one.returncode != 0 and not found_anything(result):
            result["wrong"] = 1
            print(f"{program}: exit code {one.returncode}", file=sys.stderr)
        add(total, result)
    total["seconds"] = round(time.monotonic() - began, 1)
    return total


def last_json(output):
    lines = output.splitlines()
    try:
        return json.loads(lines[-1] if lines else "")
    except json.JSONDecodeError:
        return {}


def add(total, result):
    """Adds the numbers of `result` to those of `total`, member by member; a longest_... does not add up."""
    for name, value in result.items():
        if isinstance(value, dict):
            add(total.setdefault(name, {}), value)
        elif name.startswith("longest_"):
            total[name] = max(total.get(name, 0), value)
        elif isinstance(value, (int, float)):
            total[name] = total.get(name, 0) + value


def say_flipped(kinds):
    """A table of what became of the bits of each kind of file."""
    columns = ["bits", "detected", "harmless", "wrong", "crashes"]
    print(f"{'flipped':24}" + "".join(f"{column:>10}" for column in columns), file=sys.stderr)
    for kind, counts in kinds.items():
        print(f"{kind:24}" + "".join(f"{counts[column]:>10}" for column in columns), file=sys.stderr)


def found_anything(result):
    return any(result.get(name, 0) for name in ("lost", "doubled", "wrong", "hangs", "sessions_lost"))


def needs(kinds):
    """Lines "PRESET TARGET..." of what the kinds run."""
    targets = {}
    for kind in kinds:
        preset, program = ("fuzz", "fuzz_targets") if kind == "fuzz" else PROGRAMS[kind][:2]
        targets.setdefault(preset, {})[program] = True
    return [" ".join([preset, *programs]) for preset, programs in targets.items()]


def main(arguments):
    parser = Arguments(allow_abbrev=False, add_help=False)
    parser.add_argument("--only")
    parser.add_argument("--cycles", type=int)
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--first", type=int)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    if options.only not in [None, *KINDS]:
        near = difflib.get_close_matches(options.only, KINDS, 1)
        parser.error(f"unknown kind '{options.only}'{f' (did you mean {near[0]!r}?)' if near else ''}; "
                     f"--only= is one of {', '.join(KINDS)}")
    for name, only in (("cycles", [kind for kind in KINDS if kind != "sim"]), ("seeds", ["sim"]),
                       ("first", list(PROGRAMS))):
        value = getattr(options, name)
        if value is not None and value < 1:
            parser.error(f"--{name} must be 1 or more")
        if value is not None and options.only not in only:
            parser.error(f"--{name} needs --only= one of {', '.join(only)}")
    kinds = [options.only] if options.only else KINDS
    if options.check:
        print("\n".join(needs(kinds)))
        return 0
    adopt_orphans()
    for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup stays what it is
            signal.signal(number, end_all)
    with tempfile.TemporaryDirectory(prefix="strata-soak-", ignore_cleanup_errors=True) as folder:
        os.environ["TMPDIR"] = folder
        return run(kinds, options)


def run(kinds, options):
    found = False
    for kind in kinds:
        if kind == "fuzz":
            result = soak_fuzz(options.cycles or FUZZ_CYCLES, options.jobs)
        else:
            result = soak_program(kind, options.seeds if kind == "sim" else options.cycles,
                                  options.first or 1, options.jobs)
        if "flipped" in result:
            say_flipped(result["flipped"])
        print(json.dumps(result), flush=True)
        found = found or found_anything(result)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
