#include "worker/ctr/model_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <map>
#include <numeric>

#include "base/file/text_file.h"
#include "proto/format/model_manifest.h"
#include "worker/ctr/training_run.h"

namespace strata {
namespace {

static_assert(std::endian::native == std::endian::little, "model files are little-endian");

constexpr char kManifest[] = "manifest";
// What the files hold; their names are "WHAT-GENERATION.bin".
constexpr char kFeatures[] = "features";
constexpr char kSparse[] = "sparse";
constexpr char kDense[] = "dense";
constexpr char kWriter[] = "strata " STRATA_VERSION;

std::string Path(const std::string& folder, const std::string& name) { return folder + "/" + name; }

// What the file of a table holds: "sparse", "sparse.2", "sparse.3" and so on.
std::string SparseName(size_t table) {
  return table == 0 ? std::string(kSparse) : fmt::format("{}.{}", kSparse, table + 1);
}

std::string FileName(std::string_view what, uint64_t generation) {
  return fmt::format("{}-{}.bin", what, generation);
}

// "runs/model/" is the same folder as "runs/model".
std::string WithoutSlash(std::string folder) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  return folder;
}

Result<SavedRows> SortedRows(TableStore& store, const TableSpec& table) {
  SavedRows scanned;
  STRATA_TRY(Scan(store, table, [&](std::span<const Key> keys, std::span<const float> rows) {
    scanned.keys.insert(scanned.keys.end(), keys.begin(), keys.end());
    scanned.values.insert(scanned.values.end(), rows.begin(), rows.end());
    return Status::Ok();
  }));
  std::vector<size_t> order(scanned.keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return scanned.keys[a] < scanned.keys[b]; });
  SavedRows sorted;
  sorted.keys.reserve(scanned.keys.size());
  sorted.values.reserve(scanned.values.size());
  for (const size_t from : order) {
    sorted.keys.push_back(scanned.keys[from]);
    const auto row = scanned.values.begin() + static_cast<ptrdiff_t>(from * table.dim);
    sorted.values.insert(sorted.values.end(), row, row + table.dim);
  }
  return sorted;
}

Status WriteNewFile(Disk& disk, const std::string& path, std::span<const std::byte> content) {
  STRATA_ASSIGN(const std::unique_ptr<File> file, disk.Create(path));
  STRATA_TRY(file->Append(content));
  return file->Sync();
}

// Whether a file of a model may hold this: SparseName of any table, and the two others.
bool IsOurs(std::string_view what) {
  if (what == kFeatures || what == kDense || what == kSparse) return true;
  const std::string prefix = std::string(kSparse) + ".";
  if (!what.starts_with(prefix)) return false;
  size_t number = 0;
  const auto [end, error] =
      std::from_chars(what.data() + prefix.size(), what.data() + what.size(), number);
  return error == std::errc() && number >= 2 && what == SparseName(number - 1);
}

// The generation in a name such as "sparse-3.bin"; 0 for names that are not ours.
uint64_t GenerationOf(std::string_view name) {
  const size_t dash = name.find('-');
  if (dash == std::string_view::npos || !IsOurs(name.substr(0, dash))) return 0;
  const std::string_view rest = name.substr(dash + 1);
  uint64_t generation = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), generation);
  const bool ours = error == std::errc() && name == FileName(name.substr(0, dash), generation);
  return ours ? generation : 0;
}

// What a manifest does not list yet.
void RemoveGeneration(Disk& disk, const std::string& folder, uint64_t generation, size_t tables) {
  std::vector<std::string> all = {kFeatures, kDense};
  for (size_t table = 0; table < tables; ++table) all.push_back(SparseName(table));
  for (const std::string& what : all) {
    static_cast<void>(disk.Remove(Path(folder, FileName(what, generation))));
  }
}

std::vector<std::byte> BytesOf(const SavedRows& rows) {
  std::vector<std::byte> bytes(rows.keys.size() * sizeof(Key) + rows.values.size() * sizeof(float));
  if (bytes.empty()) return bytes;
  const size_t key_bytes = rows.keys.size() * sizeof(Key);
  std::memcpy(bytes.data(), rows.keys.data(), key_bytes);
  std::memcpy(bytes.data() + key_bytes, rows.values.data(), bytes.size() - key_bytes);
  return bytes;
}

