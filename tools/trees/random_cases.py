"""Random data and parameters that LightGBM and Strata both take, each case by its seed."""
import os

OBJECTIVES = ["regression", "regression", "binary", "binary", "multiclass", "multiclassova",
              "regression_l1", "huber", "fair", "poisson", "quantile", "mape", "gamma", "tweedie",
              "cross_entropy", "cross_entropy_lambda", "lambdarank", "rank_xendcg"]
RENEWED = {"regression_l1", "quantile", "mape"}  # leaves get outputs of their own
RANKING = {"lambdarank", "rank_xendcg"}
CLASSES = {"multiclass", "multiclassova"}
METRICS = {
    "binary": "auc,binary_logloss,binary_error,average_precision",
    "multiclass": "multi_logloss,multi_error,auc_mu",
    "multiclassova": "multi_logloss,multi_error",
    "cross_entropy": "cross_entropy,kullback_leibler,auc",
    "cross_entropy_lambda": "cross_entropy_lambda",
    "lambdarank": "ndcg,map", "rank_xendcg": "ndcg,map",
    "poisson": "poisson,l2", "gamma": "gamma,gamma_deviance,l1", "tweedie": "tweedie,rmse",
    "quantile": "quantile,l1", "mape": "mape,l1", "huber": "huber,r2", "fair": "fair,l2",
}


