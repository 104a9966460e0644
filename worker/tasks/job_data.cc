#include "worker/tasks/job_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/file/standard_input.h"
#include "base/hash.h"
#include "base/human_text.h"
#include "base/log.h"
#include "worker/ctr/agree.h"
#include "worker/data/batch/pipeline.h"
#include "worker/data/batch/shuffle_source.h"
#include "worker/data/feature/feature_statistics.h"
#include "worker/data/file/file_list.h"
#include "worker/data/raw/raw_batches.h"
#include "worker/data/raw/raw_features.h"
#include "worker/data/sparse/sparse_batches.h"
#include "worker/data/sparse/sparse_fields.h"
#include "worker/data/sparse/sparse_files.h"
#include "worker/data/sparse/sparse_reader.h"
#include "worker/data/text/csv_batches.h"
#include "worker/data/text/csv_files.h"
#include "worker/data/text/csv_reader.h"
#include "worker/model/network.h"

namespace strata {
namespace {

constexpr size_t kBatchesAhead = 4;

Share ShareOf(const Group& group) {
  return {static_cast<uint32_t>(group.rank()), static_cast<uint32_t>(group.world())};
}

constexpr size_t kRowsTried = 1000;
constexpr size_t kFieldsUsual = 1000;  // of sparse rows; more are warned of

// Rows of a table that no layer takes would never be learned.
Status CheckTablesAreTaken(const ModelShape& shape) {
  if (shape.kind != ModelKind::kLayers) return {};
  for (const GraphTable& table : shape.tables) {
    const bool is_taken = std::ranges::any_of(shape.layers, [&](const LayerSpec& layer) {
      return layer.kind == LayerKind::kWide || std::ranges::count(layer.inputs, table.name) > 0 ||
             std::ranges::count(layer.inputs, kEmbeddingsInput) > 0;
    });
    if (is_taken) continue;
    const bool has_section = !table.place.empty();
    const Status unused = Invalid(fmt::format(
        "table '{}'{}: no layer takes it: name it in the inputs of a [[layer]], or remove {}",
        table.name, has_section ? "" : ", of the features that no [[table]] names",
        has_section ? "the section and its features" : "the features"));
    return has_section ? unused.Prefixed(table.place) : unused;
  }
  return {};
}

// A reader of the files that `key` names; its errors begin with where the key was set.
template <typename Reader>
Result<std::unique_ptr<Reader>> OpenReader(Disk& disk, const JobConfig& job, const char* key,
                                           const std::vector<std::string>& files,
                                           const TextOptions& options) {
  if (files.empty()) return NoPath(job.file, key, "the file of rows");
  Result<std::unique_ptr<Reader>> reader = Reader::Open(disk, files, job.data, options);
  if (!reader.ok()) return WrongPath(job, key, reader.status());
  return reader;
}

// The same of raw records, which have neither lines nor columns.
Result<std::unique_ptr<RawBatches>> OpenRaw(Disk& disk, const JobConfig& job, const char* key,
                                            const std::vector<std::string>& files,
                                            RawOptions options) {
  if (files.empty()) return NoPath(job.file, key, "the file of rows");
  options.label_is_number = job.data.label_is_number;
  Result<std::unique_ptr<RawBatches>> opened =
      RawBatches::Open(disk, files, *job.data.raw, options);
  if (!opened.ok()) return WrongPath(job, key, opened.status());
  return opened;
}

// The same, in batches.
Result<std::unique_ptr<BatchSource>> OpenBatches(Disk& disk, const JobConfig& job, const char* key,
                                                 const std::vector<std::string>& files,
                                                 const TextOptions& options,
                                                 const std::vector<FittedFeature>& features) {
  if (job.data.raw.has_value()) {
    STRATA_TRY(CheckRawFeatures(*job.data.raw, features).Prefixed(job.file));
    STRATA_ASSIGN(std::unique_ptr<BatchSource> source,
                  OpenRaw(disk, job, key, files,
                          {.share = options.share,
                           .labels_required = options.labels_required,
                           .order_seed = options.order_seed,
                           .threads = options.threads}));
    return source;
  }
  if (files.empty()) return NoPath(job.file, key, "the file of rows");
  if (job.data.sparse.has_value()) {
    Result<SparseFiles> opened = OpenSparseFiles(disk, files, job.data, options);
    if (!opened.ok()) return WrongPath(job, key, opened.status());
    return MakeSparseBatches(disk, std::move(opened).value(), job.data, options, features);
  }
  Result<CsvFiles> opened = OpenCsvFiles(disk, files, job.data, options);
  if (!opened.ok()) return WrongPath(job, key, opened.status());
  return MakeCsvBatches(disk, std::move(opened).value(), job.data, options, features);
}

// Reads up to `rows_max` of the first rows; how many there were.
template <typename Reader, typename Row>
Result<uint64_t> TryRows(Disk& disk, const JobConfig& job, const char* key,
                         const std::vector<std::string>& files, const TextOptions& options,
                         size_t rows_max) {
  STRATA_ASSIGN(const std::unique_ptr<Reader> reader,
                OpenReader<Reader>(disk, job, key, files, options));
  Row row;
  for (size_t rows = 0; rows < rows_max; ++rows) {
    const Result<bool> read = reader->Next(&row);
    STRATA_TRY(WrongPath(job, key, read.status()));
    if (!*read) return rows;
  }
  return rows_max;
}

// The same of raw records.
Result<uint64_t> TryRaw(Disk& disk, const JobConfig& job, const char* key,
                        const std::vector<std::string>& files, const RawOptions& options,
                        size_t rows_max) {
  STRATA_ASSIGN(const std::unique_ptr<RawBatches> source, OpenRaw(disk, job, key, files, options));
  if (rows_max == 0) return 0;
  Batch batch;
  STRATA_TRY(WrongPath(job, key, source->Next(rows_max, &batch)));
  return batch.samples;
}

// The same of whatever format the job's files have, and of this rank's share of them.
Result<uint64_t> TryFiles(Disk& disk, const JobConfig& job, const char* key,
                          const std::vector<std::string>& files, bool labels_required,
                          const Group& group, size_t rows_max) {
  if (job.data.raw.has_value()) {
    return TryRaw(disk, job, key, files,
                  {.share = ShareOf(group), .labels_required = labels_required}, rows_max);
  }
  const TextOptions options = {
      .share = ShareOf(group), .labels_required = labels_required, .log_bad_lines = false};
  if (job.data.sparse.has_value()) {
    return TryRows<SparseReader, SparseRow>(disk, job, key, files, options, rows_max);
  }
  return TryRows<CsvReader, DataRow>(disk, job, key, files, options, rows_max);
}

Status NoRows(const JobConfig& job) {
  return WrongPath(
      job, "data.train",
      Invalid(fmt::format("{}: has no rows to train on: name a file that has some (headers, "
                          "comments and lines that cannot be read are none)",
                          FilesText(job.train_files))));
}

// The fields of all shares are the features.
Result<JobFeatures> FitSparse(Disk& disk, const JobConfig& job, Group& group) {
  STRATA_ASSIGN(const std::unique_ptr<SparseReader> reader,
                OpenReader<SparseReader>(disk, job, "data.train", job.train_files,
                                         {.share = ShareOf(group)}));
  STRATA_ASSIGN(const SparseStatistics mine, SparseStatistics::Gather(*reader));
  STRATA_ASSIGN(const uint64_t bad_rows, SumOverRanks(group, reader->bad_rows()));
  std::vector<std::vector<std::byte>> all;
  STRATA_TRY(group.Allgather(mine.Serialize(), &all));
  SparseStatistics merged;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    STRATA_TRY(merged.AddSerialized(all[rank]).Prefixed(fmt::format("fields of worker {}", rank)));
  }
  if (merged.rows == 0) return NoRows(job);
  if (merged.fields.all().empty()) {
    return Invalid(
        fmt::format("{}: no row has a value behind its label", FilesText(job.train_files)));
  }
  if (group.rank() == 0 && merged.fields.all().size() > kFieldsUsual) {
    Log(LogLevel::kWarning,
        "{}: {} different fields, each of which is a slot of the model: does every value begin "
        "with its field, as in field:feature:value?",
        FilesText(job.train_files), merged.fields.all().size());
  }
  return JobFeatures{.features = FeaturesOfFields(*job.data.sparse, merged.fields),
                     .rows = merged.rows,
                     .bad_rows = bad_rows,
                     .content_hash = merged.content_hash};
}

// The job says what the features are. Only a checkpoint must know what the records are.
Result<JobFeatures> FitRaw(Disk& disk, const JobConfig& job, Group& group) {
  STRATA_ASSIGN(const std::unique_ptr<RawBatches> source,
                OpenRaw(disk, job, "data.train", job.train_files, {.share = ShareOf(group)}));
  JobFeatures found{.features = RawFeatures(*job.data.raw), .rows = source->records_of_all()};
  if (job.checkpoint.every_steps == 0) return found;
  const Result<uint64_t> mine = source->HashOfRest();
  STRATA_TRY(AgreeOnStatus(group, WrongPath(job, "data.train", mine.status())));
  STRATA_ASSIGN(found.content_hash, SumOverRanks(group, *mine));
  return found;
}

}  // namespace

