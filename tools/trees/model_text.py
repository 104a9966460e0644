"""LightGBM's text models: their trees, node by node, and which rows go where."""

MISSING_ZERO, MISSING_NAN = 1, 2  # of a node's decision_type, from its third bit on
ZERO = 1e-35


def read_fields(path):
    """Of each tree, what its lines say: lists of words by key."""
    trees = []
    with open(path, encoding="utf-8") as model:
        for line in model:
            line = line.rstrip("\n")
            if line.startswith("Tree="):
                trees.append({})
            elif line.startswith("end of trees"):
                break
            elif trees and "=" in line:
                key, _, value = line.partition("=")
                trees[-1][key] = value.split()
    return trees


class Node:
    """A split; children below 0 are leaves, ~child their numbers."""

    def __init__(self, fields, at):
        number = lambda key: int(fields[key][at])
        self.feature = number("split_feature")
        self.left = number("left_child")
        self.right = number("right_child")
        self.gain = float(fields["split_gain"][at])
        kind = number("decision_type")
        self.is_categorical = bool(kind & 1)
        self.default_left = bool(kind & 2)
        self.missing = kind >> 2 & 3
        self.threshold = float(fields["threshold"][at])
        self.categories = frozenset()
        if self.is_categorical:
            self.categories = self._categories(fields, int(self.threshold))

    @staticmethod
    def _categories(fields, at):
        begin, end = (int(fields["cat_boundaries"][at + i]) for i in (0, 1))
        words = [int(word) for word in fields["cat_threshold"][begin:end]]
        return frozenset(32 * i + bit for i, word in enumerate(words) for bit in range(32)
                         if word >> bit & 1)

    def split(self):
        """What it asks of a row."""
        rule = self.categories if self.is_categorical else self.threshold
        return (self.feature, self.is_categorical, rule, self.missing, self.default_left)

    def same_as(self, other):
        return (self.split() == other.split()
                and (self.left, self.right) == (other.left, other.right))

    def goes_left(self, x):
        """Of rows, a mask."""
        import numpy

        values = x[:, self.feature]
        gaps = numpy.isnan(values)
        if self.is_categorical:
            known = numpy.where(gaps | (values < 0), -1, values).astype(int)
            return numpy.isin(known, list(self.categories))
        if self.missing != MISSING_NAN:
            values = numpy.where(gaps, 0, values)
        left = values <= self.threshold
        if self.missing == MISSING_NAN:
            left = numpy.where(gaps, self.default_left, left)
        elif self.missing == MISSING_ZERO:
            left = numpy.where(numpy.abs(values) <= ZERO, self.default_left, left)
        return left.astype(bool)


class TreeText:
    """The nodes of a tree, in the order in which they were split."""

    def __init__(self, fields):
        leaves = int(fields["num_leaves"][0])
        self.nodes = [Node(fields, at) for at in range(leaves - 1)]
        self.leaf_values = [float(value) for value in fields["leaf_value"]]

    def rows_at(self, at, x):
        """Which rows come to node `at`: a mask."""
        import numpy

        rows = numpy.ones(len(x), dtype=bool)
        while at > 0:
            parent = next(p for p, node in enumerate(self.nodes) if at in (node.left, node.right))
            left = self.nodes[parent].goes_left(x)
            rows &= left if self.nodes[parent].left == at else ~left
            at = parent
        return rows


def read_trees(path):
    return [TreeText(fields) for fields in read_fields(path)]
