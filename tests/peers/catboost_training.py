"""Holds training of CatBoost's trees against the package catboost, on random rows.

usage: catboost_training.py STRATA_WORKER [SEED]

Each training is run by both. Split by split their trees must be the same, up to the first split
whose score is that of another one but for rounding; leaves must be within 1e-9, relatively above 1.
The seed is another one each run, and printed. Exit code 0: all is so; 1: something is not; 77: there
is no catboost.
"""

import json
import sys

from catboost_peer import catboost, load, numpy, run, run_cases

LEAF_LIMIT = 1e-9
SCORE_LIMIT = 1e-6
FIXED = dict(bootstrap_type="No", random_strength=0, learning_rate=0.1)
CASES = {
    "rmse": dict(loss_function="RMSE", iterations=120),
    "l2_weights": dict(loss_function="RMSE", iterations=60, score_function="L2", depth=4),
    "logloss": dict(loss_function="Logloss", iterations=60, border_count=32),
    # CatBoost's backtracking compares losses whose logarithms are approximate. It refuses some later
    # steps that make the loss less.
    "ten_steps": dict(loss_function="Logloss", iterations=210, depth=3, nan_mode="Max",
                      leaf_estimation_backtracking="No"),
    "gradient_weights": dict(loss_function="Logloss", iterations=40, leaf_estimation_iterations=3,
                             leaf_estimation_method="Gradient"),
    "cross_entropy": dict(loss_function="CrossEntropy", iterations=60, feature_border_type="Median",
                          border_count=40, l2_leaf_reg=0.3),
    "mae_weights": dict(loss_function="MAE", iterations=60, depth=4),
    "quantile": dict(loss_function="Quantile:alpha=0.8;delta=0.0001", iterations=60, border_count=60),
    "quantile_gradient_weights": dict(loss_function="Quantile:alpha=0.2", iterations=40,
                                      leaf_estimation_method="Gradient",
                                      leaf_estimation_iterations=3),
    "mape_weights": dict(loss_function="MAPE", iterations=40, depth=5),
    "poisson_weights": dict(loss_function="Poisson", iterations=40, leaf_estimation_iterations=5,
                            leaf_estimation_backtracking="No"),
    "tweedie": dict(loss_function="Tweedie:variance_power=1.6", iterations=60),
    "huber_weights": dict(loss_function="Huber:delta=0.6", iterations=60, depth=4),
    "expectile": dict(loss_function="Expectile:alpha=0.7", iterations=210, depth=3,
                      leaf_estimation_backtracking="No"),
    "class_weights": dict(loss_function="Logloss", iterations=40, class_weights=[1, 2.5]),
    "multi_class_weights": dict(loss_function="MultiClass", iterations=40, depth=4),
    "multi_class_steps": dict(loss_function="MultiClass", iterations=30, depth=5,
                              leaf_estimation_iterations=3, leaf_estimation_backtracking="No",
                              auto_class_weights="SqrtBalanced"),
    "multi_class_gradient": dict(loss_function="MultiClass", iterations=40, score_function="L2",
                                 leaf_estimation_method="Gradient"),
    "one_vs_all_weights": dict(loss_function="MultiClassOneVsAll", iterations=40, depth=4),
    "wide": dict(loss_function="Logloss", iterations=30, depth=5, feature_border_type="Uniform",
                 leaf_estimation_backtracking="No"),
}


def make_rows(rng, count, columns):
    numbers = rng.standard_normal((count, columns)).astype(numpy.float32)
    numbers[:, 1] = rng.integers(0, 4, count)
    numbers[rng.random(count) < 0.1, 2] = numpy.nan
    score = numbers[:, 0] * numbers[:, 3] + numpy.nan_to_num(numbers[:, 2], nan=1.0)
    score += 0.5 * (numbers[:, 1] > 1) + 0.5 * rng.standard_normal(count)
    return numbers, score


def name_and_number(loss):
    name, _, parameter = loss.partition(":")
    return name, float(parameter.partition("=")[2].partition(";")[0] or 0.5)


def gradients_of(loss, labels, raw):
    """Of minus the loss by the raw values, of each row and output; their scale does not matter."""
    name, number = name_and_number(loss)
    if name == "MultiClass":
        powers = numpy.exp(raw - raw.max(1, keepdims=True))
        return (labels == numpy.arange(raw.shape[1])) - powers / powers.sum(1, keepdims=True)
    if name == "MultiClassOneVsAll":
        return (labels == numpy.arange(raw.shape[1])) - 1 / (1 + numpy.exp(-raw))
    error = labels - raw
    if name in ("Logloss", "CrossEntropy"):
        return labels - 1 / (1 + numpy.exp(-raw))
    if name in ("MAE", "Quantile"):
        delta = 1e-4 if "delta" in loss else 1e-6
        return numpy.where(abs(error) < delta, 0, numpy.where(error > 0, number, number - 1))
    if name == "MAPE":
        return numpy.sign(error) / numpy.maximum(1, abs(labels))
    if name == "Poisson":
        return labels - numpy.exp(raw)
    if name == "Tweedie":
        return labels * numpy.exp((1 - number) * raw) - numpy.exp((2 - number) * raw)
    if name == "Huber":
        return numpy.clip(error, -number, number)
    if name == "Expectile":
        return numpy.where(error > 0, number, 1 - number) * error
    return error


def labels_of(loss, score):
    """Labels as the loss wants them."""
    name, _ = name_and_number(loss)
    chance = (1 / (1 + numpy.exp(-score))).round(3).astype(numpy.float32)
    if name == "Logloss":
        return (chance > 0.5).astype(int)
    if name == "CrossEntropy":
        return chance
    if name.startswith("MultiClass"):
        return numpy.digitize(score, [-1, 0, 1.5])
    if name in ("Poisson", "Tweedie"):
        return numpy.maximum(0, numpy.floor(2 * score)).astype(numpy.float32)
    return score.astype(numpy.float32)


