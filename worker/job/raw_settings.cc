#include "worker/job/raw_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>
#include <vector>

#include "worker/data/feature/feature.h"
#include "worker/data/raw/raw_features.h"
#include "worker/job/data_settings.h"
#include "worker/job/wrong_setting.h"

namespace strata {
namespace {

constexpr std::string_view kOfRaw[] = {"data.raw_dense", "data.raw_dense_type",
                                       "data.raw_label_type", "data.raw_slots", "data.raw_keys"};

// Keys of each slot.
Status ReadRawSlots(const Settings& settings, RawLayout* layout) {
  constexpr size_t kSlotsMax = 65536;
  constexpr size_t kKeysMax = size_t{1} << 20;
  for (const int64_t keys : settings.IntList("data.raw_keys")) {
    layout->slot_keys.push_back(static_cast<uint32_t>(keys));
  }
  const auto slots = static_cast<size_t>(settings.Int("data.raw_slots"));
  if (layout->slot_keys.empty()) layout->slot_keys.assign(slots, 1);
  if (layout->slot_keys.empty()) {
    return Wrong(settings, "data.raw_slots",
                 "is 0: expected the number of slots of a record, or the keys of each slot in "
                 "data.raw_keys, as data.format = \"raw\" has no header that says so");
  }
  if (settings.IsSet("data.raw_slots") && layout->slot_keys.size() != slots) {
    return Wrong(settings, "data.raw_keys",
                 fmt::format("has {} numbers, and data.raw_slots is {}: expected a number for each "
                             "slot; data.raw_slots need not be given",
                             layout->slot_keys.size(), slots));
  }
  if (layout->slot_keys.size() > kSlotsMax || layout->keys() > kKeysMax) {
    return Wrong(settings, "data.raw_keys",
                 fmt::format("has {} slots and {} keys: expected at most {} and {}",
                             layout->slot_keys.size(), layout->keys(), kSlotsMax, kKeysMax));
  }
  return {};
}

// "data.raw_dense at job.toml:5:1, data.raw_slots at job.toml:6:1"
std::string LayoutPlaces(const Settings& settings) {
  std::vector<std::string> places;
  for (const std::string_view key : kOfRaw) {
    if (key == "data.threads" || !settings.IsSet(key)) continue;
    places.push_back(fmt::format("{} at {}", key, settings.Origin(key)));
  }
  return fmt::format("{}", fmt::join(places, ", "));
}

}  // namespace

Status ReadRawSettings(const Settings& settings, JobConfig* job) {
  constexpr const char* kFixed = "records are numbers without a header (data.raw_*)";
  STRATA_TRY(RefuseColumns(settings, kFixed));
  for (const std::string_view key : {"data.label_positive", "data.label_negative"}) {
    if (settings.IsSet(key)) return Contradicts(settings, key, kFixed);
  }
  if (settings.IsSet("data.bad_share_max")) {
    return Wrong(settings, "data.bad_share_max",
                 "has no effect on data.format = \"raw\", where one bad record ends the job: "
                 "remove it");
  }
  if (settings.Text("model.kind") == "gbdt") {
    return Wrong(settings, "data.format",
                 "= \"raw\" is for click models: trees read data.format = \"csv\" or \"criteo\"");
  }
  if (settings.Bool("output.dictionary")) {
    return Wrong(settings, "output.dictionary",
                 "is for columns of texts, which data.format = \"raw\" has not: remove it");
  }
  RawLayout layout;
  layout.dense_width = static_cast<size_t>(settings.Int("data.raw_dense"));
  const auto type = [&](std::string_view key) {
    return settings.Text(key) == "int" ? RawNumber::kInt : RawNumber::kFloat;
  };
  layout.dense = type("data.raw_dense_type");
  const bool as_dense = settings.Text("data.raw_label_type") == "as_dense";
  layout.label = as_dense ? layout.dense : type("data.raw_label_type");
  STRATA_TRY(ReadRawSlots(settings, &layout));
  layout.settings = LayoutPlaces(settings);
  job->data.features = SpecsOf(RawFeatures(layout));
  job->data.raw = std::move(layout);
  return {};
}

Status RefuseRawSettings(const Settings& settings) {
  for (const std::string_view key : kOfRaw) {
    if (!settings.IsSet(key)) continue;
    return Wrong(settings, key,
                 fmt::format("is for data.format = \"raw\"; the job's is \"{}\": remove it",
                             settings.Text("data.format")));
  }
  return {};
}

}  // namespace strata
