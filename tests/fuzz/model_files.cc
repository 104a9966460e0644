// A folder of a saved model in which one file is as the input has it: the first byte says which.
// The manifest fits what lies there, so that chance gets past the checksums.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "proto/format/model_manifest.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/sim_disk.h"
#include "worker/ctr/model_file.h"
#include "worker/data/feature/feature.h"

namespace strata::fuzz {
namespace {

// Of the folder; the last is the manifest.
constexpr std::array<const char*, 4> kNames = {"features-1.bin", "sparse-1.bin", "dense-1.bin",
                                               "manifest"};

std::string BytesOf(const auto& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

using Contents = std::array<std::string, kNames.size()>;

// Two rows of a width of 2, eight parameters; the body of the manifest is empty.
Contents GoodFiles() {
  const std::vector<FittedFeature> features = {
      {.spec = {.column = "a", .standardise = true},
       .mean = 3.5,
       .deviation = 0.1,
       .boundaries = {}},
      {.spec = {.column = "b", .kind = FeatureKind::kBucketised, .buckets = 4},
       .boundaries = {-1.25, 18}},
      {.spec = {.column = "c", .kind = FeatureKind::kCategorical}, .boundaries = {}}};
  const std::array<uint64_t, 2> keys = {3, 4};
  return {FeaturesToText(features), BytesOf(keys) + BytesOf(std::array<float, 4>{1, 2, 3, 4}),
          BytesOf(std::array<float, 8>{}), ""};
}

std::string ManifestOf(const Contents& contents) {
  format::ModelManifest manifest{.writer = "strata",
                                 .job = "job",
                                 .model = "deepfm",
                                 .embedding_dim = 1,
                                 .hidden = {1},
                                 .slots = 2,
                                 .dense_width = 1,
                                 .dense_parameters = contents[2].size() / sizeof(float),
                                 .row_dim = 2,
                                 .rows = contents[1].size() / 16,
                                 .initializer = "zero",
                                 .files = {}};
  for (size_t i = 0; i + 1 < kNames.size(); ++i) {
    manifest.files.push_back(
        format::DescribeModelFile(kNames[i], std::as_bytes(std::span(contents[i]))));
  }
  return format::EncodeModelManifest(manifest);
}

std::string Sealed(std::string_view body) {
  return fmt::format("strata-model {} {} {:016x}\n{}", format::kModelVersion, body.size(),
                     Hash64(body, 0), body);
}

// Returns whether it could be loaded.
bool Load(const Contents& contents) {
  SimDisk disk;
  STRATA_CHECK(disk.MakeFolder("m").ok());
  for (size_t i = 0; i < kNames.size(); ++i) {
    STRATA_CHECK(WriteFileAtomically(disk, fmt::format("m/{}", kNames[i]), contents[i]).ok());
  }
  const auto loaded = LoadModel(disk, "m");
  if (!loaded.ok()) {
    STRATA_CHECK_MSG(loaded.status().message().find("m/") != std::string::npos,
                     loaded.status().message());
    return false;
  }
  const LayerGraph graph = GraphOf(loaded->model.shape);
  STRATA_CHECK(loaded->tables.size() == graph.spec().tables.size());
  for (size_t table = 0; table < loaded->tables.size(); ++table) {
    const SavedRows& rows = loaded->tables[table];
    STRATA_CHECK(rows.values.size() == rows.keys.size() * graph.row_dim(table));
  }
  const auto features = FeaturesFromText(loaded->model.features, "features");
  if (!features.ok()) return false;
  // JSON may be written in several ways: what was read must survive, not the bytes.
  const auto again = FeaturesFromText(FeaturesToText(*features), "features");
  STRATA_CHECK(again.ok() && *again == *features);
  return true;
}

}  // namespace

std::vector<Bytes> Seeds() {
  Contents good = GoodFiles();
  good[3] = ManifestOf(good);
  STRATA_CHECK(Load(good));
  good[3].erase(0, good[3].find('\n') + 1);
  std::vector<Bytes> seeds;
  for (size_t i = 0; i < kNames.size(); ++i) {
    Bytes seed = {static_cast<std::byte>(i)};
    const auto bytes = std::as_bytes(std::span(good[i]));
    seed.insert(seed.end(), bytes.begin(), bytes.end());
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace fuzz = strata::fuzz;
  if (size == 0) return 0;
  const size_t file = data[0] % fuzz::kNames.size();
  const std::string content(reinterpret_cast<const char*>(data) + 1, size - 1);
  fuzz::Contents contents = fuzz::GoodFiles();
  contents[3] = fuzz::ManifestOf(contents);
  if (file == 3) {
    contents[3] = fuzz::Sealed(content);
  } else {
    contents[file] = content;
    contents[3] = fuzz::ManifestOf(contents);
  }
  fuzz::Load(contents);
  return 0;
}
