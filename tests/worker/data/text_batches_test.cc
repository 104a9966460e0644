// Batches of text: those of a plain loop over the rows of a reader, with any number of threads.
#include "worker/data/text/text_batches.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "base/file/standard_input.h"
#include "base/hash.h"
#include "base/random.h"
#include "tests/worker/compress.h"
#include "tests/worker/text_disk.h"
#include "worker/data/batch/row_batches.h"
#include "worker/data/feature/feature_key.h"
#include "worker/data/sparse/sparse_batches.h"
#include "worker/data/sparse/sparse_fields.h"
#include "worker/data/sparse/sparse_reader.h"
#include "worker/data/text/criteo.h"
#include "worker/data/text/csv_batches.h"
#include "worker/data/text/csv_reader.h"

namespace strata {
namespace {

using testing::HasSubstr;

constexpr int kThreads[] = {1, 2, 5};

enum class Format { kCsv, kCriteo, kLibffm, kLibsvm };
constexpr Format kFormats[] = {Format::kCsv, Format::kCriteo, Format::kLibffm, Format::kLibsvm};

DataSpec SpecOf(Format format) {
  DataSpec spec;
  if (format == Format::kCsv) {
    spec.format.header = true;
    spec.format.comment = "#";
    spec.format.missing = {"?"};
    spec.features = {
        {.column = "x", .kind = FeatureKind::kNumeric, .log = true, .standardise = true},
        {.column = "x", .kind = FeatureKind::kBucketised, .buckets = 3},
        {.column = "city", .kind = FeatureKind::kCategorical}};
    spec.label = "y";
    spec.weight = "w";
    spec.group = "user";
  } else if (format == Format::kCriteo) {
    spec.format = CriteoFormat();
    spec.label = kCriteoLabel;
    spec.features = CriteoFeatures(true, {});
  } else {
    spec.sparse = format == Format::kLibffm ? SparseFormat::kLibffm : SparseFormat::kLibsvm;
  }
  spec.format.bad_share_max = 1;
  return spec;
}

std::vector<FittedFeature> FeaturesOf(const DataSpec& spec) {
  if (spec.sparse.has_value()) {
    SparseFields fields;
    const uint32_t count = spec.sparse == SparseFormat::kLibffm ? 4 : 1;
    for (uint32_t field = 0; field < count; ++field) EXPECT_TRUE(fields.Add(field).ok());
    return FeaturesOfFields(*spec.sparse, fields);
  }
  std::vector<FittedFeature> features;
  for (const FeatureSpec& feature : spec.features) {
    features.push_back({.spec = feature, .mean = 2, .deviation = 3, .boundaries = {}});
    if (feature.kind == FeatureKind::kBucketised) features.back().boundaries = {10, 500};
  }
  return features;
}

std::string RandomNumber(Random& random) {
  if (random.Chance(0.2)) return "";
  return random.Chance(0.5) ? fmt::format("{}", random.Below(1000))
                            : fmt::format("{:.3g}", random.Uniform() * 99 - 50);
}

std::string RandomText(Random& random) {
  return std::string(random.Below(12), static_cast<char>('a' + random.Below(26)));
}

std::string GoodLine(Random& random, Format format) {
  const uint64_t label = random.Below(2);
  if (format == Format::kCsv) {
    const std::string text = random.Chance(0.2) ? "\"a \"\"b\"\", c\"" : RandomText(random);
    return fmt::format("{},{},{},{},{}", random.Chance(0.1) ? "?" : RandomNumber(random), text,
                       label, random.Below(4), RandomText(random));
  }
  std::string line = fmt::format("{}", label);
  if (format == Format::kCriteo) {
    for (int i = 0; i < 13; ++i) line += fmt::format("\t{}", random.Below(3000));
    for (int i = 0; i < 26; ++i) line += "\t" + RandomText(random);
    return line;
  }
  for (uint64_t n = random.Below(6); n > 0; --n) {
    const std::string value = random.Chance(0.9) ? "1" : fmt::format("{}", random.Below(9));
    line += format == Format::kLibffm
                ? fmt::format(" {}:f{}:{}", random.Below(4), random.Below(99), value)
                : fmt::format(" {}:{}", random.Below(99), value);
  }
  return line;
}

// Lines of which a share is bad, between blank ones.
std::string RandomLines(Random& random, Format format, size_t lines, double bad_share) {
  std::string text = format == Format::kCsv ? "x,city,y,w,user\n" : "";
  for (size_t i = 0; i < lines; ++i) {
    if (random.Chance(0.05)) text += format == Format::kCsv ? "# nothing\n" : "\n";
    text += random.Chance(bad_share) ? "7 x\t:y" : GoodLine(random, format);
    const bool last = i + 1 == lines;
    if (!last || random.Chance(0.5)) text += random.Chance(0.2) ? "\r\n" : "\n";
  }
  return text;
}

// The plain loop over sparse rows.
class SparseLoop : public BatchSource {
 public:
  SparseLoop(std::unique_ptr<SparseReader> reader, std::vector<FittedFeature> features)
      : reader_(std::move(reader)), features_(std::move(features)) {}

