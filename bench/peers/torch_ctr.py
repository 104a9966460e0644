#!/usr/bin/env python3
"""Eager PyTorch on the CPU, training the click models of suite "ctr"; one JSON line.

usage: torch_ctr.py KEY=VALUE...   model (dlrm, deepfm, dcn_v2), dim, batch, optimizer (sgd, adagrad)
of the embeddings, slots, rows (of each slot), dense (features), threads, seconds (to measure).
Exit code 69: torch is not installed.
"""
import itertools
import json
import sys
import time

try:
    import torch
    from torch import nn
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(69)

BATCHES = 4  # that take turns


def layers(widths):
    """Linear layers with a ReLU behind each."""
    return nn.Sequential(*(layer for a, b in zip(widths, widths[1:])
                           for layer in (nn.Linear(a, b), nn.ReLU())))


class Embeddings(nn.Module):
    """A row of each slot for each sample, from one table for all slots."""

    def __init__(self, slots, rows, dim):
        super().__init__()
        self.table = nn.Embedding(slots * rows, dim, sparse=True)
        nn.init.uniform_(self.table.weight, -0.05, 0.05)

    def forward(self, keys):
        return self.table(keys)


class Dlrm(nn.Module):
    def __init__(self, slots, rows, dim, dense):
        super().__init__()
        self.embeddings = Embeddings(slots, rows, dim)
        self.bottom = layers([dense, 512, 256, dim])
        self.pairs = torch.tril_indices(slots + 1, slots + 1, offset=-1)
        width = dim + self.pairs.shape[1]
        self.top = nn.Sequential(layers([width, 1024, 1024, 512, 256]), nn.Linear(256, 1))

    def forward(self, keys, dense):
        bottom = self.bottom(dense)
        vectors = torch.cat([bottom.unsqueeze(1), self.embeddings(keys)], dim=1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))
        met = products[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([bottom, met], dim=1)).squeeze(1)


class DeepFm(nn.Module):
    def __init__(self, slots, rows, dim, dense):
        super().__init__()
        self.embeddings = Embeddings(slots, rows, dim + 1)  # the single weight before the vector
        self.wide = nn.Linear(dense, 1)
        self.deep = nn.Sequential(layers([slots * dim + dense, 400, 400, 400]), nn.Linear(400, 1))

    def forward(self, keys, dense):
        rows = self.embeddings(keys)
        weights, vectors = rows[:, :, 0], rows[:, :, 1:]
        pairs = (vectors.sum(1).square() - vectors.square().sum(1)).sum(1) / 2
        deep = self.deep(torch.cat([vectors.flatten(1), dense], dim=1))
        return weights.sum(1) + self.wide(dense).squeeze(1) + pairs + deep.squeeze(1)


class DcnV2(nn.Module):
    def __init__(self, slots, rows, dim, dense):
        super().__init__()
        self.embeddings = Embeddings(slots, rows, dim)
        self.bottom = layers([dense, 512, 256, dim])
        width = slots * dim + dim
        rank = min(512, width)
        self.down = nn.ModuleList(nn.Linear(width, rank, bias=False) for _ in range(3))
        self.up = nn.ModuleList(nn.Linear(rank, width) for _ in range(3))
        self.top = nn.Sequential(layers([width, 1024, 1024, 512, 256]), nn.Linear(256, 1))

    def forward(self, keys, dense):
        first = torch.cat([self.bottom(dense), self.embeddings(keys).flatten(1)], dim=1)
        x = first
        for down, up in zip(self.down, self.up):
            x = first * up(down(x)) + x
        return self.top(x).squeeze(1)


def main():
    words = dict(word.split("=", 1) for word in sys.argv[1:])
    slots, rows, dim, batch = (int(words[key]) for key in ("slots", "rows", "dim", "batch"))
    dense = int(words["dense"])
    torch.set_num_threads(int(words["threads"]))
    torch.manual_seed(1)
    kinds = {"dlrm": Dlrm, "deepfm": DeepFm, "dcn_v2": DcnV2}
    model = kinds[words["model"]](slots, rows, dim, dense)
    embeddings = list(model.embeddings.parameters())
    others = [p for name, p in model.named_parameters() if not name.startswith("embeddings.")]
    rule = {"sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad}[words["optimizer"]]
    optimizers = [rule(embeddings, lr=0.01), torch.optim.Adam(others, lr=1e-4)]

    def draw():
        # Zipf's law with exponent 1, as ours are drawn.
        ranks = (rows ** torch.rand(batch, slots, dtype=torch.float64)).long() - 1
        keys = ranks.clamp(0, rows - 1) + torch.arange(slots) * rows
        return keys, torch.rand(batch, dense), (torch.rand(batch) < 0.25).float()

    batches = [draw() for _ in range(BATCHES)]
    loss_of = nn.BCEWithLogitsLoss()

    def step(number):
        keys, numbers, labels = batches[number % BATCHES]
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss = loss_of(model(keys, numbers), labels)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()

    for number in range(BATCHES):
        step(number)
    begin = time.perf_counter()
    for number in itertools.count(1):
        step(number)
        elapsed = time.perf_counter() - begin
        if elapsed >= float(words["seconds"]):
            break
    print(json.dumps({"version": torch.__version__, "samples_s": number * batch / elapsed}))


if __name__ == "__main__":
    main()
