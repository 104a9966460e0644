"""Click logs in Criteo's format that are made up, with effects that a model can find.

Values of a category follow a power law, as those of real logs do. The true probability of a click
is the sigmoid of a bias, an effect of each value of some columns, an effect of each pair of values
of some pairs of columns, which only a model that crosses columns can learn, and an effect of two of
the integers.
"""

import math
import random

INTEGERS = 13
CATEGORIES = 26
MISSING_SHARE = 0.1
# Distinct values of the columns: a few large ones, many small ones.
SIZES = [1000, 500, 50_000, 20_000, 200, 20, 5_000, 400, 3, 20_000, 3_000, 50_000, 2_000,
         26, 5_000, 50_000, 10, 3_000, 1_500, 4, 50_000, 15, 16, 30_000, 80, 20_000]
SINGLE = {0: 0.5, 4: 0.5, 5: 0.8, 8: 0.4, 13: 0.6, 22: 0.5}  # column: size of its effects
CROSSED = {(5, 8): 0.9, (13, 16): 1.0, (19, 21): 0.9}
BIAS = -1.4


def effect(seed, *values):
    """A number that belongs to these values, of about normal distribution."""
    return random.Random(f"{seed}/{values}").gauss(0, 1)


class Effects:
    """The effects of values and pairs, each drawn once."""

    def __init__(self, seed):
        self._seed = seed
        self._known = {}

    def of(self, *values):
        if values not in self._known:
            self._known[values] = effect(self._seed, *values)
        return self._known[values]


def power_law(draw, size, count):
    """Values 0 to size - 1, the value v about as often as 1 / (v + 1)."""
    scale = math.log(size + 1)
    exp = math.exp
    uniform = draw.random
    return [int(exp(uniform() * scale)) - 1 for _ in range(count)]


def write(path, rows, seed):
    """Writes the rows; returns the true probability and the label of each."""
    draw = random.Random(f"rows/{path.name}/{seed}")
    effects = Effects(seed)
    categories = [power_law(draw, size, rows) for size in SIZES]
    integers = [[int(draw.lognormvariate(1, 1.5)) for _ in range(rows)] for _ in range(INTEGERS)]
    # Texts of eight hexadecimal digits, as Criteo's are.
    names = [[f"{random.Random(f'{c}/{v}').getrandbits(32):08x}" for v in range(size)]
             for c, size in enumerate(SIZES)]
    truth = []
    with open(path, "w", encoding="ascii") as file:
        for row in range(rows):
            values = [column[row] for column in categories]
            numbers = [column[row] for column in integers]
            logit = BIAS + 0.4 * math.log1p(numbers[0]) - 0.3 * math.log1p(numbers[5])
            for column, size in SINGLE.items():
                logit += size * effects.of(column, values[column])
            for (left, right), size in CROSSED.items():
                logit += size * effects.of(left, values[left], right, values[right])
            probability = 1 / (1 + math.exp(-logit))
            label = int(draw.random() < probability)
            truth.append((probability, label))
            fields = [str(label)]
            # Numbers that have an effect are always there.
            fields += ["" if i not in (0, 5) and draw.random() < MISSING_SHARE else str(number)
                       for i, number in enumerate(numbers)]
            fields += [names[c][value] for c, value in enumerate(values)]
            file.write("\t".join(fields) + "\n")
    return truth


def auc_of(truth):
    """The area under the curve of (score, label) pairs; equal scores count half."""
    positives = negatives = pairs = 0
    ranked = sorted(truth)
    begin = 0
    while begin < len(ranked):
        end = begin
        while end < len(ranked) and ranked[end][0] == ranked[begin][0]:
            end += 1
        ones = sum(label for _, label in ranked[begin:end])
        zeros = end - begin - ones
        pairs += ones * (negatives + zeros / 2)
        positives += ones
        negatives += zeros
        begin = end
    return pairs / (positives * negatives)
