// Section [data] of job files whose format fixes more than a CSV file's does.
#include "worker/job/data_settings.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/worker/text_disk.h"
#include "worker/data/feature/feature_statistics.h"
#include "worker/data/text/csv_batches.h"
#include "worker/data/text/csv_reader.h"

namespace strata {
namespace {

using testing::HasSubstr;

constexpr const char* kCriteoJob = "[data]\nformat = \"criteo\"\n";

// The same in the words of a CSV job.
constexpr const char* kExplicitJob = R"([data]
columns = ["label", "I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I9", "I10", "I11", "I12",
           "I13", "C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C9", "C10", "C11", "C12", "C13",
           "C14", "C15", "C16", "C17", "C18", "C19", "C20", "C21", "C22", "C23", "C24", "C25",
           "C26"]
label = "label"
[[feature]]
kind = "numeric"
columns = ["I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I9", "I10", "I11", "I12", "I13"]
transforms = ["log"]
[[feature]]
columns = ["C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C9", "C10", "C11", "C12", "C13", "C14",
           "C15", "C16", "C17", "C18", "C19", "C20", "C21", "C22", "C23", "C24", "C25", "C26"]
)";

std::string RandomLogs(uint64_t seed, int lines) {
  Random random(seed);
  std::string text;
  for (int i = 0; i < lines; ++i) {
    text += random.Chance(0.25) ? "1" : "0";
    for (int k = 0; k < 13; ++k) {
      text += '\t';
      if (random.Chance(0.8)) text += fmt::format("{}", static_cast<int>(random.Below(1000)) - 3);
    }
    for (int k = 0; k < 26; ++k) {
      text += '\t';
      if (random.Chance(0.8)) text += fmt::format("{:08x}", random.Below(50));
    }
    text += '\n';
  }
  return text;
}

// One rank's share as a batch, with features fitted to the whole file.
Batch BatchOf(const std::string& job_text, const std::string& file, Share share) {
  const Result<JobConfig> job = ParseJob(job_text, "job.toml", {});
  EXPECT_TRUE(job.ok()) << job.status().ToString();
  TextDisk disk;
  disk.files["f"] = file;
  auto all = CsvReader::Open(disk, "f", job->data, {}).value();
  const auto statistics = FeatureStatistics::Gather(*all, job->data.features);
  EXPECT_TRUE(statistics.ok()) << statistics.status().ToString();
  const TextOptions options = {.share = share};
  auto source = MakeCsvBatches(disk, OpenCsvFiles(disk, {"f"}, job->data, options).value(),
                               job->data, options, FitFeatures(job->data.features, *statistics));
  Batch batch;
  EXPECT_TRUE((*source)->Next(1'000'000, &batch).ok());
  return batch;
}

void Join(const Batch& part, Batch* all) {
  const auto keys_before = static_cast<uint32_t>(all->keys.size());
  for (size_t i = 1; i < part.offsets.size(); ++i) {
    all->offsets.push_back(keys_before + part.offsets[i]);
  }
  const auto append = [](const auto& from, auto* to) {
    to->insert(to->end(), from.begin(), from.end());
  };
  append(part.keys, &all->keys);
  append(part.dense, &all->dense);
  append(part.labels, &all->labels);
  append(part.weights, &all->weights);
  all->samples += part.samples;
}

void ExpectEqual(const Batch& batch, const Batch& expected) {
  EXPECT_EQ(batch.samples, expected.samples);
  EXPECT_EQ(batch.slots, expected.slots);
  EXPECT_EQ(batch.dense_width, expected.dense_width);
  EXPECT_EQ(batch.offsets, expected.offsets);
  EXPECT_EQ(batch.keys, expected.keys);
  EXPECT_EQ(batch.dense, expected.dense);
  EXPECT_EQ(batch.labels, expected.labels);
  EXPECT_EQ(batch.weights, expected.weights);
}

TEST(CriteoJob, BatchesAreThoseOfTheSameRowsAsCsv) {
  const std::string logs = RandomLogs(3, 500);
  std::string csv = logs;
  std::ranges::replace(csv, '\t', ',');
  const Batch criteo = BatchOf(kCriteoJob, logs, {});
  EXPECT_EQ(criteo.samples, 500U);
  EXPECT_EQ(criteo.slots, 26U);
  EXPECT_EQ(criteo.dense_width, 13U);
  ExpectEqual(criteo, BatchOf(kExplicitJob, csv, {}));
  Batch joined = BatchOf(kCriteoJob, logs, {0, 3});
  EXPECT_LT(joined.samples, 500U);
  Join(BatchOf(kCriteoJob, logs, {1, 3}), &joined);
  Join(BatchOf(kCriteoJob, logs, {2, 3}), &joined);
  ExpectEqual(joined, criteo);
}

TEST(CriteoJob, FeaturesMayBeChosen) {
  const Result<JobConfig> fewer =
      ParseJob(std::string(kCriteoJob) + "ignore = [\"I2\", \"C26\"]\n", "job.toml", {});
  ASSERT_TRUE(fewer.ok()) << fewer.status().ToString();
  EXPECT_EQ(fewer->data.features.size(), 37U);
  EXPECT_EQ(fewer->data.features[1].column, "I3");
  EXPECT_TRUE(fewer->data.features[1].log);
  const Result<JobConfig> trees = ParseJob(
      std::string(kCriteoJob) + "train = \"f\"\n[model]\nkind = \"gbdt\"\n", "job.toml", {});
  ASSERT_TRUE(trees.ok()) << trees.status().ToString();
  EXPECT_EQ(trees->data.features.size(), 39U);
  EXPECT_FALSE(trees->data.features[0].log) << "trees take numbers as they are";
  EXPECT_THAT(
      ParseJob(std::string(kCriteoJob) + "[[feature]]\ncolumns = [\"C1\"]\n", "job.toml", {})
          .status()
          .message(),
      HasSubstr("job.toml:2:1: column 'I1' is used nowhere"));
}

TEST(CriteoJob, SettingsMayRepeatTheFormatAndNotContradictIt) {
  const Result<JobConfig> same =
      ParseJob(std::string(kCriteoJob) + "delimiter = \"\\t\"\nheader = false\nlabel = \"label\"\n",
               "job.toml", {});
  EXPECT_TRUE(same.ok()) << same.status().ToString();
  const std::pair<const char*, const char*> cases[] = {
      {"delimiter = \",\"",
       "job.toml:3:1: data.delimiter contradicts data.format = \"criteo\", whose fields are "
       "separated by tabs: remove data.delimiter, or use data.format = \"csv\""},
      {"header = true",
       "job.toml:3:1: data.header contradicts data.format = \"criteo\", whose files have no "
       "header"},
      {"columns = [\"y\", \"x\"]",
       "job.toml:3:1: data.columns contradicts data.format = \"criteo\""},
      {"label = \"C1\"", "job.toml:3:1: data.label contradicts data.format = \"criteo\""},
      {"weight = \"w\"", "no column 'w', which the job file uses as the weight"},
  };
  for (const auto& [line, message] : cases) {
    const Status status = ParseJob(std::string(kCriteoJob) + line + "\n", "job.toml", {}).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalid) << line;
    EXPECT_THAT(status.message(), HasSubstr(message));
  }
}

