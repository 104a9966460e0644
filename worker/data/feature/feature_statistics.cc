#include "worker/data/feature/feature_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "worker/data/feature/feature.h"

namespace strata {
namespace {

// The serialized form, little-endian: magic, rows, features; of each feature count, mean, squares,
// entries, and 16 bytes an entry (hash, value).
constexpr uint64_t kMagic = 0x3154415453545353ULL;  // "SSTSTAT1"

class Writer {
 public:
  template <typename T>
  void Put(T value) {
    static_assert(sizeof(T) == 8);
    const auto bytes = std::as_bytes(std::span(&value, 1));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  std::vector<std::byte> Take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  // False when there are not enough bytes.
  template <typename T>
  bool Get(T* value) {
    static_assert(sizeof(T) == 8);
    if (bytes_.size() < sizeof(T)) return false;
    std::memcpy(value, bytes_.data(), sizeof(T));
    bytes_ = bytes_.subspan(sizeof(T));
    return true;
  }
  size_t left() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
};

bool ByHash(const RowSample::Entry& a, const RowSample::Entry& b) { return a.hash < b.hash; }

bool ParseFeature(Reader& reader, FeatureStatistics::Feature* feature) {
  Moments& moments = feature->moments;
  uint64_t entries = 0;
  if (!reader.Get(&moments.count) || !reader.Get(&moments.mean) || !reader.Get(&moments.squares) ||
      !reader.Get(&entries)) {
    return false;
  }
  if (!std::isfinite(moments.mean) || !std::isfinite(moments.squares) || moments.squares < 0 ||
      entries > RowSample::kRowsMax || reader.left() / 16 < entries) {
    return false;
  }
  for (uint64_t i = 0; i < entries; ++i) {
    RowSample::Entry entry{};
    if (!reader.Get(&entry.hash) || !reader.Get(&entry.value)) return false;
    if (!std::isfinite(entry.value)) return false;
    feature->sample.Add(entry);
  }
  return true;
}

uint64_t HashOf(const DataRow& row) {
  uint64_t hash = Mix64(row.offset);
  for (const std::string_view field : row.fields) hash = Hash64(field, hash);
  return hash;
}

}  // namespace

void Moments::Add(double value) {
  ++count;
  const double difference = value - mean;
  mean += difference / static_cast<double>(count);
  squares += difference * (value - mean);
}

void Moments::Merge(const Moments& other) {
  if (other.count == 0) return;
  const auto ours = static_cast<double>(count);
  const auto theirs = static_cast<double>(other.count);
  const double difference = other.mean - mean;
  mean += difference * (theirs / (ours + theirs));
  squares += other.squares + difference * difference * (ours * theirs / (ours + theirs));
  count += other.count;
}

double Moments::Deviation() const {
  return count < 2 ? 0 : std::sqrt(squares / static_cast<double>(count));
}

void RowSample::Add(Entry entry) {
  if (entry.hash > hash_max_) return;
  entries_.push_back(entry);
  if (entries_.size() >= 2 * kRowsMax) Prune();
}

void RowSample::Prune() {
  const auto last = entries_.begin() + static_cast<ptrdiff_t>(kRowsMax - 1);
  std::nth_element(entries_.begin(), last, entries_.end(), ByHash);
  hash_max_ = last->hash;
  entries_.resize(kRowsMax);
}

std::vector<RowSample::Entry> RowSample::Sorted() const {
  std::vector<Entry> sorted = entries_;
  std::sort(sorted.begin(), sorted.end(), ByHash);
  if (sorted.size() > kRowsMax) sorted.resize(kRowsMax);
  return sorted;
}

Result<FeatureStatistics> FeatureStatistics::Gather(RowReader& reader,
                                                    std::span<const FeatureSpec> features,
                                                    TextCounts* texts) {
  FeatureStatistics statistics(features.size());
  DataRow row;
  while (true) {
    STRATA_ASSIGN(const bool read, reader.Next(&row));
    if (!read) return statistics;
    ++statistics.rows_;
    statistics.content_hash_ += HashOf(row);
    for (size_t i = 0; i < features.size(); ++i) {
      if (texts != nullptr) texts->Add(i, row.fields[reader.plan().feature_columns[i]]);
      const double number = row.numbers[reader.plan().feature_columns[i]];
      if (features[i].kind == FeatureKind::kCategorical || std::isnan(number)) continue;
      Feature& feature = statistics.features_[i];
      if (features[i].kind == FeatureKind::kBucketised) {
        feature.sample.Add(row.offset, number);
      } else {
        feature.moments.Add(features[i].log ? SignedLog(number) : number);
      }
    }
  }
}

Status FeatureStatistics::Merge(const FeatureStatistics& other) {
  if (other.features_.size() != features_.size()) {
    return Invalid(
        fmt::format("statistics of {} features met those of {}: all workers of a job "
                    "must use the same job file",
                    features_.size(), other.features_.size()));
  }
  rows_ += other.rows_;
  content_hash_ += other.content_hash_;
  for (size_t i = 0; i < features_.size(); ++i) {
    features_[i].moments.Merge(other.features_[i].moments);
    for (const RowSample::Entry& entry : other.features_[i].sample.Sorted()) {
      features_[i].sample.Add(entry);
    }
  }
  return Status::Ok();
}

std::vector<std::byte> FeatureStatistics::Serialize() const {
  Writer writer;
  writer.Put(kMagic);
  writer.Put(rows_);
  writer.Put(content_hash_);
  writer.Put(uint64_t{features_.size()});
  for (const Feature& feature : features_) {
    writer.Put(feature.moments.count);
    writer.Put(feature.moments.mean);
    writer.Put(feature.moments.squares);
    const std::vector<RowSample::Entry> sample = feature.sample.Sorted();
    writer.Put(uint64_t{sample.size()});
    for (const RowSample::Entry& entry : sample) {
      writer.Put(entry.hash);
      writer.Put(entry.value);
    }
  }
  return writer.Take();
}

Result<FeatureStatistics> FeatureStatistics::Parse(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  uint64_t magic = 0;
  uint64_t rows = 0;
  uint64_t content_hash = 0;
  uint64_t features = 0;
  const bool head =
      reader.Get(&magic) && reader.Get(&rows) && reader.Get(&content_hash) && reader.Get(&features);
  if (!head || magic != kMagic || features > kFeaturesMax) {
    return Corrupt(fmt::format("{} bytes are no feature statistics: bad head", bytes.size()));
  }
  FeatureStatistics statistics(features);
  statistics.rows_ = rows;
  statistics.content_hash_ = content_hash;
  for (size_t i = 0; i < features; ++i) {
    if (!ParseFeature(reader, &statistics.features_[i])) {
      return Corrupt(fmt::format("{} bytes are no feature statistics: bad feature {} of {}",
                                 bytes.size(), i, features));
    }
  }
  if (reader.left() != 0) {
    return Corrupt(
        fmt::format("feature statistics are followed by {} bytes too many", reader.left()));
  }
  return statistics;
}

}  // namespace strata