Result<JobFeatures> FitJobFeatures(Disk& disk, const JobConfig& job, Group& group,
                                   TextCounts* texts) {
  if (job.data.raw.has_value()) return FitRaw(disk, job, group);
  if (job.data.sparse.has_value()) return FitSparse(disk, job, group);
  STRATA_ASSIGN(
      const std::unique_ptr<CsvReader> reader,
      OpenReader<CsvReader>(disk, job, "data.train", job.train_files, {.share = ShareOf(group)}));
  STRATA_ASSIGN(FeatureStatistics mine,
                FeatureStatistics::Gather(*reader, job.data.features, texts));
  STRATA_ASSIGN(const uint64_t bad_rows, SumOverRanks(group, reader->bad_rows()));
  std::vector<std::vector<std::byte>> all;
  STRATA_TRY(group.Allgather(mine.Serialize(), &all));
  FeatureStatistics merged(job.data.features.size());
  for (size_t rank = 0; rank < all.size(); ++rank) {
    Result<FeatureStatistics> part = FeatureStatistics::Parse(all[rank]);
    const Status status = part.ok() ? merged.Merge(std::move(part).value()) : part.status();
    STRATA_TRY(status.Prefixed(fmt::format("feature statistics of worker {}", rank)));
  }
  if (merged.rows() == 0) return NoRows(job);
  return JobFeatures{.features = FitFeatures(job.data.features, merged),
                     .rows = merged.rows(),
                     .bad_rows = bad_rows,
                     .content_hash = merged.content_hash()};
}

