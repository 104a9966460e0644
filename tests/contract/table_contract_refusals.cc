// Tables by name, and what a store refuses: with which code, and in which words.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/contract/table_contract.h"

namespace strata {
namespace {

using testing::HasSubstr;

const std::vector<Key> kKeys = {1, 2};

TableSpec Plain(const std::string& name = "t") {
  return ContractSpec(name, 2, OptimizerKind::kSgd, InitializerKind::kZero);
}

void ExpectStatus(const Status& status, StatusCode code, const std::string& words) {
  EXPECT_EQ(status.code(), code) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr(words));
}

TEST_P(TableContract, TablesAreMadeListedAndDropped) {
  ExpectStatus(store.store().DropTable("b"), StatusCode::kNotFound, "b");
  store.Create(Plain("b"));
  store.Create(Plain("a"));
  store.Create(Plain("b"));  // the same again
  const Result<std::vector<TableSpec>> tables = store.store().ListTables();
  ASSERT_TRUE(tables.ok());
  EXPECT_EQ(*tables, (std::vector<TableSpec>{Plain("a"), Plain("b")}));
  store.Update(Plain("b"), kKeys, std::vector<float>(4, 1.0F), 1);
  EXPECT_TRUE(store.store().DropTable("b").ok());
  ExpectStatus(store.store().DropTable("b"), StatusCode::kNotFound, "b");
  store.Create(Plain("b"));
  EXPECT_EQ(store.Lookup(Plain("b"), kKeys), std::vector<float>(4, 0.0F)) << "a table made anew";
  EXPECT_EQ(store.Stats(Plain("b")).rows, 0U);
}

TEST_P(TableContract, ASecondDefinitionOfATableIsAnError) {
  store.Create(Plain());
  TableSpec other = Plain();
  other.dim = 16;
  ExpectStatus(store.store().CreateTable(other), StatusCode::kExists, "dim 2");
  other = Plain();
  other.seed = 21;
  ExpectStatus(store.store().CreateTable(other), StatusCode::kExists, "seed");
  other = Plain();
  other.optimizer.kind = OptimizerKind::kAdam;
  ExpectStatus(store.store().CreateTable(other), StatusCode::kExists, "adam");
}

TEST_P(TableContract, WrongDefinitionsAreRefused) {
  TableSpec spec = Plain();
  spec.dim = 0;
  ExpectStatus(store.store().CreateTable(spec), StatusCode::kInvalid,
               "expected 1 to 1024, found 0");
  spec = Plain();
  spec.dim = 1025;
  ExpectStatus(store.store().CreateTable(spec), StatusCode::kInvalid, "found 1025");
  spec = Plain("");
  ExpectStatus(store.store().CreateTable(spec), StatusCode::kInvalid, "table name");
  spec = Plain();
  spec.optimizer.learning_rate = NAN;
  ExpectStatus(store.store().CreateTable(spec), StatusCode::kInvalid, "learning_rate");
  spec.optimizer.learning_rate = 0;
  ExpectStatus(store.store().CreateTable(spec), StatusCode::kInvalid, "above 0");
  EXPECT_TRUE(store.store().ListTables()->empty());
}

TEST_P(TableContract, AnUnknownTableIsNotFound) {
  store.Create(Plain());
  std::vector<float> rows(4);
  TableStats stats;
  const TableId missing = TableIdOf("missing");
  ExpectStatus(store.Run(OpKind::kLookup, {.table = missing, .keys = kKeys, .out = rows}),
               StatusCode::kNotFound, "");
  ExpectStatus(store.Run(OpKind::kUpdate, {.table = missing, .keys = kKeys, .in = rows}),
               StatusCode::kNotFound, "");
  ExpectStatus(store.Run(OpKind::kErase, {.table = missing, .keys = kKeys}), StatusCode::kNotFound,
               "");
  ExpectStatus(store.Run(OpKind::kStats, {.table = missing, .stats = &stats}),
               StatusCode::kNotFound, "");
}

TEST_P(TableContract, WrongShapesAreInvalidAndChangeNothing) {
  store.Create(Plain());
  const TableId id = Plain().id();
  std::vector<float> rows(6);
  const std::span<float> out(rows);
  const auto invalid = [this](OpKind kind, const TablePart& part, const std::string& words) {
    ExpectStatus(store.Run(kind, part), StatusCode::kInvalid, words);
  };
  invalid(OpKind::kLookup, {.table = id, .keys = kKeys, .out = out}, "out");
  invalid(OpKind::kLookup, {.table = id, .keys = kKeys, .out = out.first(3)}, "out");
  invalid(OpKind::kLookup, {.table = id, .keys = kKeys}, "out");
  invalid(OpKind::kLookup, {.table = id, .out = out.first(2)}, "out");
  invalid(OpKind::kUpdate, {.table = id, .keys = kKeys, .in = out}, "in");
  invalid(OpKind::kUpdate, {.table = id, .keys = kKeys, .in = out.first(1)}, "in");
  invalid(OpKind::kAssign, {.table = id, .keys = kKeys}, "in");
  invalid(OpKind::kErase, {.table = id, .keys = kKeys, .in = out.first(4)}, "in");
  invalid(OpKind::kLookup, {.table = id, .keys = kKeys, .out = out.first(4), .then = kKeys},
          "afterwards");
  invalid(OpKind::kUpdateLookup, {.table = id, .keys = kKeys, .in = out.first(4), .then = kKeys},
          "out");
  invalid(OpKind::kUpdateLookup, {.table = id, .out = out.first(3), .then = kKeys}, "out");
  invalid(OpKind::kScan, {.table = id}, "page");
  invalid(OpKind::kStats, {.table = id}, "stats");
  ScanPage page;
  page.rows_max = 0;
  invalid(OpKind::kScan, {.table = id, .page = &page}, "rows_max");
  EXPECT_EQ(store.Stats(Plain()).rows, 0U);
}

TEST_P(TableContract, OneWrongPartStopsTheWholeOperation) {
  store.Create(Plain("a"));
  store.Create(Plain("b"));
  const std::vector<float> gradients(4, 1.0F);
  Operation update;
  update.kind = OpKind::kUpdate;
  update.parts = {{.table = Plain("a").id(), .keys = kKeys, .in = gradients},
                  {.table = Plain("b").id(), .keys = kKeys, .in = std::span(gradients).first(2)}};
  ExpectStatus(store.Run(update), StatusCode::kInvalid, "b");
  update.parts[1] = update.parts[0];
  ExpectStatus(store.Run(update), StatusCode::kInvalid, "two parts");
  update.parts[1].table = TableIdOf("missing");
  ExpectStatus(store.Run(update), StatusCode::kNotFound, "");
  EXPECT_EQ(store.Stats(Plain("a")).rows, 0U);
}

TEST_P(TableContract, MemoryAloneOffersOnlyAckLevelApplied) {
  store.Create(Plain());
  const std::vector<float> rows(4, 1.0F);
  for (const AckLevel level : {AckLevel::kLogged, AckLevel::kSynced, AckLevel::kReplicated}) {
    for (const OpKind kind : {OpKind::kUpdate, OpKind::kAssign, OpKind::kErase}) {
      Operation write;
      write.kind = kind;
      write.parts = {{.table = Plain().id(), .keys = kKeys}};
      if (kind != OpKind::kErase) write.parts[0].in = rows;
      write.ack = level;
      ExpectStatus(store.Run(write), StatusCode::kRefused, std::string(AckLevelName(level)));
      if (level == AckLevel::kReplicated) continue;  // a server offers it nowhere
      ExpectStatus(store.Run(write), StatusCode::kRefused, "applied");
    }
  }
  EXPECT_EQ(store.Stats(Plain()).rows, 0U);
}

TEST_P(TableContract, StepsBeginAtOne) {
  store.Create(Plain());
  const std::vector<float> gradients(4, 1.0F);
  const TablePart part{.table = Plain().id(), .keys = kKeys, .in = gradients};
  ExpectStatus(store.Run(OpKind::kUpdate, part, 0), StatusCode::kInvalid, "step");
  EXPECT_EQ(store.Stats(Plain()).rows, 0U);
}

TEST_P(TableContract, ADeadlineThatHasPassedStopsTheOperation) {
  store.Create(Plain());
  const std::vector<float> gradients(4, 1.0F);
  std::vector<float> rows(4);
  Operation operation;
  operation.kind = OpKind::kUpdate;
  operation.parts = {{.table = Plain().id(), .keys = kKeys, .in = gradients}};
  operation.deadline = Now() - 1;
  ExpectStatus(store.Run(operation), StatusCode::kDeadlineExceeded, "");
  operation.kind = OpKind::kLookup;
  operation.parts = {{.table = Plain().id(), .keys = kKeys, .out = rows}};
  ExpectStatus(store.Run(operation), StatusCode::kDeadlineExceeded, "");
  EXPECT_EQ(store.Stats(Plain()).rows, 0U);
  operation.deadline = Now() + 600 * kSecond;
  EXPECT_TRUE(store.Run(operation).ok());
}

TEST_P(TableContract, ASynchronousGroupOfOneStepsAtOnce) {
  const TableSpec spec = ContractSpec("t", 2, OptimizerKind::kAdam, InitializerKind::kZero);
  for (StoreUser* user : {&store, &model}) user->Create(spec);
  const std::vector<float> gradients = {1, 2, 3, 4};
  for (uint64_t step = 5; step < 8; ++step) {
    model.Update(spec, kKeys, gradients, step);
    Operation operation;
    operation.kind = OpKind::kUpdate;
    operation.parts = {{.table = spec.id(), .keys = kKeys, .in = gradients}};
    operation.step = step;
    operation.sync = SyncGroup{.id = 9, .rank = 0, .world = 1, .first_step = 5};
    Status status = store.Run(operation);
    ASSERT_TRUE(status.ok()) << status.ToString();
    std::vector<float> rows(4);
    operation.kind = OpKind::kLookup;
    operation.parts = {{.table = spec.id(), .keys = kKeys, .out = rows}};
    operation.step = step + 1;
    status = store.Run(operation);
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(rows, model.Lookup(spec, kKeys));
  }
  EXPECT_EQ(store.Scan(spec, 10, true), model.Scan(spec, 10, true));
}

TEST_P(TableContract, WrongSynchronousGroupsAreRefused) {
  store.Create(Plain());
  const std::vector<float> gradients(4, 1.0F);
  Operation update;
  update.kind = OpKind::kUpdate;
  update.parts = {{.table = Plain().id(), .keys = kKeys, .in = gradients}};
  update.sync = SyncGroup{.id = 1, .rank = 2, .world = 2, .first_step = 1};
  ExpectStatus(store.Run(update), StatusCode::kInvalid, "rank");
  update.sync = SyncGroup{.id = 1, .rank = 0, .world = 1, .first_step = 2};
  ExpectStatus(store.Run(update), StatusCode::kInvalid, "first step");
  if (GetParam().in_process) {
    update.sync = SyncGroup{.id = 1, .rank = 1, .world = 2, .first_step = 1};
    ExpectStatus(store.Run(update), StatusCode::kRefused, "a cluster is needed");
  }
  update.kind = OpKind::kAssign;
  update.sync = SyncGroup{};
  ExpectStatus(store.Run(update), StatusCode::kInvalid, "synchronous");
  EXPECT_EQ(store.Stats(Plain()).rows, 0U);
}

}  // namespace
}  // namespace strata
