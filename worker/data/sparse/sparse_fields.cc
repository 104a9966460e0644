#include "worker/data/sparse/sparse_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>

#include "base/hash.h"

namespace strata {
namespace {

constexpr const char* kIndexColumn = "index";

// The serialized form, little-endian: 64-bit words, these three and the fields in ascending order.
constexpr uint64_t kMagic = 0x3153524150535353ULL;  // "SSSPARS1"
constexpr size_t kHeadWords = 3;                    // magic, rows, hash

std::string ColumnOf(SparseFormat format, uint32_t field) {
  return format == SparseFormat::kLibffm ? fmt::format("{}", field) : kIndexColumn;
}

// The field whose column this is, if it is one's.
std::optional<uint32_t> FieldOf(SparseFormat format, const std::string& column) {
  uint32_t field = 0;
  std::from_chars(column.data(), column.data() + column.size(), field);
  return ColumnOf(format, field) == column ? std::optional(field) : std::nullopt;
}

}  // namespace

Status SparseFields::Add(uint32_t field) {
  if (SlotOf(field).has_value()) return Status::Ok();
  if (fields_.size() == kFieldsMax) {
    return Invalid(fmt::format(
        "field {} is one too many: expected at most {} different fields; does each value begin "
        "with the field, as in field:feature:value?",
        field, kFieldsMax));
  }
  fields_.insert(std::ranges::upper_bound(fields_, field), field);
  return Status::Ok();
}

std::optional<size_t> SparseFields::SlotOf(uint32_t field) {
  if (next_ >= fields_.size() || fields_[next_] != field) {
    next_ = static_cast<size_t>(std::ranges::lower_bound(fields_, field) - fields_.begin());
    if (next_ == fields_.size() || fields_[next_] != field) return std::nullopt;
  }
  return next_++;
}

Result<SparseStatistics> SparseStatistics::Gather(SparseReader& reader) {
  SparseStatistics statistics;
  SparseRow row;
  while (true) {
    STRATA_ASSIGN(const bool read, reader.Next(&row));
    if (!read) return statistics;
    ++statistics.rows;
    statistics.content_hash += Hash64(row.text, Mix64(row.offset));
    for (const SparseValue& value : row.values) {
      const Status added = statistics.fields.Add(value.field);
      if (!added.ok()) return added.Prefixed(reader.PlaceOfRow());
    }
  }
}

std::vector<std::byte> SparseStatistics::Serialize() const {
  std::vector<uint64_t> words = {kMagic, rows, content_hash};
  words.insert(words.end(), fields.all().begin(), fields.all().end());
  const auto bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}

Status SparseStatistics::AddSerialized(std::span<const std::byte> bytes) {
  std::vector<uint64_t> words(bytes.size() / sizeof(uint64_t));
  const bool whole = words.size() * sizeof(uint64_t) == bytes.size();
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint64_t));
  if (!whole || words.size() < kHeadWords || words[0] != kMagic) {
    return Corrupt(fmt::format("{} bytes are no statistics of sparse rows", bytes.size()));
  }
  rows += words[1];
  content_hash += words[2];
  for (size_t i = kHeadWords; i < words.size(); ++i) {
    if (words[i] > UINT32_MAX || (i > kHeadWords && words[i] <= words[i - 1])) {
      return Corrupt(
          fmt::format("statistics of sparse rows: field {} behind {}: expected ascending "
                      "ones of 32 bits",
                      words[i], words[i - 1]));
    }
    STRATA_TRY(fields.Add(static_cast<uint32_t>(words[i])));
  }
  return Status::Ok();
}

std::vector<FittedFeature> FeaturesOfFields(SparseFormat format, const SparseFields& fields) {
  std::vector<FittedFeature> features;
  for (const uint32_t field : fields.all()) {
    features.push_back(
        {.spec = {.column = ColumnOf(format, field), .kind = FeatureKind::kCategorical},
         .boundaries = {}});
  }
  return features;
}

Result<SparseFields> FieldsOfFeatures(SparseFormat format,
                                      std::span<const FittedFeature> features) {
  SparseFields fields;
  for (const FittedFeature& feature : features) {
    const std::optional<uint32_t> field = FieldOf(format, feature.spec.column);
    const bool ascends =
        fields.all().empty() || (field.has_value() && *field > fields.all().back());
    if (!field.has_value() || !ascends || feature.spec.kind != FeatureKind::kCategorical) {
      return Invalid(fmt::format(
          "data.format = \"{}\": expected a model that was trained with such rows, found one with "
          "the feature {}: use the job file that trained it",
          SparseFormatName(format), FeatureText(feature.spec)));
    }
    STRATA_TRY(fields.Add(*field));
  }
  return fields;
}

}  // namespace strata
