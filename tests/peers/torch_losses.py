"""Trains click models with PyTorch from the initial weights of ours, on the same batches, and
compares the losses.

usage: torch_losses.py CTR_LOSSES [--device=cpu|fp32|tf32|bf16] [--steps=N] [MODEL...]

CTR_LOSSES is the program of ctr_losses.cc. The graph of layers is computed by PyTorch's own
operations, and its gradients by autograd, in float64 on the CPU: rounding is then ours alone. Prints
a line for each model: the largest distance between the means of 100 steps. Exit code 0: all are
within the limit of the device; 1: one is not; 77: there is no PyTorch.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy
    import torch
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

MODELS = ["logistic", "fm", "deepfm", "wide_deep", "dlrm", "dcn", "dcn_v2"]
LIMITS = {"cpu": 1e-4, "fp32": 1e-4, "tf32": 1e-3, "bf16": 5e-3}
MEAN_OF = 100  # steps
ACTIVATIONS = {"none": lambda x: x, "relu": torch.relu, "sigmoid": torch.sigmoid,
               "tanh": torch.tanh}


class Graph:
    """The layers of a graph.json, with the formulas of worker/model/layer_graph.h."""

    def __init__(self, folder):
        self.spec = json.loads((folder / "graph.json").read_text())
        self.rows = self.tensor(folder, "rows").reshape(self.spec["rows"], self.spec["row_dim"])
        self.parameters = self.tensor(folder, "parameters")
        for leaf in (self.rows, self.parameters):
            leaf.requires_grad_()

    @staticmethod
    def tensor(folder, name):
        return torch.tensor(numpy.fromfile(folder / f"{name}.f32", "<f4").astype("f8"))

    def part(self, layer, name, *shape):
        at, count = layer["parameters"][name]
        return self.parameters[at:at + count].reshape(*shape)

    def logits(self, keys, dense):
        rows = self.rows[keys]  # samples x slots x row_dim
        vectors = rows[:, :, 1:] if self.spec["has_key_weights"] else rows
        values = {"dense": dense, "embeddings": vectors.flatten(1)}
        counts = {"dense": 1, "embeddings": self.spec["slots"]}
        for layer in self.spec["layers"]:
            inputs = [values[name] for name in layer["inputs"]]
            of_vectors = [values[name].unflatten(1, (counts[name], -1))
                          for name in layer["inputs"] if values[name].shape[1]]
            values[layer["name"]] = self.compute(layer, inputs, of_vectors, rows, dense)
            counts[layer["name"]] = layer["vectors"]
        return values[self.spec["layers"][-1]["name"]][:, 0]

    def compute(self, layer, inputs, of_vectors, rows, dense):
        kind = layer["kind"]
        if kind == "linear":
            x = inputs[0]
            y = x @ self.part(layer, "weights", x.shape[1], -1) + self.part(layer, "biases", -1)
            return ACTIVATIONS[layer["activation"]](y)
        if kind == "concat":
            return torch.cat(inputs, 1)
        if kind == "add":
            return sum(inputs)
        if kind == "wide":
            return (self.part(layer, "biases", 1) + rows[:, :, 0].sum(1, keepdim=True)
                    + dense @ self.part(layer, "weights", -1, 1))
        if kind == "fm":
            v = of_vectors[0]
            return (v.sum(1) ** 2 - (v ** 2).sum(1)).sum(1, keepdim=True) / 2
        if kind == "interaction":
            v = of_vectors[0]
            i, j = torch.tril_indices(v.shape[1], v.shape[1], -1)
            y = torch.cat([v[:, 0], (v @ v.transpose(1, 2))[:, i, j]], 1)
            return torch.nn.functional.pad(y, (0, -y.shape[1] % 8))
        if kind == "cross":
            x0, x = inputs
            return x0 * (x @ self.part(layer, "weights", -1, 1)) + self.part(layer, "biases", -1) + x
        if kind == "low_rank_cross":
            x0, x = inputs
            u = self.part(layer, "weights", x.shape[1], -1)
            v = self.part(layer, "second_weights", -1, x.shape[1])
            return x0 * (x @ u @ v + self.part(layer, "biases", -1)) + x
        raise ValueError(f"no formula for a layer of kind {kind}")


def losses_of(folder):
    graph = Graph(folder)
    spec = graph.spec
    dense = Graph.tensor(folder, "dense").reshape(-1, spec["batch"], spec["dense_width"])
    labels = Graph.tensor(folder, "labels").reshape(-1, spec["batch"])
    keys = torch.tensor(numpy.fromfile(folder / "keys.i32", "<i4").astype("i8"))
    keys = keys.reshape(-1, spec["batch"], spec["slots"])
    rule = torch.optim.Adagrad([graph.rows, graph.parameters], lr=spec["learning_rate"],
                               eps=spec["epsilon"],
                               initial_accumulator_value=spec["initial_accumulator"])
    losses = []
    for step in range(len(labels)):
        rule.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(
            graph.logits(keys[step], dense[step]), labels[step])
        loss.backward()
        rule.step()
        losses.append(loss.item())
    return losses


def compare(program, model, device, steps):
    """Whether the losses of a model agree."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / model
        subprocess.run([program, model, folder, device, str(steps)], check=True)
        ours = numpy.fromfile(folder / "losses.f64", "<f8")
        theirs = numpy.array(losses_of(folder))
    means = [losses[:steps // MEAN_OF * MEAN_OF].reshape(-1, MEAN_OF).mean(1)
             for losses in (ours, theirs)]
    apart = abs(means[0] - means[1]).max()
    limit = LIMITS[device]
    print(f"{model:<10} {device} {steps} steps: loss {ours[0]:.5f} to {means[0][-1]:.5f}, PyTorch "
          f"{means[1][-1]:.5f}; means of {MEAN_OF} steps at most {apart:.1e} apart (limit {limit:g})",
          flush=True)
    return apart <= limit


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("--device", choices=LIMITS, default="cpu")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("models", nargs="*", default=MODELS)
    options = parser.parse_intermixed_args()
    if options.steps < MEAN_OF:
        parser.error(f"--steps is {options.steps}: expected at least {MEAN_OF}")
    agree = [compare(options.program, model, options.device, options.steps)
             for model in options.models]
    return 0 if all(agree) else 1


if __name__ == "__main__":
    sys.exit(main())
