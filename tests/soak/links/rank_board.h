// What the processes of a cycle know of each other: memory that all of them share, made before they
// are forked.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "strata/status.h"

namespace strata::soak {

constexpr int kRanksMax = 8;

// How a rank steps out of line.
enum class Misstep : uint8_t { kNone, kOtherOperation, kOtherSize };

// One rank's words. The plain members hold once `ended` is true.
struct RankWords {
  std::atomic<bool> linked = false;
  std::atomic<uint64_t> calls = 0;                // that have succeeded
  std::atomic<Misstep> misstep = Misstep::kNone;  // to do in the next call
  std::atomic<bool> ended = false;

  StatusCode code = StatusCode::kOk;  // what ended its work; kOk: all has gone well
  std::array<char, 2048> message{};
  TimeNs ended_at = 0;
  // Of the group that follows it, when the board says so: what ended that, and its size.
  std::atomic<uint64_t> calls_rebuilt = 0;
  StatusCode rebuilt_code = StatusCode::kOk;
  std::array<char, 2048> rebuilt_message{};
  TimeNs rebuilt_at = 0;
  int rebuilt_world = 0;
  uint64_t wrong_results = 0;
  // More than before the links were made; of a process that has taken them down.
  int files_left = 0;
  int threads_left = 0;
  int mappings_left = 0;

  void SetMessage(std::string_view text) { Write(text, &message); }
  void SetRebuiltMessage(std::string_view text) { Write(text, &rebuilt_message); }
  static void Write(std::string_view text, std::array<char, 2048>* to) {
    to->fill('\0');
    std::memcpy(to->data(), text.data(), std::min(text.size(), to->size() - 1));
  }
  std::string Message() const { return message.data(); }
};

struct RankBoard {
  bool rebuilds = false;             // the survivors of a failure go on; set before the ranks start
  std::atomic<bool> stop = false;    // leave together at the next chance
  std::atomic<TimeNs> fault_at = 0;  // 0: nothing has happened yet
  std::array<RankWords, kRanksMax> ranks;
};

// Shared with every process that is forked from now on.
using SharedBoard = std::unique_ptr<RankBoard, void (*)(RankBoard*)>;
inline SharedBoard MakeSharedBoard() {
  void* const memory =
      mmap(nullptr, sizeof(RankBoard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  STRATA_CHECK(memory != MAP_FAILED);
  return {new (memory) RankBoard, [](RankBoard* at) { munmap(at, sizeof(RankBoard)); }};
}

}  // namespace strata::soak
