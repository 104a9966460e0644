// Damage to files, as disks and people do it, from a seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"

namespace strata::soak {

enum class FaultKind : uint8_t {
  kFlipHead,  // one bit of the first 128 bytes
  kFlipBody,  // one bit of what is not zero at the end
  kFlipAny,   // one bit anywhere, reserved room too
  kTruncate,
  kZeroPage,
  kSwap,  // the contents of two files
  kRemove,
};
inline constexpr FaultKind kFaultKinds[] = {
    FaultKind::kFlipHead, FaultKind::kFlipBody, FaultKind::kFlipAny, FaultKind::kTruncate,
    FaultKind::kZeroPage, FaultKind::kSwap,     FaultKind::kRemove};

struct Fault {
  FaultKind kind = FaultKind::kFlipHead;
  std::vector<std::string> files;  // damaged; two when they were swapped
  std::string text;                // for people: what was done
  bool between_records = false;    // a log was cut exactly where one of its records ends
};

// All regular files in a folder and below, sorted.
std::vector<std::string> FilesBelow(const std::string& folder);

// Damages one file, or two, in the folder. Kinds of files (names without their digits) are equally
// likely, so that a single small one is met as often as many logs. An empty `files`: the fault
// could not be done to what was drawn.
Fault DamageFiles(const std::string& folder, Random& random);

}  // namespace strata::soak
