"""Whether rows tie by their scores but for the order of additions, so that metrics of order depend
on it: LightGBM keeps the running mean of a forest and, with DART, takes trees away from scores."""

SCORE_TIE = 1e-12  # relative difference of scores that sums in another order could part
OF_ORDER = ("auc", "average_precision", "auc_mu", "ndcg", "map", "binary_error", "multi_error")
TIED = "rows tie by scores that LightGBM adds up in another order (Beside LightGBM)"


def is_of_order(metric):
    return metric.split("@")[0] in OF_ORDER


def scores_tie(case, model_path):
    """Whether two rows of the validation data are in other leaves and have the same score."""
    import lightgbm
    import numpy

    if case.parameters.get("boosting") not in ("rf", "dart"):
        return False
    booster = lightgbm.Booster(model_file=model_path)
    x = case.valid["x"]
    leaves = booster.predict(x, pred_leaf=True).reshape(len(x), -1)
    raw = booster.predict(x, raw_score=True).reshape(len(x), -1)
    columns = [raw[:, k] for k in range(raw.shape[1])]
    columns += [a - b for i, a in enumerate(columns) for b in columns[:i]]
    for scores in columns:
        order = numpy.argsort(scores, kind="stable")
        gaps = numpy.diff(scores[order])
        near = gaps <= SCORE_TIE * numpy.maximum(1, numpy.abs(scores[order][1:]))
        differ = (leaves[order][1:] != leaves[order][:-1]).any(axis=1)
        if (near & differ).any():
            return True
    return False
