#include "bench/suites/ctr/click_steps.h"

#include <algorithm>
#include <utility>

#include "bench/harness/workload.h"
#include "bench/suites/ctr/click_shapes.h"
#include "storage/memory/host_store.h"

namespace strata::bench {
namespace {

constexpr size_t kBatches = 4;  // that take turns
constexpr float kScale = 0.05F;

TableSpec ClickTable(const ClickStepsOptions& options) {
  return {.name = "rows",
          .dim = GraphOf(options.shape).row_dim(0),
          .optimizer = {.kind = options.optimizer, .learning_rate = 0.01F},
          .initializer = {InitializerKind::kUniform, kScale},
          .seed = 1};
}

}  // namespace

class ClickSteps::Source final : public BatchSource {
 public:
  explicit Source(const ClickStepsOptions& options) {
    for (uint64_t b = 0; b < kBatches; ++b) {
      batches_.push_back(MakeClickBatch(options.batch_size, b, [&](size_t i, uint64_t slot) {
        return DrawRow((b * options.batch_size + i) * kClickSlots + slot, options.rows);
      }));
    }
  }
  void SetCount(uint64_t count) { count_ = count; }

  Status Rewind(uint64_t /*epoch*/) override {
    left_ = count_;
    return {};
  }
  Status Next(size_t /*samples_max*/, Batch* batch) override {
    if (left_ == 0) {
      batch->Start(kClickSlots, kClickDense);
      return {};
    }
    --left_;
    *batch = batches_[left_ % kBatches];
    return {};
  }
  double Progress() const override { return 0; }

 private:
  std::vector<Batch> batches_;
  uint64_t count_ = 0;
  uint64_t left_ = 0;
};

ClickSteps::ClickSteps(const ClickStepsOptions& options, std::unique_ptr<WorkPool> threads)
    : options_(options),
      threads_(std::move(threads)),
      store_(MakeHostStore({.threads = threads_.get()})),
      network_(MakeCpuNetwork(GraphOf(options.shape), threads_.get())),
      source_(std::make_shared<Source>(options)) {}

Result<std::unique_ptr<ClickSteps>> ClickSteps::Make(const ClickStepsOptions& options) {
  STRATA_ASSIGN(std::unique_ptr<WorkPool> threads,
                WorkPool::Start("step", options.threads - 1, ThreadWait::kSpinFirst));
  std::unique_ptr<ClickSteps> steps(new ClickSteps(options, std::move(threads)));
  const TableSpec table = ClickTable(options);
  STRATA_TRY(steps->store_->CreateTable(table));
  STRATA_TRY(steps->Fill(table));
  steps->trainer_ = std::make_unique<Trainer>(
      TrainerOptions{.seed = 1,
                     .batch_size = options.batch_size,
                     .dense_optimizer = {.kind = OptimizerKind::kAdam, .learning_rate = 1e-4F},
                     .tables = {table.id()},
                     .threads = steps->threads_.get()},
      *steps->network_, *steps->store_, steps->group_);
  STRATA_TRY(steps->trainer_->Start());
  return steps;
}

Status ClickSteps::Fill(const TableSpec& table) {
  constexpr uint64_t kAtOnce = 4096;
  std::vector<float> values = DrawFloats(kAtOnce * table.dim, 2);
  for (float& value : values) value *= kScale;
  std::vector<Key> keys;
  for (uint64_t slot = 0; slot < kClickSlots; ++slot) {
    for (uint64_t first = 0; first < options_.rows; first += kAtOnce) {
      keys.clear();
      const uint64_t end = std::min(first + kAtOnce, options_.rows);
      for (uint64_t row = first; row < end; ++row) keys.push_back(ClickKey(slot, row));
      STRATA_TRY(Assign(*store_, table, keys, std::span(values).first(keys.size() * table.dim)));
    }
  }
  return {};
}

Status ClickSteps::Run(uint64_t count) {
  source_->SetCount(count);
  return trainer_->TrainEpoch(*source_, passes_++, [](const StepReport&) { return Status(); });
}

}  // namespace strata::bench
