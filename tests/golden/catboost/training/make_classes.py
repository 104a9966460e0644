"""Makes the golden trainings of CatBoost for losses of classes, whose labels are texts of a file.

usage: make_classes.py, in this folder, with the packages catboost (1.2.10) and numpy.

classes.tsv holds 140 rows to learn from, and classes_test.tsv 40: five columns of labels (two texts,
two numbers, three texts, three numbers, numbers of five classes of which two are not there), a weight,
and three numbers. classes_NAME.json has what CatBoost was told (params, label, weight), its model, and
its metrics by name after each round. All have test rows.
"""

import json
import os
import tempfile

import catboost
import numpy

LEARN = 140
ROWS = LEARN + 40
LABELS = ["answer", "size", "animal", "level", "place"]
NUMBERS = ["f0", "f1", "f2"]
PLAIN = dict(bootstrap_type="No", random_strength=0, iterations=4, depth=3, learning_rate=0.3)


def make_rows():
    rng = numpy.random.default_rng(31)
    f0 = rng.standard_normal(ROWS).round(2)
    f1 = rng.exponential(1, ROWS).round(2)
    f2 = rng.integers(0, 5, ROWS)
    score = f0 + 0.6 * (f2 > 2) - 0.4 * f1 + 0.4 * rng.standard_normal(ROWS)
    two = (score > 0).astype(int)
    three = numpy.digitize(score, [-0.7, 0.3])
    weight = rng.choice([0.5, 1, 2.25], ROWS)
    return [(("no", "yes")[a], ("10", "2.5")[a], ("cat", "ant", "Bee")[b], ("9", "10", "2.5")[b],
             (2, 0, 4)[b], *rest) for a, b, *rest in zip(two, three, weight, f0, f1, f2)]


def write_rows(path, rows):
    with open(path, "w") as out:
        out.writelines("\t".join(str(cell) for cell in row) + "\n" for row in rows)


def make(name, label, weight=False, **parameters):
    params = {key: value for key, value in (PLAIN | parameters).items() if value is not None}
    kinds = ["Label" if column == label else "Auxiliary" for column in LABELS]
    kinds += ["Weight" if weight else "Auxiliary"] + [f"Num\t{number}" for number in NUMBERS]
    description = tempfile.mktemp(".cd")
    with open(description, "w") as out:
        out.writelines(f"{place}\t{kind}\n" for place, kind in enumerate(kinds))
    learn, test = (catboost.Pool(path, column_description=description)
                   for path in ("classes.tsv", "classes_test.tsv"))
    model = catboost.CatBoost(params | dict(has_time=True, allow_writing_files=False, thread_count=1,
                                            verbose=False))
    model.fit(learn, eval_set=test)
    path = tempfile.mktemp(".json")
    model.save_model(path, format="json")
    with open(path) as file:
        saved = json.load(file)
    os.unlink(path)
    os.unlink(description)
    info = saved["model_info"]
    saved["model_info"] = {"params": {"loss_function": info["params"]["loss_function"]},
                           "class_params": info["class_params"]}
    case = dict(params=params, label=label, weight=weight, model=saved,
                losses=model.get_evals_result())
    with open(f"classes_{name}.json", "w") as out:
        json.dump(case, out, separators=(",", ":"), sort_keys=True)
        out.write("\n")


def main():
    rows = make_rows()
    write_rows("classes.tsv", rows[:LEARN])
    write_rows("classes_test.tsv", rows[LEARN:])
    make("weights", "answer", loss_function="Logloss", weight=True, class_weights=[1, 2.5])
    make("balanced", "size", loss_function="Logloss", weight=True, auto_class_weights="Balanced",
         eval_metric="Accuracy")
    make("names", "answer", loss_function="Logloss", class_names=["yes", "no"], scale_pos_weight=2)
    make("multi", "animal", loss_function="MultiClass", weight=True, class_weights=[1, 2, 0.5])
    make("multi_names", "animal", loss_function="MultiClass", class_names=["dog", "cat", "Bee", "ant"])
    make("multi_steps", "level", loss_function="MultiClass", leaf_estimation_iterations=3,
         auto_class_weights="SqrtBalanced", eval_metric="Accuracy")
    make("multi_gradient", "animal", loss_function="MultiClass", leaf_estimation_method="Gradient",
         leaf_estimation_iterations=4, weight=True, score_function="L2")
    make("multi_count", "place", loss_function="MultiClass", classes_count=6, learning_rate=None)
    make("one_vs_all", "level", loss_function="MultiClassOneVsAll", weight=True)
    make("one_vs_all_gradient", "animal", loss_function="MultiClassOneVsAll",
         leaf_estimation_method="Gradient", leaf_estimation_iterations=3)


if __name__ == "__main__":
    main()
