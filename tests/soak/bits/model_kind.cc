// A saved model: training left it behind, and a scorer loads it.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "base/hash.h"
#include "storage/memory/host_store.h"
#include "tests/soak/bits/file_kinds.h"
#include "tests/support/sim_disk.h"
#include "worker/ctr/model_file.h"

namespace strata::soak {
namespace {

constexpr size_t kRows = 50;

void Save(Disk& disk, const std::string& folder) {
  const ModelShape shape{ModelKind::kDeepFm, 2, {4}, 3, 1};
  TableSpec spec;
  spec.name = "rows";
  spec.dim = GraphOf(shape).row_dim(0);
  const auto store = MakeHostStore();
  STRATA_CHECK(store->CreateTable(spec).ok());
  std::vector<Key> keys;
  std::vector<float> rows(kRows * spec.dim);
  for (size_t i = 0; i < kRows; ++i) keys.push_back(Mix64(i));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i) / 8;
  Operation assign{.kind = OpKind::kAssign, .parts = {}, .exec = {}, .sync = {}};
  assign.parts.push_back({.table = spec.id(), .keys = keys, .in = rows, .out = {}});
  STRATA_CHECK(SubmitAndWait(*store, std::move(assign)).status.ok());
  SavedModel model{.job = "job",
                   .seed = 9,
                   .epochs = 2,
                   .samples = 1234,
                   .shape = shape,
                   .initializer = spec.initializer,
                   .table_seed = spec.seed,
                   .features = "text of the features\n",
                   .dense = std::vector<float>(GraphOf(shape).parameters(), 0.5F)};
  STRATA_CHECK(SaveModel(disk, folder, model, *store, {&spec, 1}).ok());
}

bool SameRows(const LoadedModel& a, const LoadedModel& b) {
  return std::ranges::equal(a.tables, b.tables, [](const SavedRows& left, const SavedRows& right) {
    return left.keys == right.keys && left.values == right.values;
  });
}

bool Equal(const LoadedModel& a, const LoadedModel& b) {
  return SameRows(a, b) && a.model.job == b.model.job && a.model.seed == b.model.seed &&
         a.model.epochs == b.model.epochs && a.model.samples == b.model.samples &&
         a.model.shape == b.model.shape && a.model.initializer == b.model.initializer &&
         a.model.table_seed == b.model.table_seed && a.model.features == b.model.features &&
         a.model.dense == b.model.dense;
}

}  // namespace

FileKind SavedModels() {
  const std::string folder = "runs/model";
  auto disk = std::make_shared<SimDisk>();
  Save(*disk, folder);
  auto saved = LoadModel(*disk, folder);
  STRATA_CHECK(saved.ok() && saved->tables[0].keys.size() == kRows);
  const auto truth = std::make_shared<LoadedModel>(std::move(*saved));
  FileKind kind{.disk = disk.get(), .files = {}, .judge = [=](const std::string& file) {
                  const auto loaded = LoadModel(*disk, folder);
                  if (loaded.ok()) {
                    return Equal(*loaded, *truth) ? Verdict::kHarmless : Verdict::kWrong;
                  }
                  const bool named = loaded.status().message().find(file) != std::string::npos;
                  return named ? Verdict::kDetected : Verdict::kWrong;
                }};
  const auto names = disk->List(folder);
  STRATA_CHECK(names.ok());
  for (const std::string& name : *names) kind.files.push_back(fmt::format("{}/{}", folder, name));
  return kind;
}

}  // namespace strata::soak
