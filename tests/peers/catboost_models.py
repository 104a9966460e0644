"""Holds strata-worker against the package catboost: what it predicts with CatBoost's models, and
whether CatBoost loads the models that it writes.

usage: catboost_models.py STRATA_WORKER GOLDEN

GOLDEN is the folder tests/golden/catboost. Besides its models it trains some here, of another seed
each run, which it prints. Exit code 0: all numbers are within 1e-9, relatively above 1; 1: some are
not; 77: there is no catboost.
"""

import json
import math
import sys
import tempfile
from pathlib import Path

from catboost_peer import catboost, numpy, run, seed_of

FEATURES = ["f0", "f1", "f2", "c0", "c1", "c2"]
LIMIT = 1e-9
# Their tables hold fractions, which CatBoost would read as whole numbers.
REFUSED = ["means"]


def predicted(path):
    """The predictions of a file, row by row, without its header and sample ids."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return [line.split("\t")[1:] for line in lines[1:]]


def distance(found, expected):
    """The largest one of two tables; texts that are no numbers must be the same."""
    most = 0.0
    if len(found) != len(expected):
        return math.inf
    for ours, theirs in zip(found, expected):
        if len(ours) != len(theirs):
            return math.inf
        for a, b in zip(ours, theirs):
            try:
                x, y = float(a), float(b)
            except ValueError:
                most = max(most, 0.0 if str(a) == str(b) else math.inf)
                continue
            if x != y:
                most = max(most, abs(x - y) / max(1.0, abs(y)))
    return most


class Check:
    def __init__(self, worker, folder):
        self.worker, self.folder, self.failed = worker, Path(folder), False

    def report(self, name, what, apart):
        print(f"{name:16s} {what:14s} {apart:.1e}")
        self.failed |= not apart <= LIMIT

    def predictions(self, name, model, rows, expected, *words):
        for kind, values in expected.items():
            out = self.folder / "predictions.tsv"
            run(self.worker, "--task=predict", f"model_file={model}", f"input_path={rows}",
                f"output_path={out}", f"prediction_type={kind}", *words)
            self.report(name, kind, distance(predicted(out), values))

    def written(self, name, model, pool, raw):
        """CatBoost loads what is written, and predicts the same."""
        out = self.folder / "written.json"
        if name in REFUSED:
            errors = run(self.worker, "--task=convert", f"model_file={model}", f"output_path={out}",
                         fails=True).stderr
            self.report(name, "refused", 0.0 if "whole numbers" in errors else math.inf)
            return
        run(self.worker, "--task=convert", f"model_file={model}", f"output_path={out}")
        loaded = catboost.CatBoost()
        loaded.load_model(str(out), format="json")
        values = numpy.asarray(loaded.predict(pool, prediction_type="RawFormulaVal"))
        self.report(name, "written", distance(values.reshape(len(raw), -1).tolist(), raw))


def golden_pool(golden):
    rows = [line.split("\t")[2:] for line in (golden / "rows.tsv").read_text().splitlines()]
    data = [[float(v or "nan") for v in row[:3]] + row[3:] for row in rows]
    return catboost.Pool(data, cat_features=[3, 4, 5], feature_names=FEATURES)


def check_golden(check, golden):
    pool = golden_pool(golden)
    for path in sorted(golden.glob("*.expected.json")):
        name = path.name.removesuffix(".expected.json")
        expected = json.loads(path.read_text())
        model = golden / f"{name}.json"
        check.predictions(name, model, golden / "rows.tsv", expected,
                          f"column_description={golden / 'rows.cd'}")
        check.written(name, model, pool, expected["RawFormulaVal"])


def check_trained(check, seed):
    """Models of several kinds, rows with a header and columns in another order than in training."""
    rng = numpy.random.default_rng(seed)
    count = 1500
    numbers = rng.standard_normal((count, 4))
    numbers[rng.random((count, 4)) < 0.05] = numpy.nan
    categories = numpy.stack([rng.integers(0, n, count) for n in (3, 40, 400)], 1).astype(str)
    score = numpy.nan_to_num(numbers[:, 0]) + numpy.array([len(c) for c in categories[:, 2]])
    score += (categories[:, 1].astype(int) % 2) * numpy.nan_to_num(numbers[:, 1])
    names = ["n0", "n1", "n2", "n3", "k0", "k1", "k2"]
    data = [list(map(float, a)) + list(b) for a, b in zip(numbers, categories)]
    order = rng.permutation(len(names)).tolist()
    rows, description = check.folder / "rows.csv", check.folder / "rows.cd"
    lines = [",".join(names[c] for c in order)]
    for row in data:
        cells = ["" if isinstance(v, float) and math.isnan(v) else str(v) for v in row]
        lines.append(",".join(cells[c] for c in order))
    rows.write_text("\n".join(lines) + "\n")
    description.write_text("".join(f"{place}\tCateg\n" for place, c in enumerate(order) if c >= 4))
    kinds = {"logloss": dict(loss_function="Logloss", max_ctr_complexity=3),
             "multiclass": dict(loss_function="MultiClass"),
             "rmse": dict(loss_function="RMSE", border_count=700),
             "lossguide": dict(loss_function="RMSE", grow_policy="Lossguide", max_leaves=40)}
    for name, parameters in kinds.items():
        target = score if "RMSE" in str(parameters) else numpy.digitize(score, [2.2, 3.4])
        if name == "logloss":
            target = score > 2.7
        train = catboost.Pool(data[:1000], target[:1000], cat_features=[4, 5, 6], feature_names=names)
        model = catboost.CatBoost(dict(iterations=80, verbose=False, allow_writing_files=False,
                                       thread_count=2, random_seed=seed, model_size_reg=0.01)
                                  | parameters)
        model.fit(train)
        path = check.folder / f"{name}.json"
        model.save_model(str(path), format="json", pool=train)
        pool = catboost.Pool(data, cat_features=[4, 5, 6], feature_names=names)
        raw = numpy.asarray(model.predict(pool, prediction_type="RawFormulaVal"))
        raw = raw.reshape(count, -1).tolist()
        check.predictions(name, path, rows, {"RawFormulaVal": raw}, f"cd={description}",
                          "delimiter=,", "has_header=true")
        check.written(name, path, pool, raw)


def main(arguments):
    worker, golden = arguments
    seed = seed_of([])
    with tempfile.TemporaryDirectory() as folder:
        check = Check(worker, folder)
        check_golden(check, Path(golden))
        check_trained(check, seed)
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
