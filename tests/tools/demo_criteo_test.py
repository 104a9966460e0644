"""The click log that ./dev demo --criteo makes up. usage: demo_criteo_test.py ROOT"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "tools" / "demo"))

import criteo  # noqa: E402


def auc_by_pairs(truth):
    ones = [score for score, label in truth if label]
    zeros = [score for score, label in truth if not label]
    wins = sum((one > zero) + (one == zero) / 2 for one in ones for zero in zeros)
    return wins / (len(ones) * len(zeros))


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.txt"
        truth = criteo.write(path, 500, seed=3)
        text = path.read_text(encoding="ascii")
        rows = [line.split("\t") for line in text.splitlines()]
        assert len(rows) == len(truth) == 500
        assert all(len(row) == 1 + criteo.INTEGERS + criteo.CATEGORIES for row in rows)
        assert [int(row[0]) for row in rows] == [label for _, label in truth]
        assert any(field == "" for field in rows[0] + rows[1]), "some integers are missing"
        assert abs(criteo.auc_of(truth) - auc_by_pairs(truth)) < 1e-12
        tied = [(round(score, 1), label) for score, label in truth]
        assert abs(criteo.auc_of(tied) - auc_by_pairs(tied)) < 1e-12
        assert criteo.write(path, 500, seed=3) == truth and path.read_text() == text
        assert criteo.write(path, 500, seed=4) != truth
    print("0 findings")


if __name__ == "__main__":
    main()
