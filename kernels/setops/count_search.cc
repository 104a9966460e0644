#include "kernels/setops/count_search.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "strata/status.h"

namespace strata {
namespace {

// Byte i of an entry is bit i of its index.
constexpr std::array<uint64_t, 256> kBitsAsBytes = [] {
  std::array<uint64_t, 256> table{};
  for (uint64_t i = 0; i < 256; ++i) {
    for (uint64_t bit = 0; bit < 8; ++bit) table[i] |= (i >> bit & 1) << 8 * bit;
  }
  return table;
}();

constexpr size_t kWordsAtOnce = 8;  // a cache line of bits

// Counts of up to 512 documents in columns: digit p of document i is bit i of digits[p].
struct Columns {
  static constexpr size_t kMostDigits = 32;
  alignas(64) std::array<std::array<uint64_t, kWordsAtOnce>, kMostDigits> digits{};
  size_t used = 0;

  // `added` is overwritten.
  void Add(std::array<uint64_t, kWordsAtOnce>& added) {
    for (size_t p = 0; p < used; ++p) {
      for (size_t w = 0; w < kWordsAtOnce; ++w) {
        const uint64_t both = digits[p][w] & added[w];
        digits[p][w] ^= added[w];
        added[w] = both;
      }
    }
  }
};

template <typename Counter>
void AddDigit(uint64_t bits, size_t digit, Counter* counters) {
  if constexpr (sizeof(Counter) == 1) {
    for (size_t i = 0; i < 8; ++i) {
      uint64_t eight = 0;
      __builtin_memcpy(&eight, counters + 8 * i, 8);
      eight += kBitsAsBytes[bits >> 8 * i & 0xFF] << digit;
      __builtin_memcpy(counters + 8 * i, &eight, 8);
    }
  } else {
    for (size_t i = 0; i < 64; ++i) counters[i] += static_cast<Counter>((bits >> i & 1) << digit);
  }
}

// Adds to the counters of 512 documents, from `word` on, how many of `frequent` have each.
template <typename Counter>
[[gnu::always_inline]] inline void AddFrequent(std::span<const std::span<const uint64_t>> frequent,
                                               size_t word, Counter* counters) {
  Columns columns;
  for (size_t i = 0; i < frequent.size(); ++i) {
    std::array<uint64_t, kWordsAtOnce> added;
    std::copy_n(frequent[i].begin() + static_cast<ptrdiff_t>(word), kWordsAtOnce, added.begin());
    columns.used = std::bit_width(i);
    columns.Add(added);
    // What is carried out of all digits so far begins a new one; only i + 1 = 2^n can carry.
    if (std::has_single_bit(i + 1)) columns.digits[columns.used] = added;
  }
  for (size_t p = 0; p < static_cast<size_t>(std::bit_width(frequent.size())); ++p) {
    for (size_t w = 0; w < kWordsAtOnce; ++w) {
      if (columns.digits[p][w] != 0) AddDigit(columns.digits[p][w], p, counters + 64 * w);
    }
  }
}

// Whether one of 64 counters is at least `least`.
template <typename Counter>
[[gnu::always_inline]] inline bool HasOne(const Counter* counters, Counter least) {
  Counter any = 0;
  for (size_t i = 0; i < 64; ++i) any |= static_cast<Counter>(counters[i] >= least);
  return any != 0;
}

// Of places in their order, those from `begin` on and below `end`.
std::span<const uint16_t> Between(std::span<const uint16_t> places, uint32_t begin, uint32_t end) {
  const auto first = std::lower_bound(places.begin(), places.end(), begin);
  return {first, std::lower_bound(first, places.end(), end)};
}

}  // namespace

template <typename Counter>
void CountSearch::SearchCounting(const SetBlock& block, std::span<const SetBlock::Run> runs,
                                 std::span<const uint64_t> allowed, TopHits& hits,
                                 LargeArray<Counter>& counters) {
  constexpr size_t kPlacesAtOnce = 64 * kWordsAtOnce;
  if (counters.size() < block.words() * 64) counters.resize(block.words() * 64);
  const size_t begin = runs.front().begin / kPlacesAtOnce * kPlacesAtOnce;
  const size_t end = (runs.back().end + kPlacesAtOnce - 1) / kPlacesAtOnce * kPlacesAtOnce;
  for (const auto& list : lists_) {
    for (const uint16_t place : list) ++counters[place];
  }
  if (!bits_.empty()) {
    for (size_t place = begin; place < end; place += kPlacesAtOnce) {
      AddFrequent(std::span(std::as_const(bits_)), place / 64, counters.data() + place);
    }
  }
  VisitFromLength(runs, hits.query_length(), [&](const SetBlock::Run& run) {
    uint32_t least = hits.LeastOverlap(run.length);
    if (least > std::min<size_t>(run.length, lists_.size() + bits_.size())) return;
    const auto look_at = [&](uint32_t place) {
      if (counters[place] < least || !IsAllowed(allowed, place)) return;
      hits.Offer({block.ids()[place], counters[place], run.length});
      least = hits.LeastOverlap(run.length);
    };
    uint32_t place = run.begin;
    while (place < run.end) {
      const uint32_t next = std::min<uint32_t>(place + 64, run.end);
      if (next - place < 64 || HasOne(counters.data() + place, static_cast<Counter>(least))) {
        for (; place < next; ++place) look_at(place);
      }
      place = next;
    }
  });
  std::fill(counters.begin() + static_cast<ptrdiff_t>(begin),
            counters.begin() + static_cast<ptrdiff_t>(end), Counter{0});
}

void CountSearch::Search(const SetBlock& block, std::span<const Token> query,
                         std::span<const uint64_t> allowed, TopHits& hits) {
  STRATA_CHECK(query.size() == hits.query_length());
  STRATA_CHECK(allowed.empty() || allowed.size() == block.words());
  // Documents that are much shorter or longer than the query cannot be answers: what is between
  // the first and the last run that can is counted.
  std::span<const SetBlock::Run> runs = block.runs();
  const auto is_in_reach = [&](const SetBlock::Run& run) {
    return hits.LeastOverlap(run.length) <= std::min<size_t>(run.length, query.size());
  };
  while (!runs.empty() && !is_in_reach(runs.front())) runs = runs.subspan(1);
  while (!runs.empty() && !is_in_reach(runs.back())) runs = runs.first(runs.size() - 1);
  if (runs.empty()) return;
  lists_.clear();
  bits_.clear();
  for (const Token token : query) {
    const SetBlock::Places places = block.With(token);
    if (!places.list.empty()) lists_.push_back(places.list);
    if (!places.bits.empty()) bits_.push_back(places.bits);
  }
  if (lists_.empty() && bits_.empty()) return;
  if (runs.size() < block.runs().size()) {
    for (auto& list : lists_) list = Between(list, runs.front().begin, runs.back().end);
  }
  const size_t most = std::min<size_t>(block.longest(), lists_.size() + bits_.size());
  if (most <= std::numeric_limits<uint8_t>::max()) {
    SearchCounting(block, runs, allowed, hits, small_);
  } else if (most <= std::numeric_limits<uint16_t>::max()) {
    SearchCounting(block, runs, allowed, hits, medium_);
  } else {
    SearchCounting(block, runs, allowed, hits, large_);
  }
}

}  // namespace strata
