#include "kernels/setops/block_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace strata {
namespace {

uint32_t GroupsOf(uint32_t length) {
  return (length + BlockShape::kGroup - 1) / BlockShape::kGroup;
}

// Adds documents that are at least as long as those before them. A tile has the groups of its
// longest one.
void AddPlaces(uint32_t length, uint32_t count, BlockShape& shape) {
  const uint32_t more = count * length;
  for (; count > 0; --count, ++shape.size) {
    const bool begins_tile = shape.size % BlockShape::kTile == 0;
    shape.groups += GroupsOf(length) - (begins_tile ? 0 : GroupsOf(shape.longest));
    shape.longest = length;
  }
  shape.tokens += more;
}

// Lengths ascend.
template <typename LengthOf>
void WritePlaces(const BlockShape& shape, const LengthOf& length_of, const BlockImage& image) {
  BlockShape so_far;
  for (uint32_t place = 0; place < shape.size; ++place) {
    if (place % BlockShape::kTile == 0) image.tiles[place / BlockShape::kTile] = so_far.groups;
    image.offsets[place] = so_far.tokens;
    AddPlaces(length_of(place), 1, so_far);
  }
  image.tiles[shape.tiles()] = so_far.groups;
  image.offsets[shape.size] = so_far.tokens;
}

// Sets as a source wants them: number, id and tokens of each.
template <typename Number>
class FlatView {
 public:
  FlatView(const FlatSets& documents, std::span<const Number> tokens)
      : documents_(documents), tokens_(tokens) {}
  size_t size() const { return documents_.size(); }
  bool ids_are_numbers() const { return documents_.ids.empty(); }
  DocumentId id(size_t i) const { return ids_are_numbers() ? i : documents_.ids[i]; }
  size_t length(size_t i) const { return documents_.offsets[i + 1] - documents_.offsets[i]; }
  std::span<const Number> set(size_t i) const {
    return tokens_.subspan(documents_.offsets[i], length(i));
  }

 private:
  FlatSets documents_;
  std::span<const Number> tokens_;
};

class NestedView {
 public:
  explicit NestedView(std::span<const std::vector<uint16_t>> sets) : sets_(sets) {}
  size_t size() const { return sets_.size(); }
  bool ids_are_numbers() const { return true; }
  DocumentId id(size_t i) const { return i; }
  size_t length(size_t i) const { return sets_[i].size(); }
  std::span<const uint16_t> set(size_t i) const { return sets_[i]; }

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
    for (size_t i = 0; i < lengths.size(); ++i) {
      const size_t length = sets_.length(first + i);
      if (length > INT32_MAX) {
        return Invalid(
            fmt::format("document {} has {} tokens, or its offsets fall; a GPU takes at most {} "
                        "tokens",
                        first + i, length, INT32_MAX));
      }
      lengths[i] = static_cast<uint32_t>(length);
      tokens += length;
    }
    if (tokens > INT32_MAX) {
      return Invalid(fmt::format(
          "documents {} to {} have {} tokens; a GPU takes at most {} of {} documents in "
          "a row: make them shorter",
          first, first + lengths.size() - 1, tokens, INT32_MAX, SetBlock::kMostDocuments));
    }
    BlockShape shape;
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

