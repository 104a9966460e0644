"""./dev demo: a whole cluster on this machine, from a machine list to a trained model.

usage: demo.py [--failover|--criteo]

Two servers and two workers on loopback train DeepFM on UCI Adult; with --failover some of them are
killed on the way (failover.py). With --criteo they train it on a click log in Criteo's format that
is made up for it (criteo.py), and the network is computed on a GPU where there is one. Progress and the cluster's status go to stderr; stdout ends with
one JSON object. Ctrl-C, or any failure, ends every process that was started. Logs stay in
build/demo/PID until the next demo.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import criteo
import failover
from cluster import (DEMOS, SERVERS, WORKERS, DemoFailed, Processes, Training, admin,
                     remove_old_demos, say, shut_down, start_servers, worker_status, write_cluster)

STATUS_EVERY_SECONDS = 5
TAIL_LINES = 20
# Of --criteo: some seconds of work each.
TRAIN_ROWS = 120_000
TEST_ROWS = 30_000
SEED = 1


def watch_training(processes, training, cluster):
    """Shows the cluster's status once training has begun, and now and then until rank 0 is done."""
    next_status = None
    while training.first.poll() is None:
        processes.check()
        if next_status is None and any(worker.get("samples_per_second")
                                       for worker in worker_status(cluster)):
            next_status = time.monotonic()
        if next_status is not None and time.monotonic() >= next_status:
            say("\n$ strata-admin status\n" + admin(cluster, "status").stdout)
            next_status = time.monotonic() + STATUS_EVERY_SECONDS
        try:
            training.first.wait(0.02)
        except subprocess.TimeoutExpired:
            pass


def train(folder, what, example, overrides):
    """A cluster that trains an example; the result of the demo."""
    began = time.monotonic()
    processes = Processes(folder)
    try:
        say(f"two servers and two workers train DeepFM on {what}; logs: {folder}")
        cluster = write_cluster(folder)
        start_servers(processes, cluster)
        training = Training(processes, cluster, [f"output.model={folder / 'model'}", *overrides],
                            example)
        watch_training(processes, training, cluster)
        result = training.wait(30)
        say("\n$ strata-admin tables\n" + admin(cluster, "tables").stdout)
        shut_down(processes, cluster)
        return {"demo": f"{example}-deepfm", "servers": SERVERS, "workers": WORKERS,
                "auc": result["metrics"]["auc"], "logloss": result["metrics"]["logloss"],
                "samples": result["samples"], "training_seconds": round(result["seconds"], 2),
                "seconds": round(time.monotonic() - began, 2)}
    finally:
        processes.end_all()


def run_adult(folder):
    return train(folder, "UCI Adult", "adult", ["train.eval_every=1"])


def run_criteo(folder):
    say(f"making up a click log of {TRAIN_ROWS + TEST_ROWS} rows in Criteo's format ...")
    criteo.write(folder / "train.txt", TRAIN_ROWS, SEED)
    truth = criteo.write(folder / "test.txt", TEST_ROWS, SEED)
    result = train(folder, "that log", "criteo",
                   [f"data.train={folder / 'train.txt'}", f"data.test={folder / 'test.txt'}",
                    "compute.device=auto"])
    best = criteo.auc_of(truth)
    say(f"whoever knew the true probabilities would reach AUC {best:.4f}, a coin 0.5")
    return {**result, "auc_of_truth": best}


def explain(failure):
    say(f"\ndemo failed: {failure}")
    if failure.log and failure.log.exists():
        lines = failure.log.read_text(errors="replace").splitlines()
        say(f"--- the end of {failure.log}")
        say("\n".join(lines[-TAIL_LINES:]))


def interrupt(*_):
    raise KeyboardInterrupt


DEMOS_BY_OPTION = {(): run_adult, ("--failover",): failover.run, ("--criteo",): run_criteo}


def main():
    signal.signal(signal.SIGINT, interrupt)  # also when it was started with SIGINT ignored
    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGHUP, interrupt)
    demo = DEMOS_BY_OPTION.get(tuple(sys.argv[1:]))
    if demo is None:
        say(f"usage: demo.py [--failover|--criteo]; found {' '.join(sys.argv[1:])}")
        return 2
    remove_old_demos()
    folder = DEMOS / str(os.getpid())
    folder.mkdir(parents=True)
    try:
        result = demo(folder)
    except KeyboardInterrupt:
        shutil.rmtree(folder, ignore_errors=True)
        say("\ninterrupted; all processes have ended")
        return 1
    except DemoFailed as failure:
        explain(failure)
        return 1
    say(f"AUC {result['auc']:.4f}, logloss {result['logloss']:.4f} on the test data; logs and model: "
        f"{folder}")
    print(json.dumps(result), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
