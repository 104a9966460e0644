// Fitted features as text: a head line, then one JSON object a line.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "worker/data/feature/feature.h"

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "strata-features";
constexpr int kVersion = 1;
constexpr const char* kRawKind = "raw";  // of a slot of raw records
constexpr uint32_t kRawKeysMax = 65536;

Json ToJson(const FittedFeature& feature) {
  const FeatureSpec& spec = feature.spec;
  Json json;
  json["column"] = spec.column;
  json["kind"] = FeatureKindName(spec.kind);
  if (spec.kind == FeatureKind::kNumeric) {
    json["log"] = spec.log;
    json["standardise"] = spec.standardise;
    json["mean"] = feature.mean;
    json["deviation"] = feature.deviation;
  } else if (spec.kind == FeatureKind::kBucketised) {
    json["buckets"] = spec.buckets;
    json["boundaries"] = feature.boundaries;
  } else if (!spec.keys_of.empty()) {
    json["keys_of"] = spec.keys_of;
  } else if (feature.raw_keys > 0) {
    json["kind"] = kRawKind;
    json["keys"] = feature.raw_keys;
  }
  return json;
}

// Ok when the object has exactly these members.
Status CheckMembers(const Json& json, std::initializer_list<const char*> names) {
  if (!json.is_object()) return Corrupt("expected a JSON object");
  for (const char* name : names) {
    if (!json.contains(name)) return Corrupt(fmt::format("'{}' is missing", name));
  }
  for (const auto& [key, value] : json.items()) {
    if (std::ranges::find(names, key) == names.end()) {
      return Corrupt(fmt::format("unknown member '{}'", key));
    }
  }
  return Status::Ok();
}

Result<double> GetNumber(const Json& json, const char* what) {
  if (json.is_number() && std::isfinite(json.get<double>())) return json.get<double>();
  return Corrupt(fmt::format("'{}' must be a finite number; found {}", what, json.dump()));
}

Status ReadNumeric(const Json& json, FittedFeature* feature) {
  STRATA_TRY(CheckMembers(json, {"column", "kind", "log", "standardise", "mean", "deviation"}));
  for (const char* name : {"log", "standardise"}) {
    if (!json[name].is_boolean()) return Corrupt(fmt::format("'{}' must be true or false", name));
  }
  feature->spec.log = json["log"].get<bool>();
  feature->spec.standardise = json["standardise"].get<bool>();
  STRATA_ASSIGN(feature->mean, GetNumber(json["mean"], "mean"));
  STRATA_ASSIGN(feature->deviation, GetNumber(json["deviation"], "deviation"));
  if (feature->deviation <= 0) return Corrupt("'deviation' must be above 0");
  return Status::Ok();
}

Status ReadBucketised(const Json& json, FittedFeature* feature) {
  STRATA_TRY(CheckMembers(json, {"column", "kind", "buckets", "boundaries"}));
  const Json& buckets = json["buckets"];
  if (!buckets.is_number_unsigned() || buckets.get<uint64_t>() < 2 ||
      buckets.get<uint64_t>() > 65536) {
    return Corrupt("'buckets' must be an integer from 2 to 65536");
  }
  feature->spec.buckets = buckets.get<uint32_t>();
  if (!json["boundaries"].is_array() || json["boundaries"].size() >= feature->spec.buckets) {
    return Corrupt("'boundaries' must be an array of fewer numbers than 'buckets'");
  }
  for (const Json& item : json["boundaries"]) {
    STRATA_ASSIGN(const double boundary, GetNumber(item, "boundaries"));
    if (!feature->boundaries.empty() && boundary <= feature->boundaries.back()) {
      return Corrupt("'boundaries' must ascend");
    }
    feature->boundaries.push_back(boundary);
  }
  return Status::Ok();
}

Status ReadCategorical(const Json& json, FittedFeature* feature) {
  if (!json.contains("keys_of")) return CheckMembers(json, {"column", "kind"});
  STRATA_TRY(CheckMembers(json, {"column", "kind", "keys_of"}));
  if (!json["keys_of"].is_string() || json["keys_of"].get_ref<const std::string&>().empty()) {
    return Corrupt("'keys_of' must be the name of a column");
  }
  feature->spec.keys_of = json["keys_of"].get<std::string>();
  return {};
}

