#include "worker/gbdt/data/divided_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "worker/gbdt/data/column_roles.h"

namespace strata {
namespace {

// What the ranks have to know of each other's rows.
struct EndQueries {
  uint64_t first_row = 0;
  uint64_t rows = 0;
  int64_t first = 0;  // query of the first row
  int64_t last = 0;   // of the last one
  uint64_t lead = 0;  // rows at the beginning that belong to the first query
};

// A length and so many bytes.
void AppendPiece(std::span<const std::byte> piece, std::vector<std::byte>* bytes) {
  const uint64_t length = piece.size();
  const auto head = std::as_bytes(std::span(&length, 1));
  bytes->insert(bytes->end(), head.begin(), head.end());
  bytes->insert(bytes->end(), piece.begin(), piece.end());
}

// Takes what AppendPiece has appended off the beginning. kCorrupt: it is cut.
Result<std::span<const std::byte>> TakePiece(std::span<const std::byte>* bytes) {
  uint64_t length = 0;
  if (bytes->size() < sizeof(length)) return Corrupt("what a rank sent is cut");
  std::memcpy(&length, bytes->data(), sizeof(length));
  *bytes = bytes->subspan(sizeof(length));
  if (bytes->size() < length) return Corrupt("what a rank sent is cut");
  const std::span<const std::byte> piece = bytes->subspan(0, length);
  *bytes = bytes->subspan(length);
  return piece;
}

// The pieces that AppendPiece has appended. kCorrupt: they are cut.
Result<std::vector<std::string>> TextsOf(std::span<const std::byte> bytes) {
  std::vector<std::string> texts;
  while (!bytes.empty()) {
    STRATA_ASSIGN(const std::span<const std::byte> text, TakePiece(&bytes));
    texts.emplace_back(reinterpret_cast<const char*>(text.data()), text.size());
  }
  return texts;
}

// ", feature 3 is 'a' and 'b'": of two lists that are not the same.
std::string FirstDifference(std::span<const std::string> a, std::span<const std::string> b) {
  const auto [at_a, at_b] = std::ranges::mismatch(a, b);
  if (at_a == a.end() || at_b == b.end()) return "";
  return fmt::format(", feature {} is '{}' and '{}'", at_a - a.begin(), *at_a, *at_b);
}

// Where the query ends that the last row before `rank` belongs to.
uint64_t EndOfQueryBefore(std::span<const EndQueries> ranks, size_t rank) {
  const int64_t query = ranks[rank - 1].last;
  uint64_t end = ranks[rank].first_row;
  for (size_t r = rank; r < ranks.size() && ranks[r].first == query; ++r) {
    end = ranks[r].first_row + ranks[r].lead;
    if (ranks[r].lead < ranks[r].rows) break;
  }
  return end;
}

}  // namespace

Result<std::vector<uint64_t>> BordersOfWholeQueries(Group& group, const RowShare& share,
                                                    std::span<const int64_t> query_of_row,
                                                    std::span<const size_t> begins) {
  const auto world = static_cast<size_t>(group.world());
  std::vector<EndQueries> all(world);
  EndQueries& mine = all[static_cast<size_t>(group.rank())];
  mine.first_row = share.first_row();
  if (!query_of_row.empty()) {
    mine.rows = query_of_row.size();
    mine.first = query_of_row.front();
    mine.last = query_of_row.back();
    const auto end = std::ranges::find_if(query_of_row, [&](int64_t q) { return q != mine.first; });
    mine.lead = static_cast<uint64_t>(end - query_of_row.begin());
  }
  STRATA_TRY(group.Allgather(std::span(all)));
  std::vector<uint64_t> borders = {0};
  for (size_t rank = 1; rank < world; ++rank) {
    if (begins.empty()) {
      borders.push_back(EndOfQueryBefore(all, rank));
    } else {
      borders.push_back(*std::ranges::lower_bound(begins, all[rank].first_row));
    }
  }
  borders.push_back(share.all_rows(0));
  return borders;
}

Result<std::vector<BinMapper>> FindMappers(Group* group, const RowShare& share,
                                           std::vector<FeatureSample> samples,
                                           const BinningRules& rules, WorkPool& pool) {
  std::vector<BinMapper> mappers(samples.size());
  if (share.is_whole() || group == nullptr) {
    pool.Run(samples.size(),
             [&](size_t f) { mappers[f] = BinMapper::Find(std::move(samples[f]), rules); });
    return mappers;
  }
  std::vector<std::span<const std::byte>> values;
  for (const FeatureSample& sample : samples) {
    values.push_back(std::as_bytes(std::span(sample.values)));
  }
  const std::vector<std::vector<std::byte>> joined = share.Join(values);
  STRATA_TRY(share.status());
  const auto world = static_cast<size_t>(group->world());
  const auto rank = static_cast<size_t>(group->rank());
  std::vector<std::vector<std::byte>> found(joined.size());
  pool.Run(joined.size(), [&](size_t i) {
    FeatureSample sample = samples[rank + i * world];
    sample.values.resize(joined[i].size() / sizeof(double));
    if (!joined[i].empty()) std::memcpy(sample.values.data(), joined[i].data(), joined[i].size());
    found[i] = BinMapper::Find(std::move(sample), rules).ToBytes();
  });
  std::vector<std::byte> mine;
  for (const std::vector<std::byte>& bytes : found) AppendPiece(bytes, &mine);
  std::vector<std::vector<std::byte>> all;
  STRATA_TRY(group->Allgather(std::span<const std::byte>(mine), &all));
  for (size_t r = 0; r < world; ++r) {
    std::span<const std::byte> left = all[r];
    for (size_t f = r; f < mappers.size(); f += world) {
      STRATA_ASSIGN(const std::span<const std::byte> bytes, TakePiece(&left));
      STRATA_ASSIGN(mappers[f], BinMapper::FromBytes(bytes));
    }
  }
  return mappers;
}

Status JoinTexts(Group& group, CategoryTextSets* sets) {
  // Set by set, a piece of pieces.
  std::vector<std::byte> mine;
  for (const auto& set : *sets) {
    std::vector<std::byte> texts;
    for (const std::string& text : set) AppendPiece(std::as_bytes(std::span(text)), &texts);
    AppendPiece(texts, &mine);
  }
  std::vector<std::vector<std::byte>> all;
  STRATA_TRY(group.Allgather(std::span<const std::byte>(mine), &all));
  for (const std::vector<std::byte>& bytes : all) {
    std::span<const std::byte> left = bytes;
    for (auto& set : *sets) {
      STRATA_ASSIGN(const std::span<const std::byte> piece, TakePiece(&left));
      STRATA_ASSIGN(std::vector<std::string> texts, TextsOf(piece));
      for (std::string& text : texts) set.insert(std::move(text));
    }
  }
  return {};
}

Status AgreeOnColumns(Group& group, const std::string& path,
                      const std::vector<std::string>& features) {
  std::vector<std::byte> mine;
  for (const std::string& name : features) AppendPiece(std::as_bytes(std::span(name)), &mine);
  std::vector<std::vector<std::byte>> all;
  STRATA_TRY(group.Allgather(std::span<const std::byte>(mine), &all));
  std::vector<std::vector<std::string>> names(all.size());
  for (size_t rank = 0; rank < all.size(); ++rank) {
    STRATA_ASSIGN(names[rank], TextsOf(all[rank]));
    if (names[rank] == names[0]) continue;
    const auto text_of = [&](size_t of) {
      if (names[of].empty()) return std::string("libsvm rows");
      return fmt::format("{} features ({})", names[of].size(), ShownNames(names[of]));
    };
    return FailTogether(
        group, Invalid(fmt::format(
                   "the ranks' data do not go together: {}: rank 0 has {}, rank {} has {}{}: "
                   "expected the same columns in the same order",
                   path, text_of(0), rank, text_of(rank), FirstDifference(names[0], names[rank]))));
  }
  return {};
}

Status AgreeOnNumber(Group& group, const std::string& what, uint64_t number) {
  std::vector<uint64_t> all(static_cast<size_t>(group.world()));
  all[static_cast<size_t>(group.rank())] = number;
  STRATA_TRY(group.Allgather(std::span(all)));
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    return FailTogether(
        group,
        Invalid(fmt::format("the ranks' data do not go together: {}: rank 0 has {}, rank {} {}",
                            what, all[0], rank, all[rank])));
  }
  return {};
}

}  // namespace strata
