#!/usr/bin/env bash
# Does all of Strata that needs a GPU work on this machine? Tests, some of them under
# compute-sanitizer, servers that are killed, and benches: each with a limit of time, a log, and a
# line of what came out. docs/gpu.md, "Checking it".
set -uo pipefail

usage() {
  cat <<'TEXT'
usage: tests/gpu/verify.sh [--build=FOLDER] [--out=FOLDER] [--only=REGEX] [--jobs=N] [--limit=S]
       tests/gpu/verify.sh --list | --pack=FOLDER [--build=FOLDER] [--only=REGEX]

Runs what needs a GPU on those that this machine has, and ends with a table.

  --build=FOLDER  where the programs are: a build with CUDA, or what --pack made (default: where
                  this script lies, if bin/ and tests/ are beside it, else build/ of the repository)
  --out=FOLDER    for the logs and the table; it is made (default: gpu-verify-DATE-TIME here)
  --only=REGEX    only the steps whose names have it, as: --only=memcheck, --only='^bench'
  --jobs=N        so many tests at a time (default 1); kills and benches are always alone
  --limit=S       at most so many seconds for a step, where its own limit (--list) is longer
  --list          names the steps, and runs none
  --pack=FOLDER   copies the programs, the libraries that they take and this script to FOLDER, for
                  a machine that has a GPU and no build

compute-sanitizer is looked for on the PATH and under /usr/local/cuda; COMPUTE_SANITIZER names
another one. In a build whose GPU is emulated (./dev build --emulated) the tests run, and what
takes a GPU is skipped. Benches run few rounds, to see that they do: figures to compare are those of
./dev bench.

Exit codes: 0 nothing failed; 1 a step failed; 2 wrong usage, no such build, or no GPU.
TEXT
}

refuse() {
  printf 'verify.sh: %s\n' "$*" >&2
  exit 2
}

# --- what there is to run ------------------------------------------------------------------------

names=() kinds=() limits=() commands=()
readonly parts=6 # of the contract suites: each ends in time

# step KIND SECONDS NAME WORD...: a command, whose programs are relative to the build. KIND says
# how it is judged: test (GoogleTest), tool (compute-sanitizer over one), bench, alone (anything
# else, by itself), program (likewise, beside others), or refusal:CODE:TEXT, which it must end with.
step() {
  kinds+=("$1") limits+=("$2") names+=("$3")
  shift 3
  commands+=("$(printf '%q ' "$@")")
}

test_step() { step test "$1" "$2" "tests/$2"; }

# tool_step TOOL PROGRAM SECONDS WHAT FILTER OPTION...: a test under a tool, with its options. A
# call's error that the program handles (peer access that is there already) is none of memory's.
tool_step() {
  local -a options=("--tool=$1" --error-exitcode=9)
  [[ $1 != memcheck ]] || options+=(--report-api-errors no)
  step tool "$3" "$1 $2 $4" "${sanitizer:-compute-sanitizer}" "${options[@]}" \
    "${@:6}" "tests/$2" "--gtest_filter=$5"
}

steps_of_tests() {
  local part program
  step program 120 own-kernel bin/own-kernel
  step program 120 own-model bin/own-model
  step program 120 array-blocks bin/array-blocks
  for program in kernels_device_test storage_gpu_test sparse_gpu_test embedding_group_test \
    spread_group_test; do
    test_step 600 "$program"
  done
  for ((part = 0; part < parts; ++part)); do
    step test 600 "gpu_contract_test, part $((part + 1)) of $parts" env \
      "GTEST_TOTAL_SHARDS=$parts" "GTEST_SHARD_INDEX=$part" tests/gpu_contract_test
  done
  for program in tree_blocks_gpu_test gpu_sets_test item_set_gpu_test ps_server_gpu_test \
    gpu_trees_gpu_test tree_engine_gpu_test trees_soak_gpu_test dense_gpu_test gpu_network_test \
    gpu_trainer_test gpu_job_test bench_histogram_gpu_test catboost_gpu_test \
    catboost_train_gpu_test; do
    test_step 600 "$program"
  done
  if ((is_emulated)); then # GPUs that fail when they are told to
    test_step 120 gpu_fault_process_test
    test_step 120 gpu_room_process_test
    test_step 120 gpu_collections_process_test
  else # NCCL
    test_step 300 cluster_gpu_test
    test_step 300 cluster_gpu_processes_test
  fi
  step 'refusal:2:GPU 99 is not there' 60 'a GPU that is not there' \
    bin/strata-server --port=0 --device=cuda:99
  step 'refusal:2:of memory in all' 60 'more memory than a GPU has' \
    bin/strata-server --port=0 --device=cuda --gpu_memory=100TiB
}

