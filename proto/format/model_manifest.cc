#include "proto/format/model_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/human_text.h"
#include "base/json_text.h"
#include "proto/format/sealed_json.h"

namespace strata::format {
namespace {

using nlohmann::json;

constexpr Seal SealOf(uint32_t version) {
  return {.kind = "strata-model",
          .version = version,
          .what = "a model manifest",
          .program = "the strata-worker that saved the model"};
}

constexpr std::string_view kFp32 = "fp32";  // these are said by silence
constexpr std::string_view kSum = "sum";
constexpr std::string_view kLogloss = "logloss";

uint64_t BlockCount(uint64_t bytes) {
  return bytes / kModelBlockBytes + (bytes % kModelBlockBytes != 0 ? 1 : 0);
}

Status TakeFiles(const json& list, const std::string& file, std::vector<ModelFile>* files) {
  for (const json& element : list) {
    ModelFile entry;
    Members members(element, file + ": files");
    members.Take("name", &entry.name);
    members.Take("bytes", &entry.bytes);
    members.Take("checksums", &entry.checksums);
    STRATA_TRY(members.status());
    if (entry.checksums.size() != BlockCount(entry.bytes)) {
      return Corrupt(fmt::format("{}: {} has {} checksums, expected {} for {} bytes", file,
                                 entry.name, entry.checksums.size(), BlockCount(entry.bytes),
                                 entry.bytes));
    }
    files->push_back(std::move(entry));
  }
  return {};
}

constexpr std::string_view kNoActivation = "none";

json LayersOf(const ModelManifest& manifest) {
  json layers = json::array();
  for (const ModelLayer& layer : manifest.layers) {
    json object = {{"name", layer.name}, {"kind", layer.kind}, {"inputs", layer.inputs}};
    if (layer.width != 0) object["width"] = layer.width;
    if (layer.begin != 0) object["begin"] = layer.begin;
    if (layer.activation != kNoActivation) object["activation"] = layer.activation;
    if (layer.hidden) object["hidden"] = true;
    layers.push_back(std::move(object));
  }
  return layers;
}

Status TakeLayers(const json& list, const std::string& file, std::vector<ModelLayer>* layers) {
  for (const json& element : list) {
    ModelLayer layer;
    Members members(element, fmt::format("{}: layer {}", file, layers->size() + 1));
    members.Take("name", &layer.name);
    members.Take("kind", &layer.kind);
    members.Take("inputs", &layer.inputs);
    members.TakeOptional("width", &layer.width);
    members.TakeOptional("begin", &layer.begin);
    members.TakeOptional("activation", &layer.activation);
    members.TakeOptional("hidden", &layer.hidden);
    STRATA_TRY(members.status());
    layers->push_back(std::move(layer));
  }
  return {};
}

json TablesOf(const ModelManifest& manifest) {
  json tables = json::array();
  for (const ModelTable& table : manifest.tables) {
    tables.push_back(
        {{"name", table.name}, {"slots", table.slots}, {"dim", table.dim}, {"rows", table.rows}});
    if (table.combiner != kSum) tables.back()["combiner"] = table.combiner;
  }
  return tables;
}

Status TakeTables(const json& list, const std::string& file, std::vector<ModelTable>* tables) {
  for (const json& element : list) {
    ModelTable table;
    Members members(element, fmt::format("{}: table {}", file, tables->size() + 1));
    members.Take("name", &table.name);
    members.Take("slots", &table.slots);
    members.Take("dim", &table.dim);
    members.Take("rows", &table.rows);
    members.TakeOptional("combiner", &table.combiner);
    STRATA_TRY(members.status());
    tables->push_back(std::move(table));
  }
  return {};
}

// The oldest version that can say all of it.
uint32_t VersionOf(const ModelManifest& manifest) {
  const auto is_sum = [](const ModelTable& table) { return table.combiner == kSum; };
  if (!std::ranges::all_of(manifest.tables, is_sum)) return 3;
  return manifest.combiner == kSum && manifest.loss == kLogloss ? 1 : 2;
}

std::span<const std::byte> Block(std::span<const std::byte> content, size_t block) {
  const size_t begin = block * kModelBlockBytes;
  return content.subspan(begin, std::min(kModelBlockBytes, content.size() - begin));
}

}  // namespace

std::string EncodeModelManifest(const ModelManifest& manifest) {
  json files = json::array();
  for (const ModelFile& file : manifest.files) {
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"checksums", file.checksums}});
  }
  json body = {{"writer", manifest.writer},
               {"job", manifest.job},
               {"seed", manifest.seed},
               {"epochs", manifest.epochs},
               {"samples", manifest.samples},
               {"model", manifest.model},
               {"embedding_dim", manifest.embedding_dim},
               {"hidden", manifest.hidden},
               {"slots", manifest.slots},
               {"dense_width", manifest.dense_width},
               {"dense_parameters", manifest.dense_parameters},
               {"row_dim", manifest.row_dim},
               {"rows", manifest.rows},
               {"table_seed", manifest.table_seed},
               {"initializer", manifest.initializer},
               {"initializer_scale", manifest.initializer_scale},
               {"files", files}};
  if (manifest.value_type != kFp32) body["value_type"] = manifest.value_type;
  if (!manifest.bottom.empty()) body["bottom"] = manifest.bottom;
  if (manifest.cross_layers != 0) body["cross_layers"] = manifest.cross_layers;
  if (manifest.cross_rank != 0) body["cross_rank"] = manifest.cross_rank;
  if (manifest.combiner != kSum) body["combiner"] = manifest.combiner;
  if (manifest.loss != kLogloss) body["loss"] = manifest.loss;
  if (!manifest.layers.empty()) body["layers"] = LayersOf(manifest);
  if (!manifest.tables.empty()) body["tables"] = TablesOf(manifest);
  // Names that are no UTF-8 are for people only: better a replaced letter than no model.
  const std::string text = body.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
  return SealText(SealOf(VersionOf(manifest)), text);
}

