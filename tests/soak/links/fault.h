// What goes wrong in a cycle, what every rank must say of it, and by when.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "tests/soak/links/rank_board.h"

namespace strata::soak {

enum class Fault : uint8_t {
  kKill,            // SIGKILL of a rank
  kStop,            // SIGSTOP of a rank
  kCut,             // all connections of two ranks go silent, in both directions
  kReset,           // connections of two ranks end with a reset
  kOtherOperation,  // a rank calls another collective than the others
  kOtherSize,       // a rank passes another number of elements than the others
  kStranger,        // somebody comes who does not belong there
  kHalfOpen,        // 1,000 connections that say nothing, to a rank that links up
};
constexpr Fault kFaults[] = {Fault::kKill,     Fault::kStop,           Fault::kCut,
                             Fault::kReset,    Fault::kOtherOperation, Fault::kOtherSize,
                             Fault::kStranger, Fault::kHalfOpen};
const char* FaultName(Fault fault);

// Nobody says anything: found by the silence.
constexpr bool IsSilent(Fault fault) { return fault == Fault::kStop || fault == Fault::kCut; }
// Two ranks contradict each other: either may be named as the one that the other one sees.
constexpr bool IsDisagreement(Fault fault) {
  return fault == Fault::kOtherOperation || fault == Fault::kOtherSize;
}
// A rank is no more, or seems so: the others go on as a group without it.
constexpr bool LosesARank(Fault fault) { return fault == Fault::kKill || fault == Fault::kStop; }
// The group goes on as if nothing had been.
constexpr bool IsHarmless(Fault fault) {
  return fault == Fault::kStranger || fault == Fault::kHalfOpen;
}

struct Verdict {
  Fault fault = Fault::kKill;
  std::set<int> culprits;  // who may be blamed: the rank, or either end of a connection
  TimeNs bound = 0;        // from the fault to the error
};

// Empty, or what is wrong with how rank `rank` has ended after the fault. `fault_at` 0: harmless.
std::string Judge(const Verdict& verdict, int rank, const RankWords& words, TimeNs fault_at);

// Empty, or what is wrong with how rank `rank` has gone on in a group without `lost`, whose world
// was `world`.
std::string JudgeRebuilt(const RankWords& words, int rank, int lost, int world);

// Which rank an error of links blames: the first that it names. Nothing when it names none.
std::optional<int> BlamedRank(const std::string& message);

}  // namespace strata::soak
