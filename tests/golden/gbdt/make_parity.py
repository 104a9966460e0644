#!/usr/bin/env python3
"""Trains LightGBM 4.7.0 and writes the models that tests/worker/gbdt/lightgbm_parity_test.cc compares
ours with: parity_NAME.model.txt of parity_rows.csv, and parity_shared_NAME.model.txt, first trees of
../shared/data (where it is). Run in this folder."""
import csv
import os

import lightgbm
import numpy as np

SHARED = "../../../../shared/data/"
COMMON = {"verbosity": -1, "num_threads": 1, "precise_float_parser": "true"}
# As the test has them.
CASES = {
    "squared": "label_column=0 ignore_column=0",
    "binary": "objective=binary label_column=1 ignore_column=0",
    "absolute": "objective=regression_l1 label_column=0 ignore_column=0",
    "gamma": "objective=gamma label_column=0 ignore_column=0 max_bin=15",
    "bounded": "objective=binary label_column=1 ignore_column=0 lambda_l1=0.5 lambda_l2=2 path_smooth=3 "
               "max_depth=4 max_delta_step=0.8 min_gain_to_split=0.01",
    "zero": "label_column=0 ignore_column=0 zero_as_missing=true",
    "forced": "label_column=0 ignore_column=0 max_bin=12 forcedbins_filename=forced_bins.json num_leaves=31",
    "monotone": "objective=binary label_column=1 ignore_column=0 monotone_constraints=0,1,-1,1,0,0,0 "
                "monotone_penalty=1.3 num_leaves=15",
    "neighbours": "objective=binary label_column=1 ignore_column=0 monotone_constraints=1,1,0,-1,1,0,0 "
                  "monotone_constraints_method=intermediate num_leaves=20",
    "by_threshold": "objective=binary label_column=1 ignore_column=0 monotone_constraints=1,1,0,-1,1,0,0 "
                    "monotone_constraints_method=advanced use_missing=false num_leaves=40 categorical_feature=",
    "together": "label_column=0 ignore_column=0 interaction_constraints=[1,2,5],[3,5,6],[2,6] "
                "feature_contri=1,0.4,1,2,1,1,0.8",
    "forced_splits": "label_column=0 ignore_column=0 forcedsplits_filename=forced_splits.json",
    "intensity": "objective=cross_entropy_lambda label_column=1 weight_column=0",
    "nearest": "objective=binary label_column=1 ignore_column=0 use_quantized_grad=true "
               "num_grad_quant_bins=16 stochastic_rounding=false quant_train_renew_leaf=true",
}
SMALL = "num_iterations=5 num_leaves=8 min_data_in_leaf=10 categorical_feature=5,6 cat_smooth=5 " \
        "min_data_per_group=20"


def pairs(text):
    return dict(word.split("=") for word in text.split())


def write_rows():
    """An amount, a click, and: two numbers, one with missing values, one mostly 0, a category of 3 and
    one of 14."""
    random = np.random.default_rng(7)
    with open("parity_rows.csv", "w", encoding="ascii") as out:
        for _ in range(900):
            a, b, c, d = random.normal(size=4)
            narrow, wide = random.integers(0, 3), random.integers(0, 14)
            rare = 0 if random.random() < 0.6 else round(d, 2)
            target = a * b + (0 if random.random() < 0.2 else c) * 0.5 + rare + (wide % 5 - 2) * 0.4 \
                + (narrow == 1) * 0.7 + random.normal() * 0.3
            missing = "nan" if random.random() < 0.15 else f"{c:.3f}"
            out.write(f"{np.exp(target / 2):.4f},{int(target > 0.2)},{a:.3f},{b:.3f},{missing},{rare},"
                      f"{narrow},{wide}\n")


def train(data, parameters, path):
    parameters = {**COMMON, **parameters}
    rounds = int(parameters.pop("num_iterations"))
    lightgbm.train(parameters, lightgbm.Dataset(data, params=dict(parameters)), rounds).save_model(path)
    with open(path, encoding="utf-8") as model:
        text = model.read()
    # What the test does not read.
    with open(path, "w", encoding="utf-8") as model:
        model.write(text[:text.index("end of trees") + len("end of trees")] + "\n")


def write_adult(path):
    """Categories by their place among all of the column's, in order."""
    with open(SHARED + "adult.train.csv", encoding="ascii") as data:
        rows = [row for row in csv.reader(data, skipinitialspace=True) if len(row) == 15]
    for column in (1, 3, 5, 6, 7, 8, 9, 13):
        places = {value: i for i, value in enumerate(sorted({row[column] for row in rows}))}
        for row in rows:
            row[column] = str(places[row[column]])
    with open(path, "w", encoding="ascii") as out:
        for row in rows:
            out.write("\t".join([str(int(row[14] == ">50K"))] + row[:14]) + "\n")


def main():
    write_rows()
    for name, parameters in CASES.items():
        train("parity_rows.csv", pairs(SMALL + " " + parameters), f"parity_{name}.model.txt")
    if not os.path.exists(SHARED):
        return
    for name in ("binary", "regression"):
        train(SHARED + name + ".train", {"objective": name, "num_iterations": "1"},
              f"parity_shared_{name}.model.txt")
    write_adult("adult.tsv")
    train("adult.tsv", pairs("objective=binary num_iterations=1 categorical_feature=1,3,5,6,7,8,9,13"),
          "parity_shared_adult.model.txt")
    os.remove("adult.tsv")


if __name__ == "__main__":
    main()
