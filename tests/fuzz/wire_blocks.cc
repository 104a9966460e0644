#include "tests/fuzz/wire_seeds.h"

namespace strata::fuzz {

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds = {{}};
  for (const wire::Sample& sample : wire::Samples()) {
    if (sample.name != "commit_checkpoint_request") continue;
    for (size_t i = 1; i < sample.message.size(); ++i) seeds.push_back(BytesOf(sample.message[i]));
  }
  return seeds;
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = strata::fuzz::InputOf(data, size);
  const auto blocks = strata::wire::DecodeBlocks(strata::Frame::Copy(input));
  if (blocks.ok()) strata::fuzz::CheckSame(strata::wire::EncodeBlocks(*blocks), input);
  return 0;
}