class Case:
    """Files in a folder, parameters as texts, and what the rows are."""

    def __init__(self, seed, folder):
        import numpy

        self.seed = seed
        self.random = numpy.random.default_rng(seed)
        self.objective = str(self.random.choice(OBJECTIVES))
        self.classes = int(self.random.integers(2, 5)) if self.objective in CLASSES else 1
        rows = int(numpy.exp(self.random.uniform(numpy.log(30), numpy.log(3000))))
        self.kinds = self._kinds()
        self.weighted = self.random.random() < 0.3
        self.train = self._rows(rows)
        self.valid = self._rows(max(20, rows // 3))
        self.parameters = self._parameters()
        self.has_draws = self._draws()
        self.trees = int(self.parameters["num_iterations"]) * self.classes  # at most
        self._write(folder)

    def _kinds(self):
        kinds = ["number", "grid", "gaps", "sparse", "count", "category", "constant"]
        shares = [0.25, 0.25, 0.15, 0.1, 0.1, 0.12, 0.03]
        return [str(kind) for kind in
                self.random.choice(kinds, self.random.integers(1, 9), p=shares)]

    def _column(self, kind, rows):
        import numpy

        random = self.random
        values = numpy.round(random.normal(size=rows), 3)
        if kind == "grid":
            values = numpy.round(values, 1)
        elif kind == "gaps":
            values[random.random(rows) < random.uniform(0.02, 0.6)] = numpy.nan
        elif kind == "sparse":
            values[random.random(rows) < 0.8] = 0
        elif kind == "count":
            values = random.poisson(2, rows).astype(float)
        elif kind == "category":
            values = random.integers(0, 12, rows).astype(float)
            values[random.random(rows) < 0.05] = numpy.nan
        elif kind == "constant":
            values[:] = 1
        return values

    def _rows(self, rows):
        import numpy

        columns = [self._column(kind, rows) for kind in self.kinds]
        target = self.random.normal(size=rows) * 0.4
        for number, column in enumerate(columns):
            filled = numpy.nan_to_num(column, nan=1.5)
            target += numpy.sin(filled * (number + 1)) if number % 2 else filled * 0.6
        weights = numpy.round(self.random.uniform(0.1, 3, rows), 2) if self.weighted else None
        return {"x": numpy.column_stack(columns), "y": self._label(target), "weights": weights,
                "queries": self._queries(rows) if self.objective in RANKING else None}

    def _label(self, target):
        import numpy

        name = self.objective
        if name == "binary":
            return (target > 0.3).astype(float)
        if name in CLASSES:
            cuts = numpy.linspace(-1, 1.5, self.classes - 1)
            return numpy.digitize(target, cuts).astype(float)
        if name in RANKING:
            return numpy.digitize(target, [0, 0.8, 1.6, 2.5]).astype(float)
        if name.startswith("cross_entropy"):
            return numpy.round(1 / (1 + numpy.exp(-target)), 3)
        if name in ("poisson", "tweedie"):
            return numpy.floor(numpy.exp(numpy.minimum(target, 4)))
        if name == "gamma":
            return numpy.round(numpy.exp(numpy.minimum(target, 4)), 2) + 0.01
        return numpy.round(target, 2)

    def _queries(self, rows):
        counts = []
        while rows > 0:
            counts.append(min(rows, int(self.random.integers(1, 25))))
            rows -= counts[-1]
        return counts

    def _sometimes(self, share, value):
        return value() if self.random.random() < share else None

    def _parameters(self):
        random = self.random
        some = self._sometimes
        chosen = {
            "objective": self.objective,
            "metric": METRICS.get(self.objective, "l2,l1,rmse,r2"),
            "num_iterations": int(random.integers(1, 11)),
            "num_leaves": int(random.integers(2, 40)),
            "min_data_in_leaf": int(random.integers(1, 40)),
            "learning_rate": some(0.5, lambda: round(float(random.uniform(0.02, 0.6)), 3)),
            "lambda_l1": some(0.2, lambda: round(float(random.uniform(0, 2)), 3)),
            "lambda_l2": some(0.3, lambda: round(float(random.uniform(0, 5)), 3)),
            "min_gain_to_split": some(0.15, lambda: round(float(random.uniform(0, 0.5)), 3)),
            "min_sum_hessian_in_leaf": some(0.3, lambda: round(float(random.uniform(0, 4)), 3)),
            "max_delta_step": some(0.1, lambda: round(float(random.uniform(0.1, 1)), 3)),
            "max_depth": some(0.25, lambda: int(random.integers(1, 8))),
            "path_smooth": some(0.12, lambda: round(float(random.uniform(0.1, 10)), 2)),
            "max_bin": some(0.3, lambda: int(random.integers(3, 64))),
            "min_data_in_bin": some(0.3, lambda: int(random.integers(1, 8))),
            "use_missing": some(0.08, lambda: "false"),
            "zero_as_missing": some(0.08, lambda: "true"),
            "feature_pre_filter": some(0.2, lambda: "false"),
            "enable_bundle": some(0.3, lambda: "false"),
            "boost_from_average": some(0.15, lambda: "false"),
            "max_cat_to_onehot": some(0.2, lambda: int(random.integers(1, 12))),
            "max_cat_threshold": some(0.2, lambda: int(random.integers(1, 10))),
            "cat_l2": some(0.2, lambda: round(float(random.uniform(0, 10)), 2)),
            "cat_smooth": some(0.3, lambda: round(float(random.uniform(0, 10)), 2)),
            "min_data_per_group": some(0.5, lambda: int(random.integers(1, 50))),
        }
        chosen.update(self._of_objective())
        chosen.update(self._of_features())
        chosen.update(self._of_boosting())
        return {key: str(value) for key, value in chosen.items() if value is not None}

    def _of_objective(self):
        random = self.random
        some = self._sometimes
        if self.objective in CLASSES:
            weighs = self.objective == "multiclassova" and random.random() < 0.3
            return {"num_class": self.classes, "is_unbalance": "true" if weighs else None}
        return {
            "binary": lambda: {"scale_pos_weight": some(0.2, lambda: 2.5),
                               "sigmoid": some(0.2, lambda: 1.7)},
            "regression": lambda: {"reg_sqrt": some(0.15, lambda: "true")},
            "quantile": lambda: {"alpha": some(0.7, lambda: 0.3)},
            "huber": lambda: {"alpha": some(0.5, lambda: 0.6)},
            "fair": lambda: {"fair_c": some(0.5, lambda: 1.7)},
            "tweedie": lambda: {"tweedie_variance_power": some(0.5, lambda: 1.2)},
            "lambdarank": lambda: {"lambdarank_truncation_level": some(0.4, lambda: 5),
                                   "eval_at": "1,3,5"},
        }.get(self.objective, dict)()

    def _of_features(self):
        categories = [str(f) for f, kind in enumerate(self.kinds) if kind == "category"]
        chosen = {}
        if categories:
            chosen["categorical_feature"] = ",".join(categories)
        if self.random.random() < 0.1 and self.objective not in RENEWED:
            ways = [0 if kind == "category" else int(self.random.integers(-1, 2))
                    for kind in self.kinds]
            chosen["monotone_constraints"] = ",".join(map(str, ways))
            chosen["monotone_penalty"] = self._sometimes(0.3, lambda: 1.5)
        if self.random.random() < 0.1 and len(self.kinds) > 2:
            chosen["interaction_constraints"] = "[0,1],[1,2]"
        return chosen

    def _of_boosting(self):
        """Draws in about a third of the cases."""
        random = self.random
        draw = random.random()
        if draw < 0.08:
            return {"bagging_freq": 1, "bagging_fraction": 0.7}
        if draw < 0.14:
            return {"feature_fraction": 0.6}
        if draw < 0.18:
            return {"data_sample_strategy": "goss", "learning_rate": 0.5}
        if draw < 0.22:
            return {"boosting": "dart", "drop_rate": 0.4, "skip_drop": 0.2}
        if draw < 0.26:
            return {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}
        if draw < 0.30:
            return {"extra_trees": "true"}
        if draw < 0.35:  # every round drops none, or all trees
            return {"boosting": "dart", "skip_drop": 1}
        if draw < 0.38:
            return {"boosting": "dart", "skip_drop": 0, "drop_rate": 1, "max_drop": -1,
                    "uniform_drop": "true"}
        if draw < 0.42:  # of so few features all are used
            return {"boosting": "rf", "feature_fraction": 0.99}
        return {}

    def _draws(self):
        drawn = {"bagging_fraction", "data_sample_strategy", "extra_trees"}
        p = self.parameters
        return (self.objective == "rank_xendcg" or bool(drawn & p.keys())
                or p.get("feature_fraction") == "0.6" or p.get("drop_rate") == "0.4")

    def _write(self, folder):
        for name, data in (("train", self.train), ("valid", self.valid)):
            path = os.path.join(folder, name + ".csv")
            data["path"] = path
            with open(path, "w", encoding="ascii") as file:
                for y, row in zip(data["y"], data["x"]):
                    file.write(",".join(repr(float(value)) for value in (y, *row)) + "\n")
            for suffix, numbers in (("weight", data["weights"]), ("query", data["queries"])):
                if numbers is None:
                    continue
                with open(f"{path}.{suffix}", "w", encoding="ascii") as file:
                    file.writelines(f"{number}\n" for number in numbers)
        self.parameters["data"] = self.train["path"]
        self.parameters["valid"] = self.valid["path"]