TEST(SparseJob, HasNoColumns) {
  for (const std::string format : {"libffm", "libsvm"}) {
    const std::string job = fmt::format("[data]\nformat = \"{}\"\n", format);
    const Result<JobConfig> plain =
        ParseJob(job + "label_positive = [\"2\"]\nlabel_negative = [\"1\"]\nbad_share_max = 0.5\n",
                 "job.toml", {});
    ASSERT_TRUE(plain.ok()) << plain.status().ToString();
    EXPECT_EQ(SparseFormatName(*plain->data.sparse), format);
    EXPECT_THAT(plain->data.label_positive, testing::ElementsAre("2"));
    EXPECT_EQ(plain->data.format.bad_share_max, 0.5);
    EXPECT_TRUE(plain->data.features.empty());
    const std::string contradicts = fmt::format(
        " contradicts data.format = \"{}\", whose lines are "
        "\"label ",
        format);
    const std::pair<std::string, std::string> cases[] = {
        {"delimiter = \",\"", "job.toml:3:1: data.delimiter" + contradicts},
        {"header = true", "job.toml:3:1: data.header" + contradicts},
        {"columns = [\"y\", \"x\"]", "job.toml:3:1: data.columns" + contradicts},
        {"missing = [\"?\"]", "job.toml:3:1: data.missing" + contradicts},
        {"trim = false", "job.toml:3:1: data.trim" + contradicts},
        {"comment = \"%\"", "job.toml:3:1: data.comment" + contradicts},
        {"label = \"y\"", "job.toml:3:1: data.label" + contradicts},
        {"weight = \"w\"", "job.toml:3:1: data.weight" + contradicts},
        {"query = \"q\"", "job.toml:3:1: data.query" + contradicts},
        {"group = \"g\"", "job.toml:3:1: data.group" + contradicts},
        {"ignore = [\"x\"]", "job.toml:3:1: data.ignore" + contradicts},
        {"label_positive = [\"2\"]", "job.toml:3:1: data.label_positive needs data.label_negative"},
        {"[[feature]]\ncolumns = [\"x\"]", "[[feature]]" + contradicts},
        {"[model]\nkind = \"gbdt\"", "job.toml:2:1: data.format = \"" + format + "\" is for click"},
        {"[output]\nmodel = \"m\"\ndictionary = true", "output.dictionary is for columns of texts"},
    };
    for (const auto& [line, message] : cases) {
      const Status status = ParseJob(job + line + "\n", "job.toml", {}).status();
      EXPECT_EQ(status.code(), StatusCode::kInvalid) << line;
      EXPECT_THAT(status.message(), HasSubstr(message));
    }
  }
}