std::vector<format::ModelLayer> ManifestLayers(const ModelShape& shape) {
  std::vector<format::ModelLayer> layers;
  for (const LayerSpec& layer : shape.layers) {
    layers.push_back({.name = layer.name,
                      .kind = LayerKindName(layer.kind),
                      .inputs = layer.inputs,
                      .width = layer.width,
                      .begin = layer.begin,
                      .activation = ActivationName(layer.activation),
                      .hidden = layer.is_hidden});
  }
  return layers;
}

// Of the model's own tables, if it has any.
std::vector<format::ModelTable> ManifestTables(const ModelShape& shape,
                                               std::span<const SavedRows> rows) {
  std::vector<format::ModelTable> tables;
  for (const GraphTable& table : shape.tables) {
    tables.push_back({.name = table.name,
                      .slots = table.slots,
                      .dim = table.dim,
                      .combiner = CombinerName(table.combiner),
                      .rows = rows[tables.size()].keys.size()});
  }
  return tables;
}

format::ModelManifest ManifestOf(const SavedModel& model, std::span<const SavedRows> rows) {
  return {.writer = kWriter,
          .job = model.job,
          .seed = model.seed,
          .epochs = model.epochs,
          .samples = model.samples,
          .model = ModelKindName(model.shape.kind),
          .embedding_dim = model.shape.embedding_dim,
          .hidden = model.shape.hidden,
          .bottom = model.shape.bottom,
          .cross_layers = model.shape.cross_layers,
          .cross_rank = model.shape.cross_rank,
          .combiner = CombinerName(model.shape.combiner),
          .loss = LossKindName(model.shape.loss),
          .layers = ManifestLayers(model.shape),
          .tables = ManifestTables(model.shape, rows),
          .slots = static_cast<uint32_t>(model.shape.slots),
          .dense_width = static_cast<uint32_t>(model.shape.dense_width),
          .dense_parameters = model.dense.size(),
          .row_dim = GraphOf(model.shape).row_dim(0),
          .rows = rows[0].keys.size(),
          .table_seed = model.table_seed,
          .initializer = std::string(InitializerKindName(model.initializer.kind)),
          .initializer_scale = model.initializer.scale,
          .value_type = std::string(ElementTypeName(model.value_type)),
          .files = {}};
}

// Writes the files, and the manifest last: until then the folder holds the old model.
Status WriteModel(Disk& disk, const std::string& folder, uint64_t generation,
                  const SavedModel& model, std::span<const SavedRows> sparse) {
  format::ModelManifest manifest = ManifestOf(model, sparse);
  std::map<std::string, std::span<const std::byte>> contents = {
      {kDense, std::as_bytes(std::span(model.dense))},
      {kFeatures, std::as_bytes(std::span(model.features))}};
  std::vector<std::vector<std::byte>> rows;
  for (const SavedRows& table : sparse) rows.push_back(BytesOf(table));
  for (size_t table = 0; table < rows.size(); ++table) contents[SparseName(table)] = rows[table];
  for (const auto& [what, content] : contents) {
    const std::string name = FileName(what, generation);
    if (Status written = WriteNewFile(disk, Path(folder, name), content); !written.ok()) {
      RemoveGeneration(disk, folder, generation, sparse.size());
      return written;
    }
    manifest.files.push_back(format::DescribeModelFile(name, content));
  }
  STRATA_TRY(disk.SyncFolder(folder));
  const std::string path = Path(folder, kManifest);
  const std::string text = format::EncodeModelManifest(manifest);
  const Status written = WriteFileAtomically(disk, path, text);
  if (!written.ok()) {
    // It may be in place all the same, and only not be known to be durable.
    const Result<std::string> found = ReadFile(disk, path, format::kModelManifestBytesMax);
    const bool is_other =
        found.ok() ? *found != text : found.status().code() == StatusCode::kNotFound;
    if (is_other) RemoveGeneration(disk, folder, generation, sparse.size());
  }
  return written;
}