# What ends in minutes. A tool takes 10 to 100 times as long as the test alone.
steps_of_tools() {
  local tool
  local map='DeviceMapCases*:*DeviceMapTest*'
  local missing='MissingKeysOnGpu*'
  local tiers='GpuExpiry.*:GpuExpiryUnderPressure.*:GpuUpdates.WhatIsNot*'
  tiers+=':GpuRandom.ABatchThatTheGpuHas*:GpuRandom.AnErrorBelow*:GpuRandom.KeysGetRows*'
  tiers+=':GpuRandom.OfATableThatIsOnlyRead*'
  local trees='*/TinyLeaves:*/FewBins:*/TwoLeaves'
  local sets='GpuIndex.OfManyTokens*:GpuSets.OfEqual*:*PlainSearchFinds/11:*PlainSearchFinds/13'
  for tool in memcheck initcheck synccheck racecheck; do
    tool_step "$tool" storage_gpu_test 600 'map' "$map"
    tool_step "$tool" tree_blocks_gpu_test 600 'all' '*'
    tool_step "$tool" bench_histogram_gpu_test 600 'all' '*'
  done
  tool_step memcheck sparse_gpu_test 600 'updates' "$missing:BatchOnGpu.Update*:UpdatesInTurn*"
  tool_step initcheck sparse_gpu_test 600 'missing keys' "$missing"
  tool_step synccheck sparse_gpu_test 600 'combining' "$missing:BatchOnGpu.Combine*"
  tool_step racecheck sparse_gpu_test 600 'combining' "$missing:BatchOnGpu.Combine*"
  # Trees and answers come to the host with the unused ends of their arrays.
  tool_step initcheck gpu_trees_gpu_test 600 'small trees' "$trees" --check-api-memory-access no
  tool_step initcheck gpu_sets_test 600 'some searches' "$sets" --check-api-memory-access no
  for tool in synccheck racecheck; do
    tool_step "$tool" gpu_trees_gpu_test 600 'small trees' "$trees"
    tool_step "$tool" gpu_sets_test 600 'some searches' "$sets"
  done
  tool_step memcheck gpu_trees_gpu_test 600 'all' '*'
  tool_step memcheck gpu_sets_test 600 'some searches' "$sets"
  for tool in memcheck initcheck synccheck racecheck; do
    local -a host=()
    [[ $tool != initcheck ]] || host=(--check-api-memory-access no)
    tool_step "$tool" catboost_train_gpu_test 600 'trees' 'TreesOnGpu*:*/combinations:*/monotone' \
      "${host[@]}"
    tool_step "$tool" dense_gpu_test 600 'layers' 'LayersOnGpu*'
  done
  # cuBLAS's own kernels have races that they know of.
  for tool in memcheck synccheck; do
    tool_step "$tool" gpu_network_test 600 'all' '*'
    tool_step "$tool" gpu_trainer_test 600 'all' '*'
  done
  tool_step memcheck tree_engine_gpu_test 600 'ranks and metrics' 'RanksTraining*:TreeMetric*'
  tool_step memcheck catboost_gpu_test 600 'models' '*ModelsPredict*'
  tool_step memcheck gpu_contract_test 600 'lookups' 'GpuUpdates*:GpuRandom.LookupsBehind*'
  for tool in memcheck initcheck synccheck; do
    tool_step "$tool" gpu_contract_test 600 'tiers' "$tiers"
    tool_step "$tool" gpu_contract_test 600 'hints' 'GpuRandom.*Hint*:GpuRandom.*Announced*'
    tool_step "$tool" spread_group_test 600 'two GPUs' '*'
  done
}

