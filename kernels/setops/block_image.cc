#include "kernels/setops/block_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/setops/pack_tokens.h"

namespace strata {
namespace {

uint32_t GroupsOf(uint32_t length) {
  return (length + BlockShape::kGroup - 1) / BlockShape::kGroup;
}

// Adds documents that are at least as long as those before them. A tile has the groups of its
// longest one.
void AddPlaces(uint32_t length, uint32_t count, BlockShape& shape) {
  if (count == 0) return;
  const uint32_t tiles = shape.tiles();
  const bool begins_tile = shape.size % BlockShape::kTile == 0;
  if (!begins_tile) shape.groups += GroupsOf(length) - GroupsOf(shape.longest);
  shape.size += count;
  shape.groups += GroupsOf(length) * (shape.tiles() - tiles);
  shape.tokens += count * length;
  shape.longest = length;
}

// Of documents in the order of their places, so many of a length at a time: tiles and offsets.
class PlaceWriter {
 public:
  explicit PlaceWriter(const BlockPlaces& places) : places_(places) { places_.tiles[0] = 0; }
  void Add(uint32_t length, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i, tokens_ += length) places_.offsets[place_ + i] = tokens_;
    // Tiles that end among them.
    const uint32_t end = place_ + count;
    for (uint32_t t = place_ / BlockShape::kTile; t < end / BlockShape::kTile; ++t) {
      places_.tiles[t + 1] = places_.tiles[t] + GroupsOf(length);
    }
    place_ = end;
    longest_ = length;
  }
  void End() {
    places_.offsets[place_] = tokens_;
    const uint32_t whole = place_ / BlockShape::kTile;
    if (place_ % BlockShape::kTile == 0) return;
    places_.tiles[whole + 1] = places_.tiles[whole] + GroupsOf(longest_);
  }

 private:
  const BlockPlaces& places_;
  uint32_t place_ = 0;
  uint32_t tokens_ = 0;
  uint32_t longest_ = 0;
};

// Of a piece.
uint32_t TokensOf(const BlockShape& shape, uint32_t piece) {
  return std::min(BlockSource::kPiece, shape.tokens - piece * BlockSource::kPiece);
}

// Sets as a source wants them: number, id, tokens of each, and those of many, from token number
// `begin` of document number `first` on.
template <typename Number>
class FlatView {
 public:
  static constexpr bool kHasCuts = false;
  FlatView(const FlatSets& documents, std::span<const Number> tokens)
      : documents_(documents), tokens_(tokens) {}
  size_t size() const { return documents_.size(); }
  bool ids_are_numbers() const { return documents_.ids.empty(); }
  DocumentId id(size_t i) const { return ids_are_numbers() ? i : documents_.ids[i]; }
  size_t length(size_t i) const { return documents_.offsets[i + 1] - documents_.offsets[i]; }
  std::span<const Number> set(size_t i) const {
    return tokens_.subspan(documents_.offsets[i], length(i));
  }
  template <typename To>
  Token Write(size_t first, const BlockShape& /*shape*/, size_t piece, size_t count, To* to) const {
    const size_t begin = documents_.offsets[first] + piece * BlockSource::kPiece;
    return PackTokens(tokens_.subspan(begin, count), to);
  }

