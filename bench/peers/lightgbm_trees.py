#!/usr/bin/env python3
"""LightGBM on arrays that suite "trees" has written; one JSON line of seconds and the test AUC.

usage: lightgbm_trees.py FOLDER KEY=VALUE...   FOLDER holds train.npy and test.npy, the label in
column 0; KEY=VALUE are LightGBM's parameters. Exit code 69: lightgbm or numpy is not installed.
"""
import json
import sys
import time

try:
    import lightgbm
    import numpy
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(69)


def load(path):
    array = numpy.load(path)
    return numpy.ascontiguousarray(array[:, 1:]), numpy.ascontiguousarray(array[:, 0])


def area_under_curve(labels, scores):
    """The share of pairs of a positive and a negative row that are in order; ties count half."""
    values, place = numpy.unique(scores, return_inverse=True)
    positives = numpy.bincount(place, weights=labels > 0, minlength=len(values))
    negatives = numpy.bincount(place, weights=labels <= 0, minlength=len(values))
    below = numpy.cumsum(negatives) - negatives
    return (positives * (below + negatives / 2)).sum() / (positives.sum() * negatives.sum())


def main():
    folder = sys.argv[1]
    parameters = dict(word.split("=", 1) for word in sys.argv[2:]) | {"verbosity": -1}
    rounds = int(parameters.pop("num_iterations"))
    rows, labels = load(f"{folder}/train.npy")
    test_rows, test_labels = load(f"{folder}/test.npy")
    begin = time.perf_counter()
    data = lightgbm.Dataset(rows, labels, params=parameters, free_raw_data=False)
    data.construct()
    constructed = time.perf_counter()
    booster = lightgbm.Booster(parameters, data)
    started = time.perf_counter()
    for _ in range(rounds):
        booster.update()
    trained = time.perf_counter()
    scores = booster.predict(test_rows, num_threads=int(parameters["num_threads"]))
    predicted = time.perf_counter()
    print(json.dumps({
        "version": lightgbm.__version__,
        "construct_s": constructed - begin,
        "train_s": trained - started,
        "predict_s": predicted - trained,
        "auc": float(area_under_curve(test_labels, scores)),
    }))


if __name__ == "__main__":
    main()
