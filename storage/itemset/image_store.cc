#include "storage/itemset/image_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "base/thread/mutex.h"
#include "proto/format/item_list.h"
#include "proto/format/segment_image.h"

namespace strata {
namespace {

using Row = format::ItemManifest::Segment;

constexpr size_t kPartBytes = size_t{8} << 20;
constexpr const char* kManifestKey = "manifest";
constexpr const char* kPuttingKey = "putting";
constexpr const char* kWhatToDo =
    "; bring the folder back from a copy, or start the collection anew";

std::string PartKey(uint64_t number, uint32_t part) {
  return fmt::format("image/{:020}/{:06}", number, part);
}
std::string LiveKey(uint64_t number) { return fmt::format("live/{:020}", number); }
std::string OrderKey(uint64_t number) { return fmt::format("order/{:020}", number); }

std::span<const std::byte> BytesOf(const std::string& text) {
  return std::as_bytes(std::span(text));
}
std::string TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A record that the manifest says is there.
Result<std::string> ReadNamed(const RecordStore& records, const std::string& key,
                              const std::string& what) {
  STRATA_ASSIGN(std::optional<std::string> value, records.Read(key));
  if (value) return *std::move(value);
  return Corrupt(fmt::format("{}: expected {} under {}, found nothing{}", records.name(), what, key,
                             kWhatToDo));
}

const Row* Find(const format::ItemManifest& manifest, uint64_t number) {
  const auto found = std::ranges::lower_bound(manifest.segments, number, {}, &Row::number);
  return found != manifest.segments.end() && found->number == number ? &*found : nullptr;
}

// Everything that a manifest names.
std::set<std::string> KeysOf(const format::ItemManifest& manifest) {
  std::set<std::string> keys;
  for (const Row& row : manifest.segments) {
    for (uint32_t part = 0; part < row.parts; ++part) keys.insert(PartKey(row.number, part));
    if (row.dead > 0) keys.insert(LiveKey(row.number));
    keys.insert(OrderKey(row.order));
  }
  return keys;
}

}  // namespace

ImageStore::ImageStore(RecordStoreOpener open, uint64_t lineage, uint16_t lane)
    : open_(std::move(open)), lineage_(lineage), lane_(lane) {}

Result<format::ItemManifest> ImageStore::ReadManifest(const RecordStore& records) const {
  STRATA_ASSIGN(const std::optional<std::string> text, records.Read(kManifestKey));
  if (!text) return format::ItemManifest{.lineage = lineage_, .lane = lane_, .segments = {}};
  const std::string where = fmt::format("{}: {}", records.name(), kManifestKey);
  STRATA_ASSIGN(format::ItemManifest manifest, format::DecodeItemManifest(*text, where));
  if (manifest.lineage != lineage_ || manifest.lane != lane_) {
    return Invalid(fmt::format(
        "{}: expected images of lineage {:x}, lane {}, found those of lineage {:x}, lane {}: they "
        "are of another log{}",
        where, lineage_, lane_, manifest.lineage, manifest.lane, kWhatToDo));
  }
  return manifest;
}

Result<ImageStore::Numbers> ImageStore::LoadOrder(const RecordStore& records,
                                                  uint64_t order) const {
  const std::string key = OrderKey(order);
  const std::string where = fmt::format("{}: {}", records.name(), key);
  STRATA_ASSIGN(const std::string text, ReadNamed(records, key, "an order of tokens"));
  STRATA_ASSIGN(const auto tokens, format::DecodeTokenOrder(BytesOf(text), order, where));
  auto numbers = TokenNumbers::InOrder(tokens);
  if (!numbers.ok()) return numbers.status().Prefixed(where);
  return std::make_shared<const TokenNumbers>(*std::move(numbers));
}

Result<SegmentState> ImageStore::LoadSegment(const RecordStore& records, const Row& row,
                                             const Numbers& numbers) const {
  std::string text;
  for (uint32_t part = 0; part < row.parts; ++part) {
    const auto what = fmt::format("part {} of {} of the image", part + 1, row.parts);
    STRATA_ASSIGN(std::string bytes, ReadNamed(records, PartKey(row.number, part), what));
    text = part == 0 ? std::move(bytes) : text + bytes;
  }
  const std::string where = fmt::format("{}: {}", records.name(), PartKey(row.number, 0));
  STRATA_ASSIGN(auto image, format::DecodeSegmentImage(BytesOf(text), where));
  if (image.number != row.number || image.order != row.order || image.ids.size() != row.documents) {
    return Corrupt(fmt::format(
        "{}: expected the image of segment {} with order {} and {} documents, found segment {} "
        "with order {} and {}{}",
        where, row.number, row.order, row.documents, image.number, image.order, image.ids.size(),
        kWhatToDo));
  }
  auto segment = Segment::Restore(std::move(image), numbers);
  if (!segment.ok()) return segment.status().Prefixed(where);
  PlaceBits live = AllBits((*segment)->block());
  if (row.dead > 0) {
    const std::string key = LiveKey(row.number);
    const std::string live_where = fmt::format("{}: {}", records.name(), key);
    STRATA_ASSIGN(const std::string bits, ReadNamed(records, key, "live bits"));
    STRATA_ASSIGN(PlaceBits some, format::DecodeLiveBits(BytesOf(bits), row.number, live_where));
    size_t count = 0, outside = some.size() == live.size() ? 0 : 1;
    for (size_t i = 0; i < some.size() && outside == 0; ++i) {
      count += static_cast<size_t>(std::popcount(some[i]));
      outside += (some[i] & ~live[i]) != 0 ? 1 : 0;
    }
    if (outside != 0 || count + row.dead != row.documents) {
      return Corrupt(fmt::format("{}: expected bits of {} of {} documents, found {}{}", live_where,
                                 row.documents - row.dead, row.documents,
                                 outside != 0 ? "others" : fmt::to_string(count), kWhatToDo));
    }
    live = std::move(some);
  }
  return SegmentState{.number = row.number,
                      .segment = *std::move(segment),
                      .live = std::make_shared<const PlaceBits>(std::move(live)),
                      .dead = row.dead,
                      .level = static_cast<int>(std::min<uint32_t>(row.level, INT32_MAX)),
                      .age = row.age};
}

Result<ImageStore::Loaded> ImageStore::Load(WorkPool& pool) {
  STRATA_ASSIGN(const auto records, open_(RecordAccess::kRead));
  STRATA_ASSIGN(format::ItemManifest manifest, ReadManifest(*records));
  const auto& rows = manifest.segments;
  for (const Row& row : rows) {
    if (orders_.contains(row.order)) continue;
    STRATA_ASSIGN(orders_[row.order], LoadOrder(*records, row.order));
  }
  std::vector<SegmentState> segments(rows.size());
  Mutex mutex;
  Status first_error;
  pool.Run(rows.size(), [&](size_t i) {
    auto loaded = LoadSegment(*records, rows[i], orders_.at(rows[i].order));
    const MutexLock lock(mutex);
    if (loaded.ok()) {
      segments[i] = *std::move(loaded);
    } else if (first_error.ok()) {
      first_error = loaded.status().Prefixed(fmt::format("segment {}", rows[i].number));
    }
  });
  STRATA_TRY(first_error);
  return Loaded{std::move(manifest), std::move(segments)};
}

// What an earlier try has left may be more, or less, than was known of it.
Status ImageStore::OpenToWrite() {
  if (records_ != nullptr) return {};
  STRATA_ASSIGN(auto records, open_(RecordAccess::kWrite));
  STRATA_ASSIGN(manifest_, ReadManifest(*records));
  const std::set<std::string> in_force = KeysOf(manifest_);
  STRATA_ASSIGN(const std::optional<std::string> putting, records->Read(kPuttingKey));
  std::vector<RecordChange> left;
  for (size_t at = 0; putting && at < putting->size();) {
    const size_t end = putting->find('\n', at);
    std::string key = putting->substr(at, end - at);
    if (!in_force.contains(key)) left.push_back({std::move(key), std::nullopt});
    at = end == std::string::npos ? putting->size() : end + 1;
  }
  if (!left.empty()) STRATA_TRY(records->Commit(left));
  std::erase_if(orders_, [&](const auto& one) { return !in_force.contains(OrderKey(one.first)); });
  records_ = std::move(records);
  return {};
}

// The name is there no later than the record.
Status ImageStore::PutNamed(const std::string& key, std::span<const std::byte> value) {
  putting_ += key + '\n';
  STRATA_TRY(records_->Put(kPuttingKey, BytesOf(putting_)));
  return records_->Put(key, value);
}

Result<uint64_t> ImageStore::OrderOf(const Numbers& numbers) {
  for (const auto& [order, known] : orders_) {
    if (known == numbers) return order;
  }
  const uint64_t order = orders_.empty() ? 1 : orders_.rbegin()->first + 1;
  STRATA_TRY(PutNamed(OrderKey(order), format::EncodeTokenOrder(order, numbers->Order())));
  orders_[order] = numbers;
  return order;
}

// The number of its parts.
Result<uint32_t> ImageStore::PutImage(const SegmentState& state, uint64_t order) {
  const std::vector<std::byte> bytes =
      format::EncodeSegmentImage(state.segment->Image(state.number, order));
  uint32_t parts = 0;
  for (size_t at = 0; at < bytes.size(); at += kPartBytes, ++parts) {
    const auto part = std::span(bytes).subspan(at, std::min(kPartBytes, bytes.size() - at));
    STRATA_TRY(PutNamed(PartKey(state.number, parts), part));
  }
  ++images_written_;
  bytes_written_ += bytes.size();
  return parts;
}

Status ImageStore::Save(const ItemSetState& state, uint64_t from, uint64_t covered) {
  Status saved = TrySave(state, from, covered);
  if (!saved.ok()) records_.reset();
  return saved;
}

Status ImageStore::TrySave(const ItemSetState& state, uint64_t from, uint64_t covered) {
  STRATA_TRY(OpenToWrite());
  putting_.clear();
  format::ItemManifest next{
      .lineage = lineage_, .lane = lane_, .from = from, .covered = covered, .segments = {}};
  std::vector<RecordChange> changes;
  for (const SegmentState& segment : state.segments) {
    const Row* const known = Find(manifest_, segment.number);
    STRATA_ASSIGN(const uint64_t order, OrderOf(segment.segment->numbers()));
    uint32_t parts = known != nullptr ? known->parts : 0;
    if (known == nullptr) {
      STRATA_ASSIGN(parts, PutImage(segment, order));
    }
    next.segments.push_back({.number = segment.number,
                             .level = static_cast<uint32_t>(segment.level),
                             .age = segment.age,
                             .documents = static_cast<uint32_t>(segment.segment->size()),
                             .dead = static_cast<uint32_t>(segment.dead),
                             .order = order,
                             .parts = parts});
    // Documents only ever die: as many dead ones are the same.
    if (segment.dead > (known != nullptr ? known->dead : 0)) {
      changes.push_back(
          {LiveKey(segment.number), TextOf(format::EncodeLiveBits(segment.number, *segment.live))});
    }
  }
  const std::set<std::string> kept = KeysOf(next);
  for (const std::string& key : KeysOf(manifest_)) {
    if (!kept.contains(key)) changes.push_back({key, std::nullopt});
  }
  changes.push_back({kManifestKey, format::EncodeItemManifest(next)});
  STRATA_TRY(records_->Commit(changes));
  manifest_ = std::move(next);
  std::erase_if(orders_, [&](const auto& one) { return !kept.contains(OrderKey(one.first)); });
  return {};
}

}  // namespace strata
