// A model comes back as it was saved, every damage to any byte is an error that names the place,
// and a crash or a full disk while saving leaves the old model or the new one.
#include "worker/ctr/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "cluster/collective/group.h"
#include "cluster/collective/memory_world.h"
#include "storage/memory/host_store.h"
#include "tests/support/sim_disk.h"

namespace strata {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const ModelShape kShape{ModelKind::kDeepFm, 2, {4}, 3, 1};

TableSpec Spec() {
  return {.name = "rows",
          .dim = GraphOf(kShape).row_dim(0),
          .optimizer = {.kind = OptimizerKind::kAdam},
          .initializer = {InitializerKind::kUniform, 0.25F},
          .seed = 77};
}

// A store whose table holds `rows` rows, and the model beside it; both differ by `version`.
struct Example {
  std::unique_ptr<TableStore> store = MakeHostStore();
  SavedModel model;
  std::vector<Key> keys;
  std::vector<float> values;

  explicit Example(int version, size_t rows = 5) {
    EXPECT_TRUE(store->CreateTable(Spec()).ok());
    for (size_t i = 0; i < rows; ++i) {
      keys.push_back(Mix64(i + static_cast<uint64_t>(version) * 1000));
      for (uint32_t d = 0; d < GraphOf(kShape).row_dim(0); ++d) {
        values.push_back(static_cast<float>(version) + static_cast<float>(i * 10 + d) / 8);
      }
    }
    Operation assign{.kind = OpKind::kAssign, .parts = {}, .exec = {}, .sync = {}};
    assign.parts.push_back({.table = Spec().id(), .keys = keys, .in = values, .out = {}});
    EXPECT_TRUE(SubmitAndWait(*store, std::move(assign)).status.ok());
    model = {.job = "job",
             .seed = 9,
             .epochs = 2,
             .samples = 1234,
             .shape = kShape,
             .initializer = Spec().initializer,
             .table_seed = Spec().seed,
             .features = "feature text " + std::to_string(version) + "\n",
             .dense = {}};
    model.dense.resize(GraphOf(kShape).parameters());
    for (size_t i = 0; i < model.dense.size(); ++i) {
      model.dense[i] = static_cast<float>(i) / 7 - static_cast<float>(version);
    }
  }

  Status Save(Disk& disk) const {
    const TableSpec spec = Spec();
    return SaveModel(disk, "runs/model", model, *store, {&spec, 1});
  }

  bool Equals(const LoadedModel& loaded) const {
    std::map<Key, std::vector<float>> expected;
    std::map<Key, std::vector<float>> found;
    const size_t dim = GraphOf(kShape).row_dim(0);
    const auto fill = [&](const auto& from_keys, const auto& from_rows, auto* to) {
      for (size_t i = 0; i < from_keys.size(); ++i) {
        const auto row = from_rows.begin() + static_cast<ptrdiff_t>(i * dim);
        (*to)[from_keys[i]].assign(row, row + static_cast<ptrdiff_t>(dim));
      }
    };
    fill(keys, values, &expected);
    fill(loaded.tables[0].keys, loaded.tables[0].values, &found);
    return found == expected &&
           std::is_sorted(loaded.tables[0].keys.begin(), loaded.tables[0].keys.end()) &&
           loaded.model.dense == model.dense && loaded.model.features == model.features &&
           loaded.model.shape == model.shape && loaded.model.initializer == model.initializer &&
           loaded.model.table_seed == model.table_seed && loaded.model.job == model.job &&
           loaded.model.samples == model.samples && loaded.model.epochs == model.epochs;
  }
};

std::vector<std::string> Names(Disk& disk) {
  auto names = disk.List("runs/model");
  EXPECT_TRUE(names.ok());
  return names.ok() ? *names : std::vector<std::string>();
}

std::string Content(Disk& disk, const std::string& path) {
  auto content = ReadFile(disk, path, 1 << 20);
  EXPECT_TRUE(content.ok()) << content.status().ToString();
  return content.ok() ? *content : "";
}

void Overwrite(Disk& disk, const std::string& path, std::string_view content) {
  auto file = disk.Create(path);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->Append(std::as_bytes(std::span(content))).ok());
}