Result<ModelManifest> DecodeModelManifest(std::string_view bytes, const std::string& file) {
  STRATA_ASSIGN(const std::string_view text, UnsealText(SealOf(kModelVersion), bytes, file));
  const json body = ParseJson(text);
  ModelManifest manifest;
  Members members(body, file);
  members.Take("writer", &manifest.writer);
  members.Take("job", &manifest.job);
  members.Take("seed", &manifest.seed);
  members.Take("epochs", &manifest.epochs);
  members.Take("samples", &manifest.samples);
  members.Take("model", &manifest.model);
  members.Take("embedding_dim", &manifest.embedding_dim);
  members.Take("hidden", &manifest.hidden);
  members.Take("slots", &manifest.slots);
  members.Take("dense_width", &manifest.dense_width);
  members.Take("dense_parameters", &manifest.dense_parameters);
  members.Take("row_dim", &manifest.row_dim);
  members.Take("rows", &manifest.rows);
  members.Take("table_seed", &manifest.table_seed);
  members.Take("initializer", &manifest.initializer);
  members.Take("initializer_scale", &manifest.initializer_scale);
  members.TakeOptional("value_type", &manifest.value_type);
  members.TakeOptional("bottom", &manifest.bottom);
  members.TakeOptional("cross_layers", &manifest.cross_layers);
  members.TakeOptional("cross_rank", &manifest.cross_rank);
  members.TakeOptional("combiner", &manifest.combiner);
  members.TakeOptional("loss", &manifest.loss);
  const json* files = members.Array("files");
  STRATA_TRY(members.status());
  if (body.contains("layers")) {
    const json* layers = members.Array("layers");
    STRATA_TRY(members.status());
    STRATA_TRY(TakeLayers(*layers, file, &manifest.layers));
  }
  if (body.contains("tables")) {
    const json* tables = members.Array("tables");
    STRATA_TRY(members.status());
    STRATA_TRY(TakeTables(*tables, file, &manifest.tables));
  }
  STRATA_TRY(TakeFiles(*files, file, &manifest.files));
  // The header line says the version, and no checksum is of it.
  const uint32_t version = VersionOf(manifest);
  if (!bytes.starts_with(fmt::format("{} {} ", SealOf(version).kind, version))) {
    return Corrupt(fmt::format(
        "{}: bytes 0 to {}: expected version {}, which says what is in it, found '{}'", file,
        bytes.find('\n'), version, ShownBytes(bytes.substr(0, bytes.find('\n')))));
  }
  return manifest;
}

ModelFile DescribeModelFile(const std::string& name, std::span<const std::byte> content) {
  ModelFile file{.name = name, .bytes = content.size(), .checksums = {}};
  for (size_t block = 0; block < BlockCount(content.size()); ++block) {
    file.checksums.push_back(Hash64(Block(content, block)));
  }
  return file;
}

Status CheckModelFile(const ModelFile& expected, std::span<const std::byte> content,
                      const std::string& path) {
  if (content.size() != expected.bytes) {
    return Corrupt(
        fmt::format("{}: expected {} bytes, found {}", path, expected.bytes, content.size()));
  }
  for (size_t block = 0; block < expected.checksums.size(); ++block) {
    const std::span<const std::byte> bytes = Block(content, block);
    if (const uint64_t found = Hash64(bytes); found != expected.checksums[block]) {
      return Corrupt(
          fmt::format("{}: block {} (bytes {} to {}): expected checksum {:016x}, found {:016x}",
                      path, block, block * kModelBlockBytes,
                      block * kModelBlockBytes + bytes.size(), expected.checksums[block], found));
    }
  }
  return {};
}

}  // namespace strata::format