steps_of_programs() {
  local suite
  local -a rounds
  step alone 600 'servers that are killed' bin/strata-soak-kill --device=cuda --cycles=20
  for suite in table embedding tiered service search tree-blocks trees; do
    rounds=(--rounds=2)
    [[ ! $suite =~ ^(table|embedding|tiered|tree-blocks)$ ]] || rounds=() # they have their own
    step bench 900 "bench $suite" bin/strata-bench "$suite" --device=cuda "${rounds[@]}" --json
  done
}

# programs_of COMMAND: those of the build that it names.
programs_of() { grep -oE '(^| )(bin|tests)/[a-z_-]+' <<<"$1" | tr -d ' '; }

# count_tests COMMAND: how many its filter leaves.
count_tests() {
  local program filter='*'
  program=$(programs_of "$1")
  [[ $1 =~ --gtest_filter=([^ ]+) ]] && eval "filter=${BASH_REMATCH[1]}" # as %q wrote it
  "$build/$program" --gtest_list_tests "--gtest_filter=$filter" 2>/dev/null | grep -c '^  '
}

list() {
  local i program what status=0
  printf '%-46s %8s  %s\n' step seconds 'at most; what it has'
  for i in "${!names[@]}"; do
    program=$(programs_of "${commands[i]}")
    what=""
    if [[ ! -x $build/$program ]]; then
      what="$program is not built"
    elif [[ ${kinds[i]} == test || ${kinds[i]} == tool ]]; then
      what="tests: $(count_tests "${commands[i]}")"
      if [[ $what == "tests: 0" ]]; then
        what="no test fits its filter"
        status=1
      elif [[ ${commands[i]} == *GTEST_TOTAL_SHARDS=* ]]; then
        what+=", of which it has its part"
      fi
    fi
    printf '%-46s %8s  %s\n' "${names[i]}" "${limits[i]}" "$what"
  done
  return "$status"
}

# --- a folder for another machine ----------------------------------------------------------------

pack() {
  local folder=$1 program library
  [[ ! -e $folder ]] || refuse "--pack: $folder is there already; name a new folder"
  mkdir -p "$folder/bin" "$folder/tests" "$folder/lib" || exit 2
  for program in $(for i in "${!names[@]}"; do programs_of "${commands[i]}"; done | sort -u) \
    bin/strata-server bin/strata-admin bin/strata-soak-client bin/strata-bench-search-contest; do
    if [[ -x $build/$program ]]; then
      cp "$build/$program" "$folder/$program"
    else
      printf 'left out: %s is not built\n' "$program"
    fi
  done
  # All but those of glibc, which belong to a machine's loader.
  for library in $(ldd "$folder"/bin/* "$folder"/tests/* 2>/dev/null |
    grep -oE '=> /[^ ]+' | cut -c4- | sort -u); do
    case ${library##*/} in
      libc.so* | libm.so* | libdl.so* | librt.so* | libpthread.so* | libresolv.so*) ;;
      *) cp -L "$library" "$folder/lib/" ;;
    esac
  done
  cp "${BASH_SOURCE[0]}" "$folder/verify.sh"
  printf '%s: %s; on the machine with the GPU: %s/verify.sh\n' "$folder" \
    "$(du -sh "$folder" | cut -f1)" "$(basename "$folder")"
}

# --- running and judging -------------------------------------------------------------------------

# number LOG WORD: of the tests that GoogleTest files under [  WORD  ].
number() {
  sed -nE "s/^\[ +$2 +\] ([0-9]+) tests?[.,].*/\1/p" "$1" | tail -n 1 | grep . || echo 0
}

last_line() { grep -a . "$1" | tail -n 1 | cut -c 1-160; }

