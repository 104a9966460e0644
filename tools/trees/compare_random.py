#!/usr/bin/env python3
"""Trains LightGBM and Strata on random cases and explains each difference, or names its seed.

    tools/trees/compare_random.py --cases=600 --seed=1 [--worker=PROGRAM] [--keep=FOLDER]

Needs the Python package lightgbm, and strata-worker. Of each case (random_cases.py) are compared:
the trees, metrics and predictions, unless a random generator has a say in them; what each predicts
with the other's model; and LightGBM's metrics of its model with those of task = evaluate. Trees may
differ from a tie on (split_ties.py), and where docs/trees.md, "Beside LightGBM", says so.

Exit codes: 0 all differences are explained; 1 some are not; 2 the command line is wrong.
"""
import argparse
import collections
import os
import sys
import tempfile

from compare_lightgbm import ROOT, train_lightgbm, train_strata
from exchange_table import predict_strata, run_strata
from model_text import read_trees
from random_cases import Case
from score_ties import TIED, is_of_order, scores_tie
from split_ties import Reason, documented_difference, explain_difference

METRIC_APART = 1e-6  # relative difference of metrics of the same trees
PREDICTION_APART = 1e-4  # gradients are integers of the largest one here
EXCHANGE_APART = 1e-12
EVALUATE_APART = 1e-6  # LightGBM has parts of some metrics in single precision


def apart(a, b, least=1e-6):
    """The largest relative difference; of numbers near 0 that from `least`."""
    import numpy

    a = numpy.asarray(a, dtype=float)
    b = numpy.asarray(b, dtype=float)
    same = (a == b) | (numpy.isnan(a) & numpy.isnan(b))
    off = numpy.abs(a - b) / numpy.maximum(numpy.abs(b), least)
    return float(numpy.max(numpy.where(same, 0, off), initial=0))


class NoMessages:
    """Takes what LightGBM says of each case."""

    def info(self, message):
        pass

    warning = info


class Comparison:
    """Of one case; `found` has the differences, `explained` the reasons of others."""

    def __init__(self, case, worker, folder):
        self.case = case
        self.worker = worker
        self.folder = folder
        self.found = []
        self.explained = []
        self.predicted = {}  # by model: of the rows to train and to validate

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self):
        import lightgbm

        parameters = dict(self.case.parameters, num_threads="1")
        conf = self.path("train.conf")
        with open(conf, "w", encoding="ascii") as file:
            file.writelines(f"{key} = {value}\n" for key, value in parameters.items())
        theirs = ours = their_error = own_error = None
        try:
            theirs = train_lightgbm(parameters, self.path("theirs.txt"))
        except lightgbm.basic.LightGBMError as error:
            their_error = error
        try:
            ours = train_strata(self.worker, conf, ["gradient_bits=32", "verbosity=-1"],
                                self.path("ours.txt"))
        except ValueError as error:
            own_error = error
        if their_error or own_error:
            if not (their_error and own_error):
                self.found.append(f"refused: by LightGBM: {their_error}; by Strata: {own_error}")
            return
        own = read_trees(self.path("ours.txt"))
        other = read_trees(self.path("theirs.txt"))
        self.exchange()
        self.evaluate(theirs, other)
        if not self.case.has_draws:
            self.trees(own, other, self.metrics(ours, theirs))

    def exchange(self):
        import lightgbm

        for name in ("ours.txt", "theirs.txt"):
            booster = lightgbm.Booster(model_file=self.path(name))
            for data in (self.case.train, self.case.valid):
                here = predict_strata(self.worker, self.folder, self.path(name), data["path"])
                there = booster.predict(data["x"])
                self.predicted.setdefault(name, []).append(here)
                off = apart(here, there.reshape(here.shape))
                if off > EXCHANGE_APART:
                    self.found.append(f"exchange: {name}: predictions are {off:.1e} apart")

    def evaluate(self, theirs, trees):
        parameters = dict(self.case.parameters, task="evaluate", data=self.case.valid["path"],
                          input_model=self.path("theirs.txt"), verbosity="-1")
        parameters.pop("valid")
        values = run_strata(self.worker, self.folder, parameters)["metrics"]
        differing = [(name, value) for name, value in theirs["valid_1"].items()
                     if apart(values.get(name, float("nan")), value) > EVALUATE_APART]
        reason = documented_difference(self.case, trees)
        are_of_order = all(is_of_order(name) for name, _ in differing)
        if differing and are_of_order and scores_tie(self.case, self.path("theirs.txt")):
            reason = Reason(True, TIED)
        self.judge([f"evaluate: {name}: {values.get(name)}, LightGBM {value}"
                    for name, value in differing], reason)

    def trees(self, own, other, metrics):
        reason = explain_difference(self.case, own, other, self.path("theirs.txt"))
        if reason is None:
            self.judge(metrics + self.predictions(), documented_difference(self.case, other))
        else:
            (self.explained if reason.is_known else self.found).append(reason.text)

    def judge(self, texts, reason):
        """Differences, unless there is a reason for all of them."""
        if texts and reason is not None:
            self.explained.append(reason.text)
        else:
            self.found.extend(texts)

    def predictions(self):
        offs = [apart(own, other, 0.1) for own, other in
                zip(self.predicted["ours.txt"], self.predicted["theirs.txt"])]
        return [f"predictions are {off:.1e} apart" for off in offs if off > PREDICTION_APART]

    @staticmethod
    def metrics(ours, theirs):
        return [f"metric: {data} {name}: {ours[data][name]}, LightGBM {value}"
                for data, metrics in theirs.items() for name, value in metrics.items()
                if apart(ours[data][name], value) > METRIC_APART]


def compare(seed, worker, keep):
    with tempfile.TemporaryDirectory() as scratch:
        folder = scratch
        if keep:
            folder = os.path.join(keep, str(seed))
            os.makedirs(folder, exist_ok=True)
        comparison = Comparison(Case(seed, folder), worker, folder)
        comparison.run()
        return comparison


def main():
    import lightgbm

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1, help="of the first case")
    parser.add_argument("--worker", default=os.path.join(ROOT, "build/bin/strata-worker"))
    parser.add_argument("--keep", help="a folder for the files of each case")
    options = parser.parse_args()
    if options.cases < 1 or not os.path.exists(options.worker):
        parser.error(f"expected cases and a program, found {options.cases} and {options.worker}")
    lightgbm.register_logger(NoMessages())
    reasons = collections.Counter()  # cases by reason
    explained = 0
    unexplained = []
    for seed in range(options.seed, options.seed + options.cases):
        comparison = compare(seed, options.worker, options.keep)
        reasons.update(set(comparison.explained))
        explained += bool(comparison.explained)
        for text in comparison.found:
            print(f"seed {seed} ({comparison.case.objective}): {text}", flush=True)
        if comparison.found:
            unexplained.append(seed)
    for reason, count in reasons.most_common():
        print(f"{count} cases: {reason}")
    print(f"{options.cases} cases, {explained} with explained differences, "
          f"{len(unexplained)} with others" +
          (f": seeds {', '.join(map(str, unexplained))}" if unexplained else ""))
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
