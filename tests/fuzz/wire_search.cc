// The frames of a SEARCH and of its reply: the first byte says which, the second how many queries.
// 0 the terms, 1 the queries, 2 the answer, 3 how it was found.
#include <algorithm>

#include "tests/fuzz/wire_seeds.h"

namespace strata::fuzz {
namespace {

Bytes Seed(uint8_t kind, uint8_t queries, const Frame& first, const Frame& second) {
  Bytes bytes = {std::byte{kind}, std::byte{queries}};
  for (const Frame& frame : {first, second}) {
    bytes.insert(bytes.end(), frame.bytes().begin(), frame.bytes().end());
  }
  return bytes;
}

// What is left behind the offsets of so many queries.
void CheckFrames(uint8_t kind, uint32_t queries, std::span<const std::byte> input) {
  const size_t offsets = std::min(input.size(), (size_t{queries} + 1) * 8);
  const Frame first = Frame::Copy(input.first(offsets));
  const Frame second = Frame::Copy(input.subspan(offsets));
  if (kind == 1) {
    const auto decoded = wire::DecodeQueries(first, second, queries);
    if (!decoded.ok()) return;
    CheckSame(wire::EncodeOffsets(decoded->offsets), first.bytes());
    CheckSame(wire::EncodeTokens(decoded->tokens), second.bytes());
  } else {
    const auto decoded = wire::DecodeAnswer(first, second, queries);
    if (!decoded.ok()) return;
    CheckSame(wire::EncodeOffsets(decoded->offsets), first.bytes());
    CheckSame(wire::EncodeHits(decoded->hits), second.bytes());
  }
}

}  // namespace

std::vector<Bytes> Seeds() {
  const wire::SearchQueries queries = wire::SampleQueries();
  const wire::SearchAnswer answer = wire::SampleAnswer();
  wire::SearchTerms of_copies = wire::SampleSearchTerms();
  of_copies.servers = 3;
  return {Seed(0, 0, wire::EncodeSearchTerms(wire::SampleSearchTerms()), {}),
          Seed(0, 0, wire::EncodeSearchTerms(of_copies), {}),
          Seed(0, 0, wire::EncodeSearchTerms({}), {}),
          Seed(1, 2, wire::EncodeOffsets(queries.offsets), wire::EncodeTokens(queries.tokens)),
          Seed(2, 2, wire::EncodeOffsets(answer.offsets), wire::EncodeHits(answer.hits)),
          Seed(3, 0, wire::EncodeExplanation(wire::SampleExplanation()), {}),
          Seed(3, 0, wire::EncodeExplanation({}), {}),
          {}};
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace fuzz = strata::fuzz;
  namespace wire = strata::wire;
  if (size < 2) return 0;
  const auto input = fuzz::InputOf(data, size).subspan(2);
  if (data[0] == 3) {
    const auto explanation = wire::DecodeExplanation(input);
    if (explanation.ok()) fuzz::CheckSame(wire::EncodeExplanation(*explanation), input);
    return 0;
  }
  if (data[0] != 0) {
    fuzz::CheckFrames(data[0], data[1], input);
    return 0;
  }
  const auto decoded = wire::DecodeSearchTerms(input);
  if (decoded.ok()) fuzz::CheckSame(wire::EncodeSearchTerms(*decoded), input);
  return 0;
}
