"""Why the trees of two models of the same rows differ: the first node that does, and whether both
splits gain the same there."""
from slopes import slopes_before

TIE = 1e-9  # relative difference of gains, of the size of their terms
RECORDED_TIE = 3e-6  # of gains as models have them, to six digits

ALIKE = "a tie: both splits part the node's rows alike"
EQUAL = "a tie: both splits gain the same"
NOTHING = "a tie: a split gains nothing, and one has it not"
RECORDED = "a tie by the gains that models record, to six digits"
MAPE = "mape with weights: other second derivatives (What is compatible)"
FOREST = "a forest with trees that are constants (What is compatible)"
GOES_ON = "the Python package trains on after a round without a split (Beside LightGBM)"
DROPPED = "dart: LightGBM leaves dropped trees negated after a round without a split " \
          "(Beside LightGBM)"
TWICE = "a constant that LightGBM counts twice in metrics (Beside LightGBM)"


class Reason:
    def __init__(self, is_known, text):
        self.is_known = is_known
        self.text = text


def _l1(gradient, bound):
    import numpy

    return numpy.sign(gradient) * max(0.0, abs(gradient) - bound)


class Gains:
    """Of splits of the rows of a case, from their gradients and hessians."""

    def __init__(self, case, slopes):
        self.case = case
        self.gradients, self.hessians = slopes
        get = lambda key, default: float(case.parameters.get(key, default))
        self.l1 = get("lambda_l1", 0)
        self.l2 = get("lambda_l2", 0)
        self.cat_l2 = get("cat_l2", 10)
        self.onehot = int(get("max_cat_to_onehot", 4))
        self.bound = get("max_delta_step", 0)

    def of_leaf(self, rows, l2):
        import numpy

        gradient = _l1(float(numpy.sum(self.gradients[rows])), self.l1)
        hessian = float(numpy.sum(self.hessians[rows])) + l2
        if hessian <= 0:
            return 0.0
        output = -gradient / hessian
        if self.bound > 0:
            output = max(-self.bound, min(self.bound, output))
        return -(2 * gradient * output + hessian * output * output)

    def of_split(self, node, rows):
        """The gain, and the size of its terms."""
        left = node.goes_left(self.case.train["x"]) & rows
        l2 = self.l2
        if node.is_categorical and self._has_many(node):
            l2 += self.cat_l2
        terms = [self.of_leaf(left, l2), self.of_leaf(rows & ~left, l2),
                 -self.of_leaf(rows, self.l2)]
        return sum(terms), sum(map(abs, terms))

    def _has_many(self, node):
        import numpy

        values = self.case.train["x"][:, node.feature]
        return len(numpy.unique(values[~numpy.isnan(values)])) + 1 > self.onehot


def _explain_node(case, gains, own, other, at):
    """The first node that differs; either tree may lack it."""
    import numpy

    x = case.train["x"]
    pairs = [(tree.nodes[at], tree.rows_at(at, x)) for tree in (own, other) if at < len(tree.nodes)]
    if len(pairs) == 2:
        (a, rows_a), (b, rows_b) = pairs
        left_a, left_b = a.goes_left(x) & rows_a, b.goes_left(x) & rows_b
        if numpy.array_equal(rows_a, rows_b) and (
                numpy.array_equal(left_a, left_b) or numpy.array_equal(left_a, rows_b & ~left_b)):
            return Reason(True, ALIKE)
    if gains is not None:
        found = [gains.of_split(node, rows) for node, rows in pairs]
        size = max(terms for _, terms in found)
        off = abs(found[0][0] - (found[1][0] if len(found) == 2 else gains_at_least(case)))
        if off <= TIE * size:
            return Reason(True, EQUAL if len(found) == 2 else NOTHING)
        return Reason(False, f"node {at}: gains {[gain for gain, _ in found]} "
                             f"are {off / size:.1e} of their terms apart")
    recorded = [node.gain for node, _ in pairs]
    off = abs(recorded[0] - (recorded[1] if len(recorded) == 2 else 0)) / max(recorded + [1e-300])
    if len(recorded) == 2 and off <= RECORDED_TIE:
        return Reason(True, RECORDED)
    return Reason(False, f"node {at}: recorded gains {recorded} are {off:.1e} apart")


def gains_at_least(case):
    return float(case.parameters.get("min_gain_to_split", 0))


def documented_difference(case, trees):
    """A Reason why metrics of a model differ though no split does, or None."""
    p = case.parameters
    are_constant = [not tree.nodes for tree in trees]
    if p.get("boosting") == "dart" and p["skip_drop"] != "1" and len(trees) < case.trees:
        return Reason(True, DROPPED)
    if p.get("boosting") == "rf" and any(are_constant):
        return Reason(True, FOREST)
    if p.get("boost_from_average") == "false" and all(are_constant):
        return Reason(True, TWICE)
    return None


def explain_difference(case, own, other, model_path):
    """None where all trees are the same; else a Reason."""
    if case.objective == "mape" and case.train["weights"] is not None:
        return Reason(True, MAPE)
    for number, (a, b) in enumerate(zip(own, other)):
        at = next((i for i, (x, y) in enumerate(zip(a.nodes, b.nodes)) if not x.same_as(y)),
                  min(len(a.nodes), len(b.nodes)))
        if at == max(len(a.nodes), len(b.nodes)):
            continue
        knows_gains = not any(key in case.parameters
                              for key in ("path_smooth", "monotone_constraints"))
        slopes = slopes_before(case, number, model_path) if knows_gains else None
        gains = Gains(case, slopes) if slopes is not None else None
        reason = _explain_node(case, gains, a, b, at)
        reason.text = reason.text if reason.is_known else f"tree {number} {reason.text}"
        return reason
    if len(own) < min(len(other), case.trees):
        return Reason(True, GOES_ON)
    if len(own) != len(other):
        return Reason(False, f"{len(own)} trees, LightGBM has {len(other)}")
    return None