# judge KIND CODE LOG SECONDS LIMIT: sets verdict (passed, failed, skipped) and what it says.
judge() {
  local kind=$1 code=$2 log=$3 summary expected
  verdict=failed
  if ((code == 124 || (code == 137 && $4 >= $5))); then
    said="not done after $5 s"
    return
  fi
  case $kind in
    test | tool)
      local passed failed skipped
      passed=$(number "$log" PASSED) failed=$(number "$log" FAILED)
      skipped=$(number "$log" SKIPPED)
      said="$passed passed"
      ((failed == 0)) || said+=", $failed failed"
      ((skipped == 0)) || said+=", $skipped skipped"
      summary=$(sed -nE 's/^=+ ([A-Z]+ SUMMARY: .*)/\1/p' "$log" | tail -n 1)
      [[ $kind == test ]] || said+="; ${summary:-the tool has no summary: $(last_line "$log")}"
      if ((code != 0)); then
        ((failed != 0)) || said+="; exit code $code: $(last_line "$log")"
      elif ((passed + skipped == 0)); then
        said="no test ran"
      elif [[ $kind == tool && ! $summary =~ SUMMARY:\ 0\ (errors|hazards) ]]; then
        :
      elif ((passed == 0)); then
        verdict=skipped
        said+=": $(grep -A 1 ': Skipped$' "$log" | sed -n 2p)"
      else
        verdict=passed
      fi
      ;;
    bench)
      said="lines: $(grep -c '^{' "$log")"
      if ((code != 0)); then
        said+="; exit code $code: $(last_line "$log")"
      elif [[ $said != "lines: 0" ]]; then
        verdict=passed
      fi
      ;;
    refusal:*)
      expected=${kind#refusal:}
      said="exit code $code: $(last_line "$log")"
      [[ $code == "${expected%%:*}" && $said == *"${expected#*:}"* ]] && verdict=passed
      ;;
    *)
      said=$(last_line "$log")
      if ((code == 0)); then
        verdict=passed
      elif ((code == 77)); then
        verdict=skipped
      else
        said="exit code $code: $said"
      fi
      ;;
  esac
}

# The name of the step's files, without what they end with.
file_of() { printf '%s/%02d-%s' "$out" "$1" "$(tr -cs 'A-Za-z0-9_\n' - <<<"${names[$1]}")"; }

line_of() { printf '%-8s %6s  %-46s %s\n' "$@"; }

# report NUMBER VERDICT SECONDS WHAT
report() {
  local line
  line=$(line_of "$2" "$3" "${names[$1]}" "$4")
  printf '%s\n' "$line" | tee "$(file_of "$1").verdict"
}

run_step() {
  local i=$1 limit=${limits[$1]} kind=${kinds[$1]} program log begin child code verdict said
  program=$(programs_of "${commands[i]}")
  log=$(file_of "$i").log
  if ((is_emulated)) && [[ $kind == tool || $kind == bench ]]; then
    report "$i" skipped 0 "the GPU is emulated"
    return
  elif [[ ! -x $build/$program ]]; then
    report "$i" failed 0 "$program is not built, or was not packed"
    return
  elif [[ $kind == tool && -z $sanitizer ]]; then
    report "$i" skipped 0 "there is no compute-sanitizer: CUDA's toolkit has it"
    return
  fi
  ((!is_emulated)) || limit=$((limit * 5))
  ((limit <= limit_most)) || limit=$limit_most
  local command
  command=$(sed -E "s#(^| )((bin|tests)/)#\1$(printf '%q' "$build")/\2#" <<<"${commands[i]}")
  printf '$ cd %q && %s\n' "$out" "$command" >"$log"
  begin=$SECONDS
  (cd "$out" && exec timeout --kill-after=10 "$limit" bash -c "exec $command") \
    >>"$log" 2>&1 </dev/null &
  child=$!
  trap 'kill $child 2>/dev/null; wait $child; exit 1' TERM
  wait "$child"
  code=$?
  judge "$kind" "$code" "$log" $((SECONDS - begin)) "$limit"
  report "$i" "$verdict" $((SECONDS - begin)) "$said"
}

# The lines of all steps, and how many came to what.
finish() {
  local i file passed failed skipped not_run
  {
    echo
    line_of verdict seconds step 'what it says'
    for i in "${!names[@]}"; do
      file=$(file_of "$i").verdict
      if [[ -s $file ]]; then cat "$file"; else line_of 'not run' - "${names[i]}" ''; fi
    done
  } >"$out/table.txt"
  passed=$(grep -c '^passed ' "$out/table.txt") failed=$(grep -c '^failed ' "$out/table.txt")
  skipped=$(grep -c '^skipped ' "$out/table.txt") not_run=$(grep -c '^not run ' "$out/table.txt")
  {
    printf '%s passed, %s failed, %s skipped' "$passed" "$failed" "$skipped"
    ((not_run == 0)) || printf ', %s not run' "$not_run"
    printf ' in %s s; logs: %s\n' "$SECONDS" "$out"
  } >>"$out/table.txt"
  cat "$out/table.txt"
  ((failed + not_run == 0))
}

