"""Makes the golden trainings of CatBoost: rows, parameters, and the models and losses that come of them.

usage: make_training.py, in this folder, with the packages catboost (1.2.10) and numpy.

learn.tsv holds 160 rows, and test.tsv 40: three targets (real, binary, probability), a weight, five
numbers, three categories. Of the numbers f1 is missing at times, f3 is 0 or 1, f4 is always the same,
and f0 is missing in a row of test.tsv. Of the categories c0 has three values, and c1 and c2 have more,
some of them in test.tsv alone. NAME.json has what CatBoost was told (params, target, weight, test),
its model, and its loss after each round. borders.json has the borders of columns by type and count,
detectors.json losses of test rows up to where a detector ended the training, and all_params.json all
parameters of trained models. rows.cd and params.json are those of rmse.json, as files.
"""

import json
import os
import tempfile

import catboost
import numpy

LEARN = 160
ROWS = LEARN + 40
NUMBERS = ["f0", "f1", "f2", "f3", "f4"]
CATEGORIES = ["c0", "c1", "c2"]
TARGETS = ["real", "binary", "probability"]
FIXED = dict(bootstrap_type="No", random_strength=0)
PLAIN = dict(iterations=4, depth=3, learning_rate=0.3)


def make_columns():
    rng = numpy.random.default_rng(23)
    f0 = rng.standard_normal(ROWS).round(2)
    f1 = rng.exponential(1, ROWS).round(2)
    f1[rng.random(ROWS) < 0.2] = numpy.nan
    f2 = rng.integers(0, 6, ROWS).astype(float)
    f3 = rng.integers(0, 2, ROWS).astype(float)
    f4 = numpy.full(ROWS, 7.0)
    f0[LEARN + 3] = numpy.nan
    score = (numpy.nan_to_num(f0) + 0.7 * (f2 > 2) * (2 * f3 - 1)
             + numpy.where(numpy.isnan(f1), 0.6, -0.4 * f1) + 0.4 * rng.standard_normal(ROWS))
    chance = 1 / (1 + numpy.exp(-2 * score))
    columns = dict(real=score.round(3), binary=(rng.random(ROWS) < chance).astype(int),
                   probability=chance.round(3), weight=rng.choice([0.5, 1, 2.25], ROWS),
                   f0=f0, f1=f1, f2=f2, f3=f3, f4=f4)
    place = numpy.argsort(numpy.argsort(score + rng.standard_normal(ROWS)))
    c0 = numpy.array(["low", "middle", "high"])[(3 * place) // ROWS]
    c1 = numpy.array([f"town {t}" for t in (place // 9 + 5 * (f2 > 3).astype(int)) % 19])
    c2 = numpy.array([str(v) for v in rng.integers(-2, 9, ROWS) * rng.integers(1, 3, ROWS)])
    c1[LEARN + 20:LEARN + 30] = "elsewhere"
    c2[LEARN + 25:LEARN + 35] = ""
    return columns | dict(c0=c0, c1=c1, c2=c2)


def write_rows(columns, path, begin, end):
    with open(path, "w") as out:
        for i in range(begin, end):
            cells = ["" if str(v[i]) == "nan" else str(v[i]) for v in columns.values()]
            out.write("\t".join(cells) + "\n")


def make(columns, name, target, weight=False, test=False, features=None, **parameters):
    features = features or NUMBERS
    params = {key: value for key, value in (FIXED | PLAIN | parameters).items() if value is not None}

    def pool(begin, end):
        categories = [place for place, f in enumerate(features) if f in CATEGORIES]
        if categories:
            rows = [list(row) for row in zip(*(columns[f][begin:end].tolist() for f in features))]
        else:
            rows = numpy.array([columns[f][begin:end] for f in features], numpy.float32).T
        return catboost.Pool(rows, columns[target][begin:end], feature_names=features,
                             cat_features=categories,
                             weight=columns["weight"][begin:end] if weight else None)

    model = catboost.CatBoost(params | dict(has_time=True, allow_writing_files=False, thread_count=1,
                                            verbose=False))
    learn = pool(0, LEARN)
    model.fit(learn, eval_set=pool(LEARN, ROWS) if test else None)
    path = tempfile.mktemp(".json")
    model.save_model(path, format="json", pool=learn if set(features) & set(CATEGORIES) else None)
    with open(path) as file:
        saved = json.load(file)
    os.unlink(path)
    info = saved["model_info"]
    kept = {"params": {"loss_function": info["params"]["loss_function"]}}
    if "class_params" in info:
        kept["class_params"] = info["class_params"]
    saved["model_info"] = kept
    measured = model.get_evals_result()
    # One metric is a list of values; with eval_metric an object has the values of each by name.
    losses = measured if "eval_metric" in params else {
        part: list(values.values())[0] for part, values in measured.items()}
    case = dict(params=params, target=target, weight=weight, test=test, features=features, model=saved,
                losses=losses)
    with open(name + ".json", "w") as out:
        json.dump(case, out, separators=(",", ":"), sort_keys=True)
        out.write("\n")


def make_borders():
    rng = numpy.random.default_rng(5)
    columns = [rng.standard_normal(120).round(3), rng.exponential(1, 120).round(1),
               rng.integers(0, 6, 120).astype(float)]
    columns = [[float(v) for v in column.astype(numpy.float32)] for column in columns]
    borders = {}
    for kind in ("GreedyLogSum", "Median", "Uniform", "UniformAndQuantiles", "MinEntropy",
                 "MaxLogSum"):
        for count in (5, 15):
            pool = catboost.Pool(numpy.array(columns, numpy.float32).T, [0, 1] * 60)
            pool.quantize(border_count=count, feature_border_type=kind)
            path = tempfile.mktemp()
            pool.save_quantization_borders(path)
            found = [[], [], []]
            with open(path) as lines:
                for line in lines:
                    feature, border = line.split("\t")[:2]
                    found[int(feature)].append(float(border))
            os.unlink(path)
            borders[f"{kind}:{count}"] = [sorted(column) for column in found]
    with open("borders.json", "w") as out:
        json.dump(dict(columns=columns, borders=borders), out, separators=(",", ":"))
        out.write("\n")


def make_all_params(columns):
    """What get_all_params() says of trained models, with test rows and without."""
    cases = {}
    for target in ("real", "binary", "c0"):
        loss = dict(real="RMSE", binary="Logloss", c0="MultiClass")[target]
        for features in (NUMBERS, NUMBERS + ["c1", "c2"]):
            for has_test in (False, True):
                rows = [list(row) for row in zip(*(columns[f].tolist() for f in features))]
                pools = [catboost.Pool(rows[begin:end], columns[target][begin:end].tolist(),
                                       cat_features=list(range(5, len(features))))
                         for begin, end in ((0, LEARN), (LEARN, ROWS))]
                model = catboost.CatBoost(dict(loss_function=loss, iterations=5, learning_rate=0.3,
                                               allow_writing_files=False, verbose=False))
                model.fit(pools[0], eval_set=pools[1] if has_test else None)
                name = f"{loss}_{'categories' if len(features) > 5 else 'numbers'}"
                cases[name + ("_test" if has_test else "")] = dict(
                    target=target, features=features, test=has_test, params=model.get_all_params())
    with open("all_params.json", "w") as out:
        json.dump(cases, out, separators=(",", ":"), sort_keys=True)
        out.write("\n")


def make_detectors():
    """Trainings that a detector ends, or not: the losses of the test rows, round by round."""
    cases = []
    for seed, options in enumerate([
            dict(od_type="Iter", od_wait=6), dict(od_wait=1), dict(early_stopping_rounds=3),
            dict(od_pval=0.3, od_wait=4), dict(od_type="IncToDec", od_pval=0.1, od_wait=5),
            dict(od_pval=0.6, od_wait=8), dict(od_type="IncToDec", od_pval=0.9, od_wait=12),
            dict(od_type="IncToDec", od_pval=1e-9, od_wait=2),
            dict(od_type="Wilcoxon", od_pval=0.05, od_wait=3),
            dict(od_type="Wilcoxon", od_pval=1e-4, od_wait=2),
            dict(od_type="Wilcoxon", od_pval=0.9, od_wait=12)]):
        rng = numpy.random.default_rng(seed)
        rows = rng.standard_normal((300, 4)).round(2)
        labels = rows[:, 0] + 0.7 * rng.standard_normal(300)
        model = catboost.CatBoost(dict(iterations=200, learning_rate=0.4, loss_function="RMSE",
                                       random_seed=seed, allow_writing_files=False, thread_count=1,
                                       verbose=False) | options)
        model.fit(catboost.Pool(rows[:100], labels[:100]),
                  eval_set=catboost.Pool(rows[100:], labels[100:]))
        cases.append(dict(options=options, iterations=200,
                          losses=model.get_evals_result()["validation"]["RMSE"]))
    with open("detectors.json", "w") as out:
        json.dump(cases, out, separators=(",", ":"))
        out.write("\n")


def write_example():
    types = ["Label", "Auxiliary", "Auxiliary", "Auxiliary"] + [f"Num\t{name}" for name in NUMBERS]
    types += ["Auxiliary"] * len(CATEGORIES)
    with open("rows.cd", "w") as out:
        out.writelines(f"{place}\t{kind}\n" for place, kind in enumerate(types))
    with open("params.json", "w") as out:
        json.dump(FIXED | PLAIN | dict(loss_function="RMSE"), out, indent=1)
        out.write("\n")


def main():
    columns = make_columns()
    write_example()
    write_rows(columns, "learn.tsv", 0, LEARN)
    write_rows(columns, "test.tsv", LEARN, ROWS)
    make(columns, "rmse", "real", loss_function="RMSE", test=True)
    make(columns, "rmse_weights", "real", loss_function="RMSE", weight=True, score_function="L2",
         l2_leaf_reg=0.7, boost_from_average=False, test=True)
    make(columns, "logloss", "binary", loss_function="Logloss", depth=4, test=True)
    make(columns, "newton", "binary", loss_function="Logloss", leaf_estimation_iterations=10, weight=True)
    make(columns, "gradient", "binary", loss_function="Logloss", leaf_estimation_method="Gradient",
         leaf_estimation_iterations=5, weight=True, nan_mode="Max")
    # Steps are so long that they are halved.
    make(columns, "halved", "binary", loss_function="Logloss", learning_rate=2.5,
         leaf_estimation_iterations=4, l2_leaf_reg=0.1, iterations=3)
    make(columns, "not_halved", "binary", loss_function="Logloss", learning_rate=1.6,
         leaf_estimation_iterations=3, leaf_estimation_backtracking="No", l2_leaf_reg=0.5)
    make(columns, "cross_entropy", "probability", loss_function="CrossEntropy",
         feature_border_type="Median", border_count=10, test=True)
    make(columns, "uniform", "real", loss_function="RMSE", feature_border_type="Uniform",
         border_count=8)
    make(columns, "quantiles", "real", loss_function="RMSE", feature_border_type="UniformAndQuantiles",
         border_count=9, nan_mode="Max")
    # The second split is the first one again, which ends the tree.
    make(columns, "redundant", "real", loss_function="RMSE", features=["f3"], iterations=3)
    # The best loss of the test rows comes before the last round.
    make(columns, "best", "real", loss_function="RMSE", learning_rate=1.2, depth=5, iterations=8,
         test=True)
    # The learning rate is CatBoost's choice.
    make(columns, "chosen_rate", "binary", loss_function="Logloss", test=True, depth=2, iterations=3,
         learning_rate=None)
    # Losses with leaves that are quantiles.
    make(columns, "mae", "real", loss_function="MAE", weight=True, test=True)
    make(columns, "mae_gradient", "real", loss_function="MAE", leaf_estimation_method="Gradient",
         leaf_estimation_iterations=3, boost_from_average=False)
    make(columns, "quantile", "real", loss_function="Quantile:alpha=0.3;delta=0.001", test=True)
    make(columns, "quantile_gradient", "real", loss_function="Quantile:alpha=0.85", weight=True,
         leaf_estimation_method="Gradient", test=True)
    make(columns, "mape", "real", loss_function="MAPE", weight=True, test=True, learning_rate=0.8)
    make(columns, "mape_gradient", "real", loss_function="MAPE", leaf_estimation_method="Gradient")
    # The other losses of one number.
    make(columns, "poisson", "probability", loss_function="Poisson", leaf_estimation_iterations=6,
         weight=True, test=True)
    make(columns, "tweedie", "probability", loss_function="Tweedie:variance_power=1.3", test=True)
    make(columns, "huber", "real", loss_function="Huber:delta=0.4", weight=True, test=True)
    make(columns, "expectile", "real", loss_function="Expectile:alpha=0.2", test=True,
         leaf_estimation_iterations=5)
    make(columns, "expectile_gradient", "real", loss_function="Expectile:alpha=0.8",
         leaf_estimation_method="Gradient", leaf_estimation_iterations=3, weight=True)
    make(columns, "average", "binary", loss_function="Logloss", boost_from_average=True, weight=True)
    # Which rounds stay goes by another metric than the loss.
    make(columns, "eval_auc", "binary", loss_function="Logloss", eval_metric="AUC", weight=True,
         test=True, iterations=6, learning_rate=1)
    make(columns, "eval_accuracy", "probability", loss_function="CrossEntropy", weight=True, test=True,
         eval_metric="Accuracy", iterations=6, learning_rate=0.9)
    make(columns, "eval_mae", "real", loss_function="RMSE", eval_metric="MAE", weight=True, test=True,
         iterations=7, learning_rate=0.9)
    make(columns, "weighted_features", "real", loss_function="RMSE",
         feature_weights={"f0": 0.45, "f2": 1.75})
    make(columns, "penalties", "binary", loss_function="Logloss", depth=2, iterations=9,
         first_feature_use_penalties=[1.5, 0.75], penalties_coefficient=1)
    make(columns, "ignored", "real", loss_function="RMSE", ignored_features=["f0", "f3"])
    make(columns, "shrinks", "real", loss_function="RMSE", model_shrink_rate=0.5, test=True)
    # CatBoost also shrinks the bias by the rounds that use_best_model leaves out.
    make(columns, "shrinks_less", "real", loss_function="RMSE", model_shrink_rate=0.25,
         model_shrink_mode="Decreasing", iterations=6, test=True, use_best_model=False)
    make(columns, "monotone", "real", loss_function="RMSE", depth=5, iterations=6,
         monotone_constraints={"f0": -1, "f2": 1, "f3": 1})
    make(columns, "monotone_steps", "binary", loss_function="Logloss", score_function="L2", depth=4,
         leaf_estimation_iterations=3, leaf_estimation_backtracking="No", weight=True,
         monotone_constraints="(1,-1,1)", model_shrink_rate=0)
    mixed = ["f2", "f3", "c0", "c1", "c2"]
    make(columns, "one_hot", "binary", loss_function="Logloss", features=mixed, one_hot_max_size=30,
         has_time=True, depth=4, test=True)
    make(columns, "statistics", "binary", loss_function="Logloss", features=mixed, has_time=True,
         depth=4, iterations=6, test=True)
    make(columns, "statistic_types", "real", loss_function="RMSE", features=mixed, has_time=True,
         depth=4, iterations=6, test=True, weight=True, model_size_reg=0.1, one_hot_max_size=1,
         ctr_target_border_count=2,
         simple_ctr=["Borders:Prior=0.2:Prior=2/1", "Buckets:TargetBorderCount=3:Prior=-0.5",
                     "BinarizedTargetMeanValue:TargetBorderCount=4:TargetBorderType=Median",
                     "Counter:CtrBorderCount=20"],
         per_feature_ctr=["4:Buckets:TargetBorderCount=1:Prior=0.5,Counter:Prior=1"])
    make(columns, "combinations", "binary", loss_function="Logloss", features=mixed, has_time=True,
         depth=5, iterations=5, test=True, max_ctr_complexity=3, one_hot_max_size=3,
         model_size_reg=0.2)
    make(columns, "category_rules", "binary", loss_function="Logloss", features=mixed, has_time=True,
         depth=4, test=True, max_ctr_complexity=2, feature_weights={"c1": 0.4, "f3": 1.5},
         first_feature_use_penalties={"c0": 1.5, "c2": 0.75})
    make_borders()
    make_all_params(columns)
    make_detectors()


if __name__ == "__main__":
    main()
