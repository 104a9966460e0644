"""Models handed to and fro between Strata and LightGBM: what one trains the other loads, and both
predict the same rows."""
import json
import os
import subprocess

# Beside the data's name: what each is trained with.
CASES = [
    ("binary", "number", "objective=binary"),
    ("categories", "category", "objective=binary min_data_per_group=10"),
    ("zero as missing", "number", "objective=regression zero_as_missing=true"),
    ("missing on their own", "gap", "objective=regression"),
    ("no missing", "number", "objective=regression use_missing=false"),
    ("square root", "number", "objective=regression reg_sqrt=true"),
    ("absolute", "number", "objective=regression_l1"),
    ("poisson", "count", "objective=poisson"),
    ("cross entropy", "share", "objective=cross_entropy"),
    ("multiclass", "class", "objective=multiclass num_class=3"),
    ("one-vs-all", "class", "objective=multiclassova num_class=3"),
    ("ranking", "rank", "objective=lambdarank"),
    ("goss", "number", "objective=binary data_sample_strategy=goss learning_rate=0.3"),
    ("dart", "number", "objective=binary boosting=dart drop_rate=0.4 skip_drop=0.2"),
    ("dart, multiclass", "class", "objective=multiclass num_class=3 boosting=dart skip_drop=0"),
    ("dart, categories", "category",
     "objective=regression boosting=dart skip_drop=0.3 xgboost_dart_mode=true"),
    ("forest", "number", "objective=binary boosting=rf bagging_freq=1 bagging_fraction=0.6"),
    ("forest, regression", "category",
     "objective=regression boosting=rf bagging_freq=1 bagging_fraction=0.6 feature_fraction=0.7"),
    ("forest, multiclass", "class",
     "objective=multiclass num_class=3 boosting=rf bagging_freq=1 bagging_fraction=0.6"),
]
LARGEST = 1e-12  # relative difference that is rounding


def make_data(kind, folder):
    """Rows with missing values, zeros and a category, their labels, and a file of both."""
    import numpy

    random = numpy.random.default_rng(7)
    rows = numpy.round(random.normal(size=(2000, 6)), 3)
    rows[random.random(rows.shape) < 0.1] = 0
    rows[:, 5] = random.integers(0, 40, len(rows))
    target = rows[:, 0] * rows[:, 1] + numpy.sin(2 * rows[:, 2]) + (rows[:, 5] % 3) * 0.5
    target += random.normal(size=len(rows)) * 0.3
    rows[random.random(len(rows)) < 0.15, 1] = numpy.nan
    labels = {"count": numpy.floor(numpy.exp(target / 2)), "share": 1 / (1 + numpy.exp(-target)),
              "class": numpy.digitize(target, [0, 1]),
              "gap": numpy.isnan(rows[:, 1]) * 2 + target, "rank": numpy.digitize(target, [0, 1, 2])}
    label = labels.get(kind, target > 0.4).astype(float)
    path = os.path.join(folder, f"{kind}.csv")
    with open(path, "w", encoding="utf-8") as file:
        for y, row in zip(label, rows):
            file.write(",".join(repr(float(x)) for x in [y, *row]) + "\n")
    if kind == "rank":
        with open(path + ".query", "w", encoding="utf-8") as file:
            file.write("20\n" * (len(rows) // 20))
    return rows, label, path


def run_worker(arguments):
    """What the last line of strata-worker --json says."""
    done = subprocess.run([*arguments, "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ValueError(done.stderr.strip())
    return json.loads(done.stdout.strip().splitlines()[-1])


def run_strata(worker, folder, pairs):
    conf = os.path.join(folder, "strata.conf")
    with open(conf, "w", encoding="utf-8") as file:
        file.writelines(f"{key} = {value}\n" for key, value in pairs.items())
    return run_worker([worker, f"--lightgbm-conf={conf}"])


def predict_strata(worker, folder, model, data):
    import numpy

    out = os.path.join(folder, "predictions.txt")
    run_strata(worker, folder, {"task": "predict", "data": data, "input_model": model,
                                "output_result": out, "verbosity": "-1"})
    return numpy.loadtxt(out)


def off_by(ours, theirs):
    import numpy

    return float(numpy.max(numpy.abs(ours - theirs) / numpy.maximum(numpy.abs(theirs), 1e-300)))


def print_exchange(worker, folder):
    """Prints the table; whether all differences are rounding."""
    import lightgbm

    print(f"{'largest relative difference':<28} {'Strata -> LightGBM':>20} "
          f"{'LightGBM -> Strata':>20}")
    good = True
    for name, kind, text in CASES:
        rows, label, path = make_data(kind, folder)
        parameters = {"verbosity": "-1", "num_leaves": "15", "seed": "3"}
        parameters.update(word.split("=") for word in text.split())
        categories = [5] if kind == "category" else []
        own_model = os.path.join(folder, "strata.txt")
        their_model = os.path.join(folder, "lightgbm.txt")
        run_strata(worker, folder, {"task": "train", "data": path, "num_iterations": "30",
                                    "output_model": own_model, **parameters,
                                    **({"categorical_feature": "5"} if categories else {})})
        group = [20] * (len(rows) // 20) if kind == "rank" else None
        train = lightgbm.Dataset(rows, label, group=group, params=parameters,
                                 categorical_feature=categories)
        lightgbm.train(parameters, train, 30).save_model(their_model)
        off = [off_by(predict_strata(worker, folder, model, path),
                      lightgbm.Booster(model_file=model).predict(rows))
               for model in (own_model, their_model)]
        good = good and max(off) <= LARGEST
        print(f"{name:<28} {off[0]:>20.1e} {off[1]:>20.1e}")
    return good
