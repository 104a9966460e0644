#!/usr/bin/env python3
"""Trains LightGBM and Strata with the same train.conf and prints their metrics side by side.

    tools/trees/compare_lightgbm.py train.conf [key=value ...]
    tools/trees/compare_lightgbm.py --exchange

Needs the Python package lightgbm, and strata-worker (--worker, or build/bin). Both read the same
files; key=value overrides the file for both. With --first-tree one tree is trained, without
rounding worth speaking of (gradient_bits=32), and the nodes that differ are listed. With --exchange
models of all kinds are handed to and fro (exchange_table.py), and both predict the same rows.

Exit codes: 0 done (whatever the table says); 1 exchanged models predict differently; 2 the command
line, a file or a parameter is wrong.
"""
import argparse
import os
import sys
import tempfile

from exchange_table import print_exchange, run_worker
from model_text import read_fields

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OURS_ALONE = {"gradient_bits", "grow_policy"}  # parameters that LightGBM does not have


def read_conf(path):
    """key = value lines as pairs, comments left out."""
    pairs = []
    with open(path, encoding="utf-8") as conf:
        for number, line in enumerate(conf, 1):
            line = line.split("#", 1)[0].strip()
            if not line:
                continue
            key, equals, value = line.partition("=")
            if not equals:
                raise ValueError(f"{path}:{number}: expected key = value, found '{line}'")
            pairs.append((key.strip(), value.strip()))
    return pairs


def take(parameters, names, default=None):
    """The value of the first name that is there; none of them stays."""
    values = [parameters.pop(name) for name in names if name in parameters]
    return values[0] if values else default


def train_lightgbm(parameters, model_path):
    """Metrics of the model as {data: {metric: value}}."""
    import lightgbm

    parameters = {key: value for key, value in parameters.items() if key not in OURS_ALONE}
    parameters["verbosity"] = -1
    parameters.setdefault("precise_float_parser", "true")  # its default is off by an ulp
    train_path = take(parameters, ["data", "train", "train_data", "train_data_file"])
    valid_text = take(parameters, ["valid", "test", "valid_data", "test_data"], "")
    valid_paths = [path for path in valid_text.split(",") if path]
    rounds = int(take(parameters, ["num_iterations", "num_trees", "num_round", "n_estimators"], 100))
    patience = take(parameters, ["early_stopping_round", "early_stopping_rounds", "early_stopping"])
    if patience is not None:
        parameters["early_stopping_round"] = int(patience)  # the package takes no text
    train = lightgbm.Dataset(train_path, params=dict(parameters), free_raw_data=False)
    sets = [train] + [train.create_valid(path, params=dict(parameters)) for path in valid_paths]
    names = ["training"] + [f"valid_{i + 1}" for i in range(len(valid_paths))]
    seen = {}
    booster = lightgbm.train(parameters, train, num_boost_round=rounds, valid_sets=sets,
                             valid_names=names, callbacks=[lightgbm.record_evaluation(seen)])
    booster.save_model(model_path)
    last = booster.best_iteration - 1  # the last of all, where training did not stop early
    return {data: {name: values[last] for name, values in metrics.items()}
            for data, metrics in seen.items()}


def train_strata(worker, conf_path, overrides, model_path):
    return run_worker([worker, f"--lightgbm-conf={conf_path}", *overrides,
                       "is_provide_training_metric=true", f"output_model={model_path}"])["metrics"]


def print_first_tree(ours, theirs):
    nodes = max(len(ours["split_feature"]), len(theirs["split_feature"]))
    differing = 0
    for node in range(nodes):
        rows = []
        for tree in (ours, theirs):
            keys = ("split_feature", "threshold", "decision_type", "left_child", "right_child")
            rows.append([tree[key][node] if node < len(tree[key]) else "-" for key in keys])
        if [float(x) if x != "-" else x for x in rows[0]] == [
                float(x) if x != "-" else x for x in rows[1]]:
            continue
        differing += 1
        gains = [tree["split_gain"][node] if node < len(tree["split_gain"]) else "-"
                 for tree in (ours, theirs)]
        print(f"node {node}: strata {' '.join(rows[0])} gain {gains[0]}; "
              f"lightgbm {' '.join(rows[1])} gain {gains[1]}")
    sets_differ = ours.get("cat_threshold") != theirs.get("cat_threshold")
    print(f"{differing} of {nodes} nodes differ" + (", and category sets" if sets_differ else ""))


def print_metrics(ours, theirs):
    print(f"{'data':<10} {'metric':<18} {'strata':>14} {'lightgbm':>14} {'difference':>12} "
          f"{'relative':>10}")
    for data, metrics in theirs.items():
        for name, value in metrics.items():
            own = ours.get(data, {}).get(name)
            if own is None:
                print(f"{data:<10} {name:<18} {'-':>14} {value:>14.8f}")
                continue
            off = own - value
            relative = off / abs(value) if value else off
            print(f"{data:<10} {name:<18} {own:>14.8f} {value:>14.8f} {off:>12.2e} "
                  f"{relative:>10.2e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("conf", nargs="?", help="LightGBM's train.conf")
    parser.add_argument("overrides", nargs="*", metavar="key=value")
    parser.add_argument("--worker", default=os.path.join(ROOT, "build/bin/strata-worker"))
    parser.add_argument("--first-tree", action="store_true")
    parser.add_argument("--exchange", action="store_true")
    options = parser.parse_args()
    if (options.conf is None) != options.exchange:
        parser.error("expected a train.conf, or --exchange")
    overrides = list(options.overrides)
    if options.first_tree:
        overrides += ["num_iterations=1", "gradient_bits=32"]
    try:
        if options.exchange:
            with tempfile.TemporaryDirectory() as folder:
                return 0 if print_exchange(options.worker, folder) else 1
        parameters = dict(read_conf(options.conf))
        parameters.update(override.partition("=")[::2] for override in overrides)
        with tempfile.TemporaryDirectory() as folder:
            own_model = os.path.join(folder, "strata.txt")
            their_model = os.path.join(folder, "lightgbm.txt")
            ours = train_strata(options.worker, options.conf, overrides, own_model)
            theirs = train_lightgbm(parameters, their_model)
            print_metrics(ours, theirs)
            if options.first_tree:
                print_first_tree(read_fields(own_model)[0], read_fields(their_model)[0])
    except (ValueError, OSError) as error:
        print(f"compare_lightgbm.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
