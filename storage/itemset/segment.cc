#include "storage/itemset/segment.h"

#include <algorithm>
#include <utility>

#include "strata/status.h"

namespace strata {

std::shared_ptr<const Segment> Segment::Build(std::span<const std::shared_ptr<const Document>> of,
                                              std::shared_ptr<const TokenNumbers> numbers) {
  auto made = std::make_shared<Segment>();
  std::vector<DocumentId> ids;
  SetLists sets;
  std::vector<Token> tokens;
  for (const auto& document : of) {
    ids.push_back(document->id);
    tokens.clear();
    for (const Token token : document->tokens) tokens.push_back(numbers->NumberOf(token));
    sets.Add(tokens);
  }
  made->block_ = SetBlock::Build(ids, sets.view());
  made->numbers_ = std::move(numbers);
  made->attributes_each_ = of.empty() ? 0 : of[0]->attributes.size();
  if (made->attributes_each_ == 0) return made;
  std::vector<std::pair<DocumentId, size_t>> by_id;
  for (size_t i = 0; i < of.size(); ++i) by_id.emplace_back(of[i]->id, i);
  std::sort(by_id.begin(), by_id.end());
  made->attributes_.reserve(of.size() * made->attributes_each_);
  for (const DocumentId id : made->block_.ids()) {
    const auto found = std::lower_bound(by_id.begin(), by_id.end(), std::pair(id, size_t{0}));
    const auto& values = of[found->second]->attributes;
    STRATA_CHECK(values.size() == made->attributes_each_);
    made->attributes_.insert(made->attributes_.end(), values.begin(), values.end());
  }
  return made;
}

format::SegmentImage Segment::Image(uint64_t number, uint64_t order) const {
  format::SegmentImage image;
  image.number = number;
  image.order = order;
  for (const SetBlock::Run& run : block_.runs()) {
    image.lengths.push_back({run.length, run.end - run.begin});
  }
  image.ids.assign(block_.ids().begin(), block_.ids().end());
  image.attributes_each = static_cast<uint32_t>(attributes_each_);
  image.attributes = attributes_;
  image.direct = block_.direct();
  image.rare.assign(block_.rare().begin(), block_.rare().end());
  const uint64_t tokens = block_.tokens();
  block_.VisitForward([&](const auto* lists) {
    if constexpr (sizeof(*lists) == sizeof(uint16_t)) {
      image.short_lists.assign(lists, lists + tokens);
    } else {
      image.long_lists.assign(lists, lists + tokens);
    }
  });
  return image;
}

Result<std::shared_ptr<const Segment>> Segment::Restore(
    format::SegmentImage image, std::shared_ptr<const TokenNumbers> numbers) {
  SetBlock::Parts parts;
  uint32_t place = 0;
  uint64_t tokens = 0;
  for (const auto& [length, documents] : image.lengths) {
    parts.runs.push_back({length, place, place + documents, tokens});
    place += documents;
    tokens += uint64_t{length} * documents;
  }
  parts.ids = std::move(image.ids);
  parts.direct = image.direct;
  parts.rare = std::move(image.rare);
  parts.short_lists = std::move(image.short_lists);
  parts.long_lists = std::move(image.long_lists);
  auto made = std::make_shared<Segment>();
  STRATA_ASSIGN(made->block_, SetBlock::Restore(std::move(parts)));
  made->numbers_ = std::move(numbers);
  made->attributes_each_ = image.attributes_each;
  made->attributes_ = std::move(image.attributes);
  return std::shared_ptr<const Segment>(std::move(made));
}

PlaceBits AllBits(const SetBlock& block) {
  PlaceBits bits(block.words());
  for (uint32_t place = 0; place < block.size(); ++place) {
    bits[place / 64] |= uint64_t{1} << place % 64;
  }
  return bits;
}

Document Segment::At(uint32_t place) const {
  Document document{.id = block_.ids()[place], .tokens = {}, .attributes = {}};
  const auto run =
      std::upper_bound(block_.runs().begin(), block_.runs().end(), place,
                       [](uint32_t at, const SetBlock::Run& of) { return at < of.end; });
  std::vector<uint32_t> lists(run->length);
  block_.ListsOf(*run, place, 1, lists.data());
  document.tokens.reserve(lists.size());
  for (const uint32_t list : lists) {
    document.tokens.push_back(numbers_->TokenOf(block_.TokenOf(list)));
  }
  std::sort(document.tokens.begin(), document.tokens.end());
  const auto values = attributes_.begin() + static_cast<ptrdiff_t>(place * attributes_each_);
  document.attributes.assign(values, values + static_cast<ptrdiff_t>(attributes_each_));
  return document;
}

}  // namespace strata