// The file that holds `what`, checked against the manifest.
Result<std::string> ReadChecked(Disk& disk, const std::string& folder,
                                const format::ModelManifest& manifest, std::string_view what,
                                uint64_t bytes_expected) {
  const auto entry = std::find_if(
      manifest.files.begin(), manifest.files.end(), [&](const format::ModelFile& file) {
        return GenerationOf(file.name) > 0 && file.name.substr(0, file.name.find('-')) == what;
      });
  if (entry == manifest.files.end()) {
    return Corrupt(fmt::format("{}: lists no {} file", Path(folder, kManifest), what));
  }
  if (bytes_expected != UINT64_MAX && entry->bytes != bytes_expected) {
    return Corrupt(fmt::format("{}: lists {} with {} bytes, but the model's shape needs {}",
                               Path(folder, kManifest), entry->name, entry->bytes, bytes_expected));
  }
  const std::string path = Path(folder, entry->name);
  STRATA_ASSIGN(const std::unique_ptr<File> file, disk.OpenToRead(path));
  STRATA_ASSIGN(const uint64_t bytes_found, file->Size());
  // Features are text, the others numbers, which may begin with any bytes.
  uint64_t begin = 0;
  if (what == kFeatures) {
    STRATA_ASSIGN(begin, TextBegin(*file));
  }
  if (bytes_found != entry->bytes + begin) {
    return Corrupt(fmt::format("{}: expected {} bytes, found {}", path, entry->bytes, bytes_found));
  }
  STRATA_ASSIGN(std::string content, ReadFile(disk, path, bytes_found));
  content.erase(0, begin);
  STRATA_TRY(format::CheckModelFile(*entry, std::as_bytes(std::span(content)), path));
  return content;
}

Result<ModelKind> ParseModelKind(const std::string& name, const std::string& file) {
  if (const std::optional<ModelKind> kind = ModelKindOf(name)) return *kind;
  return Invalid(
      fmt::format("{}: a model of kind \"{}\", which this build does not have", file, name));
}

Result<Combiner> ParseCombiner(const std::string& name, const std::string& file) {
  if (const std::optional<Combiner> combiner = CombinerOf(name)) return *combiner;
  return Invalid(fmt::format("{}: a combiner \"{}\", which this build does not have", file, name));
}

Result<std::vector<LayerSpec>> ParseLayers(const std::vector<format::ModelLayer>& all,
                                           const std::string& file) {
  std::vector<LayerSpec> layers;
  for (const format::ModelLayer& layer : all) {
    const std::optional<LayerKind> kind = LayerKindOf(layer.kind);
    const std::optional<Activation> activation = ActivationOf(layer.activation);
    if (!kind.has_value() || !activation.has_value()) {
      return Invalid(fmt::format(
          "{}: layer '{}' is of kind \"{}\" with activation \"{}\", which this build does not have",
          file, layer.name, layer.kind, layer.activation));
    }
    layers.push_back({.name = layer.name,
                      .kind = *kind,
                      .inputs = layer.inputs,
                      .width = layer.width,
                      .begin = layer.begin,
                      .activation = *activation,
                      .is_hidden = layer.hidden});
  }
  return layers;
}

Result<SavedModel> ModelOf(const format::ModelManifest& manifest, const std::string& file) {
  SavedModel model{.job = manifest.job,
                   .seed = manifest.seed,
                   .epochs = manifest.epochs,
                   .samples = manifest.samples,
                   .shape = {},
                   .initializer = {},
                   .value_type = {},
                   .table_seed = manifest.table_seed,
                   .features = {},
                   .dense = {}};
  STRATA_ASSIGN(const ModelKind kind, ParseModelKind(manifest.model, file));
  model.shape = {kind,
                 manifest.embedding_dim,
                 manifest.hidden,
                 manifest.slots,
                 manifest.dense_width,
                 manifest.bottom,
                 manifest.cross_layers,
                 manifest.cross_rank};
  STRATA_ASSIGN(model.shape.layers, ParseLayers(manifest.layers, file));
  for (const format::ModelTable& table : manifest.tables) {
    STRATA_ASSIGN(const Combiner combiner, ParseCombiner(table.combiner, file));
    model.shape.tables.push_back(
        {.name = table.name, .slots = table.slots, .dim = table.dim, .combiner = combiner});
  }
  STRATA_ASSIGN(model.shape.combiner, ParseCombiner(manifest.combiner, file));
  const std::optional<LossKind> loss = LossKindOf(manifest.loss);
  if (!loss.has_value()) {
    return Invalid(
        fmt::format("{}: a loss \"{}\", which this build does not have", file, manifest.loss));
  }
  model.shape.loss = *loss;
  STRATA_TRY(ValidateModelShape(model.shape).Prefixed(file));
  const Result<InitializerKind> initializer = ParseInitializerKind(manifest.initializer);
  if (!initializer.ok()) return initializer.status().Prefixed(file);
  model.initializer = {*initializer, manifest.initializer_scale};
  const Result<ElementType> value_type = ParseElementType(manifest.value_type);
  if (!value_type.ok()) return value_type.status().Prefixed(file);
  model.value_type = *value_type;
  if (const uint32_t expected = GraphOf(model.shape).row_dim(0); manifest.row_dim != expected) {
    return Corrupt(
        fmt::format("{}: expected row_dim {}, found {}", file, expected, manifest.row_dim));
  }
  return model;
}

