// A line of libffm and libsvm: what is read is written and read again.
#include "worker/data/sparse/sparse_line.h"

#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>

#include "strata/status.h"
#include "tests/fuzz/fuzz_target.h"

namespace strata::fuzz {

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds;
  for (const std::string_view line : {"1 0:7:0.5 2:x_y:-1e2", "-1\t4294967295:a:+3 ",
                                      "+1 qid:3 1:1 20:0.25 # comment", "0", "3:4:5", "007:1"}) {
    const auto bytes = std::as_bytes(std::span(line));
    seeds.emplace_back(bytes.begin(), bytes.end());
  }
  return seeds;
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using strata::SparseFormat;
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  strata::SparseLine parts;
  for (const SparseFormat format : {SparseFormat::kLibffm, SparseFormat::kLibsvm}) {
    if (!strata::SplitSparseLine(line, format, &parts).empty()) continue;
    std::string again(parts.label);
    for (const strata::SparseValue& value : parts.values) {
      const bool has_field = format == SparseFormat::kLibffm;
      again += has_field ? fmt::format(" {}:", value.field) : std::string(" ");
      again += fmt::format("{}:{}", value.text, double{value.weight});
    }
    strata::SparseLine parts_again;
    STRATA_CHECK(strata::SplitSparseLine(again, format, &parts_again).empty());
    STRATA_CHECK(parts_again.label == parts.label && parts_again.values == parts.values);
  }
  return 0;
}
