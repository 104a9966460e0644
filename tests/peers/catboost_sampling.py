"""Holds trainings with sampling and noise against the package catboost: their quality, not their trees.

usage: catboost_sampling.py STRATA_WORKER [SEED]

Random numbers are others than CatBoost's. Each case is trained with several random_seed by both, and
the mean losses of rows that are not learned from must agree within four standard errors. The seed is
another one each run, and printed. Exit code 0: all is so; 1: something is not; 77: there is no catboost.
"""

import json
import sys
import tempfile
from pathlib import Path

from catboost_peer import catboost, numpy, run, seed_of

LEARN = 1500
ROWS = LEARN + 3000
SEEDS = 12
COMMON = dict(loss_function="Logloss", iterations=60, depth=5, learning_rate=0.2)
CASES = {
    "defaults": dict(),
    "mvs": dict(subsample=0.4, mvs_reg=0.01, random_strength=0),
    "bernoulli": dict(bootstrap_type="Bernoulli", subsample=0.3, random_strength=0),
    "bayesian": dict(bootstrap_type="Bayesian", bagging_temperature=2, random_strength=0),
    "noise": dict(bootstrap_type="No", random_strength=20),
    "rsm": dict(bootstrap_type="No", random_strength=0, rsm=0.3),
    "classes": dict(loss_function="MultiClass", bootstrap_type="MVS", subsample=0.4, random_strength=0),
    "levels": dict(bootstrap_type="Bernoulli", subsample=0.1, sampling_frequency="PerTreeLevel"),
}


def make_rows(rng):
    rows = rng.standard_normal((ROWS, 8)).astype(numpy.float32)
    score = 2 * rows[:, 0] * rows[:, 1] + rows[:, 2] - numpy.abs(rows[:, 3])
    labels = (score + rng.standard_normal(ROWS) > 0).astype(int)
    return rows, labels


def write_rows(path, rows, labels):
    lines = ("\t".join(str(v) for v in (label, *row)) for label, row in zip(labels, rows))
    path.write_text("\n".join(lines) + "\n")


def our_loss(worker, params, folder):
    (folder / "params.json").write_text(json.dumps(params))
    done = run(worker, f"--catboost-params={folder / 'params.json'}", "--json",
               f"learn_set={folder / 'learn.tsv'}", f"test_set={folder / 'test.tsv'}",
               f"model_file={folder / 'model.json'}", "use_best_model=false")
    return json.loads(done.stdout.splitlines()[-1])["metrics"]["test"][params["loss_function"]]


def their_loss(params, learn, test):
    model = catboost.CatBoost(params | dict(verbose=False, thread_count=1, allow_writing_files=False,
                                            use_best_model=False))
    model.fit(learn, eval_set=test)
    return model.get_evals_result()["validation"][params["loss_function"]][-1]


def main(arguments):
    worker, *rest = arguments
    seed = seed_of(rest)
    rows, labels = make_rows(numpy.random.default_rng(seed))
    learn = catboost.Pool(rows[:LEARN], labels[:LEARN])
    test = catboost.Pool(rows[LEARN:], labels[LEARN:])
    good = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder / "learn.tsv", rows[:LEARN], labels[:LEARN])
        write_rows(folder / "test.tsv", rows[LEARN:], labels[LEARN:])
        for case, changes in CASES.items():
            params = [COMMON | changes | dict(random_seed=seed * SEEDS + i) for i in range(SEEDS)]
            ours = numpy.array([our_loss(worker, p, folder) for p in params])
            theirs = numpy.array([their_loss(p, learn, test) for p in params])
            apart = ours.mean() - theirs.mean()
            error = numpy.sqrt((ours.var(ddof=1) + theirs.var(ddof=1)) / SEEDS)
            same = abs(apart) <= 4 * error
            good &= bool(same)
            print(f"{case:10s} loss {ours.mean():.5f}, expected {theirs.mean():.5f}, which is {apart / error:+.1f} "
                  f"standard errors apart{'' if same else ': too far'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
