#include "worker/gbdt/data/dataset_file.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "tests/support/sim_disk.h"
#include "worker/gbdt/data/text_rows.h"
#include "worker/gbdt/lightgbm/train_conf.h"
#include "worker/tasks/trees/tree_task.h"

namespace strata {
namespace {

class DatasetFile : public testing::Test {
 protected:
  DatasetFile() : pool_(*WorkPool::Start("test", 1)) {
    Put("d", "1,5,0,7,-1\n0,6,0,nan,2\n1,0,0,8,3\n0,5,0,0,2\n");
    Put("d.weight", "1\n2\n0.5\n1\n");
    Put("d.init", "0.1\n0.2\n0.3\n0.4\n");
    Put("d.query", "3\n1\n");
  }

  void Put(const std::string& path, const std::string& text) {
    EXPECT_TRUE(WriteFileAtomically(disk_, path, text).ok());
  }
  std::string Get(const std::string& path) { return *ReadFile(disk_, path, 1 << 20); }

  static DatasetOptions Options() {
    return {.binning = {.min_data_in_bin = 1, .pre_filter = false}, .categorical = {"3"}};
  }

  TreeDataset FromText(const std::string& path) {
    const auto source = TextRows::Open(disk_, path, {});
    return *LoadTreeDataset(disk_, **source, path, Options(), nullptr, *pool_);
  }

  Result<TreeDataset> Read(const DatasetOptions& options = Options()) {
    return ReadDatasetFile(disk_, "d.bin", options, nullptr, *pool_);
  }

  SimDisk disk_;
  std::unique_ptr<WorkPool> pool_;
};

TEST_F(DatasetFile, ReadsWhatWasWritten) {
  const TreeDataset data = FromText("d");
  ASSERT_TRUE(WriteDatasetFile(disk_, data, Options(), "d.bin").ok());
  EXPECT_FALSE(*IsDatasetFile(disk_, "d"));
  EXPECT_TRUE(*IsDatasetFile(disk_, "d.bin"));
  const Result<TreeDataset> read = Read();
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->labels, data.labels);
  EXPECT_EQ(read->weights, data.weights);
  EXPECT_EQ(read->query_begins, data.query_begins);
  EXPECT_EQ(read->init_scores, data.init_scores);
  EXPECT_EQ(read->features->names, data.features->names);
  EXPECT_EQ(read->features->used, data.features->used);
  for (size_t f = 0; f < data.features->mappers.size(); ++f) {
    EXPECT_EQ(read->features->mappers[f].ToBytes(), data.features->mappers[f].ToBytes());
  }
  ASSERT_EQ(read->bins.features(), data.bins.features());
  for (size_t f = 0; f < data.bins.features(); ++f) {
    for (size_t row = 0; row < data.rows(); ++row) {
      EXPECT_EQ(read->bins.column(f).At(row), data.bins.column(f).At(row));
    }
  }
  // Written again, it has the same bytes.
  ASSERT_TRUE(WriteDatasetFile(disk_, *read, Options(), "again.bin").ok());
  EXPECT_EQ(Get("again.bin"), Get("d.bin"));
}

TEST_F(DatasetFile, RowsOfConstantsAreReadAsTheyWereWritten) {
  Put("flat", "1,0,0\n0,0,0\n");
  const auto source = TextRows::Open(disk_, "flat", {});
  const DatasetOptions options = {.binning = {}, .categorical = {}};
  const TreeDataset data = *LoadTreeDataset(disk_, **source, "flat", options, nullptr, *pool_);
  ASSERT_TRUE(data.features->used.empty());
  ASSERT_TRUE(WriteDatasetFile(disk_, data, options, "d.bin").ok());
  const Result<TreeDataset> read = Read(options);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->labels, data.labels);
  EXPECT_EQ(read->features->names, data.features->names);
  EXPECT_TRUE(read->features->used.empty());
}

TEST_F(DatasetFile, NoPartStaysOfOneThatCouldNotBeWritten) {
  const TreeDataset data = FromText("d");
  const std::vector<std::string> before = *disk_.List(".");
  disk_.FailAppend(3);
  EXPECT_FALSE(WriteDatasetFile(disk_, data, Options(), "d.bin").ok());
  EXPECT_EQ(*disk_.List("."), before);
  disk_.FailAppend(0);
  disk_.FailSync(1);
  EXPECT_FALSE(WriteDatasetFile(disk_, data, Options(), "d.bin").ok());
  EXPECT_EQ(*disk_.List("."), before);
}

