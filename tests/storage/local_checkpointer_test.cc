#include "storage/checkpoint/local_checkpointer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/random.h"
#include "proto/format/checkpoint_manifest.h"
#include "storage/memory/host_store.h"
#include "tests/support/sim_disk.h"

namespace strata {
namespace {

using format::CheckpointFolderName;

TableSpec Spec(const std::string& name, uint32_t dim) {
  return {.name = name,
          .dim = dim,
          .optimizer = {.kind = OptimizerKind::kAdam},
          .initializer = {InitializerKind::kUniform, 1.0F},
          .seed = 4};
}

// Rows with state and counters, as bytes.
using Content = std::map<std::string, std::map<Key, std::string>>;

Content ContentOf(LocalStore& store) {
  Content content;
  const auto specs = store.ListTables();
  EXPECT_TRUE(specs.ok());
  for (const TableSpec& spec : *specs) {
    ScanPage page;
    page.with_state = true;
    page.rows_max = UINT32_MAX;
    Operation scan;
    scan.kind = OpKind::kScan;
    scan.parts = {{.table = spec.id(), .page = &page}};
    EXPECT_TRUE(SubmitAndWait(store, scan).status.ok());
    auto& rows = content[spec.name];
    const size_t width = page.keys.empty() ? 0 : page.rows.size() / page.keys.size();
    for (size_t i = 0; i < page.keys.size(); ++i) {
      const auto elements = std::as_bytes(std::span(page.rows).subspan(i * width, width));
      const auto counters = std::as_bytes(std::span(page.counters).subspan(i, 1));
      std::string& row = rows[page.keys[i]];
      row.append(reinterpret_cast<const char*>(elements.data()), elements.size());
      row.append(reinterpret_cast<const char*>(counters.data()), counters.size());
    }
  }
  return content;
}

Status Write(LocalStore& store, Random& random, const TableSpec& spec) {
  std::vector<Key> keys(random.Below(30));
  for (Key& key : keys) key = random.Below(200);
  std::vector<float> values(keys.size() * spec.dim);
  for (float& value : values) value = static_cast<float>(random.Uniform());
  Operation operation;
  const bool erase = random.Below(5) == 0;
  operation.kind = erase ? OpKind::kErase : OpKind::kUpdate;
  operation.parts = {{.table = spec.id(), .keys = keys}};
  if (!erase) operation.parts[0].in = values;
  return SubmitAndWait(store, operation).status;
}

class LocalCheckpointerTest : public testing::Test {
 protected:
  LocalCheckpointerTest() {
    for (const TableSpec& spec : {a_, b_}) EXPECT_TRUE(store_->CreateTable(spec).ok());
    Reopen();
  }
  void Reopen() {
    checkpointer_ = MakeLocalCheckpointer(*store_, {.disk = &disk_, .root = "c", .clock = &clock_});
  }
  void WriteSome(int batches = 20) {
    for (int i = 0; i < batches; ++i) {
      ASSERT_TRUE(Write(*store_, random_, random_.Below(2) == 0 ? a_ : b_).ok());
    }
  }

