#!/usr/bin/env python3
"""CatBoost's predictions for the rows that suite "trees" has written; one JSON line of seconds and their sum.

usage: catboost_predict.py FOLDER THREADS ROUNDS   FOLDER holds model.json, rows.tsv and rows.cd. The seconds are
of the round that is the median. Exit code 69: catboost is not installed.
"""
import json
import sys
import time

try:
    import catboost
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(69)


def main():
    folder, threads, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    model = catboost.CatBoost()
    model.load_model(f"{folder}/model.json", format="json")
    pool = catboost.Pool(f"{folder}/rows.tsv", column_description=f"{folder}/rows.cd", thread_count=threads)
    seconds = []
    for _ in range(rounds):
        begin = time.perf_counter()
        raw = model.predict(pool, prediction_type="RawFormulaVal", thread_count=threads)
        seconds.append(time.perf_counter() - begin)
    print(json.dumps({
        "version": catboost.__version__,
        "seconds": sorted(seconds)[len(seconds) // 2],
        "sum": float(raw.sum()),
    }))


if __name__ == "__main__":
    main()
