"""Makes the golden models of CatBoost: models, rows to predict for, and what CatBoost says of them.

usage: make_golden.py, in this folder, with the packages catboost (1.2.10) and numpy.

rows.tsv holds 40 rows: sample id, label, three numbers, three categories; rows.cd describes them. Of
the rows, some miss f1, and some have categories that training has not seen. NAME.json is a model
without the parameters of its training, and NAME.expected.json what CatBoost predicts for the rows.
"""

import json
import os
import tempfile

import catboost
import numpy

TRAINED = 240
ROWS = TRAINED + 40
FEATURES = ["f0", "f1", "f2", "c0", "c1", "c2"]
CATEGORICAL = FEATURES[3:]
PLAIN = dict(iterations=4, depth=3, learning_rate=0.3, verbose=False, allow_writing_files=False,
             thread_count=1, random_seed=1, max_ctr_complexity=1)


def make_data():
    rng = numpy.random.default_rng(11)
    f0 = rng.standard_normal(ROWS).round(3)
    f1 = rng.exponential(1, ROWS).round(3)
    f1[rng.random(ROWS) < 0.2] = numpy.nan
    f2 = rng.integers(0, 5, ROWS).astype(float)
    c0 = rng.choice(["a", "b", "c"], ROWS)
    c1 = numpy.array([f"town {int(v)}" for v in rng.exponential(3, ROWS)])
    c2 = rng.integers(-2, 6, ROWS).astype(str)
    c1[-8:] = "never seen"
    c2[-4:] = "1000"
    score = (f0 + (f2 > 2) - 0.5 * numpy.nan_to_num(f1, nan=1.5) + (c0 == "b") * (c2 == "3")
             + numpy.array([len(v) % 2 for v in c1]) + 0.3 * rng.standard_normal(ROWS))
    columns = dict(f0=f0, f1=f1, f2=f2, c0=c0, c1=c1, c2=c2)
    crossed = (c0 == "b") ^ numpy.array([int(v) % 2 == 0 for v in c2]) ^ (rng.random(ROWS) < 0.1)
    targets = dict(binary=numpy.where(score > 0.3, "yes", "no"), real=score.round(3),
                   crossed=numpy.where(crossed, "yes", "no"),
                   three=numpy.digitize(score, [-0.2, 0.9]),
                   two_of_four=numpy.where(score > 0.3, 3, 1))
    return columns, targets


def write_rows(columns, targets):
    with open("rows.tsv", "w") as out:
        for i in range(TRAINED, ROWS):
            cells = [f"row-{i}", targets["binary"][i]]
            for name in FEATURES:
                value = columns[name][i]
                missing = name == "f1" and numpy.isnan(value)
                cells.append("" if missing else str(value))
            out.write("\t".join(cells) + "\n")
    with open("rows.cd", "w") as out:
        out.write("0\tSampleId\n1\tLabel\n")
        for place, name in enumerate(FEATURES, 2):
            out.write(f"{place}\t{'Categ' if name in CATEGORICAL else 'Num'}\t{name}\n")


class Maker:
    def __init__(self):
        self.columns, self.targets = make_data()
        write_rows(self.columns, self.targets)

    def pool(self, target, begin, end):
        rows = [[str(self.columns[name][i]) if name in CATEGORICAL else float(self.columns[name][i])
                 for name in FEATURES] for i in range(begin, end)]
        labels = None if target is None else self.targets[target][begin:end]
        return catboost.Pool(rows, labels, cat_features=[3, 4, 5], feature_names=FEATURES)

    def make(self, name, target, types, threshold=None, **parameters):
        if threshold is None:
            model = catboost.CatBoost(PLAIN | parameters)
        else:
            model = catboost.CatBoostClassifier(**PLAIN | parameters)
        train = self.pool(target, 0, TRAINED)
        model.fit(train)
        if threshold is not None:
            model.set_probability_threshold(threshold)
        path = tempfile.mktemp(".json")
        model.save_model(path, format="json", pool=train)
        with open(path) as file:
            saved = json.load(file)
        os.unlink(path)
        info = saved["model_info"]
        kept = {key: info[key] for key in ("class_params", "binclass_probability_threshold")
                if key in info}
        kept["params"] = {"loss_function": info["params"]["loss_function"]}
        saved["model_info"] = kept
        with open(name + ".json", "w") as out:
            json.dump(saved, out, separators=(",", ":"), sort_keys=True)
            out.write("\n")
        one_output = len(saved["scale_and_bias"][1]) == 1
        test = self.pool(None, TRAINED, ROWS)
        expected = {}
        for kind in ["RawFormulaVal"] + types:
            values = numpy.asarray(model.predict(test, prediction_type=kind)).tolist()
            if kind == "Probability" and one_output:
                values = [row[1] for row in values]  # as its command line has it
            expected[kind] = [row if isinstance(row, list) else [row] for row in values]
        with open(name + ".expected.json", "w") as out:
            # Infinities, of classes without rows, as texts.
            text = json.dumps(expected, separators=(",", ":")).replace("-Infinity", '"-inf"')
            out.write(text + "\n")


def main():
    maker = Maker()
    only_numbers = dict(ignored_features=[3, 4, 5])
    maker.make("numbers", "binary", ["Probability", "Class"], loss_function="Logloss",
               **only_numbers)
    maker.make("nan_max", "binary", ["Probability", "Class"], loss_function="Logloss",
               nan_mode="Max", iterations=3, threshold=0.3, **only_numbers)
    maker.make("poisson", "three", ["Exponent"], loss_function="Poisson", iterations=3,
               **only_numbers)
    maker.make("depthwise", "real", [], loss_function="RMSE", grow_policy="Depthwise", iterations=3)
    maker.make("lossguide", "three", ["Probability", "Class"], loss_function="MultiClass",
               grow_policy="Lossguide", max_leaves=5, iterations=2, **only_numbers)
    maker.make("one_vs_all", "three", ["Probability", "Class"], loss_function="MultiClassOneVsAll",
               iterations=3)
    maker.make("absent_classes", "two_of_four", ["Probability", "Class"], classes_count=4,
               loss_function="MultiClass", iterations=2, **only_numbers)
    maker.make("combinations", "crossed", ["Probability", "Class"], loss_function="Logloss",
               max_ctr_complexity=2, one_hot_max_size=3, model_size_reg=0, ignored_features=[0, 1], depth=4,
               combinations_ctr=["Borders", "Counter", "BinarizedTargetMeanValue"])
    maker.make("types", "real", [], loss_function="RMSE", one_hot_max_size=1, ignored_features=[0, 2],
               simple_ctr=["Borders:TargetBorderCount=3:Prior=0.2", "Buckets:TargetBorderCount=2",
                           "Counter:CtrBorderCount=20"])
    maker.make("means", "real", [], loss_function="RMSE", one_hot_max_size=1, iterations=4,
               simple_ctr=["BinarizedTargetMeanValue:TargetBorderCount=3"])


if __name__ == "__main__":
    main()