 private:
  FlatSets documents_;
  std::span<const Number> tokens_;
};

class NestedView {
 public:
  static constexpr bool kHasCuts = true;
  explicit NestedView(std::span<const std::vector<uint16_t>> sets) : sets_(sets) {}
  size_t size() const { return sets_.size(); }
  bool ids_are_numbers() const { return true; }
  DocumentId id(size_t i) const { return i; }
  size_t length(size_t i) const { return sets_[i].size(); }
  std::span<const uint16_t> set(size_t i) const { return sets_[i]; }
  template <typename To>
  Token Write(size_t first, const BlockShape& shape, size_t piece, size_t count, To* to) const {
    constexpr size_t kAhead = 16;  // documents
    Token largest = 0;
    size_t i = first + shape.cuts[piece].document;
    for (size_t skip = shape.cuts[piece].token; count > 0; ++i, skip = 0) {
      if (i + kAhead < sets_.size()) {
        const auto* const soon = reinterpret_cast<const char*>(sets_[i + kAhead].data());
        for (size_t line = 0; line < 4; ++line) __builtin_prefetch(soon + line * 64);
      }
      const auto set = std::span(sets_[i]).subspan(skip);
      const size_t some = std::min(set.size(), count);
      if (some == 0) continue;
      std::copy_n(set.data(), some, to);
      largest = std::max<Token>(largest, set[some - 1]);
      to += some;
      count -= some;
    }
    return largest;
  }

 private:
  std::span<const std::vector<uint16_t>> sets_;
};

template <typename Sets>
class ViewSource final : public BlockSource {
 public:
  explicit ViewSource(const Sets& sets) : sets_(sets) {}

  size_t blocks() const override {
    return (sets_.size() + SetBlock::kMostDocuments - 1) / SetBlock::kMostDocuments;
  }
  size_t DocumentsOf(size_t block) const {
    return std::min(SetBlock::kMostDocuments, sets_.size() - block * SetBlock::kMostDocuments);
  }

  Result<BlockShape> ShapeOf(size_t block, bool may_be_wide) const override {
    const size_t first = block * SetBlock::kMostDocuments;
    std::vector<uint32_t> lengths(DocumentsOf(block));
    uint64_t tokens = 0;
    BlockShape shape;
    for (size_t i = 0; i < lengths.size(); ++i) {
      const size_t length = sets_.length(first + i);
      if (length > INT32_MAX) {
        return Invalid(
            fmt::format("document {} has {} tokens, or its offsets fall; a GPU takes at most {} "
                        "tokens",
                        first + i, length, INT32_MAX));
      }
      lengths[i] = static_cast<uint32_t>(length);
      if constexpr (Sets::kHasCuts) {
        for (uint64_t cut = shape.cuts.size() * kPiece; cut < tokens + length; cut += kPiece) {
          shape.cuts.push_back({static_cast<uint32_t>(i), static_cast<uint32_t>(cut - tokens)});
        }
      }
      tokens += length;
    }
    if (tokens > INT32_MAX) {
      return Invalid(fmt::format(
          "documents {} to {} have {} tokens; a GPU takes at most {} of {} documents in "
          "a row: make them shorter",
          first, first + lengths.size() - 1, tokens, INT32_MAX, SetBlock::kMostDocuments));
    }
    const uint32_t longest = *std::max_element(lengths.begin(), lengths.end());
    if (longest < SetBlock::kMostDocuments) {
      std::vector<uint32_t> with(longest + 1);
      for (const uint32_t length : lengths) ++with[length];
      for (uint32_t length = 0; length <= longest; ++length) {
        AddPlaces(length, with[length], shape);
      }
    } else {
      std::sort(lengths.begin(), lengths.end());
      for (const uint32_t length : lengths) AddPlaces(length, 1, shape);
    }
    shape.direct = SetBlock::kDirectTokens;
    if (may_be_wide) CountTokens(first, shape);
    return shape;
  }

  void WritePlaces(size_t block, const BlockPlaces& places, BlockShape& shape) const override {
    const size_t first = block * SetBlock::kMostDocuments;
    std::vector<uint32_t> begins(shape.size + 1);  // by document, as they come
    for (uint32_t i = 0; i < shape.size; ++i) {
      begins[i + 1] = begins[i] + static_cast<uint32_t>(sets_.length(first + i));
    }
    const std::vector<uint32_t> order = Order(first, begins, shape, places);
    shape.least_id = shape.largest_id = sets_.id(first);
    for (uint32_t place = 0; place < shape.size; ++place) {
      const DocumentId id = sets_.id(first + order[place]);
      places.ids[place] = id;
      places.sources[place] = begins[order[place]];
      shape.least_id = std::min(shape.least_id, id);
      shape.largest_id = std::max(shape.largest_id, id);
    }
  }

