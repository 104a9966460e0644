#include "bench/suites/search/search_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/file/disk.h"
#include "storage/itemset/set_files.h"

namespace strata::bench {
namespace {

// 0 for the most frequent token, and so on.
std::unordered_map<Token, Token> NumbersOf(const std::vector<TokenSet>& sets) {
  std::unordered_map<Token, uint64_t> counts;
  for (const TokenSet& set : sets) {
    for (const Token token : set) ++counts[token];
  }
  std::vector<std::pair<uint64_t, Token>> order;
  for (const auto& [token, count] : counts) order.emplace_back(UINT64_MAX - count, token);
  std::ranges::sort(order);
  std::unordered_map<Token, Token> numbers;
  for (const auto& [count, token] : order) numbers[token] = static_cast<Token>(numbers.size());
  return numbers;
}

}  // namespace

Status ReadDocuments(SearchData* data) {
  if (data->file.empty()) return {};
  STRATA_ASSIGN(const auto reader, OpenSets(RealDisk(), data->file, data->offsets));
  std::vector<TokenSet> sets;
  STRATA_TRY(reader->Next(SIZE_MAX, &sets));
  if (sets.empty()) return Invalid(fmt::format("{}: expected documents, found none", data->file));
  const auto numbers = NumbersOf(sets);
  std::vector<SetLists> parts;
  for (size_t i = 0; i < sets.size(); ++i) {
    if (i % SetBlock::kMostDocuments == 0) parts.emplace_back();
    for (Token& token : sets[i]) token = numbers.at(token);
    parts.back().Add(sets[i]);
  }
  data->read = std::make_shared<const SetDocuments>(
      SetDocuments::Of(kSearchSeed, std::move(parts), data->queries));
  return {};
}

}  // namespace strata::bench