Result<std::unique_ptr<BatchSource>> OpenTraining(Disk& disk, const JobConfig& job,
                                                  const std::vector<FittedFeature>& features,
                                                  size_t part_size, const Group& group) {
  const uint64_t seed = Mix64(job.seed + static_cast<uint64_t>(group.rank()));
  // FitJobFeatures has shown the bad lines already.
  TextOptions options = {
      .share = ShareOf(group), .log_bad_lines = false, .threads = job.data.threads};
  if (job.shuffle_rows > 0) options.order_seed = seed;
  STRATA_ASSIGN(std::unique_ptr<BatchSource> source,
                OpenBatches(disk, job, "data.train", job.train_files, options, features));
  if (job.shuffle_rows > 0) {
    STRATA_ASSIGN(auto threads, WorkPool::Start("shuffle", job.data.threads - 1));
    source = std::make_unique<ShuffleSource>(std::move(source), job.shuffle_rows, seed,
                                             std::move(threads));
  }
  return std::unique_ptr<BatchSource>(
      std::make_unique<PrefetchSource>(std::move(source), part_size, kBatchesAhead));
}

Status TryTraining(Disk& disk, const JobConfig& job, const Group& group) {
  return TryFiles(disk, job, "data.train", job.train_files, /*labels_required=*/true, group,
                  /*rows_max=*/0)
      .status();
}

