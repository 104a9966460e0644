#include "kernels/setops/scan_search.h"

#include <algorithm>
#include <array>
#include <bit>

#include "kernels/setops/add_bits.h"
#include "strata/status.h"

namespace strata {
namespace {

// Documents of one length that are looked at side by side: words are fetched and added for all of
// them by the same vector instructions.
constexpr size_t kLanes = 16;
constexpr size_t kDigits = 32;
constexpr size_t kTokensAtOnce = 8;

// A word of each document.
struct Words {
  alignas(64) std::array<uint32_t, kLanes> of{};
};

// Adds words a and b to sum's; what is carried.
[[gnu::always_inline]] inline Words AddBits(Words& sum, const Words& a, const Words& b) {
  Words carry;
  for (size_t i = 0; i < kLanes; ++i) carry.of[i] = strata::AddBits(sum.of[i], a.of[i], b.of[i]);
  return carry;
}

// Overlaps of 32 queries with each document: bit q of digits[p] is digit p of query q's.
using Columns = std::array<Words, kDigits>;

// The words of the documents' list i, or none where it is past the length. lists: of the first
// document, the others' behind them.
template <typename Number>
[[gnu::always_inline]] inline Words Fetch(const uint32_t* words, const Number* lists,
                                          uint32_t length, size_t i) {
  Words fetched;
  if (i >= length) return fetched;
  for (size_t lane = 0; lane < kLanes; ++lane) fetched.of[lane] = words[lists[lane * length + i]];
  return fetched;
}

// Counts up to `length`, for which `digits` suffice.
template <typename Number>
[[gnu::always_inline]] inline void AddUp(const uint32_t* words, const Number* lists,
                                         uint32_t length, size_t digits, Columns& columns) {
  for (size_t p = 0; p < digits; ++p) columns[p] = Words();
  const Words none;
  for (size_t i = 0; i < length; i += kTokensAtOnce) {
    const auto word = [&](size_t of) { return Fetch(words, lists, length, i + of); };
    const Words two_a = AddBits(columns[0], word(0), word(1));
    const Words two_b = AddBits(columns[0], word(2), word(3));
    const Words four_a = AddBits(columns[1], two_a, two_b);
    const Words two_c = AddBits(columns[0], word(4), word(5));
    const Words two_d = AddBits(columns[0], word(6), word(7));
    const Words four_b = AddBits(columns[1], two_c, two_d);
    Words carry = AddBits(columns[2], four_a, four_b);
    for (size_t p = 3; p < digits; ++p) carry = AddBits(columns[p], carry, none);
  }
}

template <typename Number>
[[gnu::target("avx2"), gnu::flatten]] void AddUpAvx2(const uint32_t* words, const Number* lists,
                                                     uint32_t length, size_t digits,
                                                     Columns& columns) {
  AddUp(words, lists, length, digits, columns);
}
template <typename Number>
[[gnu::target("avx512f"), gnu::flatten]] void AddUpAvx512(const uint32_t* words,
                                                          const Number* lists, uint32_t length,
                                                          size_t digits, Columns& columns) {
  AddUp(words, lists, length, digits, columns);
}
template <typename Number>
void AddUpPlain(const uint32_t* words, const Number* lists, uint32_t length, size_t digits,
                Columns& columns) {
  AddUp(words, lists, length, digits, columns);
}

template <typename Number>
using AddUpFunction = void (*)(const uint32_t*, const Number*, uint32_t, size_t, Columns&);

template <typename Number>
AddUpFunction<Number> AddUpWith(InstructionSet set) {
  switch (set) {
    case InstructionSet::kAvx512:
      return &AddUpAvx512<Number>;
    case InstructionSet::kAvx2:
      return &AddUpAvx2<Number>;
    case InstructionSet::kPlain:
      break;
  }
  return &AddUpPlain<Number>;
}

// The least overlaps with documents of one length: digits in the same form, in one word.
struct LeastOverlaps {
  std::array<uint32_t, kDigits> digits{};
  uint32_t reachable = 0;  // queries of which such a document can be an answer

