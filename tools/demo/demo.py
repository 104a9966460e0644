"""./dev demo: a whole cluster on this machine, from a machine list to a trained model.

Two servers and two workers on loopback train DeepFM on UCI Adult. Progress and the cluster's status
go to stderr; stdout ends with one JSON object. Ctrl-C, or any failure, ends every process that was
started. Logs stay in build/demo/PID until the next demo.
"""

import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / "build" / "bin"
DEMOS = ROOT / "build" / "demo"
JOB = ROOT / "examples" / "adult" / "job.toml"
SERVERS = 2
WORKERS = 2
START_SECONDS_MAX = 30
STATUS_EVERY_SECONDS = 5
TAIL_LINES = 20
PR_SET_PDEATHSIG = 1


def say(text=""):
    print(text, file=sys.stderr, flush=True)


class DemoFailed(Exception):
    """What went wrong, and the log that tells why."""

    def __init__(self, text, log=None):
        super().__init__(text)
        self.log = log


class Processes:
    """The daemons of the demo: each in a session of its own, and none outlives this process."""

    def __init__(self, folder):
        self._folder = folder
        self._libc = ctypes.CDLL(None)
        self._running = {}

    def start(self, name, command, pipe_stderr=False):
        log = open(self.log(name), "wb")
        process = subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if pipe_stderr else log,
            stderr=subprocess.PIPE if pipe_stderr else log, start_new_session=True,
            preexec_fn=lambda: self._libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
        log.close()
        self._running[name] = process
        return process

    def log(self, name):
        return self._folder / f"{name}.log"

    def check(self):
        """Raises for a process that ended badly."""
        for name, process in self._running.items():
            if process.poll() not in (None, 0):
                raise DemoFailed(f"{name} ended with exit code {process.returncode}", self.log(name))

    def wait(self, name, seconds):
        try:
            self._running[name].wait(seconds)
        except subprocess.TimeoutExpired:
            raise DemoFailed(f"{name} did not end within {seconds} s", self.log(name)) from None

    def end_all(self):
        for stop_signal, seconds in ((signal.SIGTERM, 5), (signal.SIGKILL, 5)):
            for process in self._running.values():
                if process.poll() is None:
                    process.send_signal(stop_signal)
            deadline = time.monotonic() + seconds
            for process in self._running.values():
                try:
                    process.wait(max(0.0, deadline - time.monotonic()))
                except subprocess.TimeoutExpired:
                    pass


def free_ports(count):
    """Ports that nobody listens on; held together, so that they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def remove_old_demos():
    """Folders of demos that no longer run."""
    for folder in DEMOS.glob("[0-9]*"):
        if not Path(f"/proc/{folder.name}").exists():
            shutil.rmtree(folder, ignore_errors=True)


def write_cluster(folder):
    """The machine list and the cluster file that names it; returns the latter."""
    ports = free_ports(SERVERS + WORKERS)
    roles = ["server"] * SERVERS + ["worker"] * WORKERS
    machines = "".join(f"127.0.0.1:{port} {role}\n" for port, role in zip(ports, roles))
    (folder / "machines.txt").write_text(machines)
    cluster = folder / "cluster.toml"
    cluster.write_text('[cluster]\nname = "demo"\nmachines = "machines.txt"\n'
                       '[timeouts]\nshutdown = "2s"\n')
    say(machines.rstrip())
    return cluster


def admin(cluster, *words):
    return subprocess.run([str(BIN / "strata-admin"), f"--config={cluster}", *words],
                          capture_output=True, text=True, check=False)


def start_servers(processes, cluster):
    for rank in range(SERVERS):
        processes.start(f"server-{rank}",
                        [BIN / "strata-server", f"--config={cluster}", f"--rank={rank}"])
    deadline = time.monotonic() + START_SECONDS_MAX
    while admin(cluster, "ping", "--timeout=1s").returncode != 0:
        processes.check()
        if time.monotonic() > deadline:
            raise DemoFailed("the servers do not answer", processes.log("server-0"))


def follow(stream, log, shown):
    """Copies a stream into a log, and to stderr when it is shown; returns the thread that does."""
    def copy():
        with open(log, "ab") as file:
            for line in stream:
                file.write(line)
                file.flush()
                if shown:
                    say(line.decode(errors="replace").rstrip())
    thread = threading.Thread(target=copy, daemon=True)
    thread.start()
    return thread


def start_workers(processes, cluster, folder):
    """Starts all ranks; returns rank 0's process, of which everything is shown, and its readers."""
    for rank in range(WORKERS):
        command = [BIN / "strata-worker", f"--config={cluster}", f"--rank={rank}", f"--job={JOB}",
                   "--json", "train.eval_every=1", f"output.model={folder / 'model'}"]
        process = processes.start(f"worker-{rank}", command, pipe_stderr=rank == 0)
        if rank == 0:
            first = process
    results = []
    def read_results():
        for line in first.stdout:
            results.append(line)
    reader = threading.Thread(target=read_results, daemon=True)
    reader.start()
    return first, results, [reader, follow(first.stderr, processes.log("worker-0"), shown=True)]


