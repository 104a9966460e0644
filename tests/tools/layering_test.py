"""The layering and the house rules of CONTRIBUTING.md, checked over the sources as text.

usage: layering_test.py [ROOT]

Checks ROOT (the repository by default) and prints each finding as file:line: rule. Before that it
checks itself: each rule must find the fault that SELF_TEST plants for it. Exit code 0 without findings.
"""

import re
import sys
from pathlib import Path

SOURCE_SUFFIXES = {".h", ".cc", ".cu", ".cuh"}
LINES_MAX = 700
COLUMNS_MAX = 100

# What a folder's files may include, besides their own folder: docs/architecture.md. The longest
# matching prefix on the left counts; a name on the right stands for the folder and all below it.
MAY_INCLUDE = {
    "base": [],
    "proto/wire": ["base"],
    "proto/control": [],
    "proto/format": ["base", "proto/wire"],
    "proto": [],
    "kernels/core": ["base"],
    "kernels/optim": ["base", "kernels/core"],
    "kernels/sparse": ["base", "kernels/core", "kernels/hashmap", "kernels/optim"],
    "kernels/dense": ["base", "kernels/core"],
    "kernels/tree": ["base", "kernels/core"],
    "kernels/setops": ["base", "kernels/core"],
    "kernels": [],
    "include": [],  # the public face shows nothing of what is within
    "storage": ["base", "kernels/core", "kernels/optim"],
    "kernels/hashmap": ["base", "kernels/core"],
    "storage/log": ["base", "proto/format"],
    "storage/gpu": ["base", "kernels/core", "kernels/hashmap", "kernels/optim", "kernels/sparse",
                    "storage/memory", "storage/row_elements.h", "storage/row_schema.h", "storage/table.h",
                    "storage/table_spec.h"],
    "storage/itemset": ["base", "kernels/core/gpu_fault.h", "kernels/setops", "proto/format", "proto/wire", "storage/log", "storage/rocks"],
    "storage/rocks": ["base", "kernels/core", "kernels/optim", "storage/memory",
                      "storage/row_elements.h", "storage/row_schema.h", "storage/table.h", "storage/table_spec.h"],
    "storage/tiered": ["base", "kernels/core", "kernels/optim", "storage/memory", "storage/rocks",
                       "storage/row_elements.h", "storage/row_schema.h", "storage/table.h", "storage/table_spec.h"],
    "storage/checkpoint": ["base", "proto/format", "proto/wire", "storage"],
    "cluster/topology": ["base"],
    "cluster/names": ["base", "cluster/topology"],
    "cluster/tls": ["base"],
    "cluster/schedule": ["base", "cluster/topology"],
    "cluster/link": ["base", "cluster/topology", "cluster/names", "cluster/schedule",
                     "cluster/tls"],
    "cluster/collective": ["base", "cluster/topology", "cluster/link", "cluster/schedule"],
    "cluster/join": ["base", "cluster"],  # a worker among the others
    "cluster/gpu": ["base", "cluster/link/exchange/reduction.h", "kernels/core/cuda_status.cuh"],
    "cluster": ["base", "kernels/core/device_choice.h", "cluster/topology", "cluster/names", "cluster/schedule/choice.h",
                "cluster/tls"],  # cluster.toml
    "ps/shard": ["base", "proto/wire", "proto/format", "storage"],
    # Both ends of the wire translate table specs with the same functions.
    "ps/commands": ["base", "proto/wire", "proto/format", "storage", "ps/shard",
                    "ps/client/table_wire.h"],
    "ps/net": ["base", "proto/wire"],
    "ps/client": ["base", "proto/wire", "proto/format/item_change.h", "kernels/setops", "storage",
                  "ps/net", "cluster/config_file.h"],
    # A server as a client of the others, for copies of their documents.
    "ps/follow": ["base", "proto/wire", "proto/format/item_change.h", "storage", "ps/client",
                  "ps/shard/collection_copies.h"],
    "ps/service": ["base", "kernels/core/device_choice.h", "proto/wire", "proto/control", "proto/format", "storage",
                   "cluster/cluster_config.h", "cluster/config_file.h", "cluster/names", "ps/shard", "ps/commands", "ps/net",
                   "ps/follow"],
    "ps": ["base", "cluster/cluster_config.h", "cluster/config_file.h", "ps/service"],  # strata-server
    "worker/data": ["base", "kernels/core", "storage"],
    "worker/model": ["base", "kernels", "storage", "worker/data"],
    "worker/ctr": ["base", "proto/format", "kernels", "storage", "cluster/collective",
                   "worker/data", "worker/model"],
    "worker/gbdt": ["base", "kernels/core", "kernels/tree", "cluster/collective", "worker/data",
                    "worker/gbdt/parameters"],
    # What governs trees does not know what LightGBM calls it.
    "worker/gbdt/parameters": ["base", "kernels/tree", "worker/data", "worker/gbdt/data"],
    "worker/gbdt/lightgbm": ["base", "kernels/core", "worker/gbdt/parameters"],
    "worker/gbdt/from_model": ["base", "kernels/tree", "worker/gbdt"],
    "worker/gbdt/memory": ["base", "kernels/core", "worker/gbdt"],
    # Libraries know no job file; the job file knows what it describes.
    "worker/job": ["base", "storage", "strata/model_kind.h", "worker/data", "worker/gbdt",
                   "worker/model/layer_graph.h", "worker/model/model_shape.h", "kernels/core/device_choice.h",
                   "kernels/dense/gpu/gemm.h"],
    "worker": ["base", "worker/tasks"],  # strata-worker
    "worker/tasks": ["base", "kernels/core/device_choice.h", "kernels/optim/apply.h", "proto/control", "storage",
                     "cluster/cluster_config.h", "cluster/collective", "cluster/config_file.h", "cluster/join",
                     "cluster/link",
                     "cluster/names", "cluster/tls", "ps/client", "worker/ctr", "worker/data",
                     "worker/gbdt", "worker/job", "worker/model"],
    "tools": ["base", "proto/control", "kernels/setops", "storage", "cluster", "ps/client", "worker",
              "proto/format/checkpoint_manifest.h"],
    "bench": ["base", "kernels", "storage", "cluster", "ps/client", "ps/service/server.h",
              "worker/ctr", "worker/data", "worker/gbdt", "worker/model", "worker/tasks"],
    "examples": [],  # the public face
    "tests": ["base", "proto", "kernels", "storage", "cluster", "ps", "worker", "tools", "bench"],
}

