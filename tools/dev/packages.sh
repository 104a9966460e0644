# What ./dev installs, and how. Sourced by ./dev.
# shellcheck shell=bash disable=SC2034  # the lists are for ./dev

# Debian 12 packages. Whatever tools/cmake/StrataPackages.cmake finds must be here; OpenCL is there
# because the CMake file of Debian's oneDNN asks for it.
readonly build_packages=(
  build-essential ccache cmake mold ninja-build pkg-config python3
  cppzmq-dev libboost1.81-dev libboost-context1.81-dev libcli11-dev libdnnl-dev libfmt-dev libgflags-dev libgmock-dev
  libgtest-dev libprotobuf-dev librocksdb-dev libsodium-dev libspdlog-dev libssl-dev
  libtomlplusplus-dev libxxhash-dev libzmq3-dev libzstd-dev nlohmann-json3-dev ocl-icd-opencl-dev prometheus-cpp-dev
  protobuf-compiler python3-xxhash python3-zmq zlib1g-dev
)
# clang 16: the first of Debian's that knows std::source_location.
readonly lint_packages=(clang-format-14 clang-tidy-16 git)
# What strata-bench measures us beside.
readonly bench_packages=(
  redis-server libhiredis-dev librocksdb-dev openmpi-bin libopenmpi-dev libgloo-dev
)
readonly fuzz_packages=(clang-16 libclang-rt-16-dev)

# install PACKAGE...: through apt, only what dpkg does not know as installed.
install() {
  local missing
  missing=$(comm -23 <(printf '%s\n' "$@" | sort) \
    <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null |
      sed -n 's/^installed //p' | sort -u))
  [[ -z $missing ]] && return
  # shellcheck disable=SC2086  # a list of words
  set -- $missing
  say "installing: $*"
  local -a as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || {
      say "./dev: packages are missing and there is no sudo. As root: apt-get install $*"
      exit 1
    }
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq >&2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "$@" >&2
}
