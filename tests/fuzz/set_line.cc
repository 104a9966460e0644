// A line of a file of sets: what is read is written and read again.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>
#include <string_view>

#include "tests/fuzz/fuzz_target.h"
#include "tools/admin/set_files.h"

namespace strata::fuzz {

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds;
  for (const std::string_view line : {"1,2,3", "", " 7 , 4294967295\r", "0"}) {
    const auto bytes = std::as_bytes(std::span(line));
    seeds.emplace_back(bytes.begin(), bytes.end());
  }
  return seeds;
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace admin = strata::admin;
  const auto set = admin::ParseSetLine({reinterpret_cast<const char*>(data), size});
  if (!set.ok()) return 0;
  const auto again = admin::ParseSetLine(fmt::format("{}", fmt::join(*set, ",")));
  STRATA_CHECK(again.ok() && *again == *set);
  return 0;
}
