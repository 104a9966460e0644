// A line of a file of sets, and a file of ids: what is read is written and read again.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>
#include <string_view>

#include "storage/itemset/set_files.h"
#include "tests/fuzz/fuzz_target.h"
#include "tools/admin/collection/id_file.h"

namespace strata::fuzz {

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds;
  for (const std::string_view line :
       {"1,2,3", "", " 7 , 4294967295\r", "0", "1\n\n2 18446744073709551615\n"}) {
    const auto bytes = std::as_bytes(std::span(line));
    seeds.emplace_back(bytes.begin(), bytes.end());
  }
  return seeds;
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace admin = strata::admin;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto set = strata::ParseSetLine(text); set.ok()) {
    const auto again = strata::ParseSetLine(fmt::format("{}", fmt::join(*set, ",")));
    STRATA_CHECK(again.ok() && *again == *set);
  }
  if (const auto ids = admin::ParseIds(text); ids.ok()) {
    const auto again = admin::ParseIds(fmt::format("{}", fmt::join(*ids, "\n")));
    STRATA_CHECK(again.ok() && *again == *ids);
  }
  return 0;
}