TEST(SparseJob, AFactorizationMachineOfOneSlotIsWarnedOf) {
  const auto warnings = [](const char* format, const char* kind) {
    const Result<JobConfig> job =
        ParseJob(fmt::format("[data]\nformat = \"{}\"\n[model]\nkind = \"{}\"\n", format, kind),
                 "job.toml", {});
    EXPECT_TRUE(job.ok()) << job.status().ToString();
    return job->warnings;
  };
  EXPECT_THAT(warnings("libsvm", "fm"),
              testing::ElementsAre(HasSubstr("job.toml:4:1: model.kind = \"fm\" is the same as")));
  EXPECT_THAT(warnings("libsvm", "logistic"), testing::IsEmpty());
  EXPECT_THAT(warnings("libffm", "fm"), testing::IsEmpty());
}

RawLayout LayoutOf(const std::string& settings) {
  const auto job = ParseJob("[data]\nformat = \"raw\"\n" + settings, "job.toml", {});
  EXPECT_TRUE(job.ok()) << job.status().ToString();
  return job.ok() ? *job->data.raw : RawLayout();
}

TEST(RawJob, SettingsSayWhatARecordIs) {
  const RawLayout criteo = LayoutOf("raw_dense = 13\nraw_slots = 26\n");
  EXPECT_EQ(criteo.record_bytes(), 160U);
  EXPECT_EQ(criteo.label, RawNumber::kFloat);
  EXPECT_EQ(criteo.dense, RawNumber::kFloat);
  EXPECT_THAT(criteo.slot_keys, testing::Each(1));
  const RawLayout ints = LayoutOf("raw_dense = 13\nraw_slots = 26\nraw_dense_type = \"int\"\n");
  EXPECT_EQ(ints.label, RawNumber::kInt);
  EXPECT_EQ(ints.dense, RawNumber::kInt);
  const RawLayout mlperf = LayoutOf(
      "raw_dense = 13\nraw_label_type = \"int\"\nraw_keys = [3,2,1,2,6,1,1,1,1,7,3,8,1,6,9,5,1,1,"
      "1,12,100,27,10,3,1,1]\n");
  EXPECT_EQ(mlperf.record_bytes(), 912U);
  EXPECT_EQ(mlperf.label, RawNumber::kInt);
  EXPECT_EQ(mlperf.dense, RawNumber::kFloat);
  const auto job = ParseJob("[data]\nformat = \"raw\"\nraw_dense = 2\nraw_slots = 3\n", "j", {});
  EXPECT_EQ(job->data.features.size(), 5U);
}

// A file that does not fit does not show which of them is wrong.
TEST(RawJob, ALayoutKnowsWhereItWasGiven) {
  const auto job = ParseJob("[data]\nformat = \"raw\"\nraw_dense = 2\nthreads = 2\n", "job.toml",
                            {{"data.raw_slots=3"}});
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  EXPECT_EQ(job->data.raw->settings,
            "data.raw_dense at job.toml:3:1, data.raw_slots at command line");
}