  Status Rewind(uint64_t epoch) override {
    reader_->BeginEpoch(epoch);
    return {};
  }
  Status Next(size_t samples_max, Batch* batch) override {
    *batch = {};
    batch->Start(features_.size(), 0);
    SparseRow row;
    while (batch->samples < samples_max) {
      STRATA_ASSIGN(const bool read, reader_->Next(&row));
      if (!read) break;
      if (!row.bad.empty()) batch->bad.push_back({batch->samples, std::string(row.bad)});
      for (size_t slot = 0; slot < features_.size(); ++slot) {
        const uint64_t salt = FeatureSalt(features_[slot].spec);
        for (const SparseValue& value : row.values) {
          if (value.field != slot) continue;
          batch->keys.push_back(TextKey(salt, value.text));
          batch->key_weights.push_back(value.weight);
        }
        batch->offsets.push_back(static_cast<uint32_t>(batch->keys.size()));
      }
      batch->labels.push_back(row.label);
      batch->weights.push_back(1);
      ++batch->samples;
    }
    const auto is_one = [](float weight) { return weight == 1; };
    if (std::ranges::all_of(batch->key_weights, is_one)) batch->key_weights.clear();
    return {};
  }
  double Progress() const override { return reader_->Progress(); }
  uint64_t bad_rows() const override { return reader_->bad_rows(); }