  Token WriteTokens(size_t block, const BlockShape& shape, uint32_t piece,
                    void* to) const override {
    const size_t first = block * SetBlock::kMostDocuments;
    const uint32_t count = TokensOf(shape, piece);
    return shape.is_wide() ? sets_.Write(first, shape, piece, count, static_cast<Token*>(to))
                           : sets_.Write(first, shape, piece, count, static_cast<uint16_t*>(to));
  }

 private:
  void CountTokens(size_t first, BlockShape& shape) const {
    shape.direct = 0;
    for (size_t i = first; i < first + shape.size; ++i) {
      const auto set = sets_.set(i);
      const auto direct = std::lower_bound(set.begin(), set.end(), SetBlock::kDirectTokens);
      shape.rare += static_cast<uint32_t>(set.end() - direct);
      if (direct != set.begin()) {
        shape.direct = std::max<uint32_t>(shape.direct, *(direct - 1) + 1U);
      }
    }
  }

  // Numbers of documents from `first` on, by length and then id; writes how long they are.
  std::vector<uint32_t> Order(size_t first, std::span<const uint32_t> begins,
                              const BlockShape& shape, const BlockPlaces& places) const {
    std::vector<uint32_t> by_id(shape.size);
    std::iota(by_id.begin(), by_id.end(), 0U);
    const auto id_is_less = [&](uint32_t a, uint32_t b) {
      return sets_.id(first + a) < sets_.id(first + b);
    };
    if (!sets_.ids_are_numbers() && !std::is_sorted(by_id.begin(), by_id.end(), id_is_less)) {
      std::sort(by_id.begin(), by_id.end(), id_is_less);
    }
    const auto length_of = [&](uint32_t i) { return begins[i + 1] - begins[i]; };
    PlaceWriter writer(places);
    if (shape.longest >= SetBlock::kMostDocuments) {
      std::stable_sort(by_id.begin(), by_id.end(),
                       [&](uint32_t a, uint32_t b) { return length_of(a) < length_of(b); });
      for (const uint32_t i : by_id) writer.Add(length_of(i), 1);
      writer.End();
      return by_id;
    }
    // By counting.
    std::vector<uint32_t> nexts(shape.longest + 2);
    for (uint32_t i = 0; i < shape.size; ++i) ++nexts[length_of(i) + 1];
    for (uint32_t length = 0; length <= shape.longest; ++length) {
      if (nexts[length + 1] > 0) writer.Add(length, nexts[length + 1]);
      nexts[length + 1] += nexts[length];
    }
    writer.End();
    std::vector<uint32_t> order(shape.size);
    for (const uint32_t i : by_id) order[nexts[length_of(i)]++] = i;
    return order;
  }

  const Sets sets_;
};

// Blocks that there are.
class SetBlockSource final : public BlockSource {
 public:
  explicit SetBlockSource(std::vector<const SetBlock*> blocks) : blocks_(std::move(blocks)) {}