  LeastOverlaps(uint32_t length, size_t used, std::span<TopHits> hits) {
    for (size_t q = 0; q < hits.size(); ++q) {
      const uint32_t least = hits[q].LeastOverlap(length);
      if (least > std::min(length, hits[q].query_length())) continue;
      reachable |= uint32_t{1} << q;
      for (size_t p = 0; p < used; ++p) digits[p] |= (least >> p & 1) << q;
    }
  }
};

// Of each document the queries that have reached their least overlap.
Words Reached(const Columns& overlaps, size_t used, const LeastOverlaps& least) {
  Words reached;
  reached.of.fill(least.reachable);
  for (size_t p = 0; p < used; ++p) {
    for (size_t i = 0; i < kLanes; ++i) {
      const uint32_t differs = overlaps[p].of[i] ^ least.digits[p];
      reached.of[i] = (differs & overlaps[p].of[i]) | (~differs & reached.of[i]);
    }
  }
  for (uint32_t& word : reached.of) word &= least.reachable;
  return reached;
}

uint32_t OverlapOf(const Columns& overlaps, size_t used, size_t lane, size_t query) {
  uint32_t overlap = 0;
  for (size_t p = 0; p < used; ++p) overlap |= (overlaps[p].of[lane] >> query & 1) << p;
  return overlap;
}

}  // namespace

ScanSearch::ScanSearch(std::span<const std::span<const Token>> queries, InstructionSet set)
    : queries_(queries.begin(), queries.end()), set_(set) {
  STRATA_CHECK(queries.size() <= kMostQueries);
  uint64_t tokens = 0;
  for (const auto query : queries) tokens += query.size();
  if (tokens > 0) mean_length_ = static_cast<uint32_t>(tokens / queries.size());
}

// The lists of kLanes documents from `place` on, of which `here` are there: where they stand, or,
// if they stand nowhere side by side, in `room`, which has place for so many.
template <>
const uint16_t* ScanSearch::ListsAt(const SetBlock& block, const SetBlock::Run& run, uint32_t place,
                                    uint32_t here, std::span<uint16_t> room) {
  const uint16_t* const lists = block.ShortLists(run, place);
  if (here == kLanes) return lists;
  std::copy_n(lists, here * run.length, room.data());
  return room.data();
}
template <>
const uint32_t* ScanSearch::ListsAt(const SetBlock& block, const SetBlock::Run& run, uint32_t place,
                                    uint32_t here, std::span<uint32_t> room) {
  block.ListsOf(run, place, here, room.data());
  return room.data();
}

template <typename Number>
void ScanSearch::SearchRun(const SetBlock& block, const SetBlock::Run& run,
                           std::span<const uint64_t> allowed, std::span<TopHits> hits) const {
  const AddUpFunction<Number> add_up = AddUpWith<Number>(set_);
  const size_t used = std::bit_width(run.length);
  LeastOverlaps least(run.length, used, hits);
  Columns overlaps;
  std::vector<Number> room(kLanes * run.length);
  for (uint32_t place = run.begin; place < run.end && least.reachable != 0; place += kLanes) {
    const uint32_t here = std::min<uint32_t>(kLanes, run.end - place);
    const Number* const lists = ListsAt<Number>(block, run, place, here, room);
    add_up(words_.data(), lists, run.length, used, overlaps);
    const Words reached = Reached(overlaps, used, least);
    for (size_t lane = 0; lane < here; ++lane) {
      uint32_t queries = reached.of[lane];
      const auto at = place + static_cast<uint32_t>(lane);
      if (queries == 0 || !IsAllowed(allowed, at)) continue;
      for (; queries != 0; queries &= queries - 1) {
        const auto q = static_cast<size_t>(std::countr_zero(queries));
        const uint32_t overlap = OverlapOf(overlaps, used, lane, q);
        if (overlap < hits[q].LeastOverlap(run.length)) continue;
        hits[q].Offer({block.ids()[at], overlap, run.length});
      }
    }
    if (std::any_of(reached.of.begin(), reached.of.end(), [](uint32_t of) { return of != 0; })) {
      least = LeastOverlaps(run.length, used, hits);
    }
  }
}

void ScanSearch::Search(const SetBlock& block, std::span<const uint64_t> allowed,
                        std::span<TopHits> hits) {
  STRATA_CHECK(hits.size() == queries_.size());
  words_.assign(std::max<size_t>(block.lists(), 1), 0);
  for (size_t q = 0; q < queries_.size(); ++q) {
    for (const Token token : queries_[q]) {
      const size_t list = block.ListOf(token);
      if (list < block.lists()) words_[list] |= uint32_t{1} << q;
    }
  }
  VisitFromLength(block.runs(), mean_length_, [&](const SetBlock::Run& run) {
    if (run.length == 0) return;
    if (block.is_short()) {
      SearchRun<uint16_t>(block, run, allowed, hits);
    } else {
      SearchRun<uint32_t>(block, run, allowed, hits);
    }
  });
}

}  // namespace strata
