// Failpoints: named places in the code at which a test makes the process die or a call fail. They
// cost nothing where they are not compiled in, which takes the CMake option STRATA_FAILPOINTS. They
// are armed through the environment variable STRATA_FAILPOINTS, a list such as
//   seed=7,log.write=kill@3,log.sync=error@1/100
// Each entry is NAME=ACTION[@WHEN]. ACTION: kill ends the process at once, as SIGKILL does; error
// makes the function that the failpoint stands in return an error. WHEN: N, the n-th hit only (the
// default is 1), or 1/N, each hit with probability 1/N, by the seed (default 1). A failpoint that
// fires says so on stderr.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "strata/status.h"

namespace strata {

// All failpoints. A macro with another name does not compile.
inline constexpr std::array kFailpoints = {
    // ReplaceableFile: before it writes, syncs, renames, and syncs the folder.
    std::string_view("file.write"),
    std::string_view("file.sync"),
    std::string_view("file.rename"),
    std::string_view("file.sync_folder"),
    // The log: before records are written, after half of their bytes, and after all of them; before
    // and after a sync; before a segment is reserved, its header written, synced, and it gets its
    // name; before the folder is synced; when a start writes records again, before each, and before
    // they are synced; before a segment is removed.
    std::string_view("log.write"),
    std::string_view("log.write_half"),
    std::string_view("log.written"),
    std::string_view("log.sync"),
    std::string_view("log.synced"),
    std::string_view("log.reserve"),
    std::string_view("log.begin_write"),
    std::string_view("log.begin_sync"),
    std::string_view("log.begin_rename"),
    std::string_view("log.sync_folder"),
    std::string_view("log.rewrite"),
    std::string_view("log.rewrite_sync"),
    std::string_view("log.remove"),
    // A lane: a record was appended and is not applied yet; the log is written and no reply has
    // left.
    std::string_view("lane.apply"),
    std::string_view("lane.ack"),
    // A checkpoint: before a stretch of a part is written, before the part is synced, renamed, and
    // its folder synced; before the manifest is written (as file.write), and after; before a file
    // of a retired one is removed.
    std::string_view("checkpoint.write"),
    std::string_view("checkpoint.sync"),
    std::string_view("checkpoint.rename"),
    std::string_view("checkpoint.sync_folder"),
    std::string_view("checkpoint.commit"),
    std::string_view("checkpoint.committed"),
    std::string_view("checkpoint.remove"),
};

// The names above, for harnesses and messages.
inline std::span<const std::string_view> KnownFailpoints() { return kFailpoints; }

#ifdef STRATA_FAILPOINTS
inline constexpr bool kFailpointsCompiledIn = true;
#else
inline constexpr bool kFailpointsCompiledIn = false;
#endif

// Arms what the list says and nothing else; "" disarms all. kInvalid: the list is wrong, which
// tells where and names what there is, or this build has no failpoints; nothing has changed then.
// Thread-safe.
Status ArmFailpoints(std::string_view list);

// ArmFailpoints of the environment variable, when it is set. Programs call it first in main.
Status ArmFailpointsFromEnvironment();

// How often the failpoint was reached while any was armed. Thread-safe.
uint64_t FailpointHits(std::string_view name);

namespace failpoint {

constexpr size_t IndexOf(std::string_view name) {
  size_t index = 0;
  while (index < kFailpoints.size() && kFailpoints[index] != name) ++index;
  return index;
}

Status Hit(size_t index);  // an error when the failpoint fires with that action

}  // namespace failpoint
}  // namespace strata

// STRATA_FAILPOINT("log.write"); returns an error from the enclosing function, whose result is a
// Status or Result, when it fires with the action error.
#ifdef STRATA_FAILPOINTS
#define STRATA_FAILPOINT(name)                                                                   \
  do {                                                                                           \
    static_assert(::strata::failpoint::IndexOf(name) < ::strata::kFailpoints.size(), "unknown"); \
    if (::strata::Status s_ = ::strata::failpoint::Hit(::strata::failpoint::IndexOf(name));      \
        !s_.ok())                                                                                \
      return s_;                                                                                 \
  } while (false)
#else
#define STRATA_FAILPOINT(name) \
  static_assert(::strata::failpoint::IndexOf(name) < ::strata::kFailpoints.size(), "unknown")
#endif