  SimDisk disk_;
  SimClock clock_{5};
  Random random_{1};
  const TableSpec a_ = Spec("a", 3);
  const TableSpec b_ = Spec("b", 1);
  std::unique_ptr<LocalStore> store_ = MakeHostStore({.clock = &clock_});
  std::unique_ptr<Checkpointer> checkpointer_;
};

TEST_F(LocalCheckpointerTest, WhatWasThereAtTheCutComesBack) {
  std::map<uint32_t, Content> truth;
  uint32_t incremental = 0;
  for (int round = 0; round < 30; ++round) {
    WriteSome();
    const Content content = ContentOf(*store_);
    const auto number = checkpointer_->Cut(kNever);
    ASSERT_TRUE(number.ok()) << number.status().ToString();
    WriteSome(5);
    const Attachment dense{"dense", std::to_string(round)};
    const auto info = checkpointer_->Save(*number, round % 4 == 3, {&dense, 1}, kNever);
    ASSERT_TRUE(info.ok()) << info.status().ToString();
    EXPECT_TRUE(round % 4 != 3 || info->parent == 0);
    incremental += info->parent != 0 ? 1 : 0;
    truth[*number] = content;
    if (round % 7 == 6) Reopen();  // as a job that starts anew, with its tables
    if (round % 5 == 4) {
      const auto list = checkpointer_->List(kNever);
      ASSERT_TRUE(list.ok());
      const CheckpointInfo& pick = (*list)[random_.Below(list->size())];
      ASSERT_TRUE(checkpointer_->Restore(pick.number, kNever).ok());
      ASSERT_EQ(ContentOf(*store_), truth.at(pick.number)) << "checkpoint " << pick.number;
    }
  }
  EXPECT_GT(incremental, 8U);
  const auto list = checkpointer_->List(kNever);
  ASSERT_TRUE(list.ok());
  EXPECT_LT(list->size(), 12U) << "old ones are retired";
  EXPECT_EQ(*checkpointer_->ReadAttachment(list->front().number, "dense", kNever), "29");
}

TEST_F(LocalCheckpointerTest, TablesComeAndGoMeanwhile) {
  WriteSome();
  const Content content = ContentOf(*store_);
  const auto first = checkpointer_->Cut(kNever);
  ASSERT_TRUE(store_->DropTable("b").ok());
  ASSERT_TRUE(store_->CreateTable(Spec("b", 2)).ok());
  ASSERT_TRUE(checkpointer_->Save(*first, false, {}, kNever).ok());
  const auto second = checkpointer_->Cut(kNever);
  ASSERT_TRUE(checkpointer_->Save(*second, false, {}, kNever).ok());
  ASSERT_TRUE(checkpointer_->Restore(*second, kNever).ok());
  EXPECT_TRUE(ContentOf(*store_).at("b").empty());
  EXPECT_EQ(ContentOf(*store_).at("a"), content.at("a"));
  ASSERT_TRUE(checkpointer_->Restore(*first, kNever).ok());
  EXPECT_EQ(ContentOf(*store_), content);
}

TEST_F(LocalCheckpointerTest, ATableIsRestoredWhileOthersGoOn) {
  WriteSome();
  const Content before = ContentOf(*store_);
  const auto number = checkpointer_->Cut(kNever);
  ASSERT_TRUE(checkpointer_->Save(*number, true, {}, kNever).ok());
  WriteSome();
  const Content after = ContentOf(*store_);
  ASSERT_NE(after.at("a"), before.at("a"));
  ASSERT_TRUE(checkpointer_->RestoreTable(*number, "a", kNever).ok());
  EXPECT_EQ(ContentOf(*store_).at("a"), before.at("a"));
  EXPECT_EQ(ContentOf(*store_).at("b"), after.at("b"));
  EXPECT_EQ(checkpointer_->RestoreTable(*number, "none", kNever).code(), StatusCode::kNotFound);
  EXPECT_EQ(ContentOf(*store_).at("b"), after.at("b"));
}

TEST_F(LocalCheckpointerTest, RefusalsAndFailuresLeaveTheStoreAlone) {
  WriteSome();
  EXPECT_EQ(checkpointer_->Save(1, true, {}, kNever).status().code(), StatusCode::kInvalid);
  EXPECT_EQ(checkpointer_->Cut(5).status().code(), StatusCode::kDeadlineExceeded);
  const auto number = checkpointer_->Cut(kNever);
  ASSERT_TRUE(number.ok());
  EXPECT_EQ(checkpointer_->Save(*number, true, {}, 5).status().code(),
            StatusCode::kDeadlineExceeded);
  EXPECT_EQ(checkpointer_->Save(*number, true, {}, kNever).status().code(), StatusCode::kInvalid);
  const Content content = ContentOf(*store_);
  EXPECT_EQ(checkpointer_->Restore(77, kNever).code(), StatusCode::kNotFound);
  const auto next = checkpointer_->Cut(kNever);
  ASSERT_TRUE(checkpointer_->Save(*next, true, {}, kNever).ok());
  EXPECT_GT(*next, *number);
  ASSERT_TRUE(disk_.Create("c/" + CheckpointFolderName(*next) + "/server-0-lane-0.part").ok());
  EXPECT_EQ(checkpointer_->Restore(*next, kNever).code(), StatusCode::kCorrupt);
  EXPECT_EQ(ContentOf(*store_), content);
}

// Real threads write while a checkpoint is saved; every table's rows are those of one moment.
TEST_F(LocalCheckpointerTest, WritersGoOn) {
  // Every update adds 1 to the same 64 keys of both tables at once: all rows of the cut are equal.
  TableSpec spec = Spec("sum", 1);
  spec.optimizer = {.kind = OptimizerKind::kSgd, .learning_rate = 1.0F};
  spec.initializer = {InitializerKind::kZero, 0.0F};
  ASSERT_TRUE(store_->CreateTable(spec).ok());
  std::vector<Key> keys(64);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i * 7;
  const std::vector<float> gradients(keys.size(), -1.0F);
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    while (!stop) {
      Operation operation;
      operation.kind = OpKind::kUpdate;
      operation.parts = {{.table = spec.id(), .keys = keys, .in = gradients}};
      EXPECT_TRUE(SubmitAndWait(*store_, operation).status.ok());
    }
  });
  std::vector<uint32_t> numbers;
  for (int i = 0; i < 20; ++i) {
    const auto number = checkpointer_->Cut(kNever);
    ASSERT_TRUE(number.ok());
    ASSERT_TRUE(checkpointer_->Save(*number, i % 3 == 0, {}, kNever).ok());
    numbers.push_back(*number);
  }
  stop = true;
  writer.join();
  ASSERT_TRUE(checkpointer_->Restore(numbers.back(), kNever).ok());
  std::vector<float> rows(keys.size(), -1.0F);
  Operation lookup;
  lookup.kind = OpKind::kLookup;
  lookup.parts = {{.table = spec.id(), .keys = keys, .out = rows}};
  ASSERT_TRUE(SubmitAndWait(*store_, lookup).status.ok());
  EXPECT_THAT(rows, testing::Each(rows[0]));
}

}  // namespace
}  // namespace strata