template <typename T>
std::vector<T> Values(std::string_view bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

Result<SavedRows> ReadRows(Disk& disk, const std::string& folder,
                           const format::ModelManifest& manifest, size_t table, size_t row_dim) {
  const uint64_t count = manifest.tables.empty() ? manifest.rows : manifest.tables[table].rows;
  const uint64_t row_bytes = sizeof(Key) + row_dim * sizeof(float);
  if (count > UINT64_MAX / row_bytes) {
    return Corrupt(fmt::format("{}: {} rows cannot be", Path(folder, kManifest), count));
  }
  const std::string what = SparseName(table);
  STRATA_ASSIGN(const std::string bytes,
                ReadChecked(disk, folder, manifest, what, count * row_bytes));
  const std::string_view text = bytes;
  SavedRows rows{.keys = Values<Key>(text.substr(0, count * sizeof(Key))),
                 .values = Values<float>(text.substr(count * sizeof(Key)))};
  const auto disorder =
      std::adjacent_find(rows.keys.begin(), rows.keys.end(), [](Key a, Key b) { return a >= b; });
  if (disorder != rows.keys.end()) {
    return Corrupt(fmt::format("{}, row {}: expected keys in ascending order", Path(folder, what),
                               disorder - rows.keys.begin() + 1));
  }
  return rows;
}

Result<format::ModelManifest> ReadManifest(Disk& disk, const std::string& path) {
  const Result<std::string> text = ReadTextFile(disk, path, format::kModelManifestBytesMax);
  if (text.status().code() == StatusCode::kNotFound) {
    return NotFound(
        fmt::format("{}: no model there: expected a folder that a training run saved "
                    "(output.model)",
                    path));
  }
  STRATA_TRY(text.status());
  return format::DecodeModelManifest(*text, path);
}

}  // namespace

SavedModel TrainedModel(const std::string& job, uint64_t epochs, const ModelShape& shape,
                        const TableSpec& table, std::span<const FittedFeature> features,
                        const TrainingRun& run) {
  return {.job = job,
          .seed = table.seed,
          .epochs = epochs,
          .samples = run.samples(),
          .shape = shape,
          .initializer = table.initializer,
          .value_type = table.value_type,
          .table_seed = table.seed,
          .features = FeaturesToText(features),
          .dense = run.Dense()};
}

Status SaveModel(Disk& disk, const std::string& folder, const SavedModel& model, TableStore& store,
                 std::span<const TableSpec> tables) {
  const std::string place = WithoutSlash(folder);
  std::vector<SavedRows> rows;
  for (const TableSpec& table : tables) {
    STRATA_ASSIGN(SavedRows of_table, SortedRows(store, table));
    rows.push_back(std::move(of_table));
  }
  STRATA_TRY(MakeDurableFolder(disk, place));
  STRATA_ASSIGN(const std::vector<std::string> names, disk.List(place));
  uint64_t newest = 0;
  for (const std::string& name : names) newest = std::max(newest, GenerationOf(name));
  STRATA_TRY(WriteModel(disk, place, newest + 1, model, rows).Prefixed("saving the model"));
  for (const std::string& name : names) {
    if (GenerationOf(name) > 0) STRATA_TRY(disk.Remove(Path(place, name)));
  }
  return disk.SyncFolder(place);
}

std::vector<std::string> ModelFiles(Disk& disk, const std::string& folder) {
  const std::string place = WithoutSlash(folder);
  std::vector<std::string> files = {Path(place, kManifest)};
  const Result<std::vector<std::string>> names = disk.List(place);
  if (!names.ok()) return files;
  for (const std::string& name : *names) {
    if (GenerationOf(name) > 0) files.push_back(Path(place, name));
  }
  return files;
}

bool HoldsModel(Disk& disk, const std::string& folder, const std::string& job, uint64_t seed,
                uint64_t samples) {
  const Result<format::ModelManifest> manifest =
      ReadManifest(disk, Path(WithoutSlash(folder), kManifest));
  return manifest.ok() && manifest->job == job && manifest->seed == seed &&
         manifest->samples >= samples;
}