def scores(case, rows, weights, gradients, splits, candidates):
    """Of each candidate, (column, border), behind the splits; plain sums in double."""
    l2 = case.get("l2_leaf_reg", 3) * weights.sum() / len(weights)

    def bits(split):
        column, border = split
        values = rows[:, column]
        missing = numpy.inf if case.get("nan_mode") == "Max" else -numpy.inf
        return (numpy.where(numpy.isnan(values), missing, values) > border).astype(int)

    leaves = sum((bits(split) << k for k, split in enumerate(splits)), numpy.zeros(len(rows), int))
    result = []
    for candidate in candidates:
        of = 2 * leaves + bits(candidate)
        size = 2 << len(splits)
        w = numpy.bincount(of, weights, size)
        gain, norm = 0, 1e-100
        for column in gradients.T:
            g = numpy.bincount(of, column, size)
            value = numpy.where(w > 0, g / (w + l2), 0)
            gain += (value * g).sum()
            norm += (value * value * w).sum()
        result.append(gain if case.get("score_function") == "L2" else gain / numpy.sqrt(norm))
    return result


def splits_of(tree):
    return [(s["float_feature_index"], numpy.float32(s["border"])) for s in tree["splits"] or []]


def compare(case, rows, labels, weights, ours, theirs):
    """How many trees are the same, and what is wrong with the first that is not."""
    raw = numpy.tile(numpy.array(theirs["scale_and_bias"][1], float), (len(rows), 1))
    labels, weights = labels[:, None], weights[:, None]
    if ours["scale_and_bias"] != theirs["scale_and_bias"]:
        return 0, f"bias {ours['scale_and_bias']}, expected {theirs['scale_and_bias']}"
    missing = numpy.inf if case.get("nan_mode") == "Max" else -numpy.inf
    for t, (a, b) in enumerate(zip(ours["oblivious_trees"], theirs["oblivious_trees"])):
        found, expected = splits_of(a), splits_of(b)
        if found != expected:
            gradients = gradients_of(case["loss_function"], labels, raw)
            level = next(k for k in range(max(len(found), len(expected)))
                         if found[k:k + 1] != expected[k:k + 1])
            if sorted(found) == sorted(expected):
                return t, ""  # a split of a tie was dropped
            pair = [split for tree in (found, expected) for split in tree[level:level + 1]]
            values = scores(case, rows, weights[:, 0], gradients * weights, found[:level], pair)
            if len(pair) == 2 and abs(values[0] - values[1]) <= SCORE_LIMIT * abs(values[0]):
                return t, ""
            return t, f"tree {t} level {level}: {pair} score {values}"
        for x, y in zip(a["leaf_values"], b["leaf_values"]):
            if not abs(x - y) <= LEAF_LIMIT * max(1, abs(y)):
                return t, f"tree {t}: leaf {x}, expected {y}"
        leaf = numpy.zeros(len(rows), int)
        for k, (column, border) in enumerate(expected):
            values = rows[:, column]
            leaf |= (numpy.where(numpy.isnan(values), missing, values) > border).astype(int) << k
        raw += numpy.reshape(b["leaf_values"], (-1, raw.shape[1]))[leaf]
    counts = [len(model["oblivious_trees"]) for model in (ours, theirs)]
    return counts[0], "" if counts[0] == counts[1] else f"{counts[0]} trees, expected {counts[1]}"


def check(worker, name, case, rng, folder):
    rows, score = make_rows(rng, 1200, 24 if name == "wide" else 7)
    labels = labels_of(case["loss_function"], score)
    weights = rng.choice([0.3, 1, 2], len(rows)) if "weights" in name else numpy.ones(len(rows))
    weights = weights.astype(numpy.float32)
    text = "\n".join("\t".join(str(v) for v in (label, weight, *row))
                     for label, weight, row in zip(labels, weights, rows))
    (folder / "rows.tsv").write_text(text + "\n")
    (folder / "rows.cd").write_text("0\tLabel\n1\tWeight\n")
    params = FIXED | case
    (folder / "params.json").write_text(json.dumps(params))
    run(worker, f"--catboost-params={folder / 'params.json'}", f"learn_set={folder / 'rows.tsv'}",
        f"cd={folder / 'rows.cd'}", f"model_file={folder / 'ours.json'}")
    model = catboost.CatBoost(params | dict(has_time=True, verbose=False, thread_count=1,
                                            allow_writing_files=False))
    pool = catboost.Pool(rows, labels, weight=weights)
    model.fit(pool)
    model.save_model(str(folder / "theirs.json"), format="json")
    ours, theirs = (json.loads((folder / f"{who}.json").read_text()) for who in ("ours", "theirs"))
    if "class_weights" in params:
        weights = weights * numpy.array(params["class_weights"], numpy.float32)[labels]
    if "auto_class_weights" in params:
        sums = numpy.floor(numpy.bincount(labels, weights))
        weights = weights * numpy.sqrt(sums.max() / sums)[labels]
    same, wrong = compare(params, rows, labels.astype(float), weights.astype(float), ours, theirs)
    loaded = load(folder / "ours.json")
    apart = numpy.abs(loaded.predict(pool) - model.predict(pool)).max()
    print(f"{name:25s} {same} of {params['iterations']} trees are the same, predictions differ by "
          f"{apart:.1e} {wrong}")
    return not wrong


if __name__ == "__main__":
    sys.exit(run_cases(sys.argv[1:], CASES, check))
