// Runs a fuzz target on its seeds and on random changes of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/random.h"
#include "tests/fuzz/fuzz_target.h"

namespace strata::fuzz {
namespace {

// STRATA_FUZZ_RUNS: how many changed inputs (20,000). STRATA_FUZZ_SEED: of the changes (1).
uint64_t EnvNumber(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void ChangeOnce(Bytes& bytes, Random& random) {
  const size_t at = random.Below(bytes.size());
  switch (bytes.empty() ? 4 : random.Below(6)) {
    case 0:
      bytes[at] ^= static_cast<std::byte>(1U << random.Below(8));
      break;
    case 1:
      bytes[at] = static_cast<std::byte>(random.Next());
      break;
    case 2:  // the values at which counts overflow
      for (size_t i = at; i < bytes.size() && i < at + 4; ++i) bytes[i] = std::byte{0xff};
      break;
    case 3:
      bytes.resize(at);
      break;
    case 4:
      for (uint64_t n = random.Below(40); n > 0; --n) {
        bytes.push_back(static_cast<std::byte>(random.Next()));
      }
      break;
    default: {
      const size_t from = random.Below(bytes.size());
      bytes[at] = bytes[from];
    }
  }
}

void RunTarget(const Bytes& bytes) {
  EXPECT_EQ(LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()),
            0);
}

TEST(FuzzReplay, SeedsAndChangesOfThem) {
  const std::vector<Bytes> seeds = Seeds();
  ASSERT_FALSE(seeds.empty());
  for (const Bytes& seed : seeds) RunTarget(seed);
  Random random(EnvNumber("STRATA_FUZZ_SEED", 1));
  for (uint64_t run = EnvNumber("STRATA_FUZZ_RUNS", 20'000); run > 0; --run) {
    Bytes bytes = seeds[random.Below(seeds.size())];
    for (uint64_t changes = 1 + random.Below(4); changes > 0; --changes) ChangeOnce(bytes, random);
    RunTarget(bytes);
  }
}

}  // namespace
}  // namespace strata::fuzz
