#include "kernels/setops/set_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <numeric>
#include <type_traits>
#include <utility>

namespace strata {
namespace {

static_assert(std::endian::native == std::endian::little);  // ends of pages are cut to their bytes

template <typename T>
bool Rises(std::span<const T> numbers) {
  return std::adjacent_find(numbers.begin(), numbers.end(), std::greater_equal<T>()) ==
         numbers.end();
}

Status CheckRuns(const SetBlock::Parts& parts) {
  uint32_t place = 0;
  uint64_t tokens = 0;
  for (size_t i = 0; i < parts.runs.size(); ++i) {
    const SetBlock::Run& run = parts.runs[i];
    const bool is_longer = i == 0 || run.length > parts.runs[i - 1].length;
    if (!is_longer || run.begin != place || run.end <= run.begin || run.first_token != tokens) {
      return Corrupt(fmt::format(
          "run {}: expected documents of more tokens than before, from place {} and token {} on; "
          "found {} tokens, places {} to {}, from token {} on",
          i, place, tokens, run.length, run.begin, run.end, run.first_token));
    }
    place = run.end;
    tokens += uint64_t{run.length} * (run.end - run.begin);
  }
  const uint64_t found = parts.short_lists.size() + parts.long_lists.size();
  if (place != parts.ids.size() || tokens != found || tokens > UINT32_MAX) {
    return Corrupt(fmt::format("expected {} documents with {} tokens, found {} with {}", place,
                               tokens, parts.ids.size(), found));
  }
  for (const SetBlock::Run& run : parts.runs) {
    const std::span<const DocumentId> ids(parts.ids);
    if (Rises(ids.subspan(run.begin, run.end - run.begin))) continue;
    return Corrupt(fmt::format("ids of places {} to {} do not ascend", run.begin, run.end));
  }
  return {};
}

// Within each document list numbers ascend, and are below `lists`.
template <typename Number>
Status CheckForward(std::span<const SetBlock::Run> runs, std::span<const Number> forward,
                    size_t lists) {
  for (const SetBlock::Run& run : runs) {
    for (uint32_t place = run.begin; place < run.end && run.length > 0; ++place) {
      const auto of =
          forward.subspan(run.first_token + uint64_t{run.length} * (place - run.begin), run.length);
      if (Rises(of) && of.back() < lists) continue;
      return Corrupt(
          fmt::format("place {}: expected rising numbers of {} lists, found others, the last {}",
                      place, lists, of.back()));
    }
  }
  return {};
}

}  // namespace

Result<SetBlock> SetBlock::Restore(Parts parts) {
  const size_t lists = parts.direct + parts.rare.size();
  const bool is_rare = parts.rare.empty() || parts.rare[0] >= kDirectTokens;
  if (parts.ids.size() > kMostDocuments || parts.direct > kDirectTokens || !is_rare ||
      !Rises(std::span<const Token>(parts.rare))) {
    return Corrupt(fmt::format(
        "expected at most {} documents, and tokens below {} before rising ones; found {} "
        "documents, tokens below {} and {} others",
        kMostDocuments, kDirectTokens, parts.ids.size(), parts.direct, parts.rare.size()));
  }
  if (!(lists <= kShortLists ? parts.long_lists.empty() : parts.short_lists.empty())) {
    return Corrupt(fmt::format("the numbers of {} lists have another width", lists));
  }
  STRATA_TRY(CheckRuns(parts));
  const bool is_short = lists <= kShortLists;
  STRATA_TRY(is_short ? CheckForward<uint16_t>(parts.runs, parts.short_lists, lists)
                      : CheckForward<uint32_t>(parts.runs, parts.long_lists, lists));
  SetBlock block;
  block.ids_ = std::move(parts.ids);
  block.runs_ = std::move(parts.runs);
  block.direct_ = parts.direct;
  block.rare_ = std::move(parts.rare);
  if (is_short) {
    block.forward_ = std::move(parts.short_lists);
    block.Invert(std::span(std::as_const(block.forward_)));
  } else {
    block.SplitForward(parts.long_lists);
    block.Invert(std::span(std::as_const(parts.long_lists)));
  }
  return block;
}

SetBlock SetBlock::Build(std::span<const DocumentId> ids, const SetList& documents) {
  STRATA_CHECK(ids.size() == documents.size() && ids.size() <= kMostDocuments);
  SetBlock block;
  const std::vector<uint32_t> order = block.OrderByLength(ids, documents);
  block.NumberLists(documents);
  const auto fill = [&](auto& forward) {
    if (!block.runs_.empty()) {
      const Run& last = block.runs_.back();
      forward.reserve(last.first_token + uint64_t{last.length} * (last.end - last.begin));
    }
    for (const uint32_t document : order) {
      for (const Token token : documents[document]) {
        forward.push_back(static_cast<std::decay_t<decltype(forward[0])>>(block.ListOf(token)));
      }
    }
    block.Invert(std::span(std::as_const(forward)));
  };
  if (block.is_short()) {
    fill(block.forward_);
  } else {
    LargeArray<uint32_t> wide;
    fill(wide);
    block.SplitForward(wide);
  }
  return block;
}

void SetBlock::SplitForward(std::span<const uint32_t> forward) {
  forward_.resize(forward.size());
  for (size_t i = 0; i < forward.size(); ++i) forward_[i] = static_cast<uint16_t>(forward[i]);
  page_end_bytes_ = longest() < 1 << 8 ? 1 : longest() < 1 << 16 ? 2 : 4;
  page_ends_.resize(size() * (pages() - 1) * page_end_bytes_);
  uint8_t* end = page_ends_.data();
  for (const Run& run : runs_) {
    const uint32_t* of = forward.data() + run.first_token;
    for (uint32_t place = run.begin; place < run.end; ++place, of += run.length) {
      uint32_t below = 0;
      for (size_t page = 1; page < pages(); ++page, end += page_end_bytes_) {
        while (below < run.length && of[below] < page * kShortLists) ++below;
        memcpy(end, &below, page_end_bytes_);
      }
    }
  }
}

void SetBlock::ListsOf(const Run& run, uint32_t place, uint32_t count, uint32_t* lists) const {
  const uint16_t* low = ShortLists(run, place);
  if (is_short()) {
    std::copy_n(low, uint64_t{count} * run.length, lists);
    return;
  }
  const size_t last_page = pages() - 1;
  const uint8_t* ends = page_ends_.data() + place * last_page * page_end_bytes_;
  for (uint32_t i = 0; i < count; ++i, low += run.length, lists += run.length) {
    uint32_t at = 0;
    for (size_t page = 0; page <= last_page; ++page) {
      uint32_t end = run.length;
      if (page < last_page) {
        end = 0;
        memcpy(&end, ends, page_end_bytes_);
        ends += page_end_bytes_;
      }
      for (; at < end; ++at) lists[at] = static_cast<uint32_t>(page * kShortLists) + low[at];
    }
  }
}

LargeArray<uint32_t> SetBlock::WideForward() const {
  LargeArray<uint32_t> forward(tokens());
  for (const Run& run : runs_) {
    ListsOf(run, run.begin, run.end - run.begin, forward.data() + run.first_token);
  }
  return forward;
}

std::vector<uint32_t> SetBlock::OrderByLength(std::span<const DocumentId> ids,
                                              const SetList& documents) {
  std::vector<uint32_t> order(ids.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const size_t length_a = documents[a].size();
    const size_t length_b = documents[b].size();
    return length_a != length_b ? length_a < length_b : ids[a] < ids[b];
  });
  uint64_t tokens = 0;
  ids_.reserve(order.size());
  for (const uint32_t document : order) {
    const auto length = static_cast<uint32_t>(documents[document].size());
    const auto place = static_cast<uint32_t>(ids_.size());
    if (runs_.empty() || runs_.back().length != length) {
      runs_.push_back({length, place, place, tokens});
    }
    runs_.back().end = place + 1;
    ids_.push_back(ids[document]);
    tokens += length;
  }
  return order;
}