find_sanitizer() {
  local candidate
  for candidate in "${COMPUTE_SANITIZER:-}" "$(command -v compute-sanitizer)" \
    /usr/local/cuda*/bin/compute-sanitizer /usr/local/cuda*/compute-sanitizer/compute-sanitizer; do
    [[ -x $candidate ]] && echo "$candidate" && return
  done
}

describe_machine() {
  echo "programs: $build, $("$build/bin/strata-server" --version 2>/dev/null)"
  if ((is_emulated)); then
    echo "GPU: emulated on the CPU (STRATA_SIMT_GPUS=${STRATA_SIMT_GPUS:-1})"
  else
    nvidia-smi --query-gpu=index,name,compute_cap,driver_version,memory.total,memory.used \
      --format=csv 2>/dev/null || echo "GPU: there is no nvidia-smi to name it"
  fi
  echo "compute-sanitizer: ${sanitizer:-none}"
  echo "$(nproc) processors, $(sed -n 's/^MemTotal: *//p' /proc/meminfo) of host memory"
}

main() {
  local argument here build_given="" only="" jobs=1 mode=run pack_to="" i
  limit_most=86400
  out="gpu-verify-$(date +%Y%m%d-%H%M%S)"
  here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
  for argument in "$@"; do
    case $argument in
      --help | -h) usage && exit 0 ;;
      --build=?*) build_given=${argument#*=} ;;
      --out=?*) out=${argument#*=} ;;
      --only=?*) only=${argument#*=} ;;
      --jobs=*) jobs=${argument#*=} ;;
      --limit=*) limit_most=${argument#*=} ;;
      --list) mode=list ;;
      --pack=?*) mode=pack pack_to=${argument#*=} ;;
      *) refuse "unknown argument '$argument'; see verify.sh --help" ;;
    esac
  done
  [[ $jobs =~ ^[1-9][0-9]?$ ]] || refuse "--jobs is a number from 1 to 99; found '$jobs'"
  [[ $limit_most =~ ^[1-9][0-9]{0,5}$ ]] ||
    refuse "--limit is a number of seconds, 1 or more; found '$limit_most'"
  [[ -d $here/bin && -d $here/tests ]] && build=$here || build=$here/../../build
  build=$(realpath -m "${build_given:-$build}")
  [[ $mode == list || -x $build/bin/own-kernel ]] ||
    refuse "$build/bin/own-kernel is not there: --build= names a build with CUDA (./dev build" \
      "--cuda=on makes one), one whose GPU is emulated, or what --pack made"
  [[ -d $build/lib && $build == "$here" ]] && export LD_LIBRARY_PATH=$build/lib
  is_emulated=0
  grep -qsa STRATA_SIMT_GPUS "$build/bin/own-kernel" && is_emulated=1
  sanitizer=$(find_sanitizer)

  steps_of_tests
  steps_of_tools
  steps_of_programs
  if [[ -n $only ]]; then
    for i in "${!names[@]}"; do
      [[ ${names[i]} =~ $only ]] || unset "names[i]"
    done
    ((${#names[@]})) || refuse "--only='$only' fits no step; --list names them"
  fi
  case $mode in
    list) list && exit 0 || exit 1 ;;
    pack) pack "$pack_to" && exit 0 || exit 1 ;;
  esac

  local why
  why=$("$build/bin/own-kernel" 2>&1)
  (($? == 77)) && refuse "there is no GPU to verify: $why"
  [[ ! -e $out ]] || refuse "--out: $out is there already; name a new folder"
  mkdir -p "$out" || exit 2
  out=$(realpath "$out")
  describe_machine | tee "$out/machine.txt"
  line_of verdict seconds step 'what it says'
  # shellcheck disable=SC2046  # a list of numbers
  trap 'trap - INT TERM; kill $(jobs -p) 2>/dev/null; wait; finish; exit 1' INT TERM
  for i in "${!names[@]}"; do
    if [[ ${kinds[i]} == bench || ${kinds[i]} == alone ]]; then
      wait
      run_step "$i" &
      wait
    else
      while (($(jobs -rp | wc -l) >= jobs)); do wait -n; done
      run_step "$i" &
    fi
  done
  wait
  finish
}

main "$@"; exit # on one line: a script that changes meanwhile is not read on