def is_training(cluster):
    try:
        nodes = json.loads(admin(cluster, "-o", "json", "status").stdout)["nodes"]
    except (ValueError, KeyError):
        return False
    return any(node.get("worker", {}).get("samples_per_second") for node in nodes)


def watch_training(processes, first, cluster):
    """Shows the cluster's status once training has begun, and now and then until rank 0 is done."""
    next_status = None
    while first.poll() is None:
        processes.check()
        if next_status is None and is_training(cluster):
            next_status = time.monotonic()
        if next_status is not None and time.monotonic() >= next_status:
            say("\n$ strata-admin status\n" + admin(cluster, "status").stdout)
            next_status = time.monotonic() + STATUS_EVERY_SECONDS
        try:
            first.wait(0.02)
        except subprocess.TimeoutExpired:
            pass


def run(folder):
    began = time.monotonic()
    processes = Processes(folder)
    try:
        say(f"two servers and two workers train DeepFM on UCI Adult; logs: {folder}")
        cluster = write_cluster(folder)
        start_servers(processes, cluster)
        first, results, readers = start_workers(processes, cluster, folder)
        watch_training(processes, first, cluster)
        for reader in readers:
            reader.join(10)
        for rank in range(WORKERS):
            processes.wait(f"worker-{rank}", 30)
        processes.check()
        if not results:
            raise DemoFailed("worker 0 printed no result", processes.log("worker-0"))
        result = json.loads(results[-1])
        say("\n$ strata-admin tables\n" + admin(cluster, "tables").stdout)
        stopped = admin(cluster, "shutdown", "--yes")
        if stopped.returncode != 0:
            say(stopped.stderr.strip())
        for rank in range(SERVERS):
            processes.wait(f"server-{rank}", 15)
        processes.check()
        return {"demo": "adult-deepfm", "servers": SERVERS, "workers": WORKERS,
                "auc": result["metrics"]["auc"], "logloss": result["metrics"]["logloss"],
                "samples": result["samples"], "training_seconds": round(result["seconds"], 2),
                "seconds": round(time.monotonic() - began, 2)}
    finally:
        processes.end_all()


def explain(failure):
    say(f"\ndemo failed: {failure}")
    if failure.log and failure.log.exists():
        lines = failure.log.read_text(errors="replace").splitlines()
        say(f"--- the end of {failure.log}")
        say("\n".join(lines[-TAIL_LINES:]))


def interrupt(*_):
    raise KeyboardInterrupt


def main():
    signal.signal(signal.SIGINT, interrupt)  # also when it was started with SIGINT ignored
    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGHUP, interrupt)
    remove_old_demos()
    folder = DEMOS / str(os.getpid())
    folder.mkdir(parents=True)
    try:
        result = run(folder)
    except KeyboardInterrupt:
        shutil.rmtree(folder, ignore_errors=True)
        say("\ninterrupted; all processes have ended")
        return 1
    except DemoFailed as failure:
        explain(failure)
        return 1
    say(f"AUC {result['auc']:.4f}, logloss {result['logloss']:.4f} on adult.test.csv; logs and model: "
        f"{folder}")
    print(json.dumps(result), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