# Third-party headers that only the named places may see. Tests may see what they test.
ONLY_IN = [
    (r"<zmq", ["ps/net", "bench", "tests"]),  # the bare exchange
    (r"<boost/asio", ["cluster/link", "base/http", "tests"]),
    (r"<boost/beast", ["base/http", "tests"]),
    (r"<spdlog/", ["base/log.cc"]),
    (r"<toml\+\+/|<toml\.hpp", ["base"]),
    (r"<gflags/", ["base"]),
    (r"<prometheus/", ["base/metrics.cc"]),
    (r"<xxh", ["base/xxh3.h"]),
    (r"<sodium\.h", ["base", "cluster/link", "ps/net", "tests"]),
    (r"<(dnnl|oneapi)", ["kernels/dense", "worker/ctr", "tests"]),
    (r"<(zlib|zstd|zstd_errors)\.h", ["worker/data", "tests"]),
    (r"<openssl/", ["cluster/tls", "tests"]),
    (r"<CLI/", ["base/cli", "tools", "bench", "tests"]),
    (r"<hiredis/", ["bench"]),
    (r"<rocksdb/", ["storage/rocks", "bench", "tests"]),
    (r'<google/protobuf|"proto/control/.*\.pb\.h"',
     ["ps/service", "cluster/link", "worker", "tools", "tests"]),
    (r"<(cuda|cub/|thrust/|nccl|cublas)", [".cu", ".cuh", "tools/simt"]),
]