TEST(RawJob, MistakesSayWhatAndWhatToDo) {
  const std::string good = "[data]\nformat = \"raw\"\nraw_slots = 2\n";
  const std::pair<std::string, std::string> cases[] = {
      {"[data]\nformat = \"raw\"\nraw_dense = 13\n", "data.raw_slots is 0: expected the number"},
      {good + "raw_keys = [1, 2, 3]\n",
       "job.toml:4:1: data.raw_keys has 3 numbers, and data.raw_slots is 2: expected a number for"},
      {good + "raw_keys = [1, 0]\n", "data.raw_keys must be a list of integers from 1 to 65536"},
      {"[data]\nformat = \"raw\"\nraw_keys = "
       "[65536,65536,65536,65536,65536,65536,65536,65536,65536,"
       "65536,65536,65536,65536,65536,65536,65536,65536]\n",
       "expected at most 65536 and 1048576"},
      {good + "raw_dense_type = \"double\"\n", "data.raw_dense_type must be one of float, int"},
      {good + "raw_dense = -1\n", "data.raw_dense must be an integer from 0 to 65536"},
      {good + "label = \"y\"\n", "data.label contradicts data.format = \"raw\", whose records"},
      {good + "columns = [\"y\"]\n", "data.columns contradicts data.format = \"raw\""},
      {good + "label_positive = [\"1\"]\n",
       "data.label_positive contradicts data.format = \"raw\""},
      {good + "bad_share_max = 0.5\n", "data.bad_share_max has no effect on data.format = \"raw\""},
      {good + "[[feature]]\ncolumns = [\"x\"]\n", "[[feature]] contradicts data.format = \"raw\""},
      {good + "[model]\nkind = \"gbdt\"\n", "= \"raw\" is for click models: trees read"},
      {good + "[output]\ndictionary = true\nmodel = \"m\"\n",
       "output.dictionary is for columns of texts"},
      {good + "threads = 0\n", "data.threads must be an integer from 1 to 256"},
      {"[data]\nformat = \"criteo\"\nthreads = 257\n",
       "job.toml:3:1: data.threads must be an integer from 1 to 256"},
      {"[data]\nformat = \"criteo\"\nthreads = 4\n[model]\nkind = \"gbdt\"\n",
       "job.toml:3:1: data.threads has no effect on model.kind = \"gbdt\""},
      {"[data]\nformat = \"criteo\"\nraw_dense = 13\n",
       "job.toml:3:1: data.raw_dense is for data.format = \"raw\"; the job's is \"criteo\""},
      {"[data]\nformat = \"libffm\"\nraw_keys = [1]\n",
       "data.raw_keys is for data.format = \"raw\""},
  };
  for (const auto& [text, expected] : cases) {
    const Status status = ParseJob(text, "job.toml", {}).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalid) << text;
    EXPECT_THAT(status.message(), HasSubstr(expected)) << text;
  }
}

// A mean is refused where no slot can have two keys, since it would be the sum.
TEST(CombinerOfJob, NeedsSlotsOfSeveralKeys) {
  const auto parse = [](const std::string& data, const std::string& combiner) {
    return ParseJob(data + "[model]\ncombiner = \"" + combiner + "\"\n", "job.toml", {});
  };
  const std::string raw = "[data]\nformat = \"raw\"\n";
  for (const std::string& data :
       {std::string("[data]\nformat = \"libffm\"\n"), std::string("[data]\nformat = \"libsvm\"\n"),
        raw + "raw_keys = [1, 2]\n"}) {
    const auto job = parse(data, "mean");
    ASSERT_TRUE(job.ok()) << job.status().ToString();
    EXPECT_EQ(job->combiner, Combiner::kMean);
  }
  EXPECT_THAT(parse(kCriteoJob, "mean").status().ToString(),
              HasSubstr("job.toml:4:1: model.combiner is \"mean\", but with data.format = "
                        "\"criteo\" each feature has one key a row: remove it"));
  EXPECT_THAT(parse(raw + "raw_slots = 2\n", "mean").status().ToString(),
              HasSubstr("job.toml:5:1: model.combiner is \"mean\", but each slot has one key a "
                        "record: name the numbers of keys by data.raw_keys"));
  EXPECT_THAT(parse(kCriteoJob, "max").status().ToString(),
              HasSubstr("model.combiner must be one of sum, mean"));
  EXPECT_EQ(parse(kCriteoJob, "sum")->combiner, Combiner::kSum);
}

}  // namespace
}  // namespace strata
