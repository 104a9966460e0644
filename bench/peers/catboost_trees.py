#!/usr/bin/env python3
"""CatBoost's oblivious trees on arrays that suite "trees" has written; one JSON line of seconds and the training logloss.

usage: catboost_trees.py FOLDER KEY=VALUE...   FOLDER holds train.npy, the label in column 0;
KEY=VALUE are CatBoost's parameters of whole numbers. Exit code 69: catboost or numpy is not installed.
"""
import json
import sys
import time

try:
    import catboost
    import numpy
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(69)


def main():
    folder = sys.argv[1]
    parameters = {key: int(value) for key, value in (word.split("=", 1) for word in sys.argv[2:])}
    array = numpy.load(f"{folder}/train.npy")
    rows, labels = numpy.ascontiguousarray(array[:, 1:]), numpy.ascontiguousarray(array[:, 0])
    begin = time.perf_counter()
    pool = catboost.Pool(rows, labels, thread_count=parameters["thread_count"])
    pool.quantize(border_count=parameters["border_count"])
    constructed = time.perf_counter()
    model = catboost.CatBoost(parameters | {
        "loss_function": "Logloss", "learning_rate": 0.1, "bootstrap_type": "No",
        "random_strength": 0, "leaf_estimation_iterations": 1, "boosting_type": "Plain",
        "logging_level": "Silent", "allow_writing_files": False})
    model.fit(pool)
    trained = time.perf_counter()
    print(json.dumps({
        "version": catboost.__version__,
        "construct_s": constructed - begin,
        "train_s": trained - constructed,
        "loss": model.get_best_score()["learn"]["Logloss"],
    }))


if __name__ == "__main__":
    main()