# Words that may not stand in code: what, where it may, and what to use instead.
BANNED = [
    (r"\b(sleep_for|sleep_until|usleep|nanosleep)\b", ["base", "tests/support/wait_until.cc"],
     "wait on a condition, or on a Clock"),
    (r"\b(system_clock|steady_clock|high_resolution_clock|gettimeofday|clock_gettime)\b",
     ["base"], "take a base/clock.h Clock"),
    (r"\bstd::random_device\b|\bgetrandom\b|/dev/u?random", ["base"], "take a seed"),
    (r"\bstd::[io]?fstream\b|\bfopen\b", ["base", "tests"], "use base/file/disk.h"),
    (r"\bgetenv\b", ["base", "tests", "tools/simt", "bench/peers/congestion_preload.cc"],
     "use a setting"),
    (r"\bTODO\b|\bFIXME\b|\bXXX\b", [], "do it, or open an issue"),
    (r"\busing namespace (?!std::(string_view_)?literals|std::chrono_literals)", [], "name what you use"),
    (r"\bfmt::print(ln)?\b", ["tests", "examples", "bench/suites/collective/collective_gpu.cu"],
     "use base/print.h, which does not throw when the disk is full"),
    (r"\bstd::(cout|cerr)\b", [], "use base/print.h"),
    (r"\bthrow\b(?! by| from|n)", ["base/out_of_memory.cc", "kernels/core/gpu_fault.cc", "tests"], "return a Status"),
    # A sink of spdlog takes the kind of mutex as a template argument, and locks it itself.
    (r"\bstd::(\w*mutex|\w+_lock|lock_guard|condition_variable\w*)\b",
     ["base/thread/mutex.h", "base/log.cc"],
     "use base/thread/mutex.h, whose annotations clang reads"),
]

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"][^>"]+[>"])')
TEST_MACRO = re.compile(r"^\s*(TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P)\(", re.M)


def is_in(path, places):
    """Whether the relative path is one of the places: folders, files, or suffixes like ".cu"."""
    return any(path == place or path.startswith(place + "/")
               or (place.startswith(".") and path.endswith(place)) for place in places)


def code_of(line):
    """The line without string literals and // comments, so that prose is free."""
    return re.sub(r"//.*", "", re.sub(r'"(\\.|[^"\\])*"', '""', line))


def folder_of(path):
    """The folder of MAY_INCLUDE whose rules hold for the path: the longest prefix."""
    return max((f for f in MAY_INCLUDE if is_in(path, [f])), key=len, default=None)


def check_include(path, header):
    for pattern, places in ONLY_IN:
        if re.match(pattern, header) and not is_in(path, places):
            return f"only {', '.join(places)} may include {header}"
    if header.startswith("<"):
        return None
    header = header.strip('"')
    if header.startswith("strata/"):  # the public face: any folder, and itself
        return None
    folder = folder_of(path)
    if folder is None or folder_of(header) == folder or is_in(header, MAY_INCLUDE[folder]):
        return None
    return f"{folder}/ may not include {header} (it may: {', '.join(MAY_INCLUDE[folder]) or 'std'})"


def check_source(path, text):
    """Yields (line, rule) for one source file."""
    lines = text.split("\n")
    if len(lines) - 1 > LINES_MAX:
        yield len(lines), f"{len(lines) - 1} lines; a file has at most {LINES_MAX}"
    if path.endswith((".h", ".cuh")) and "#pragma once" not in lines:
        yield 1, "a header begins with #pragma once"
    if not text.endswith("\n"):
        yield len(lines), "the last line has no newline"
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS_MAX:
            yield number, f"{len(line)} columns; a line has at most {COLUMNS_MAX}"
        include = INCLUDE.match(line)
        if include:
            finding = check_include(path, include.group(1))
            if finding:
                yield number, finding
            continue
        code = code_of(line)
        for pattern, places, instead in BANNED:
            banned = re.search(pattern, line if "TODO" in pattern else code)
            if banned and not is_in(path, places):
                yield number, f"'{banned.group(0).strip()}' is banned here: {instead}"


def check_named_in_cmake(root, path):
    """A source that no CMakeLists.txt names is not built; a test that is not built is no test."""
    source = root / path
    for folder in [source.parent, *source.parent.parents]:
        lists = folder / "CMakeLists.txt"
        if lists.exists():
            name = source.relative_to(folder).as_posix()
            if re.search(rf"(?<![\w./]){re.escape(name)}(?![\w.])", lists.read_text()):
                return None
        if folder == root:
            break
    return "no CMakeLists.txt names it"


def sources_of(root):
    for folder in MAY_INCLUDE:
        if "/" not in folder:
            for source in sorted((root / folder).rglob("*")):
                if source.suffix in SOURCE_SUFFIXES and source.is_file():
                    yield source.relative_to(root).as_posix()


# A class at the outermost level of a header, with its body.
CLASS = re.compile(r"^(?:struct|class)(?: STRATA_\w+(?:\([^)]*\))?)? (\w+)(?: final)?(?: :[^{;]*)?\s*\{",
                   re.M)


def check_names(headers):
    """Two classes of one name in one namespace are one to the linker, which takes the functions of
    either for both. `headers`: pairs of path and text."""
    known = {}
    for path, text in headers:
        namespace = re.search(r"^namespace ([\w:]+) \{", text, re.M)
        for found in CLASS.finditer(text):
            name = (namespace.group(1) if namespace else "", found.group(1))
            line = text.count("\n", 0, found.start()) + 1
            if known.setdefault(name, path) != path:
                yield f"{path}:{line}: {known[name]} has a class {found.group(1)}, too: rename one"


def findings_of(root):
    headers = [path for path in sources_of(root)
               if path.endswith((".h", ".cuh")) and not is_in(path, ["tests"])]
    yield from check_names((path, (root / path).read_text(encoding="utf-8")) for path in headers)
    for path in sources_of(root):
        for line, rule in check_source(path, (root / path).read_text(encoding="utf-8")):
            yield f"{path}:{line}: {rule}"
        if path.endswith((".cc", ".cu")):
            rule = check_named_in_cmake(root, path)
            if rule:
                yield f"{path}:1: {rule}"


# (file, content, part of the finding it must give); "" for content that must pass.
_GUARD = "#pragma once\n"
SELF_TEST = [
    ("base/a.h", _GUARD + '#include "proto/wire/header.h"\n', "base/ may not include"),
    ("kernels/a.h", _GUARD + '#include "proto/wire/header.h"\n', "kernels/ may not include"),
    ("kernels/a.h", _GUARD + '#include "strata/status.h"\n', ""),
    ("include/strata/a.h", _GUARD + '#include "strata/status.h"\n', ""),
    ("include/strata/a.h", _GUARD + '#include "base/clock.h"\n', "include/ may not include"),
    ("storage/a.h", _GUARD + '#include "proto/wire/header.h"\n', "storage/ may not include"),
    ("storage/a.h", _GUARD + '#include "kernels/dense/linear.h"\n', "storage/ may not include"),
    ("storage/a.h", _GUARD + '#include "kernels/optim/rules.h"\n', ""),
    ("storage/a.h", _GUARD + '#include "storage/log/log.h"\n', "storage/ may not include"),
    ("storage/log/a.h", _GUARD + '#include "storage/table.h"\n', "storage/log/ may not include"),
    ("storage/rocks/a.h", _GUARD + '#include "storage/tiered/policy.h"\n', "may not include"),
    ("storage/tiered/a.h", _GUARD + "#include <rocksdb/db.h>\n", "only storage/rocks"),
    ("storage/checkpoint/a.h", _GUARD + '#include "ps/service/lane.h"\n', "may not include"),
    ("kernels/sparse/a.h", _GUARD + '#include "kernels/dense/fm.h"\n', "may not include"),
    ("proto/wire/a.h", _GUARD + '#include "proto/format/manifest.h"\n', "may not include"),
    ("cluster/topology/a.h", _GUARD + '#include "cluster/names/resolve.h"\n', "may not include"),
    ("cluster/link/a.h", _GUARD + '#include "cluster/collective/group.h"\n', "may not include"),
    ("ps/net/a.h", _GUARD + '#include "ps/service/lane.h"\n', "ps/net/ may not include"),
    ("ps/shard/a.h", _GUARD + '#include "ps/service/server.h"\n', "ps/shard/ may not include"),
    ("ps/shard/a.h", _GUARD + '#include "ps/commands/dispatch.h"\n', "ps/shard/ may not include"),
    ("ps/commands/a.h", _GUARD + '#include "ps/service/lane.h"\n', "may not include"),
    ("worker/data/a.h", _GUARD + '#include "worker/ctr/trainer.h"\n', "may not include"),
    ("worker/ctr/a.h", _GUARD + '#include "ps/client/remote_store.h"\n', "may not include"),
    ("worker/ctr/a.h", _GUARD + '#include "worker/job/job.h"\n', "may not include"),
    ("worker/gbdt/a.h", _GUARD + '#include "worker/tasks/options.h"\n', "may not include"),
    ("worker/gbdt/boost/a.h", _GUARD + '#include "worker/gbdt/lightgbm/train_conf.h"\n', "may not include"),
    ("worker/gbdt/boost/a.h", _GUARD + '#include "worker/gbdt/data/row_share.h"\n', ""),
    ("cluster/a.h", _GUARD + '#include "storage/table.h"\n', "cluster/ may not include"),
    ("cluster/a.h", _GUARD + '#include "kernels/dense/gemm.h"\n', "cluster/ may not include"),
    ("ps/client/a.h", _GUARD + '#include "ps/service/server.h"\n', "ps/client/ may not include"),
    ("worker/tasks/a.h", _GUARD + '#include "ps/net/zmq_port.h"\n', "may not include"),
    ("worker/tasks/a.h", _GUARD + '#include "ps/client/remote_store.h"\n', ""),
    ("tools/a.h", _GUARD + '#include "ps/service/server.h"\n', "tools/ may not include"),
    ("cluster/a.h", _GUARD + '#include "cluster/link/links.h"\n', "cluster/ may not include"),
    ("worker/a.h", _GUARD + "#include <zmq.h>\n", "only ps/net"),
    ("base/a.h", _GUARD + "#include <boost/asio.hpp>\n", "only cluster/link"),
    ("base/http/a.h", _GUARD + "#include <boost/asio.hpp>\n", ""),
    ("base/a.h", _GUARD + "#include <spdlog/spdlog.h>\n", "only base/log.cc"),
    ("worker/a.h", _GUARD + "#include <toml++/toml.h>\n", "only base"),
    ("base/a.h", _GUARD + "#include <prometheus/registry.h>\n", "only base/metrics.cc"),
    ("ps/client/a.h", _GUARD + '#include "proto/control/control.pb.h"\n', "only ps/service"),
    ("kernels/a.h", _GUARD + "#include <cuda_runtime.h>\n", "only .cu"),
    ("kernels/a.cuh", _GUARD + "#include <cuda_runtime.h>\n", ""),
    ("base/a.h", "int x;\n", "#pragma once"),
    ("base/a.h", _GUARD + "// " + "x" * 98 + "\n", "101 columns"),
    ("base/a.h", _GUARD + "// x\n" * 700, "701 lines"),
    ("base/a.h", "#pragma once", "no newline"),
    ("tests/a.h", _GUARD + "  std::this_thread::sleep_for(x);\n", "'sleep_for' is banned"),
    ("ps/a.h", _GUARD + "auto t = std::chrono::system_clock::now();\n", "'system_clock' is banned"),
    ("base/a.h", _GUARD + "std::chrono::system_clock::now();\n", ""),
    ("ps/a.h", _GUARD + "// not the system_clock\n", ""),
    ("ps/a.h", _GUARD + "// TO" + "DO: later\n", "is banned"),
    ("ps/a.h", _GUARD + "using namespace std;\n", "is banned"),
    ("ps/a.h", _GUARD + "std::ifstream in(path);\n", "is banned"),
    ("ps/a.h", _GUARD + "throw x;\n", "is banned"),
    ("ps/a.h", _GUARD + 'fmt::print("x");\n', "'fmt::print' is banned"),
    ("ps/a.h", _GUARD + 'fmt::println("x");\n', "'fmt::println' is banned"),
    ("tests/a.h", _GUARD + 'std::cout << x;\n', "'std::cout' is banned"),
    ("tests/a.h", _GUARD + "mutable std::mutex mutex_;\n", "'std::mutex' is banned"),
    ("ps/a.h", _GUARD + "std::shared_mutex mutex_;\n", "'std::shared_mutex' is banned"),
    ("ps/a.cuh", _GUARD + "const std::lock_guard lock(mutex_);\n", "'std::lock_guard' is banned"),
    ("ps/a.h", _GUARD + "std::unique_lock lock(mutex_);\n", "'std::unique_lock' is banned"),
    ("ps/a.h", _GUARD + "std::condition_variable changed_;\n", "'std::condition_variable' is banned"),
    ("base/thread/mutex.h", _GUARD + "std::mutex mutex_;\n", ""),
]


def self_test():
    body = "namespace strata {\nstruct A {\n};\n}\n"
    for headers, expected in [((("a.h", body), ("b.h", body)), 1),
                              ((("a.h", body), ("b.h", body.replace("strata", "strata::b"))), 0),
                              ((("a.h", body), ("b.h", "namespace strata {\nstruct A;\n}\n")), 0)]:
        if len(list(check_names(headers))) != expected:
            yield f"self test: classes of {headers}: expected {expected} findings"
    for path, text, expected in SELF_TEST:
        rules = [rule for _, rule in check_source(path, text)]
        passed = not rules if not expected else any(expected in rule for rule in rules)
        if not passed:
            yield f"self test: {path} {text!r}: expected {expected or 'nothing'!r}, found {rules}"


def main(arguments):
    root = Path(arguments[0] if arguments else Path(__file__).parents[2]).resolve()
    findings = list(self_test()) + list(findings_of(root))
    if not any(True for _ in sources_of(root)):
        findings.append(f"{root}: no sources found")
    for finding in findings:
        print(finding)
    print(f"{len(findings)} findings", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