  size_t blocks() const override { return blocks_.size(); }
  Result<BlockShape> ShapeOf(size_t block, bool /*may_be_wide*/) const override {
    const SetBlock& of = *blocks_[block];
    BlockShape shape;
    for (const SetBlock::Run& run : of.runs()) AddPlaces(run.length, run.end - run.begin, shape);
    shape.direct = of.direct();
    if (!of.rare().empty()) {
      of.VisitForward([&](const auto* lists) {
        for (uint32_t i = 0; i < shape.tokens; ++i) {
          shape.rare += static_cast<uint32_t>(lists[i] >= shape.direct);
        }
      });
    }
    return shape;
  }
  void WritePlaces(size_t block, const BlockPlaces& places, BlockShape& shape) const override {
    const SetBlock& of = *blocks_[block];
    std::copy(of.ids().begin(), of.ids().end(), places.ids);
    if (!of.ids().empty()) {
      const auto [least, largest] = std::minmax_element(of.ids().begin(), of.ids().end());
      shape.least_id = *least;
      shape.largest_id = *largest;
    }
    PlaceWriter writer(places);
    for (const SetBlock::Run& run : of.runs()) writer.Add(run.length, run.end - run.begin);
    writer.End();
    std::copy_n(places.offsets, shape.size, places.sources);
  }
  Token WriteTokens(size_t block, const BlockShape& shape, uint32_t piece,
                    void* to) const override {
    const SetBlock& of = *blocks_[block];
    const uint32_t begin = piece * kPiece;
    const uint32_t count = TokensOf(shape, piece);
    if (!shape.is_wide()) {
      // Lists of tokens that are all direct have their numbers.
      return PackTokens(of.short_forward().subspan(begin, count), static_cast<uint16_t*>(to));
    }
    // Document by document, the first and the last of which may be only in part in the piece.
    auto* out = static_cast<Token*>(to);
    Token largest = 0;
    const auto next_run = std::upper_bound(
        of.runs().begin(), of.runs().end(), begin,
        [](uint32_t token, const SetBlock::Run& run) { return token < run.first_token; });
    std::vector<uint32_t> lists;
    auto run = next_run - 1;
    uint32_t place = run->begin + static_cast<uint32_t>(begin - run->first_token) / run->length;
    for (uint32_t at = begin; at < begin + count; ++place) {
      while (place >= run->end) ++run;
      lists.resize(run->length);
      of.ListsOf(*run, place, 1, lists.data());
      const uint64_t first = run->first_token + uint64_t{run->length} * (place - run->begin);
      for (uint64_t i = at - first; i < run->length && at < begin + count; ++i, ++at) {
        *out = of.TokenOf(lists[i]);
        largest = std::max(largest, *out++);
      }
    }
    return largest;
  }

 private:
  const std::vector<const SetBlock*> blocks_;
};

Status CheckFlat(const FlatSets& documents) {
  const size_t size = documents.size();
  const auto& offsets = documents.offsets;
  if (!documents.ids.empty() && documents.ids.size() != size) {
    return Invalid(fmt::format("{} ids for {} documents; as many are needed, or none",
                               documents.ids.size(), size));
  }
  const size_t tokens =
      documents.tokens.empty() ? documents.short_tokens.size() : documents.tokens.size();
  if (size > 0 && offsets[size] > tokens) {
    return Invalid(
        fmt::format("the last document ends before token {}; there are {}", offsets[size], tokens));
  }
  return {};
}

template <typename Sets>
std::unique_ptr<BlockSource> MakeSource(const Sets& sets) {
  return std::make_unique<ViewSource<Sets>>(sets);
}

}  // namespace

Result<std::unique_ptr<BlockSource>> SourceOf(const FlatSets& documents) {
  STRATA_TRY(CheckFlat(documents));
  return documents.tokens.empty() ? MakeSource(FlatView(documents, documents.short_tokens))
                                  : MakeSource(FlatView(documents, documents.tokens));
}

Result<std::unique_ptr<BlockSource>> SourceOf(std::span<const std::vector<uint16_t>> documents) {
  return MakeSource(NestedView(documents));
}

Result<std::unique_ptr<BlockSource>> SourceOf(std::span<const SetBlock> blocks) {
  std::vector<const SetBlock*> of;
  for (const SetBlock& block : blocks) of.push_back(&block);
  return std::unique_ptr<BlockSource>(std::make_unique<SetBlockSource>(std::move(of)));
}

Result<std::unique_ptr<BlockSource>> SourceOf(std::span<const SetBlock* const> blocks) {
  std::vector<const SetBlock*> of(blocks.begin(), blocks.end());
  return std::unique_ptr<BlockSource>(std::make_unique<SetBlockSource>(std::move(of)));
}

}  // namespace strata