Result<uint32_t> ReadRawKeys(const Json& json) {
  STRATA_TRY(CheckMembers(json, {"column", "kind", "keys"}));
  const Json& keys = json["keys"];
  if (keys.is_number_unsigned() && keys.get<uint64_t>() >= 1 &&
      keys.get<uint64_t>() <= kRawKeysMax) {
    return keys.get<uint32_t>();
  }
  return Corrupt(fmt::format("'keys' must be an integer from 1 to {}", kRawKeysMax));
}

Result<FittedFeature> FromJson(const Json& json) {
  if (!json.is_object() || !json.contains("column") || !json["column"].is_string() ||
      !json.contains("kind") || !json["kind"].is_string()) {
    return Corrupt("expected a JSON object with the texts 'column' and 'kind'");
  }
  FittedFeature feature;
  feature.spec.column = json["column"].get<std::string>();
  const std::string kind = json["kind"].get<std::string>();
  if (kind == FeatureKindName(FeatureKind::kNumeric)) {
    feature.spec.kind = FeatureKind::kNumeric;
    STRATA_TRY(ReadNumeric(json, &feature));
  } else if (kind == FeatureKindName(FeatureKind::kBucketised)) {
    feature.spec.kind = FeatureKind::kBucketised;
    STRATA_TRY(ReadBucketised(json, &feature));
  } else if (kind == FeatureKindName(FeatureKind::kCategorical)) {
    feature.spec.kind = FeatureKind::kCategorical;
    STRATA_TRY(ReadCategorical(json, &feature));
  } else if (kind == kRawKind) {
    feature.spec.kind = FeatureKind::kCategorical;
    STRATA_ASSIGN(feature.raw_keys, ReadRawKeys(json));
  } else {
    return Corrupt(fmt::format("unknown kind '{}'", kind));
  }
  return feature;
}

// The number of features that the head line promises.
Result<uint64_t> ReadHead(const Json& json) {
  STRATA_TRY(CheckMembers(json, {"format", "version", "features"}));
  if (json["format"] != kFormat) return Corrupt(fmt::format("'format' must be {}", kFormat));
  if (json["version"] != kVersion) {
    return Corrupt(fmt::format("version {} is not known; this program knows {}",
                               json["version"].dump(), kVersion));
  }
  if (!json["features"].is_number_unsigned()) return Corrupt("'features' must be a count");
  return json["features"].get<uint64_t>();
}

}  // namespace

std::string FeaturesToText(std::span<const FittedFeature> features) {
  Json head;
  head["format"] = kFormat;
  head["version"] = kVersion;
  head["features"] = features.size();
  std::string text = head.dump() + "\n";
  for (const FittedFeature& feature : features) text += ToJson(feature).dump() + "\n";
  return text;
}

bool IsFeaturesText(std::string_view text) {
  return text.substr(0, text.find('\n')).find(kFormat) != std::string_view::npos;
}

Result<std::vector<FittedFeature>> FeaturesFromText(std::string_view text,
                                                    const std::string& name) {
  std::vector<FittedFeature> features;
  uint64_t expected = 0;
  size_t line_number = 0;
  while (!text.empty()) {
    const std::string where = fmt::format("{}:{}", name, ++line_number);
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return Corrupt(where + ": the line does not end");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    const Json json = ParseOrderedJson(line);
    if (json.is_discarded()) return Corrupt(where + ": this is no JSON");
    if (line_number == 1) {
      Result<uint64_t> head = ReadHead(json);
      if (!head.ok()) return head.status().Prefixed(where);
      expected = *head;
      continue;
    }
    Result<FittedFeature> feature = FromJson(json);
    if (!feature.ok()) return feature.status().Prefixed(where);
    features.push_back(std::move(feature).value());
  }
  if (line_number == 0 || features.size() != expected) {
    return Corrupt(fmt::format("{}: {} features, expected {}: the file is incomplete", name,
                               features.size(), expected));
  }
  return features;
}

}  // namespace strata
