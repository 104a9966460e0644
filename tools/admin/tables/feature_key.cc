// strata-admin key: the key of a feature's text or number, without a server.
#include "worker/data/feature/feature_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/file/disk.h"
#include "base/file/text_file.h"
#include "tools/admin/commands.h"
#include "tools/admin/text/json_line.h"
#include "tools/admin/text/parse_whole.h"
#include "tools/admin/text/table_text.h"
#include "worker/data/feature/feature.h"
#include "worker/data/raw/raw_features.h"
#include "worker/data/raw/raw_layout.h"
#include "worker/job/job.h"

namespace strata::admin {
namespace {

constexpr uint64_t kFeaturesBytesMax = uint64_t{1} << 30;

// What the job file and the model say of the column.
struct Known {
  std::vector<FittedFeature> features;  // empty: no file was given
  std::string file;                     // that lists them
  bool trim = false;                    // as the job says
  std::vector<std::string> missing;     // texts of the job
  std::string job;                      // its name; "": unknown
  std::vector<GraphTable> tables;       // of the job; none: there is one
};

Result<std::vector<FittedFeature>> ReadFeatures(const std::string& path) {
  STRATA_ASSIGN(const std::string text, ReadTextFile(RealDisk(), path, kFeaturesBytesMax));
  if (!IsFeaturesText(text)) {
    return Invalid(
        fmt::format("{}: holds no features: expected features-N.bin, which is in the "
                    "folder of the saved model",
                    path));
  }
  return FeaturesFromText(text, path);
}

Result<Known> ReadFiles(const KeyRequest& request) {
  Known known;
  if (!request.job_file.empty()) {
    STRATA_ASSIGN(const JobConfig job, LoadJob(RealDisk(), request.job_file, {}));
    if (job.has_trees()) {
      return Invalid(fmt::format("{}: model.kind = \"gbdt\": trees have no table, and so no keys",
                                 request.job_file));
    }
    for (const FeatureSpec& spec : job.data.features) {
      known.features.push_back({.spec = spec, .boundaries = {}});
    }
    if (job.data.raw.has_value()) known.features = RawFeatures(*job.data.raw);
    known.file = request.job_file;
    known.trim = job.data.format.trim;
    known.missing = job.data.format.missing;
    known.job = job.name;
    known.tables = job.tables;
  }
  if (!request.features_file.empty()) {
    STRATA_ASSIGN(known.features, ReadFeatures(request.features_file));
    known.file = request.features_file;
  }
  return known;
}

bool HasKeys(const FittedFeature& feature) { return feature.spec.kind != FeatureKind::kNumeric; }

// Which of the features with keys this one is, from 0 on.
size_t SlotOf(const Known& known, const FittedFeature& feature) {
  size_t slot = 0;
  for (const FittedFeature& other : known.features) {
    if (other == feature) break;
    if (HasKeys(other)) ++slot;
  }
  return slot;
}

// Slots stand in the order of the tables, as LoadJob puts them.
std::string TableOf(const Known& known, const FittedFeature& feature) {
  size_t slot = SlotOf(known, feature);
  for (const GraphTable& table : known.tables) {
    if (slot < table.slots) return fmt::format("{}.{}", known.job, table.name);
    slot -= table.slots;
  }
  return known.job + ".embedding";
}

// The one feature of the column that has keys.
Result<FittedFeature> FindFeature(const KeyRequest& request, const Known& known) {
  if (known.features.empty()) {
    const FeatureKind kind =
        request.kind == "bucketised" ? FeatureKind::kBucketised : FeatureKind::kCategorical;
    return FittedFeature{.spec = {.column = request.column, .kind = kind}, .boundaries = {}};
  }
  std::vector<FittedFeature> found;
  bool numeric = false;
  for (const FittedFeature& feature : known.features) {
    const FeatureKind kind = feature.spec.kind;
    if (feature.spec.column != request.column) continue;
    if (kind == FeatureKind::kNumeric) {
      numeric = true;
    } else if (request.kind.empty() || request.kind == FeatureKindName(kind)) {
      found.push_back(feature);
    }
  }
  if (found.size() == 1) return found[0];
  if (found.size() > 1) {
    return Invalid(fmt::format("{}: column '{}' is categorical and bucketised: say which by --kind",
                               known.file, request.column));
  }
  if (numeric && request.kind.empty()) {
    return Invalid(fmt::format(
        "{}: column '{}' is a numeric feature, which has no keys: the model takes its number",
        known.file, request.column));
  }
  return NotFound(fmt::format("{}: there is no {} feature of column '{}'", known.file,
                              request.kind.empty() ? "categorical or bucketised" : request.kind,
                              request.column));
}

// The text that the model sees; "": missing.
std::string Seen(const KeyRequest& request, const Known& known) {
  if (request.missing) return "";
  std::string_view text = *request.text;
  if (known.trim) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    text.remove_suffix(text.size() - (text.find_last_not_of(" \t") + 1));
  }
  const bool missing = std::ranges::find(known.missing, text) != known.missing.end();
  return missing ? std::string() : std::string(text);
}

Result<uint64_t> BucketOfText(const FittedFeature& feature, const KeyRequest& request,
                              const std::string& text) {
  if (request.features_file.empty()) {
    return Invalid(
        fmt::format("column '{}' is bucketised: its buckets are those that training found: add "
                    "--features=FILE, which is features-N.bin in the folder of the saved model",
                    request.column));
  }
  double number = 0;
  if (!ParseWhole(text, &number) || !std::isfinite(number)) {
    return Invalid(fmt::format("TEXT '{}': column '{}' is bucketised: expected a finite number",
                               text, request.column));
  }
  return BucketOf(feature, number);
}

// Of a value of raw records, which are whole numbers and never missing.
Result<Key> KeyOfRaw(const Known& known, const FittedFeature& feature, const KeyRequest& request,
                     const std::string& text) {
  uint32_t value = 0;
  if (request.missing || !ParseWhole(text, &value)) {
    return Invalid(
        fmt::format("TEXT '{}': '{}' is of raw records: expected a whole number from 0 "
                    "to {}",
                    text, request.column, UINT32_MAX));
  }
  return RawKey(static_cast<uint32_t>(SlotOf(known, feature)), value);
}

std::string AsText(const nlohmann::ordered_json& json) {
  using enum TableText::Align;
  std::vector<TableText::Column> columns;
  std::vector<std::string> cells;
  for (const auto& [name, value] : json.items()) {
    columns.push_back({name, value.is_number() ? kRight : kLeft});
    cells.push_back(value.is_string() ? value.get<std::string>()
                                      : (value.is_null() ? "(missing)" : value.dump()));
  }
  TableText table(std::move(columns));
  table.AddRow(std::move(cells));
  return table.ToString();
}

}  // namespace