TEST_F(DatasetFile, OutlivesALossOfPower) {
  const TreeDataset data = FromText("d");
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SimDisk disk({.seed = seed});
    ASSERT_TRUE(WriteDatasetFile(disk, data, Options(), "d.bin").ok());
    disk.Crash();
    EXPECT_TRUE(ReadDatasetFile(disk, "d.bin", Options(), nullptr, *pool_).ok()) << seed;
  }
}

// The matrix of the bins would be made for rows that the file does not have.
TEST_F(DatasetFile, RowsWithoutBinsAreNoticedBeforeThereIsRoomForThem) {
  ASSERT_TRUE(WriteDatasetFile(disk_, FromText("d"), Options(), "d.bin").ok());
  const std::string whole = Get("d.bin");
  Put("d.bin", whole.substr(0, whole.size() - 20));
  const Status status = Read().status();
  EXPECT_EQ(status.code(), StatusCode::kCorrupt);
  EXPECT_NE(status.message().find("d.bin: 4 rows is cut"), std::string::npos) << status.message();
}

TEST_F(DatasetFile, ManyRowsAndBinsComeInChunks) {
  std::string text;
  for (int row = 0; row < 70000; ++row) {
    text += std::to_string(row % 2) + "," + std::to_string(row % 1000) + "," +
            std::to_string(row % 7) + "\n";
  }
  Put("many", text);
  DatasetOptions options = {.binning = {.max_bin = 900}, .categorical = {}};
  const auto source = TextRows::Open(disk_, "many", {});
  const auto data = LoadTreeDataset(disk_, **source, "many", options, nullptr, *pool_);
  ASSERT_TRUE(data.ok());
  ASSERT_GT(data->bins.bins(0), 256U);
  ASSERT_TRUE(WriteDatasetFile(disk_, *data, options, "d.bin").ok());
  const Result<TreeDataset> read = Read(options);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  for (size_t row = 0; row < data->rows(); ++row) {
    ASSERT_EQ(read->bins.column(0).At(row), data->bins.column(0).At(row)) << row;
    ASSERT_EQ(read->bins.column(1).At(row), data->bins.column(1).At(row)) << row;
  }
}

TEST_F(DatasetFile, EachDamagedByteAndEachCutIsNoticed) {
  ASSERT_TRUE(WriteDatasetFile(disk_, FromText("d"), Options(), "d.bin").ok());
  const std::string whole = Get("d.bin");
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    Put("d.bin", damaged);
    EXPECT_FALSE(Read().ok()) << "byte " << at;
    Put("d.bin", whole.substr(0, at));
    EXPECT_FALSE(Read().ok()) << "cut at " << at;
  }
  Put("d.bin", whole + "x");
  EXPECT_EQ(Read().status().code(), StatusCode::kCorrupt);
}

TEST_F(DatasetFile, OtherRulesAndOtherBinsAreRefused) {
  ASSERT_TRUE(WriteDatasetFile(disk_, FromText("d"), Options(), "d.bin").ok());
  DatasetOptions other = Options();
  other.binning.max_bin = 63;
  const Result<TreeDataset> wrong = Read(other);
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.status().message().find("max_bin = 255"), std::string::npos)
      << wrong.status().message();
  Put("e", "1,5,0,9,-1\n0,6,0,8,2\n1,7,0,8,3\n0,5,0,0,2\n");
  const auto as_validation =
      ReadDatasetFile(disk_, "d.bin", Options(), FromText("e").features, *pool_);
  ASSERT_FALSE(as_validation.ok());
  EXPECT_NE(as_validation.status().message().find("than the training data's"), std::string::npos);
  const auto features = FromText("d").features;
  const auto same = ReadDatasetFile(disk_, "d.bin", Options(), features, *pool_);
  ASSERT_TRUE(same.ok()) << same.status().ToString();
  EXPECT_EQ(same->features, features);
}

TEST_F(DatasetFile, OtherColumnsAreRefusedWithBoth) {
  DatasetOptions saved = Options();
  saved.columns = "label_column = 1";
  ASSERT_TRUE(WriteDatasetFile(disk_, FromText("d"), saved, "d.bin").ok());
  EXPECT_TRUE(Read(saved).ok());
  DatasetOptions other = Options();
  other.columns = "weight_column = 2";
  EXPECT_EQ(Read(other).status().message(),
            "d.bin: it was saved with label_column = 1; found weight_column = 2: give the same, or "
            "remove the file and save it again");
  EXPECT_NE(Read().status().message().find("found no key that names columns"), std::string::npos);
}

