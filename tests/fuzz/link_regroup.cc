// What ranks that rebuild their group say to each other.
#include <span>
#include <string>

#include "cluster/link/regroup/regroup_message.h"
#include "strata/status.h"
#include "tests/fuzz/fuzz_target.h"

namespace strata::fuzz {

std::vector<Bytes> Seeds() {
  using link_internal::RegroupWord;
  link_internal::RegroupMessage message{.word = RegroupWord::kPoll,
                                        .replacements = false,
                                        .generation = 2,
                                        .process = 99,
                                        .ballot = 1 << 16,
                                        .members = {},
                                        .note = ""};
  std::vector<std::string> texts = {link_internal::EncodeRegroup(message)};
  message.word = RegroupWord::kChosen;
  message.note = "rank 3 (10.0.0.4:7700): gives no answer";
  message.members.resize(2);
  message.members[0].machine.host = "10.0.0.1";
  message.members[1].machine.port = 7700;
  texts.push_back(link_internal::EncodeRegroup(message));
  std::vector<Bytes> seeds;
  for (const std::string& text : texts) {
    const auto bytes = std::as_bytes(std::span(text));
    seeds.emplace_back(bytes.begin(), bytes.end());
  }
  return seeds;
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string body(reinterpret_cast<const char*>(data), size);
  const auto message = strata::link_internal::DecodeRegroup(body);
  STRATA_CHECK(!message.ok() || strata::link_internal::EncodeRegroup(*message) == body);
  return 0;
}
