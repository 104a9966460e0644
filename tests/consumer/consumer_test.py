#!/usr/bin/env python3
"""consumer_test.py BUILD CMAKE COMPILER: installs the build into a new folder, builds
examples/linking against it, by CMake and by pkg-config, and runs it. A client links neither RocksDB
nor protobuf."""

import os
import re
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2] / "examples/linking"
WORLD = 3


def run(*command, **more):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(what, found, expected):
    if not re.fullmatch(expected, found.strip()):
        sys.exit(f"{what}: expected {expected!r}, found {found!r}")


def free_port():
    """Of a rendezvous: the one thing that all ranks must know beforehand."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def check_usage(program, arguments):
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    if done.returncode != 2:
        sys.exit(f"{program} without arguments: expected exit code 2, found {done.returncode}")
    expect(f"{program} without arguments", done.stderr, f"usage: {program.name} {arguments}")


def check_no_server_libraries(program):
    text = run("ldd", program) + run("nm", "-D", "-C", program)
    found = re.findall(r".*(?:rocksdb|protobuf).*", text, re.I)
    if found:
        sys.exit(f"{program} links what only servers need:\n" + "\n".join(found[:5]))


def main(build, cmake, compiler):
    with tempfile.TemporaryDirectory() as folder:
        prefix, own = Path(folder) / "prefix", Path(folder) / "build"
        run(cmake, "--install", build, "--prefix", prefix)
        version = run(prefix / "bin/strata-server", "--version").split()[-1]
        for program in ("strata-worker", "strata-admin"):
            expect(program, run(prefix / "bin" / program, "--version"), rf"{program} {re.escape(version)}")
        run(cmake, "-S", PROJECT, "-B", own, f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_BUILD_TYPE=Release")
        run(cmake, "--build", own, "-j2")
        check_no_server_libraries(own / "tables")
        check_usage(own / "tables", "HOST:PORT")
        check_usage(own / "ranks", "RENDEZVOUS WORLD RANK")
        expect("trees", run(own / "trees", Path(folder) / "model.txt"),
               r"20 rounds; below the line: 0\.0\d, above it: 0\.9\d")
        expect("clicks", run(own / "clicks", Path(folder) / "model"),
               r"Ben on a page about his city: (1\.00|0\.9\d), about another: 0\.0\d")
        expect("embedded", run(own / "embedded"), "12 numbers are equal")

        meeting = f"127.0.0.1:{free_port()}"
        ranks = [subprocess.Popen([own / "ranks", meeting, str(WORLD), str(rank)], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for rank in range(WORLD)]
        for rank, process in enumerate(ranks):
            expect(f"rank {rank}", process.communicate()[0], f"rank {rank} of {WORLD}: sum 6")

        [package] = prefix.rglob("pkgconfig")
        paths = os.environ | {"PKG_CONFIG_PATH": str(package)}
        flags = run("pkg-config", "--cflags", "--libs", "strata-client", env=paths).split()
        run(compiler, PROJECT / "tables.cc", "-o", own / "by_pkg_config", *flags)
        check_no_server_libraries(own / "by_pkg_config")
        with subprocess.Popen([prefix / "bin/strata-server", "--port=0", "--http_port=-1"],
                              stdout=subprocess.PIPE, text=True) as server:
            try:
                address = re.search(r"tcp://(\S+)", server.stdout.readline()).group(1)
                # One row: the second program's push comes after the first one's.
                for program, row in (("tables", "-1.5 -2"), ("by_pkg_config", "-3 -4")):
                    expect(program, run(own / program, address), f"row of 8: {row}; nearest: 1")
            finally:
                server.terminate()


if __name__ == "__main__":
    main(*sys.argv[1:])