TEST(ModelFile, ComesBackAsItWasSaved) {
  for (const size_t rows : {0UL, 5UL, 10'000UL}) {  // more rows than a page of a scan
    SimDisk disk;
    const Example example(1, rows);
    ASSERT_TRUE(example.Save(disk).ok());
    const auto loaded = LoadModel(disk, "runs/model/");
    ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
    EXPECT_TRUE(example.Equals(*loaded));
  }
}

TEST(ModelFile, AByteOrderMarkIsNoPartOfTheFilesOfText) {
  SimDisk disk;
  const Example example(1);
  ASSERT_TRUE(example.Save(disk).ok());
  for (const char* file : {"runs/model/manifest", "runs/model/features-1.bin"}) {
    const std::string text = *ReadFile(disk, file, 1 << 20);
    Overwrite(disk, file, "\xef\xbb\xbf" + text);
  }
  const auto loaded = LoadModel(disk, "runs/model");
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  EXPECT_TRUE(example.Equals(*loaded));
}

TEST(ModelFile, SavingAgainReplacesAndLeavesNothingBehind) {
  SimDisk disk;
  ASSERT_TRUE(disk.MakeFolder("runs/model").ok());
  Overwrite(disk, "runs/model/notes.txt", "mine");
  for (int version = 1; version <= 3; ++version) {
    const Example example(version);
    ASSERT_TRUE(example.Save(disk).ok());
    EXPECT_TRUE(example.Equals(*LoadModel(disk, "runs/model")));
    const std::string generation = "-" + std::to_string(version) + ".bin";
    EXPECT_THAT(Names(disk), testing::ElementsAre("dense" + generation, "features" + generation,
                                                  "manifest", "notes.txt", "sparse" + generation));
  }
}

TEST(ModelFile, EveryFlippedBitIsNamed) {
  SimDisk disk;
  ASSERT_TRUE(Example(1).Save(disk).ok());
  for (const std::string& name : Names(disk)) {
    const std::string path = "runs/model/" + name;
    const std::string good = Content(disk, path);
    for (size_t bit = 0; bit < good.size() * 8; ++bit) {
      std::string bad = good;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
      Overwrite(disk, path, bad);
      const auto loaded = LoadModel(disk, "runs/model");
      ASSERT_FALSE(loaded.ok()) << path << " bit " << bit;
      ASSERT_THAT(loaded.status().message(), StartsWith(path + ": ")) << "bit " << bit;
    }
    Overwrite(disk, path, good);
  }
  EXPECT_TRUE(LoadModel(disk, "runs/model").ok());
}

TEST(ModelFile, EveryTruncationAndMissingFileIsNamed) {
  SimDisk disk;
  ASSERT_TRUE(Example(1).Save(disk).ok());
  for (const std::string& name : Names(disk)) {
    const std::string path = "runs/model/" + name;
    const std::string good = Content(disk, path);
    for (size_t bytes = 0; bytes < good.size(); ++bytes) {
      Overwrite(disk, path, std::string_view(good).substr(0, bytes));
      ASSERT_THAT(LoadModel(disk, "runs/model").status().message(), StartsWith(path + ": "));
    }
    Overwrite(disk, path, good + "x");
    EXPECT_EQ(LoadModel(disk, "runs/model").status().code(), StatusCode::kCorrupt);
    ASSERT_TRUE(disk.Remove(path).ok());
    const Status missing = LoadModel(disk, "runs/model").status();
    EXPECT_EQ(missing.code(), StatusCode::kNotFound);
    EXPECT_THAT(missing.message(), HasSubstr(path));
    Overwrite(disk, path, good);
  }
  EXPECT_EQ(LoadModel(disk, "elsewhere").status().code(), StatusCode::kNotFound);
}

TEST(ModelFile, FilesOfTwoModelsDoNotMix) {
  SimDisk disk;
  ASSERT_TRUE(Example(1).Save(disk).ok());
  const std::string dense = Content(disk, "runs/model/dense-1.bin");
  SimDisk other;
  ASSERT_TRUE(Example(2).Save(other).ok());
  Overwrite(other, "runs/model/dense-1.bin", dense);
  EXPECT_THAT(LoadModel(other, "runs/model").status().message(),
              HasSubstr("runs/model/dense-1.bin: block 0"));
}

TEST(ModelFile, ACrashOrAFullDiskLeavesTheOldModelOrTheNew) {
  int old_found = 0;
  int new_found = 0;
  const Example first(1);
  const Example second(2);
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SimDisk disk({.seed = seed});
    ASSERT_TRUE(first.Save(disk).ok());
    Status saved;
    if (seed % 3 == 0) {
      disk.FailAppend(1 + seed / 3 % 5);
      saved = second.Save(disk);
    } else if (seed % 3 == 1) {
      disk.FailSync(1 + seed / 3 % 9);
      saved = second.Save(disk);
    } else {
      disk.SetCapacity(disk.bytes_used() + seed * 20);
      saved = second.Save(disk);
    }
    disk.Crash();
    const auto loaded = LoadModel(disk, "runs/model");
    ASSERT_TRUE(loaded.ok()) << "seed " << seed << ": " << loaded.status().ToString();
    const bool is_new = second.Equals(*loaded);
    EXPECT_TRUE(is_new || first.Equals(*loaded)) << "seed " << seed;
    if (saved.ok()) {
      EXPECT_TRUE(is_new) << "seed " << seed;
    }
    (is_new ? new_found : old_found) += 1;
    disk.SetCapacity(UINT64_MAX);
    disk.FailAppend(0);
    disk.FailSync(0);
    ASSERT_TRUE(second.Save(disk).ok());
    EXPECT_EQ(Names(disk).size(), 4U);
  }
  EXPECT_GT(old_found, 30);
  EXPECT_GT(new_found, 30);
}

