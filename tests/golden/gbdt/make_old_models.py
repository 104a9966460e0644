"""Makes old_*.model.txt and old_*.expected.txt: models of LightGBM before 2.2, and what LightGBM 4.7 makes of them.

usage: make_old_models.py NAME=LIBRARY ...     (pip install lightgbm==4.7.0 numpy)
       LIBRARY is lib_lightgbm.so of an older wheel: old_2_0_5 of 2.0.5, old_2_0_12 of 2.0.12, old_2_1_2 of 2.1.2
"""

import ctypes
import sys
from pathlib import Path

import lightgbm as lgb
import numpy as np

HERE = Path(__file__).parent
rows = np.genfromtxt(HERE / "rows.csv", delimiter=",")
random = np.random.default_rng(3)
x = np.round(random.random((90, 6)) * 4, 1)
x[5:20, 1] = np.nan
x[:, 4] = random.integers(0, 12, 90)
x[:, 5] = random.integers(0, 4, 90)
y = (x[:, 0] + 2 * (x[:, 5] == 2) + x[:, 3]).astype(np.float32)


def train(library, parameters, rounds, path):
    lib = ctypes.CDLL(library)
    lib.LGBM_GetLastError.restype = ctypes.c_char_p

    def call(name, *arguments):
        if getattr(lib, name)(*arguments) != 0:
            raise RuntimeError(lib.LGBM_GetLastError())

    data, booster, done = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    call("LGBM_DatasetCreateFromMat", x.ctypes.data_as(ctypes.c_void_p), 1, ctypes.c_int32(x.shape[0]),
         ctypes.c_int32(x.shape[1]), 1, parameters, None, ctypes.byref(data))
    call("LGBM_DatasetSetField", data, b"label", y.ctypes.data_as(ctypes.c_void_p), len(y), 0)
    call("LGBM_BoosterCreate", data, parameters, ctypes.byref(booster))
    for _ in range(rounds):
        call("LGBM_BoosterUpdateOneIter", booster, ctypes.byref(done))
    call("LGBM_BoosterSaveModel", booster, -1, str(path).encode())


def text(values):
    return " ".join(repr(float(v)) for v in np.atleast_1d(values))


for argument in sys.argv[1:]:
    name, library = argument.split("=")
    path = HERE / f"{name}.model.txt"
    train(library, b"objective=regression min_data_in_leaf=5 num_leaves=4 categorical_feature=4,5 verbose=-1", 3, path)
    booster = lgb.Booster(model_file=str(path))
    lines = [f"{text(r)} | {text(p)} | {text(l)} | " for r, p, l in zip(
        booster.predict(rows, raw_score=True), booster.predict(rows), booster.predict(rows, pred_leaf=True))]
    (HERE / f"{name}.expected.txt").write_text("\n".join(lines) + "\n")