Status TryTest(Disk& disk, const JobConfig& job, bool labels_required, Group& group) {
  if (job.test_files.empty()) return {};
  if (IsStandardInput(job.test_files[0])) {  // what was read to try would be gone
    if (group.world() == 1) return {};
    return WrongPath(
        job, "data.test",
        Invalid(fmt::format("is -, standard input, which one worker reads, but there are {}: "
                            "expected files, or one worker",
                            group.world())));
  }
  STRATA_ASSIGN(const uint64_t mine, TryFiles(disk, job, "data.test", job.test_files,
                                              labels_required, group, kRowsTried));
  if (!labels_required) return {};
  STRATA_ASSIGN(const uint64_t rows, SumOverRanks(group, mine));
  return rows == 0 ? NoTestRows(job) : Status::Ok();
}

Status NoTestRows(const JobConfig& job) {
  const bool is_input = IsStandardInput(job.test_files[0]);
  return WrongPath(
      job, "data.test",
      Invalid(fmt::format("{}: has no rows to evaluate on: name a file that has some (headers, "
                          "comments and lines that cannot be read are none), or, to train without "
                          "evaluations, remove data.test",
                          is_input ? "standard input" : FilesText(job.test_files))));
}

Result<std::unique_ptr<BatchSource>> OpenTest(Disk& disk, const JobConfig& job,
                                              const std::vector<FittedFeature>& features,
                                              bool labels_required, const Group& group,
                                              const std::function<Status()>& check) {
  if (!job.test_files.empty() && IsStandardInput(job.test_files[0])) {
    Log(LogLevel::kInfo, "data.test is standard input: rows are read until it ends");
  }
  STRATA_ASSIGN(std::unique_ptr<BatchSource> source,
                OpenBatches(disk, job, "data.test", job.test_files,
                            {.share = ShareOf(group),
                             .labels_required = labels_required,
                             .keep_bad_rows = !labels_required,
                             .log_bad_lines = labels_required,
                             .check = check,
                             .threads = job.data.threads},
                            features));
  return std::unique_ptr<BatchSource>(
      std::make_unique<PrefetchSource>(std::move(source), Network::kScoreBatch, kBatchesAhead));
}

Result<ModelShape> JobModelShape(const JobConfig& job, const std::vector<FeatureSpec>& features) {
  const size_t slots = CountSlots(features);
  ModelShape shape{.kind = job.model,
                   .embedding_dim = job.embedding_dim,
                   .hidden = job.hidden,
                   .slots = slots,
                   .dense_width = features.size() - slots,
                   .bottom = job.bottom,
                   .cross_layers = job.cross_layers,
                   .cross_rank = job.cross_rank,
                   .layers = job.layers,
                   .tables = job.tables,
                   .combiner = job.tables.empty() ? job.combiner : Combiner::kSum,
                   .loss = job.loss};
  const auto rank = job.origins.find("model.cross_rank");
  if (job.model == ModelKind::kDcnV2 && rank == job.origins.end()) {
    shape.cross_rank =
        static_cast<uint32_t>(std::min<size_t>(shape.cross_rank, CrossWidthOf(shape)));
  }
  Status valid = ValidateModelShape(shape);
  if (valid.ok()) valid = CheckTablesAreTaken(shape);
  // What is wrong with a [[layer]] or a [[table]] already says where it is.
  if (!valid.ok())
    return valid.message().starts_with(job.file + ":") ? valid : valid.Prefixed(job.file);
  return shape;
}

std::vector<std::string> UnusedFeatures(const LayerGraph& graph) {
  std::vector<std::string> warnings;
  const auto look = [&](uint32_t input, size_t count, const char* kinds) {
    if (count == 0 || graph.IsTaken(input) || graph.has_key_weights()) return;
    warnings.push_back(fmt::format(
        "no layer takes '{}', the {}, so that nothing is learned of it: name it in the inputs of a "
        "[[layer]], or remove the features",
        graph.values()[input].name, Counted(count, fmt::format("{} feature", kinds))));
  };
  if (!graph.has_embeddings()) {
    look(LayerGraph::kEmbeddings, graph.slots(), "categorical or bucketised");
  }
  look(LayerGraph::kDense, graph.spec().dense_width, "numeric");
  return warnings;
}

}  // namespace strata