void SetBlock::NumberLists(const SetList& documents) {
  for (size_t i = 0; i < documents.size(); ++i) {
    for (const Token token : documents[i]) {
      if (token < kDirectTokens) {
        direct_ = std::max(direct_, token + 1);
      } else {
        rare_.push_back(token);
      }
    }
  }
  std::sort(rare_.begin(), rare_.end());
  rare_.erase(std::unique(rare_.begin(), rare_.end()), rare_.end());
  rare_.shrink_to_fit();
}

template <typename Number>
void SetBlock::Invert(std::span<const Number> forward) {
  std::vector<uint32_t> starts(lists() + 1);
  for (const Number list : forward) ++starts[list + 1];
  const size_t many = std::max<size_t>((size() + 15) / 16, 1);
  constexpr size_t kNotBits = SIZE_MAX;
  std::vector<size_t> bits_of(lists(), kNotBits);
  for (size_t list = 0; list < lists(); ++list) {
    if (starts[list + 1] >= many) {
      bits_of[list] = frequent_.size() * words();
      frequent_.push_back(static_cast<uint32_t>(list));
      starts[list + 1] = 0;
    }
    starts[list + 1] += starts[list];
  }
  starts_ = ListStarts(starts);
  postings_.resize(starts.back());
  bits_.resize(frequent_.size() * words());
  std::vector<uint32_t> next = std::move(starts);
  size_t at = 0;
  for (const Run& run : runs_) {
    for (uint32_t place = run.begin; place < run.end; ++place) {
      for (const size_t end = at + run.length; at < end; ++at) {
        const size_t list = forward[at];
        if (bits_of[list] != kNotBits) {
          bits_[bits_of[list] + place / 64] |= uint64_t{1} << place % 64;
        } else {
          postings_[next[list]++] = static_cast<uint16_t>(place);
        }
      }
    }
  }
}

size_t SetBlock::ListOf(Token token) const {
  if (token < direct_) return token;
  const auto found = std::lower_bound(rare_.begin(), rare_.end(), token);
  if (found == rare_.end() || *found != token) return lists();
  return direct_ + static_cast<size_t>(found - rare_.begin());
}

SetBlock::Places SetBlock::With(Token token) const {
  const size_t list = ListOf(token);
  if (list == lists()) return {};
  if (const auto [begin, end] = starts_.Of(list); end != begin) {
    return {std::span(postings_).subspan(begin, end - begin), {}};
  }
  const auto found = std::lower_bound(frequent_.begin(), frequent_.end(), list);
  if (found == frequent_.end() || *found != list) return {};
  const auto at = static_cast<size_t>(found - frequent_.begin());
  return {{}, std::span(bits_).subspan(at * words(), words())};
}

size_t SetBlock::bytes() const {
  return ids_.size() * sizeof(DocumentId) + runs_.size() * sizeof(Run) +
         forward_.size() * sizeof(uint16_t) + page_ends_.size() + rare_.size() * sizeof(Token) +
         starts_.bytes() + frequent_.size() * sizeof(uint32_t) +
         postings_.size() * sizeof(uint16_t) + bits_.size() * sizeof(uint64_t);
}

}  // namespace strata
