"""Holds training from categories against the package catboost, on random rows.

usage: catboost_categories.py STRATA_WORKER [SEED]

Each case is trained by both. CatBoost loads the model of strata-worker, and must predict the same
with it, also for rows of categories that training has not seen. Where rows keep their order, trees
must be the same as CatBoost's, their leaves within 1e-9, up to the first of splits with equal
scores: the losses of test rows are then all but the same. Where rows are permuted, the means
of these losses over a few seeds must be near each other. The seed is another one each run, and printed. Exit code 0: all is so; 1:
something is not; 77: there is no catboost.
"""

import json
import sys

from catboost_peer import catboost, load, numpy, run, run_cases

LEARN = 2000
TEST = 2000
LIMIT = 1e-9
SEEDS = 6  # of trainings whose rows are permuted; their losses have a deviation of 5 %
LOSS_LIMIT = 0.08  # of means, relatively
TIE_LIMIT = 0.003
FIXED = dict(bootstrap_type="No", random_strength=0, learning_rate=0.1, depth=5, iterations=60,
             leaf_estimation_iterations=1)
TIMES = dict(has_time=True, iterations=20)
CASES = {
    "one_hot": TIMES | dict(loss_function="Logloss", one_hot_max_size=100),
    "statistics": TIMES | dict(loss_function="Logloss"),
    "types": TIMES | dict(loss_function="RMSE", one_hot_max_size=1, model_size_reg=0,
                          simple_ctr=["Borders:TargetBorderCount=3:Prior=0.2", "Buckets",
                                      "BinarizedTargetMeanValue:TargetBorderCount=4",
                                      "Counter:CtrBorderCount=40:Prior=1"]),
    "combinations": TIMES | dict(loss_function="Logloss", max_ctr_complexity=3),
    "rules": TIMES | dict(loss_function="Logloss", max_ctr_complexity=3,
                          feature_weights={"0": 0.8, "2": 0.5, "3": 2.0},
                          first_feature_use_penalties={"1": 2.0, "4": 3.0}),
    "permuted": dict(loss_function="Logloss"),
    "permuted_combinations": dict(loss_function="RMSE", max_ctr_complexity=4),
}


def make_rows(rng, count):
    numbers = rng.standard_normal((count, 2)).round(2)
    small = rng.integers(0, 3, count)
    middle = rng.integers(0, 12, count)
    large = numpy.floor(numpy.exp(rng.random(count) * 6)).astype(int)
    score = numbers[:, 0] + (small > 0) * ((middle * 7) % 5 - 2) + ((large * 13) % 7 - 3) / 2
    score += rng.standard_normal(count)
    rows = [[a, b, f"s{s}", f"m{m}", f"l{v}"]
            for (a, b), s, m, v in zip(numbers.tolist(), small, middle, large)]
    return rows, score


def write(path, rows, labels):
    lines = ["\t".join(str(cell) for cell in (label, *row)) for label, row in zip(labels, rows)]
    path.write_text("\n".join(lines) + "\n")


def splits_of(model, tree):
    """What each split of a tree asks, whatever its number in the model."""
    ctrs = model["features_info"].get("ctrs") or []
    of_ctrs = [(json.dumps(ctr["elements"]), ctr["ctr_type"], ctr["target_border_idx"],
                round(ctr["prior_numerator"] / ctr["prior_denomerator"], 5), border)
               for ctr in ctrs for border in ctr["borders"]]
    features = model["features_info"]
    count = sum(len(f["borders"] or []) for f in features.get("float_features") or [])
    count += sum(len(f.get("values") or []) for f in features.get("categorical_features") or [])
    result = []
    for split in tree["splits"] or []:
        if split["split_type"] == "OnlineCtr":
            result.append(of_ctrs[split["split_index"] - count])
        else:
            result.append(tuple(sorted((k, v) for k, v in split.items() if k != "split_index")))
    return result


def same_trees(ours, theirs):
    """How many of the first trees are the same, and whether their leaves are."""
    for t, (a, b) in enumerate(zip(ours["oblivious_trees"], theirs["oblivious_trees"])):
        if splits_of(ours, a) != splits_of(theirs, b):
            return t, True
        if any(not abs(x - y) <= LIMIT for x, y in zip(a["leaf_values"], b["leaf_values"])):
            return t, False
    return len(ours["oblivious_trees"]), True


def loss_of(case, raw, labels):
    if case["loss_function"] == "RMSE":
        return numpy.sqrt(((raw - labels) ** 2).mean())
    return (numpy.logaddexp(0, raw) - labels * raw).mean()


def train_both(worker, params, labels, folder):
    """Trees that are the same, whether leaves are, how far predictions are apart, both losses."""
    (folder / "params.json").write_text(json.dumps(params))
    run(worker, f"--catboost-params={folder / 'params.json'}", f"learn_set={folder / 'learn.tsv'}",
        f"cd={folder / 'rows.cd'}", f"model_file={folder / 'ours.json'}")
    run(worker, "--task=predict", f"model_file={folder / 'ours.json'}",
        f"input_path={folder / 'test.tsv'}", f"cd={folder / 'rows.cd'}",
        f"output_path={folder / 'predictions.tsv'}")
    lines = (folder / "predictions.tsv").read_text().splitlines()[1:]
    raw = numpy.array([float(line.split("\t")[1]) for line in lines])
    description = str(folder / "rows.cd")
    learn, test = (catboost.Pool(str(folder / part), column_description=description)
                   for part in ("learn.tsv", "test.tsv"))
    loaded = load(folder / "ours.json")
    apart = numpy.abs(loaded.predict(test) - raw).max()
    model = catboost.CatBoost(params | dict(verbose=False, thread_count=1,
                                            allow_writing_files=False))
    model.fit(learn)
    model.save_model(str(folder / "theirs.json"), format="json", pool=learn)
    ours, theirs = (json.loads((folder / f"{who}.json").read_text()) for who in ("ours", "theirs"))
    same, leaves = same_trees(ours, theirs)
    return same, leaves, apart, [loss_of(params, values, labels)
                                 for values in (raw, model.predict(test))]


def check(worker, name, case, rng, folder):
    params = FIXED | case
    rows, score = make_rows(rng, LEARN + TEST)
    labels = score.round(4) if params["loss_function"] == "RMSE" else (score > 0).astype(int)
    write(folder / "learn.tsv", rows[:LEARN], labels[:LEARN])
    write(folder / "test.tsv", rows[LEARN:], labels[LEARN:])
    (folder / "rows.cd").write_text("0\tLabel\n3\tCateg\n4\tCateg\n5\tCateg\n")
    has_time = params.get("has_time", False)
    trained = [train_both(worker, params | dict(random_seed=seed), labels[LEARN:], folder)
               for seed in range(1 if has_time else SEEDS)]
    same, leaves = trained[0][:2]
    apart = max(of[2] for of in trained)
    losses = numpy.mean([of[3] for of in trained], axis=0)
    limit = TIE_LIMIT if has_time else LOSS_LIMIT
    good = apart <= LIMIT and (leaves or not has_time)
    good &= abs(losses[0] - losses[1]) <= losses[1] * limit
    print(f"{name:22s} {same:2d} of {params['iterations']} trees are the same, loaded {apart:.1e}, "
          f"loss {losses[0]:.5f}, CatBoost's {losses[1]:.5f}{'' if good else '  WRONG'}")
    return good


if __name__ == "__main__":
    sys.exit(run_cases(sys.argv[1:], CASES, check))
