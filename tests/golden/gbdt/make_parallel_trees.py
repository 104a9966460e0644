"""Makes xgb_parallel_*.json and *.expected.txt: models of XGBoost 3.2 whose rounds have parallel trees.

usage: make_parallel_trees.py           (pip install xgboost==3.2.0 numpy)

NAME.expected.txt holds predictions by all rounds, NAME.first.expected.txt by the first round:
raw scores | predictions | |
"""

from pathlib import Path

import numpy as np
import xgboost as xgb

HERE = Path(__file__).parent
tame = np.genfromtxt(HERE / "tame_rows.csv", delimiter=",")
random = np.random.default_rng(11)
x = np.round(random.normal(size=(300, 6)), 2)
y = x[:, 0] + np.sin(x[:, 3]) + random.normal(size=300) * 0.1


def text(values):
    return " ".join(repr(float(v)) for v in np.atleast_1d(values))


def make(name, label, parallel, **parameters):
    settings = {"max_depth": 2, "subsample": 0.5, "num_parallel_tree": parallel, "nthread": 1, "seed": 3, **parameters}
    xgb.train(settings, xgb.DMatrix(x, label), 3).save_model(HERE / f"{name}.json")
    booster = xgb.Booster(model_file=HERE / f"{name}.json")
    test = xgb.DMatrix(tame)
    for ending, rounds in (("", (0, 3)), (".first", (0, 1))):
        raw = booster.predict(test, output_margin=True, iteration_range=rounds)
        prediction = booster.predict(test, iteration_range=rounds)
        lines = [f"{text(r)} | {text(p)} |  | " for r, p in zip(raw, prediction)]
        (HERE / f"{name}{ending}.expected.txt").write_text("\n".join(lines) + "\n")


make("xgb_parallel_squared", y, 3, objective="reg:squarederror")
make("xgb_parallel_binary", (y > 0).astype(float), 2, objective="binary:logistic")
make("xgb_parallel_multiclass", np.digitize(y, [-0.5, 0.7]).astype(float), 2, objective="multi:softprob", num_class=3)
make("xgb_parallel_dart", y, 2, objective="reg:squarederror", booster="dart", rate_drop=0.5)