Result<LoadedModel> LoadModel(Disk& disk, const std::string& folder) {
  const std::string place = WithoutSlash(folder);
  const std::string manifest_path = Path(place, kManifest);
  STRATA_ASSIGN(const format::ModelManifest manifest, ReadManifest(disk, manifest_path));
  LoadedModel loaded;
  STRATA_ASSIGN(loaded.model, ModelOf(manifest, manifest_path));
  const LayerGraph graph = GraphOf(loaded.model.shape);
  const uint64_t dense_expected = graph.parameters();
  if (manifest.dense_parameters != dense_expected) {
    return Corrupt(fmt::format("{}: expected {} dense parameters for the model's shape, found {}",
                               manifest_path, dense_expected, manifest.dense_parameters));
  }
  STRATA_ASSIGN(loaded.model.features, ReadChecked(disk, place, manifest, kFeatures, UINT64_MAX));
  STRATA_ASSIGN(const std::string dense,
                ReadChecked(disk, place, manifest, kDense, dense_expected * sizeof(float)));
  loaded.model.dense = Values<float>(dense);
  for (size_t table = 0; table < graph.spec().tables.size(); ++table) {
    STRATA_ASSIGN(SavedRows rows, ReadRows(disk, place, manifest, table, graph.row_dim(table)));
    loaded.tables.push_back(std::move(rows));
  }
  return loaded;
}

Result<std::vector<FittedFeature>> FeaturesOf(const SavedModel& model, const std::string& folder) {
  STRATA_ASSIGN(std::vector<FittedFeature> features,
                FeaturesFromText(model.features, folder + ": its features file"));
  const size_t slots = CountSlots(SpecsOf(features));
  const ModelShape& shape = model.shape;
  if (slots == shape.slots && features.size() - slots == shape.dense_width) return features;
  return Corrupt(fmt::format(
      "{}: its features file has {} slots and {} dense features, the manifest {} and {}", folder,
      slots, features.size() - slots, shape.slots, shape.dense_width));
}

std::vector<std::string> TableNames(const ModelShape& shape, const std::string& prefix) {
  std::vector<std::string> names;
  for (const GraphTable& table : shape.tables) {
    names.push_back(fmt::format("{}.{}", prefix, table.name));
  }
  return names.empty() ? std::vector<std::string>{prefix} : names;
}

std::vector<TableId> TableIds(std::span<const TableSpec> tables) {
  std::vector<TableId> ids;
  for (const TableSpec& table : tables) ids.push_back(table.id());
  return ids;
}

std::vector<TableSpec> RestoredTables(const SavedModel& model, const std::string& prefix) {
  const LayerGraph graph = GraphOf(model.shape);
  std::vector<TableSpec> tables;
  for (const std::string& name : TableNames(model.shape, prefix)) {
    tables.push_back({.name = name,
                      .dim = graph.row_dim(tables.size()),
                      .optimizer = {},
                      .initializer = model.initializer,
                      .seed = model.table_seed,
                      .value_type = model.value_type});
  }
  return tables;
}

namespace {

// This rank's part of the rows.
Status Fill(const SavedRows& rows, const TableSpec& table, TableStore& store, const Group& group) {
  constexpr size_t kRowsAtOnce = 8192;
  const auto world = static_cast<size_t>(group.world());
  const auto rank = static_cast<size_t>(group.rank());
  const size_t dim = table.dim;
  const size_t end = rows.keys.size() * (rank + 1) / world;
  for (size_t at = rows.keys.size() * rank / world; at < end; at += kRowsAtOnce) {
    const size_t count = std::min(kRowsAtOnce, end - at);
    STRATA_TRY(Assign(store, table, std::span(rows.keys).subspan(at, count),
                      std::span(rows.values).subspan(at * dim, count * dim))
                   .Prefixed("restoring the model"));
  }
  return {};
}

}  // namespace

Status RestoreTables(const LoadedModel& loaded, std::span<const TableSpec> tables,
                     TableStore& store, Group& group) {
  for (size_t table = 0; table < tables.size(); ++table) {
    STRATA_TRY(store.CreateTable(tables[table]));
    STRATA_TRY(Fill(loaded.tables[table], tables[table], store, group));
  }
  int64_t done = 1;
  return group.Allreduce(std::span(&done, 1), ReduceOp::kSum);
}

}  // namespace strata