TEST_F(DatasetFile, ColumnsOfValidationDataAreCheckedToo) {
  ASSERT_TRUE(WriteDatasetFile(disk_, FromText("d"), Options(), "d.bin").ok());
  DatasetOptions other = Options();
  other.columns = "header = true";
  const auto read = ReadDatasetFile(disk_, "d.bin", other, FromText("d").features, *pool_);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.status().message().find("found header = true"), std::string::npos);
}

// Version 2 is the same without the section of keys.
TEST_F(DatasetFile, AnOlderFileIsReadWhereNoKeyNamesColumns) {
  ASSERT_TRUE(WriteDatasetFile(disk_, FromText("d"), Options(), "d.bin").ok());
  std::string bytes = Get("d.bin");
  const size_t rules = 16 + 16 + static_cast<unsigned char>(bytes[16]) +
                       256 * static_cast<size_t>(static_cast<unsigned char>(bytes[17]));
  bytes.erase(rules, 16);
  bytes[8] = 2;
  Put("d.bin", bytes);
  EXPECT_TRUE(Read().ok()) << Read().status().ToString();
  DatasetOptions other = Options();
  other.columns = "label_column = 1";
  EXPECT_NE(Read(other).status().message().find("an older version has saved it"), std::string::npos)
      << Read(other).status().message();
}

// The same model from the data and from what save_binary has left of it.
TEST_F(DatasetFile, TrainsTheSameModel) {
  std::string text;
  for (int row = 0; row < 500; ++row) {
    text += std::to_string(row % 3 == 0 ? 1 : 0) + "," + std::to_string(row % 17) + "," +
            std::to_string(row * 7 % 101) + "\n";
  }
  Put("t", text);
  const auto train = [&](std::vector<std::string> settings) -> Result<std::string> {
    settings.insert(settings.end(), {"objective=binary", "num_iterations=5", "output_model=m"});
    STRATA_ASSIGN(const TreeParameters parameters, ParseLightGbmConf("", "test", settings));
    STRATA_ASSIGN(const TreeTaskResult result,
                  RunTreeTask(parameters, {.disk = disk_,
                                           .clock = RealClock(),
                                           .progress = [](const TreeProgress&) {},
                                           .check = [] { return Status(); }}));
    EXPECT_EQ(result.rows, 500U);
    const std::string model = Get("m");
    return model.substr(0, model.find("parameters:"));
  };
  const Result<std::string> from_text = train({"data=t", "save_binary=true"});
  ASSERT_TRUE(from_text.ok()) << from_text.status().ToString();
  const Result<std::string> from_bins = train({"data=t.bin", "valid=t.bin"});
  ASSERT_TRUE(from_bins.ok()) << from_bins.status().ToString();
  EXPECT_EQ(*from_bins, *from_text);
  for (const std::string key :
       {"header=true", "label_column=1", "weight_column=1", "group_column=1", "ignore_column=1"}) {
    const auto refused = train({"data=t.bin", key});
    ASSERT_FALSE(refused.ok()) << key;
    EXPECT_NE(refused.status().message().find(key.substr(0, key.find('=')) + " = "),
              std::string::npos)
        << refused.status().message();
  }
  EXPECT_TRUE(train({"data=t.bin", "label_column=0"}).ok());
  Put("t.bin.weight", "1\n");
  const auto beside = train({"data=t.bin"});
  ASSERT_FALSE(beside.ok());
  EXPECT_NE(beside.status().message().find("t.bin.weight: weights"), std::string::npos)
      << beside.status().message();
  ASSERT_TRUE(disk_.Remove("t.bin.weight").ok());
  const auto predicted = train({"data=t.bin", "task=predict", "input_model=m"});
  ASSERT_FALSE(predicted.ok());
  EXPECT_NE(predicted.status().message().find("holds bins, not values"), std::string::npos)
      << predicted.status().message();
  const auto narrow = train({"data=t", "max_bin_by_feature=4,20"});
  ASSERT_TRUE(narrow.ok()) << narrow.status().ToString();
  EXPECT_NE(*narrow, *from_text);
  const auto other = train({"data=t.bin", "max_bin_by_feature=4,20"});
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.status().message().find("max_bin_by_feature = 4,20"), std::string::npos);
  const auto wrong = train({"data=t", "max_bin_by_feature=4"});
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.status().message(),
            "t: max_bin_by_feature: expected a number for each of the 2 features, found 1");
}

}  // namespace
}  // namespace strata