TEST(ModelFile, ASaveThatFailsLeavesNoFiles) {
  const Example example(1);
  for (const uint64_t append : {1, 2, 3, 4}) {
    SimDisk disk;
    disk.FailAppend(append);
    EXPECT_FALSE(example.Save(disk).ok()) << append;
    EXPECT_TRUE(Names(disk).empty()) << append;
  }
}

TEST(ModelFile, ARestoredTableAnswersLikeTheOldOne) {
  const Example example(1, 9'000);
  SimDisk disk;
  ASSERT_TRUE(example.Save(disk).ok());
  std::vector<Key> keys = example.keys;
  keys.push_back(42);  // a key that was never seen: its initial value
  const auto look_up = [&](TableStore& store, const std::string& table) {
    std::vector<float> rows(keys.size() * GraphOf(kShape).row_dim(0));
    Operation lookup{.kind = OpKind::kLookup, .parts = {}, .exec = {}, .sync = {}};
    lookup.parts.push_back({.table = TableIdOf(table), .keys = keys, .in = {}, .out = rows});
    EXPECT_TRUE(SubmitAndWait(store, std::move(lookup)).status.ok());
    return rows;
  };
  const auto expected = look_up(*example.store, "rows");
  for (const int world : {1, 3}) {
    const auto store = MakeHostStore();
    MemoryWorld memory(world);
    std::vector<std::thread> ranks;
    for (int r = 0; r < world; ++r) {
      ranks.emplace_back([&, r] {
        Group group(memory.rank(r));
        const auto loaded = LoadModel(disk, "runs/model");
        ASSERT_TRUE(loaded.ok());
        const std::vector<TableSpec> tables = RestoredTables(loaded->model, "restored");
        ASSERT_TRUE(RestoreTables(*loaded, tables, *store, group).ok());
        EXPECT_EQ(look_up(*store, "restored"), expected);
      });
    }
    for (std::thread& rank : ranks) rank.join();
  }
}

}  // namespace
}  // namespace strata
