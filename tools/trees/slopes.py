"""Gradients and hessians of a case's training rows before a tree, by the formulas of LightGBM, in
double precision."""


def sigmoid(x):
    import numpy

    return 1 / (1 + numpy.exp(-x))


def scores_before(case, tree, model_path):
    """Raw scores, rows x classes, that the tree's gradients are of; None where they are not known:
    trees were left out."""
    import lightgbm
    import numpy

    p = case.parameters
    rounds = tree // case.classes
    if p.get("boosting") == "dart" and p.get("drop_rate") and rounds > 0:
        return None
    x = case.train["x"]
    if rounds > 0 and p.get("boosting") != "rf":
        booster = lightgbm.Booster(model_file=model_path)
        raw = booster.predict(x, raw_score=True, num_iteration=rounds)
        return raw.reshape(len(x), case.classes)
    if p.get("boost_from_average") == "false":
        return numpy.zeros((len(x), case.classes))
    # A model of no split has the start scores.
    still = {key: value for key, value in p.items()
             if key not in ("data", "valid", "num_iterations", "boosting", "metric")}
    still.update(verbosity="-1", min_gain_to_split="1e300", precise_float_parser="true")
    data = lightgbm.Dataset(case.train["path"], params=dict(still))
    start = lightgbm.train(still, data, 1).predict(x, raw_score=True)
    return start.reshape(len(x), case.classes)


def _of_row(case, y, s, w):
    """Of losses of one score, of which weights are factors; None: it is none of them."""
    import numpy

    p = case.parameters
    off = s - y
    one = numpy.ones_like(s)
    alpha = float(p.get("alpha", 0.9))
    name = case.objective
    if name == "regression":
        if p.get("reg_sqrt"):
            off = s - numpy.sign(y) * numpy.sqrt(numpy.abs(y))
        return off, one
    if name == "regression_l1":
        return numpy.sign(off), one
    if name == "huber":
        return numpy.clip(off, -alpha, alpha), one
    if name == "fair":
        c = float(p.get("fair_c", 1))
        return c * off / (numpy.abs(off) + c), c * c / (numpy.abs(off) + c) ** 2
    if name == "poisson":
        return numpy.exp(s) - y, numpy.exp(s + 0.7)
    if name == "quantile":
        return numpy.where(s >= y, 1 - numpy.float64(numpy.float32(alpha)),
                           -numpy.float64(numpy.float32(alpha))), one
    if name == "mape":
        return numpy.sign(off) / numpy.maximum(1, numpy.abs(y)), one
    if name == "gamma":
        return 1 - y * numpy.exp(-s), y * numpy.exp(-s)
    if name == "tweedie":
        rho = float(p.get("tweedie_variance_power", 1.5))
        a, b = y * numpy.exp((1 - rho) * s), numpy.exp((2 - rho) * s)
        return b - a, (2 - rho) * b - (1 - rho) * a
    if name == "binary":
        return _binary(y > 0, s, float(p.get("sigmoid", 1)), float(p.get("scale_pos_weight", 1)))
    if name == "cross_entropy" or (name == "cross_entropy_lambda" and w is None):
        return sigmoid(s) - y, sigmoid(s) * (1 - sigmoid(s))
    return None


def _binary(is_positive, s, slope, positive_weight, negative_weight=1.0):
    import numpy

    sign = numpy.where(is_positive, 1.0, -1.0)
    weight = numpy.where(is_positive, positive_weight, negative_weight)
    response = -sign * slope / (1 + numpy.exp(sign * slope * s))
    return response * weight, numpy.abs(response) * (slope - numpy.abs(response)) * weight


def _of_classes(case, y, scores, k):
    import numpy

    if case.objective == "multiclass":
        share = numpy.exp(scores - scores.max(axis=1, keepdims=True))
        share = share[:, k] / share.sum(axis=1)
        return share - (y == k), case.classes / (case.classes - 1) * share * (1 - share)
    positives = numpy.count_nonzero(y == k)
    negatives = len(y) - positives
    weights = [1.0, 1.0]
    if case.parameters.get("is_unbalance") and positives and negatives:
        weights = [max(1.0, negatives / positives), max(1.0, positives / negatives)]
    return _binary(y == k, scores[:, k], 1.0, *weights)


def slopes_before(case, tree, model_path):
    """(gradients, hessians) of the rows, or None: of ranking, of intensities with weights, and
    after trees were left out."""
    import numpy

    scores = scores_before(case, tree, model_path)
    if scores is None or case.train["queries"] is not None:
        return None
    y = numpy.float64(numpy.float32(case.train["y"]))
    w = case.train["weights"]
    if case.classes > 1:
        found = _of_classes(case, y, scores, tree % case.classes)
    else:
        found = _of_row(case, y, scores[:, 0], w)
    if found is None or w is None:
        return found
    return found[0] * w, found[1] * w
