// Bits of files are flipped one at a time, and each time the readers of that file are asked: they
// have to tell, naming the file, or to give what was written.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "strata/status.h"

namespace strata::soak {

enum class Verdict : uint8_t { kHarmless, kDetected, kWrong };  // by weight

// One kind of file: examples of it on a disk, and who reads them.
struct FileKind {
  Disk* disk = nullptr;
  std::vector<std::string> files;
  // What is made of the files as they lie there, one of which, `damaged`, has one bit flipped.
  // kHarmless: all that was written came back, to the bit.
  std::function<Verdict(const std::string& damaged)> judge;
};

// Of one kind; lies in memory that processes share.
struct FlipCounts {
  uint64_t bits = 0;  // tried
  uint64_t detected = 0;
  uint64_t harmless = 0;
  uint64_t wrong = 0;
  uint64_t crashes = 0;  // the reading process died, or took longer than 30 s
};

// Flips each bit of the first 128 bytes of each file, then `random_bits` chosen by the seed among
// those of all files. Reading happens in processes of their own, in which `make` builds the kind
// anew: call it while this process has one thread. What is wrong is said on stderr. An error: the
// kind could not be made, or its files are refused undamaged.
Result<FlipCounts> FlipBits(const std::string& kind, const std::function<FileKind()>& make,
                            uint64_t random_bits, uint64_t seed);

}  // namespace strata::soak