 private:
  std::unique_ptr<SparseReader> reader_;
  std::vector<FittedFeature> features_;
};

using Paths = std::vector<std::string>;

std::unique_ptr<BatchSource> LoopOver(Disk& disk, const Paths& paths, const DataSpec& spec,
                                      const TextOptions& options) {
  if (spec.sparse.has_value()) {
    return std::make_unique<SparseLoop>(SparseReader::Open(disk, paths, spec, options).value(),
                                        FeaturesOf(spec));
  }
  return std::make_unique<RowBatches>(CsvReader::Open(disk, paths, spec, options).value(),
                                      FeaturesOf(spec));
}

std::unique_ptr<BatchSource> BatchesOf(Disk& disk, const Paths& paths, const DataSpec& spec,
                                       TextOptions options, int threads) {
  options.threads = threads;
  if (spec.sparse.has_value()) {
    return MakeSparseBatches(disk, OpenSparseFiles(disk, paths, spec, options).value(), spec,
                             options, FeaturesOf(spec))
        .value();
  }
  return MakeCsvBatches(disk, OpenCsvFiles(disk, paths, spec, options).value(), spec, options,
                        FeaturesOf(spec))
      .value();
}

// All bits of a batch.
std::vector<uint64_t> BitsOf(const Batch& batch) {
  std::vector<uint64_t> bits = {batch.samples, batch.slots, batch.dense_width};
  const auto add = [&](const auto& values) {
    const auto bytes = std::as_bytes(std::span(values));
    bits.insert(bits.end(), {values.size(), Hash64(bytes)});
  };
  add(batch.offsets);
  add(batch.keys);
  add(batch.key_weights);
  add(batch.dense);
  add(batch.labels);
  add(batch.weights);
  add(batch.groups);
  return bits;
}

// This is what a call of Next gave.
struct Outcome {
  std::string error;
  std::vector<uint64_t> bits;
  std::vector<std::pair<size_t, std::string>> bad;
  uint64_t bad_rows = 0;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

void PrintTo(const Outcome& outcome, std::ostream* out) {
  *out << fmt::format("{} samples, {} bad, {} bad rows so far, error '{}'",
                      outcome.bits.empty() ? 0 : outcome.bits[0], outcome.bad.size(),
                      outcome.bad_rows, outcome.error);
}

// One pass in batches of various sizes, up to the end or the first error.
std::vector<Outcome> ReadPass(BatchSource& source, uint64_t seed, size_t calls_max = SIZE_MAX) {
  Random random(seed);
  std::vector<Outcome> outcomes;
  Batch batch;
  double progress = 0;
  while (outcomes.size() < calls_max) {
    const Status status = source.Next(1 + random.Below(random.Chance(0.2) ? 200 : 20), &batch);
    EXPECT_GE(source.Progress(), progress);
    progress = source.Progress();
    Outcome outcome{.error = status.message(), .bits = {}, .bad = {}};
    outcome.bad_rows = source.bad_rows();
    if (status.ok()) outcome.bits = BitsOf(batch);
    for (const BadRow& bad : batch.bad) {
      if (status.ok()) outcome.bad.emplace_back(bad.row, bad.reason);
    }
    outcomes.push_back(std::move(outcome));
    if (!status.ok() || batch.samples == 0) break;
  }
  const bool is_through = outcomes.back().error.empty() && batch.samples == 0;
  EXPECT_TRUE(!is_through || progress == 1);
  return outcomes;
}

struct TextFiles {
  TextDisk disk;
  Paths paths;
};

TextFiles RandomFiles(Random& random, Format format, double bad_share) {
  TextFiles files;
  for (uint64_t i = 0; i < 1 + random.Below(4); ++i) {
    const std::string text = RandomLines(random, format, 1 + random.Below(120), bad_share);
    files.paths.push_back(fmt::format("f{}", i));
    const uint64_t kind = random.Below(4);
    files.disk.files[files.paths.back()] = kind == 0 ? Gzip(text) : kind == 1 ? Zstd(text) : text;
  }
  return files;
}

TEST(TextBatches, AreThoseOfThePlainLoopWithAnyNumberOfThreads) {
  Random random(31);
  for (int round = 0; round < 60; ++round) {
    for (const Format format : kFormats) {
      TextFiles files = RandomFiles(random, format, round % 3 == 0 ? 0.2 : 0.01);
      const DataSpec spec = SpecOf(format);
      const bool keeps = random.Chance(0.5);
      TextOptions options = {.labels_required = !keeps,
                             .keep_bad_rows = keeps,
                             .log_bad_lines = false,
                             .block_bytes = 1 + random.Below(random.Chance(0.5) ? 300 : 3000)};
      options.share.world = static_cast<uint32_t>(1 + random.Below(3));
      if (random.Chance(0.5)) options.order_seed = round;
      for (options.share.rank = 0; options.share.rank < options.share.world; ++options.share.rank) {
        const auto loop = LoopOver(files.disk, files.paths, spec, options);
        std::vector<std::vector<Outcome>> expected;
        for (uint64_t epoch = 0; epoch < 3; ++epoch) {
          ASSERT_TRUE(loop->Rewind(epoch).ok());
          expected.push_back(ReadPass(*loop, epoch));
        }
        for (const int threads : kThreads) {
          SCOPED_TRACE(fmt::format("round {}, format {}, rank {}, {} threads", round,
                                   static_cast<int>(format), options.share.rank, threads));
          const auto source = BatchesOf(files.disk, files.paths, spec, options, threads);
          for (uint64_t epoch = 0; epoch < 3; ++epoch) {
            ASSERT_TRUE(source->Rewind(epoch).ok());
            if (random.Chance(0.3)) {  // a pass that is not finished leaves nothing behind
              ReadPass(*source, epoch, 1 + random.Below(9));
              ASSERT_TRUE(source->Rewind(epoch).ok());
            }
            ASSERT_EQ(ReadPass(*source, epoch), expected[epoch]);
          }
        }
      }
    }
  }
}

TEST(TextBatches, EndAtTheSameRowWithTheSameErrorWhenTooManyLinesAreBad) {
  Random random(32);
  size_t errors = 0;
  for (int round = 0; round < 60; ++round) {
    for (const Format format : kFormats) {
      TextFiles files = RandomFiles(random, format, 0.2);
      DataSpec spec = SpecOf(format);
      spec.format.bad_share_max = 0.15 + random.Uniform() / 10;
      const TextOptions options = {.log_bad_lines = false, .block_bytes = 1 + random.Below(900)};
      const auto expected = ReadPass(*LoopOver(files.disk, files.paths, spec, options), 1);
      errors += expected.back().error.empty() ? 0 : 1;
      for (const int threads : kThreads) {
        const auto source = BatchesOf(files.disk, files.paths, spec, options, threads);
        ASSERT_EQ(ReadPass(*source, 1), expected) << threads << " threads, round " << round;
      }
    }
  }
  EXPECT_GT(errors, 60U);
}

TEST(TextBatches, OfStandardInputAreThoseOfTheFile) {
  Random random(33);
  for (const Format format : kFormats) {
    TextDisk disk;
    disk.files["f"] = RandomLines(random, format, 200, 0.05);
    const std::string& text = disk.files["f"];
    const DataSpec spec = SpecOf(format);
    TextOptions options = {.log_bad_lines = false, .block_bytes = 500};
    const auto expected = ReadPass(*LoopOver(disk, {"f"}, spec, options), 1);
    for (const int threads : kThreads) {
      int pipe_ends[2];
      ASSERT_EQ(pipe(pipe_ends), 0);
      ASSERT_LT(text.size(), 60'000U);  // a pipe holds so much
      ASSERT_EQ(write(pipe_ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
      close(pipe_ends[1]);
      options.threads = threads;
      const auto as_input = [&](std::vector<OpenedText>* texts) {
        (*texts)[0].file = OpenStandardInput([] { return Status(); }, pipe_ends[0]);
        (*texts)[0].size = kUnknownSize;
        std::vector<std::byte> head(100);  // who opens a text looks at it
        EXPECT_EQ((*texts)[0].file->ReadAt(0, head).value(), head.size());
      };
      std::unique_ptr<BatchSource> source;
      if (spec.sparse.has_value()) {
        SparseFiles files = OpenSparseFiles(disk, {"f"}, spec, options).value();
        as_input(&files.texts);
        source = MakeSparseBatches(disk, std::move(files), spec, options, FeaturesOf(spec)).value();
      } else {
        CsvFiles files = OpenCsvFiles(disk, {"f"}, spec, options).value();
        as_input(&files.texts);
        source = MakeCsvBatches(disk, std::move(files), spec, options, FeaturesOf(spec)).value();
      }
      EXPECT_EQ(ReadPass(*source, 1), expected) << threads << " threads";
      close(pipe_ends[0]);
    }
  }
}

TEST(TextBatches, AnErrorComesBehindTheRowsBeforeIt) {
  Random random(34);
  const std::string rows = RandomLines(random, Format::kLibffm, 9000, 0);
  struct Case {
    std::string text;
    const char* error;
  };
  const Case cases[] = {
      {rows + "\n" + std::string(kLineBytesMax + (1 << 18), 'x') + "\n" + rows, "a line above"},
      {Gzip(rows).substr(0, 40'000), "f: byte 40000 of the file"},
  };
  for (const auto& [text, error] : cases) {
    TextDisk disk;
    disk.files["f"] = text;
    const DataSpec spec = SpecOf(Format::kLibffm);
    const TextOptions options = {.log_bad_lines = false, .block_bytes = 30'000};
    const auto expected = ReadPass(*LoopOver(disk, {"f"}, spec, options), 1);
    EXPECT_GT(expected.size(), 100U);
    EXPECT_THAT(expected.back().error, HasSubstr(error));
    for (const int threads : kThreads) {
      const auto source = BatchesOf(disk, {"f"}, spec, options, threads);
      for (uint64_t epoch = 0; epoch < 2; ++epoch) {
        ASSERT_TRUE(source->Rewind(epoch).ok());
        EXPECT_EQ(ReadPass(*source, 1), expected);
      }
    }
  }
}

TEST(TextBatches, ARowThatTheModelCannotHaveEndsThePassInItsPlace) {
  std::string rows;
  for (int i = 0; i < 100; ++i) rows += "1 0:a:1\n";
  TextDisk disk;
  disk.files["f"] = rows + "1 9:a:1\n" + rows;
  for (const int threads : kThreads) {
    const auto source =
        BatchesOf(disk, {"f"}, SpecOf(Format::kLibffm), {.block_bytes = 70}, threads);
    Batch batch;
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE(source->Next(10, &batch).ok());
      EXPECT_EQ(batch.samples, 10U);
    }
    EXPECT_THAT(source->Next(10, &batch).message(),
                HasSubstr("f:101: field 9 is not among the 4 fields"));
  }
}

}  // namespace
}  // namespace strata
