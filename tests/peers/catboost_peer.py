"""What the tests beside the package catboost share.

Where there is no catboost, importing this ends the test as skipped, with the exit code 77.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import catboost
    import numpy
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

__all__ = ["catboost", "load", "numpy", "run", "run_cases", "seed_of"]


def run(*words, fails=False):
    """Runs a program and returns what it did. One that does not end as it should ends the test."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if (done.returncode != 0) != fails:
        sys.exit(f"{' '.join(words)}: exit code {done.returncode}\n{done.stderr}")
    return done


def load(path):
    """The model of a JSON file. If CatBoost prints anything while it loads it, the test ends."""
    with tempfile.TemporaryFile("w+") as printed:
        sys.stdout.flush()
        kept = [os.dup(1), os.dup(2)]
        for stream in (1, 2):
            os.dup2(printed.fileno(), stream)
        try:
            model = catboost.CatBoost().load_model(str(path), format="json")
        finally:
            sys.stdout.flush()
            for stream, before in zip((1, 2), kept):
                os.dup2(before, stream)
                os.close(before)
        printed.seek(0)
        if said := printed.read():
            sys.exit(f"{path}: CatBoost says while it loads it: {said}")
    return model


def seed_of(texts):
    """The seed of the command line, or another one each run; it is printed."""
    seed = int(texts[0]) if texts else int.from_bytes(os.urandom(2), "little")
    print(f"seed {seed}")
    return seed


def run_cases(arguments, cases, check):
    """Calls check(worker, name, case, rng, folder) for each case; returns the exit code of all."""
    worker, *rest = arguments
    seed = seed_of(rest)
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for name, case in cases.items():
            good &= check(worker, name, case, numpy.random.default_rng(seed), Path(folder))
    return 0 if good else 1