  bool Write(size_t block, const BlockImage& image, BlockShape& shape) const override {
    const size_t first = block * SetBlock::kMostDocuments;
    const std::vector<uint32_t> order = Order(first, shape.size);
    WritePlaces(
        shape,
        [&](uint32_t place) { return static_cast<uint32_t>(sets_.length(first + order[place])); },
        image);
    std::vector<uint32_t> place_of(order.size());
    for (uint32_t place = 0; place < shape.size; ++place) place_of[order[place]] = place;
    shape.least_id = shape.largest_id = sets_.id(first);
    for (uint32_t i = 0; i < shape.size; ++i) {
      const DocumentId id = sets_.id(first + i);
      image.ids[place_of[i]] = id;
      shape.least_id = std::min(shape.least_id, id);
      shape.largest_id = std::max(shape.largest_id, id);
    }
    return WriteTokens(place_of, first, image, shape);
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

  // Numbers of `count` documents from `first` on, by length and then id.
  std::vector<uint32_t> Order(size_t first, size_t count) const {
    std::vector<uint32_t> by_id(count);
    std::iota(by_id.begin(), by_id.end(), 0U);
    const auto id_is_less = [&](uint32_t a, uint32_t b) {
      return sets_.id(first + a) < sets_.id(first + b);
    };
    if (!sets_.ids_are_numbers() && !std::is_sorted(by_id.begin(), by_id.end(), id_is_less)) {
      std::sort(by_id.begin(), by_id.end(), id_is_less);
    }
    size_t longest = 0;
    for (uint32_t i = 0; i < count; ++i) longest = std::max(longest, sets_.length(first + i));
    if (longest >= SetBlock::kMostDocuments) {
      std::stable_sort(by_id.begin(), by_id.end(), [&](uint32_t a, uint32_t b) {
        return sets_.length(first + a) < sets_.length(first + b);
      });
      return by_id;
    }
    // By counting.
    std::vector<uint32_t> begins(longest + 2);
    for (uint32_t i = 0; i < count; ++i) ++begins[sets_.length(first + i) + 1];
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    std::vector<uint32_t> order(count);
    for (const uint32_t i : by_id) order[begins[sets_.length(first + i)]++] = i;
    return order;
  }

  // In the order that they are read from memory in: there is a place to write to for each length,
  // which memory can follow as well.
  bool WriteTokens(std::span<const uint32_t> place_of, size_t first, const BlockImage& image,
                   BlockShape& shape) const {
    if (shape.is_wide()) {
      for (uint32_t i = 0; i < shape.size; ++i) {
        const auto set = sets_.set(first + i);
        std::copy(set.begin(), set.end(),
                  static_cast<Token*>(image.tokens) + image.offsets[place_of[i]]);
      }
      return true;
    }
    Token largest = 0;
    for (uint32_t i = 0; i < shape.size; ++i) {
      const auto set = sets_.set(first + i);
      auto* const to = static_cast<uint16_t*>(image.tokens) + image.offsets[place_of[i]];
      for (size_t j = 0; j < set.size(); ++j) to[j] = static_cast<uint16_t>(set[j]);
      if (!set.empty()) largest = std::max<Token>(largest, set.back());
    }
    shape.direct = shape.tokens == 0 ? 0 : std::min(largest, SetBlock::kDirectTokens - 1) + 1;
    return largest < SetBlock::kDirectTokens;
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
  bool Write(size_t block, const BlockImage& image, BlockShape& shape) const override {
    const SetBlock& of = *blocks_[block];
    std::copy(of.ids().begin(), of.ids().end(), image.ids);
    if (!of.ids().empty()) {
      const auto [least, largest] = std::minmax_element(of.ids().begin(), of.ids().end());
      shape.least_id = *least;
      shape.largest_id = *largest;
    }
    const SetBlock::Run* run = of.runs().data();
    WritePlaces(
        shape,
        [&](uint32_t place) {
          while (place >= run->end) ++run;
          return run->length;
        },
        image);
    of.VisitForward([&](const auto* lists) {
      if (shape.is_wide()) {
        auto* const out = static_cast<Token*>(image.tokens);
        for (uint32_t i = 0; i < shape.tokens; ++i) out[i] = of.TokenOf(lists[i]);
      } else {
        // Lists of tokens that are all direct have their numbers.
        auto* const out = static_cast<uint16_t*>(image.tokens);
        for (uint32_t i = 0; i < shape.tokens; ++i) out[i] = static_cast<uint16_t>(lists[i]);
      }
    });
    return true;
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