Status RunKey(const Request& request, std::string* out) {
  const KeyRequest& asked = request.key;
  if (asked.text.has_value() == asked.missing) {
    return Invalid(asked.missing ? "TEXT and --missing exclude each other: give one"
                                 : "TEXT is missing: give the field's text, or --missing");
  }
  STRATA_ASSIGN(const Known known, ReadFiles(asked));
  STRATA_ASSIGN(const FittedFeature feature, FindFeature(asked, known));
  const std::string text = Seen(asked, known);
  const uint64_t salt = FeatureSalt(feature.spec);
  nlohmann::ordered_json json = {
      {"column", asked.column}, {"kind", FeatureKindName(feature.spec.kind)}, {"text", text}};
  Key key = 0;
  if (feature.raw_keys > 0) {
    STRATA_ASSIGN(key, KeyOfRaw(known, feature, asked, text));
  } else if (text.empty()) {
    json["text"] = nullptr;
    key = MissingKey(salt);
  } else if (feature.spec.kind == FeatureKind::kBucketised) {
    STRATA_ASSIGN(const uint64_t bucket, BucketOfText(feature, asked, text));
    json["bucket"] = bucket;
    key = BucketKey(salt, bucket);
  } else {
    key = TextKey(salt, text);
  }
  json["key"] = key;
  if (!known.job.empty()) json["table"] = TableOf(known, feature);
  *out = request.output == Request::Output::kJson ? JsonLine(json) : AsText(json);
  return {};
}

}  // namespace strata::admin
