"""Makes the files of this folder: models of LightGBM 4.7 and XGBoost 3.2 and what they predict.

usage: make_golden.py           (pip install lightgbm==4.7.0 xgboost==3.2.0 numpy)

rows.csv: rows of six features: numeric, with NaN, sparse, small integers, 40 and 4 categories.
NAME.model.txt or .json: the model. NAME.expected.txt: a line a row: raw scores | predictions | leaves | contributions.
NAME.dump.json: what LightGBM's dump_model says.
"""

import json
from pathlib import Path

import lightgbm as lgb
import numpy as np
import xgboost as xgb

HERE = Path(__file__).parent
NAN = float("nan")
NAMES = ["plain", "gaps", "sparse", "small", "city", "colour"]
random = np.random.default_rng(7)


def features(rows):
    x = np.empty((rows, 6))
    x[:, 0] = random.normal(size=rows)
    x[:, 1] = np.where(random.random(rows) < 0.3, NAN, random.normal(size=rows))
    x[:, 2] = np.where(random.random(rows) < 0.6, 0, random.normal(size=rows))
    x[:, 3] = random.integers(-3, 4, rows)
    x[:, 4] = np.minimum(random.geometric(0.08, rows) - 1, 39)
    x[:, 5] = random.integers(0, 4, rows)
    return x


x = features(2000)
signal = (x[:, 0] + np.where(np.isnan(x[:, 1]), 0.7, x[:, 1] * 0.5) + np.where(x[:, 2] == 0, 0.6, x[:, 2])
          + 0.2 * x[:, 3] + np.sin(x[:, 4] * 2) + (x[:, 5] == 2))
noisy = signal + random.normal(size=2000) * 0.5
binary = (noisy > 0.5).astype(float)
three = np.digitize(noisy, [0, 1.2]).astype(float)
grades = np.digitize(noisy, [-1, 0, 1, 2]).astype(float)
counts = random.poisson(np.exp(signal * 0.3)).astype(float)

rows = np.vstack([features(16), [
    [NAN, NAN, NAN, NAN, NAN, NAN],
    [0, 0, 0, 0, 0, 0],
    [-0.0, 1e-36, -1e-36, 1e-34, 0.9, 3.99],
    [1e300, -1e300, 1e-30, -3, -0.5, -1],
    [np.inf, -np.inf, 5, 2.5, 1000, 4],
    [3.5, NAN, -2, 1, 3e9, 2e10],
    [-1, 0, NAN, 0, -1e10, NAN],
    [0.25, 0.5, 0, 3, 39, 3]]])
np.savetxt(HERE / "rows.csv", rows, fmt="%.17g", delimiter=",")


def text(values):
    return " ".join(repr(float(v)) for v in np.atleast_1d(values))


def expect(name, raw, prediction, leaves, contributions):
    lines = [" | ".join([text(r), text(p), " ".join(str(int(v)) for v in np.atleast_1d(l).ravel()), text(c.ravel())])
             for r, p, l, c in zip(raw, prediction, leaves, contributions)]
    (HERE / f"{name}.expected.txt").write_text("\n".join(lines) + "\n")


def lightgbm(name, label, categorical=True, rounds=5, dump=False, pandas_categorical=None, **parameters):
    settings = {"num_leaves": 7, "verbosity": -1, "num_threads": 1, "seed": 3, "min_data_in_leaf": 20,
                "deterministic": True, **parameters}
    group = [40] * 50 if "rank" in settings["objective"] else None
    train = lgb.Dataset(x, label, group=group, feature_name=NAMES, categorical_feature=[4, 5] if categorical else [])
    booster = lgb.train(settings, train, rounds)
    booster.pandas_categorical = pandas_categorical
    booster.save_model(HERE / f"{name}.model.txt")
    # What is read, not what was trained: gains and inner values are printed with six digits.
    booster = lgb.Booster(model_file=HERE / f"{name}.model.txt")
    if dump:
        (HERE / f"{name}.dump.json").write_text(json.dumps(booster.dump_model(), separators=(",", ":")) + "\n")
    expect(name, booster.predict(rows, raw_score=True), booster.predict(rows), booster.predict(rows, pred_leaf=True),
           booster.predict(rows, pred_contrib=True))


lightgbm("binary", binary, objective="binary", sigmoid=1.5, dump=True)
lightgbm("numeric", noisy, objective="regression", categorical=False)
lightgbm("square_root", noisy, objective="regression", reg_sqrt=True, zero_as_missing=True)
lightgbm("poisson", counts, objective="poisson")
lightgbm("multiclass", three, objective="multiclass", num_class=4, rounds=3)  # the fourth never occurs
lightgbm("one_vs_all", three, objective="multiclassova", num_class=3, rounds=2)
lightgbm("rank", grades, objective="lambdarank")
lightgbm("dart", binary, objective="binary", boosting="dart", drop_rate=0.5, learning_rate=0.3)
lightgbm("forest", binary, objective="binary", boosting="rf", bagging_freq=1, bagging_fraction=0.6)
lightgbm("entropy", binary, objective="cross_entropy_lambda", use_missing=False)
lightgbm("absolute", noisy, objective="regression_l1", reg_sqrt=True)
lightgbm("constant", noisy, objective="regression", min_data_in_leaf=1500, rounds=2)
lightgbm("pandas", noisy, objective="regression", rounds=2, pandas_categorical=[["a", "b"], [1, 2]])
# Missing values on their own: the threshold is infinite.
lightgbm("infinite", 2 * np.isnan(x[:, 1]) + x[:, 0], objective="regression", categorical=False, rounds=3, dump=True)

# XGBoost takes no values that are too large for a float and no negative categories.
tame = rows.copy()
tame[~(np.abs(tame) < 1e38)] = NAN
tame[:, 4:] = np.where((tame[:, 4:] >= 0) & (tame[:, 4:] < 2**24), tame[:, 4:], NAN)
np.savetxt(HERE / "tame_rows.csv", tame, fmt="%.17g", delimiter=",")
holed = x.copy()
holed[random.random(2000) < 0.2, 4] = NAN
holed[random.random(2000) < 0.2, 5] = NAN
TYPES = ["float"] * 4 + ["c"] * 2


def xgboost(name, label, rounds=5, **parameters):
    settings = {"max_leaves": 7, "max_depth": 0, "grow_policy": "lossguide", "nthread": 1, "seed": 3,
                "max_cat_to_onehot": 2, **parameters}
    train = xgb.DMatrix(holed, label, feature_names=NAMES, feature_types=TYPES, enable_categorical=True)
    if settings["objective"].startswith("rank"):
        train.set_group([40] * 50)
    xgb.train(settings, train, rounds).save_model(HERE / f"{name}.json")
    booster = xgb.Booster(model_file=HERE / f"{name}.json")
    test = xgb.DMatrix(tame, feature_names=NAMES, feature_types=TYPES, enable_categorical=True)
    expect(name, booster.predict(test, output_margin=True), booster.predict(test), booster.predict(test, pred_leaf=True),
           booster.predict(test, pred_contribs=True))


xgboost("xgb_binary", binary, objective="binary:logistic")
xgboost("xgb_squared", noisy, objective="reg:squarederror", base_score=0.3)
xgboost("xgb_multiclass", three, objective="multi:softprob", num_class=3, rounds=3)
xgboost("xgb_poisson", counts, objective="count:poisson")
xgboost("xgb_rank", np.minimum(grades, 4), objective="rank:ndcg")
xgboost("xgb_dart", binary, objective="binary:logistic", booster="dart", rate_drop=0.5)
