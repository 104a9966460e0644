#include "base/failpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>

#include "base/random.h"
#include "base/thread/mutex.h"

namespace strata {
namespace {

enum class Action { kNone, kKill, kError };

struct Arming {
  Action action = Action::kNone;
  uint64_t hit = 1;     // the one to fire at; 0: by chance
  uint64_t one_in = 0;  // the chance
};

struct State {
  Mutex mutex;
  std::array<Arming, kFailpoints.size()> armings STRATA_GUARDED_BY(mutex);
  std::array<uint64_t, kFailpoints.size()> hits STRATA_GUARDED_BY(mutex) = {};
  Random random STRATA_GUARDED_BY(mutex){1};
};

State& TheState() {
  static State state;
  return state;
}

std::atomic<bool> any_armed = false;

std::optional<uint64_t> Number(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The part up to `separator`, which is taken off `text` with it; all of it when there is none.
std::string_view TakeUpTo(char separator, std::string_view* text) {
  const size_t at = text->find(separator);
  const std::string_view part = text->substr(0, at);
  *text = at == std::string_view::npos ? std::string_view() : text->substr(at + 1);
  return part;
}

Status BadEntry(std::string_view entry, std::string_view what) {
  return Invalid(fmt::format(
      "STRATA_FAILPOINTS: '{}': {}; expected seed=N or NAME=kill|error[@N|@1/N], where NAME is one "
      "of {}",
      entry, what, fmt::join(kFailpoints, ", ")));
}

Result<Arming> ParseArming(std::string_view entry, std::string_view value) {
  Arming arming;
  const bool has_when = value.find('@') != std::string_view::npos;
  const std::string_view action = TakeUpTo('@', &value);
  if (action == "kill") arming.action = Action::kKill;
  if (action == "error") arming.action = Action::kError;
  if (arming.action == Action::kNone) return BadEntry(entry, fmt::format("no action '{}'", action));
  if (!has_when) return arming;
  const bool by_chance = value.starts_with("1/");
  const auto number = Number(by_chance ? value.substr(2) : value);
  if (!number || *number == 0) return BadEntry(entry, fmt::format("no hit '{}'", value));
  arming.hit = by_chance ? 0 : *number;
  arming.one_in = by_chance ? *number : 0;
  return arming;
}

}  // namespace

Status ArmFailpoints(std::string_view list) {
  if (!kFailpointsCompiledIn && !list.empty()) {
    return Invalid(fmt::format(
        "STRATA_FAILPOINTS is '{}', but this build has no failpoints: expected a build with the "
        "CMake option STRATA_FAILPOINTS (cmake --preset failpoints)",
        list));
  }
  std::array<Arming, kFailpoints.size()> armings;
  uint64_t seed = 1;
  const bool any = !list.empty();
  while (!list.empty()) {
    const std::string_view entry = TakeUpTo(',', &list);
    std::string_view value = entry;
    const std::string_view name = TakeUpTo('=', &value);
    const size_t index = failpoint::IndexOf(name);
    if (name == "seed") {
      const auto number = Number(value);
      if (!number) return BadEntry(entry, "no number");
      seed = *number;
    } else if (index == kFailpoints.size()) {
      return BadEntry(entry, "no such failpoint");
    } else {
      STRATA_ASSIGN(armings[index], ParseArming(entry, value));
    }
  }
  State& state = TheState();
  const MutexLock lock(state.mutex);
  state.armings = armings;
  state.hits = {};
  state.random = Random(seed);
  any_armed = any;
  return {};
}

Status ArmFailpointsFromEnvironment() {
  const char* list = std::getenv("STRATA_FAILPOINTS");
  return list == nullptr ? Status() : ArmFailpoints(list);
}

uint64_t FailpointHits(std::string_view name) {
  const size_t index = failpoint::IndexOf(name);
  State& state = TheState();
  const MutexLock lock(state.mutex);
  return index < kFailpoints.size() ? state.hits[index] : 0;
}

Status failpoint::Hit(size_t index) {
  if (!any_armed.load(std::memory_order_relaxed)) return {};
  State& state = TheState();
  const MutexLock lock(state.mutex);
  const Arming& arming = state.armings[index];
  const uint64_t hit = ++state.hits[index];
  const bool fires = arming.action != Action::kNone &&
                     (arming.hit != 0 ? arming.hit == hit : state.random.Below(arming.one_in) == 0);
  if (!fires) return {};
  const bool kills = arming.action == Action::kKill;
  const std::string text = fmt::format("failpoint {}: {} at hit {}\n", kFailpoints[index],
                                       kills ? "kill" : "error", hit);
  // Past every buffer: nothing of this process survives the next line.
  static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
  if (kills) kill(getpid(), SIGKILL);
  return Failed(fmt::format("failpoint {} at hit {}", kFailpoints[index], hit));
}

}  // namespace strata
