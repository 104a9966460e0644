"""A cluster of daemons on this machine for a demo: processes, a machine list, logs."""

import ctypes
import json
import random
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
EXAMPLES = ROOT / "examples"
SERVERS = 2
WORKERS = 2
START_SECONDS_MAX = 30
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
        log = open(self.log(name), "ab")
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

    def kill(self, name):
        """As if its machine had died: nobody is told."""
        process = self._running.pop(name)
        process.kill()
        process.wait()

    def forget(self, name):
        """Its exit code is the caller's business from now on."""
        return self._running.pop(name)

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
    """Ports that nobody listens on, of those that the system does not hand out by itself: a
    program that connects to another cannot get one before its daemon starts."""
    try:
        handed_out = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii")
        lowest, highest = (int(word) for word in handed_out.split())
    except (OSError, ValueError):
        lowest, highest = 32768, 60999  # Linux's own
    quiet = [port for port in range(10000, 65536) if not lowest <= port <= highest]
    if len(quiet) < 1000:
        quiet = list(range(10000, 65536))
    found = []
    for port in random.sample(quiet, len(quiet)):
        if len(found) == count:
            break
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
                found.append(port)
            except OSError:
                pass  # somebody's
    return found


def remove_old_demos():
    """Folders of demos that no longer run."""
    for folder in DEMOS.glob("[0-9]*"):
        if not Path(f"/proc/{folder.name}").exists():
            shutil.rmtree(folder, ignore_errors=True)


def write_cluster(folder, more="", timeouts=""):
    """The machine list and the cluster file that names it; returns the latter. `more`: its other
    tables; `timeouts`: more of that table."""
    ports = free_ports(SERVERS + WORKERS)
    roles = ["server"] * SERVERS + ["worker"] * WORKERS
    machines = "".join(f"127.0.0.1:{port} {role}\n" for port, role in zip(ports, roles))
    (folder / "machines.txt").write_text(machines)
    cluster = folder / "cluster.toml"
    cluster.write_text('[cluster]\nname = "demo"\nmachines = "machines.txt"\n'
                       f'[timeouts]\nshutdown = "2s"\n{timeouts}{more}')
    say(machines.rstrip())
    return cluster


def admin(cluster, *words):
    return subprocess.run([str(BIN / "strata-admin"), f"--config={cluster}", *words],
                          capture_output=True, text=True, check=False)


def start_server(processes, cluster, rank, options=()):
    return processes.start(f"server-{rank}", [BIN / "strata-server", f"--config={cluster}",
                                              f"--rank={rank}", *options])


def start_servers(processes, cluster, options=lambda rank: ["--memory_only"]):
    for rank in range(SERVERS):
        start_server(processes, cluster, rank, options(rank))
    deadline = time.monotonic() + START_SECONDS_MAX
    while admin(cluster, "ping", "--timeout=1s").returncode != 0:
        processes.check()
        if time.monotonic() > deadline:
            raise DemoFailed("the servers do not answer", processes.log("server-0"))


def follow(stream, log):
    """Copies a stream into a log and to stderr; returns the thread that does."""
    def copy():
        with open(log, "ab") as file:
            for line in stream:
                file.write(line)
                file.flush()
                say(line.decode(errors="replace").rstrip())
    thread = threading.Thread(target=copy, daemon=True)
    thread.start()
    return thread


class Training:
    """All workers on one job, which is a folder of examples/. Everything that rank 0 says is shown."""

    def __init__(self, processes, cluster, overrides, example="adult"):
        self._processes = processes
        self._results = []
        for rank in range(WORKERS):
            command = [BIN / "strata-worker", f"--config={cluster}", f"--rank={rank}",
                       f"--job={EXAMPLES / example / 'job.toml'}", "--json", *overrides]
            process = processes.start(f"worker-{rank}", command, pipe_stderr=rank == 0)
            if rank == 0:
                self.first = process
        self._readers = [
            threading.Thread(target=lambda: self._results.extend(self.first.stdout), daemon=True),
            follow(self.first.stderr, processes.log("worker-0"))]
        self._readers[0].start()

    def wait(self, seconds):
        """Waits until all have ended well; rank 0's result."""
        for rank in range(WORKERS):
            self._processes.wait(f"worker-{rank}", seconds)
        self._processes.check()
        for reader in self._readers:
            reader.join(10)
        if not self._results:
            raise DemoFailed("worker 0 printed no result", self._processes.log("worker-0"))
        return json.loads(self._results[-1])


def worker_status(cluster):
    """What strata-admin knows of the workers that answer."""
    try:
        nodes = json.loads(admin(cluster, "-o", "json", "status").stdout)["nodes"]
    except (ValueError, KeyError):
        return []
    return [node["worker"] for node in nodes if "worker" in node]


def shut_down(processes, cluster):
    stopped = admin(cluster, "shutdown", "--yes")
    if stopped.returncode != 0:
        say(stopped.stderr.strip())
    for rank in range(SERVERS):
        processes.wait(f"server-{rank}", 15)
    processes.check()
