"""./dev demo --failover: a server and a worker are killed while a job trains; it ends the same.

First the job runs unbroken. Then it runs again with checkpoints: a server is killed and comes back
from its log, and training goes on by itself; a worker is killed, the other one ends with exit code
3, and all workers go on from the newest checkpoint. Both runs must end with the very same AUC.
"""

import subprocess
import time

from cluster import (SERVERS, WORKERS, DemoFailed, Processes, Training, admin, say, shut_down,
                     start_server, start_servers, worker_status, write_cluster)

EPOCHS = 24
CHECKPOINT_EVERY = 150  # of 1,536 steps
KILL_SERVER_AT = 0.15   # share of the training
KILL_WORKER_AT = 0.5
TRAINING_SECONDS_MAX = 120
LOST = 3  # exit code
SETTINGS = '[server]\ncheckpoints = "checkpoints"\n'
# A machine that has much else to do may take longer than the 5 s that are set.
PATIENCE = 'server_lost = "60s"\n'


def tell(text):
    say(f"\n=== {text}")


def progress(cluster):
    """Step and share of the worker that is farthest."""
    return max(((worker.get("step", 0), worker.get("progress", 0))
                for worker in worker_status(cluster)), default=(0, 0))


def wait_until(processes, what, done):
    deadline = time.monotonic() + TRAINING_SECONDS_MAX
    while not done():
        processes.check()
        if time.monotonic() > deadline:
            raise DemoFailed(f"{what} took longer than {TRAINING_SECONDS_MAX} s",
                             processes.log("worker-0"))
        time.sleep(0.05)


def kill_server(processes, cluster, options):
    """Kills server 1 while training, and starts it again; training goes on."""
    wait_until(processes, "training", lambda: progress(cluster)[1] >= KILL_SERVER_AT)
    tell("server 1 is killed (SIGKILL)")
    processes.kill("server-1")
    say(admin(cluster, "status", "--timeout=1s").stdout.rstrip())
    step = progress(cluster)[0]
    tell(f"server 1 starts again in its data folder; the workers wait at step {step}")
    start_server(processes, cluster, 1, options(1))
    wait_until(processes, "the next steps", lambda: progress(cluster)[0] > step + 1)
    tell("server 1 is back with all that it had acknowledged; training goes on by itself")


def kill_worker(processes, cluster):
    """Kills worker 1 while training; worker 0 ends by itself and says why."""
    wait_until(processes, "training", lambda: progress(cluster)[1] >= KILL_WORKER_AT)
    tell("worker 1 is killed (SIGKILL)")
    first = processes.forget("worker-0")
    processes.kill("worker-1")
    try:
        code = first.wait(30)
    except subprocess.TimeoutExpired:
        first.kill()
        raise DemoFailed("worker 0 did not end within 30 s", processes.log("worker-0")) from None
    if code != LOST:
        raise DemoFailed(f"worker 0 ended with exit code {code}, expected {LOST}",
                         processes.log("worker-0"))
    tell(f"worker 0 noticed and ended with exit code {code}")


def run_unbroken(processes, cluster, folder):
    tell(f"the unbroken run: {EPOCHS} epochs")
    result = Training(processes, cluster,
                      ["job.name=unbroken", f"train.epochs={EPOCHS}",
                       f"output.model={folder / 'unbroken'}"]).wait(TRAINING_SECONDS_MAX)
    dropped = admin(cluster, "table", "drop", "unbroken.embedding", "--yes")
    if dropped.returncode != 0:
        raise DemoFailed(dropped.stderr.strip(), processes.log("server-0"))
    return result


def run_broken(processes, cluster, folder, options):
    job = [f"train.epochs={EPOCHS}", f"checkpoint.every_steps={CHECKPOINT_EVERY}",
           f"output.model={folder / 'model'}"]
    tell(f"the same job with a checkpoint every {CHECKPOINT_EVERY} steps")
    Training(processes, cluster, job)
    kill_server(processes, cluster, options)
    kill_worker(processes, cluster)
    say("\n$ strata-admin checkpoint list\n" + admin(cluster, "checkpoint", "list").stdout)
    tell("all workers start again")
    return Training(processes, cluster, job).wait(TRAINING_SECONDS_MAX)


def run(folder):
    began = time.monotonic()
    processes = Processes(folder)
    try:
        say(f"two servers and two workers train DeepFM on UCI Adult; logs: {folder}")
        cluster = write_cluster(folder, SETTINGS, PATIENCE)

        def options(rank):
            return [f"--data={folder / f'server-{rank}'}"]

        start_servers(processes, cluster, options)
        unbroken = run_unbroken(processes, cluster, folder)
        result = run_broken(processes, cluster, folder, options)
        auc = result["metrics"]["auc"]
        expected = unbroken["metrics"]["auc"]
        if auc != expected:
            raise DemoFailed(f"the AUC is {auc}, of the unbroken run {expected}",
                             processes.log("worker-0"))
        tell(f"the AUC is {auc}, to the last digit that of the unbroken run")
        shut_down(processes, cluster)
        return {"demo": "adult-deepfm-failover", "servers": SERVERS, "workers": WORKERS,
                "servers_killed": 1, "workers_killed": 1, "resumed_from": result["resumed_from"],
                "auc": auc, "auc_unbroken": expected, "logloss": result["metrics"]["logloss"],
                "seconds": round(time.monotonic() - began, 2)}
    finally:
        processes.end_all()
