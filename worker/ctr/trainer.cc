#include "worker/ctr/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/hash.h"
#include "kernels/optim/apply.h"
#include "worker/ctr/agree.h"

namespace strata {

Trainer::Trainer(const TrainerOptions& options, Network& network, TableStore& store, Group& group)
    : options_(options),
      network_(network),
      store_(store),
      group_(group),
      dense_(network.graph().parameters()),
      dense_state_(StateWidth(options.dense_optimizer, network.graph().learned_parameters())),
      reduced_(dense_.size() + 3),
      stages_(options.clock),
      finder_(options.threads, options.beside) {
  STRATA_CHECK(options_.tables.size() == network.graph().spec().tables.size());
  InitializeParameters(network_.graph(), options_.seed, dense_);
  InitialState(options_.dense_optimizer, dense_state_);
}

size_t Trainer::PartSize(uint32_t batch_size, int rank, int world) {
  const auto ranks = static_cast<uint32_t>(world);
  return batch_size / ranks + (static_cast<uint32_t>(rank) < batch_size % ranks ? 1 : 0);
}

Status Trainer::Start() {
  if (options_.batch_size < static_cast<uint32_t>(group_.world())) {
    return Invalid(
        fmt::format("train.batch_size is {}: expected at least one sample for each of "
                    "the {} workers",
                    options_.batch_size, group_.world()));
  }
  STRATA_ASSIGN(const uint64_t nonce, NumberOfRank0(group_, options_.nonce));
  run_ = static_cast<uint32_t>(Mix64(nonce));
  return {};
}

SyncGroup Trainer::Mark() const {
  return {.id = run_,
          .rank = static_cast<uint16_t>(group_.rank()),
          .world = static_cast<uint16_t>(group_.world()),
          .first_step = first_step_};
}

Status Trainer::Resume(TrainerState state) {
  STRATA_TRY(CheckDense(state, dense_.size(), dense_state_.size()));
  first_step_ = step_ = state.steps + 1;
  epoch_ = state.epoch;
  epoch_steps_ = state.epoch_steps;
  samples_ = state.samples;
  dense_ = std::move(state.dense);
  dense_state_ = std::move(state.dense_state);
  return {};
}

TrainerState Trainer::State() const {
  return {.steps = steps(),
          .epoch = epoch_,
          .epoch_steps = epoch_steps_,
          .samples = samples_,
          .dense = dense_,
          .dense_state = dense_state_};
}

size_t Trainer::OwnPartSize() const {
  return PartSize(options_.batch_size, group_.rank(), group_.world());
}

// The order of a source that shuffles follows from everything it has read of the epoch. So what the
// state has done of it is read, parsed and shuffled a second time, at the pace of reading, which on
// average is half an epoch's reading once a resume; nothing is computed.
Status Trainer::SkipToPosition(BatchSource& source) {
  Batch batch;
  for (uint64_t i = 0; i < epoch_steps_; ++i) {
    STRATA_TRY(source.Next(OwnPartSize(), &batch));
    if (batch.samples == 0) break;  // a short share; the other ranks go on without it
  }
  return {};
}

Status Trainer::BeginPart(BatchSource& source) {
  std::shared_ptr<Part> part;
  if (spares_.size() == kSparesMax) {
    part = std::move(spares_.front());
    spares_.pop_front();
  }
  // The store may still hold on to it.
  if (part == nullptr || part.use_count() > 1) part = std::make_shared<Part>();
  STRATA_TRY(source.Next(OwnPartSize(), &part->batch));
  stages_.End(Stage::kData);
  finder_.Begin(part->batch, network_.graph().table_slots(), &part->unique);
  begun_ = std::move(part);
  return {};
}

Status Trainer::TakePart(BatchSource& source, std::shared_ptr<Part>* part) {
  if (begun_ == nullptr) STRATA_TRY(BeginPart(source));
  *part = std::exchange(begun_, nullptr);
  STRATA_TRY(finder_.Wait());
  GiveRoom(part->get());
  stages_.End(Stage::kCompute);
  return {};
}

void Trainer::GiveRoom(Part* part) const {
  const size_t elements = RowElements(network_.graph(), part->unique);
  if (part->room < 2 * elements) {
    part->room = 2 * elements + elements / 4;  // batches differ a little
    part->memory = network_.TakeMemory(part->room);
  }
  part->rows = {part->memory.get(), elements};
  part->gradients = {part->memory.get() + elements, elements};
}

Status Trainer::ReadAhead(BatchSource& source, const Part& part) {
  const size_t wished = std::max<size_t>(options_.hint_batches, 1);
  const auto is_more = [&] { return (ahead_.empty() ? part : *ahead_.back()).batch.samples > 0; };
  while (ahead_.size() < wished && is_more()) {
    std::shared_ptr<Part> next;
    STRATA_TRY(TakePart(source, &next));
    if (options_.hint_batches > 0) SubmitHint(next);
    ahead_.push_back(std::move(next));
  }
  if (finder_.is_beside() && begun_ == nullptr && is_more()) return BeginPart(source);
  return {};
}

void Trainer::SubmitLookup(const std::shared_ptr<Part>& part) {
  if (part->unique.keys.empty()) return;
  Operation lookup{.kind = OpKind::kLookup, .parts = {}, .exec = {}, .step = step_, .sync = Mark()};
  for (size_t table = 0; table < options_.tables.size(); ++table) {
    lookup.parts.push_back({.table = options_.tables[table],
                            .keys = part->unique.of_table(table),
                            .out = RowsOf(*part, part->rows, table),
                            .in_key_order = true});
  }
  lookup_.Submit(store_, std::move(lookup), part);
}

// The rows are asked for once the gradients of the step before are sent: until then servers whose
// tables do not fit their memory may bring them up.
void Trainer::SubmitHint(const std::shared_ptr<Part>& part) {
  if (part->unique.keys.empty()) return;
  Operation hint;
  hint.kind = OpKind::kPrefetch;
  for (size_t table = 0; table < options_.tables.size(); ++table) {
    hint.parts.push_back({.table = options_.tables[table],
                          .keys = part->unique.of_table(table),
                          .in_key_order = true});
  }
  store_.Submit(std::move(hint), [part](const Outcome&) {});
}

void Trainer::SubmitUpdate(const std::shared_ptr<Part>& part, const std::shared_ptr<Part>& next) {
  Operation update{.kind = OpKind::kUpdate, .parts = {}, .exec = {}, .step = step_, .sync = Mark()};
  const bool is_fused = options_.fused && !next->unique.keys.empty();
  if (is_fused) update.kind = OpKind::kUpdateLookup;
  for (size_t table = 0; table < options_.tables.size(); ++table) {
    TablePart& its =
        update.parts.emplace_back(TablePart{.table = options_.tables[table],
                                            .keys = part->unique.of_table(table),
                                            .in = RowsOf(*part, part->gradients, table),
                                            .in_key_order = true});
    if (!is_fused) continue;
    its.then = next->unique.of_table(table);
    its.out = RowsOf(*next, next->rows, table);
  }
  if (!is_fused) return update_.Submit(store_, std::move(update), part);
  lookup_.Submit(
      store_, std::move(update),
      std::make_shared<std::pair<std::shared_ptr<Part>, std::shared_ptr<Part>>>(part, next));
}

Status Trainer::Compute(Part& part) {
  logits_.resize(part.batch.samples);
  const Regularisation regularisation{
      .dropout = options_.dropout,
      .l2 = options_.l2,
      .dropout_seed = Mix64(Mix64(options_.seed + static_cast<uint64_t>(group_.rank())) + step_)};
  STRATA_ASSIGN(
      const double loss,
      network_.Train({part.batch, part.unique, part.rows, dense_}, regularisation,
                     {part.gradients, std::span(reduced_).first(dense_.size()), logits_}));
  reduced_[dense_.size()] = static_cast<float>(loss);
  reduced_[dense_.size() + 1] = static_cast<float>(part.batch.samples);  // exact below 2^24
  reduced_[dense_.size() + 2] = options_.wants_end && options_.wants_end() ? 1 : 0;
  return {};
}

// Every rank gets here in the same step: the loss is that of all of them.
Status Trainer::Diverged(double loss, const Part& part) {
  const std::string mine = part.batch.samples == 0
                               ? ""
                               : FirstCause({.graph = network_.graph(),
                                             .batch = part.batch,
                                             .unique = &part.unique,
                                             .rows = part.rows,
                                             .parameters = dense_,
                                             .logits = logits_,
                                             .place = network_.FirstNotFinite()},
                                            options_.names);
  return strata::Diverged(step_, loss, mine, &group_);
}

void Trainer::Scale(float scale, std::span<float> gradients) const {
  constexpr size_t kPiece = size_t{1} << 17;
  RunPieces(options_.threads, gradients.size(), kPiece, [&](size_t begin, size_t end) {
    for (float& gradient : gradients.subspan(begin, end - begin)) gradient *= scale;
  });
}

Status Trainer::Finish(const std::shared_ptr<Part>& part, const std::shared_ptr<Part>& next,
                       bool* ended, StepReport* report) {
  STRATA_TRY(group_.Allreduce(std::span<float>(reduced_), ReduceOp::kSum));
  stages_.End(Stage::kAllreduce);
  const float samples = reduced_[dense_.size() + 1];
  *ended = samples == 0;
  if (*ended) return {};
  has_ended_ = reduced_[dense_.size() + 2] > 0;
  const float loss = reduced_[dense_.size()] / samples;
  if (!std::isfinite(loss)) return Diverged(loss, *part);
  const float scale = 1.0F / samples;
  Scale(scale, part->gradients);
  const size_t learned = network_.graph().learned_parameters();
  const std::span<float> dense_gradient = std::span(reduced_).first(learned);
  Scale(scale, dense_gradient);
  stages_.End(Stage::kCompute);
  STRATA_TRY(update_.Wait());  // of the step before, which this step's rows have seen
  stages_.End(Stage::kUpdates);
  if (options_.between_steps) {
    STRATA_ASSIGN(const bool goes_on, options_.between_steps());
    if (!goes_on) {
      *ended = has_ended_ = true;
      return {};
    }
  }
  stages_.End(Stage::kOther);
  SubmitUpdate(part, next);
  stages_.End(Stage::kUpdates);
  ApplyDense({}, options_.dense_optimizer, step_, std::span(dense_).first(learned), dense_state_,
             dense_gradient, options_.threads);
  const auto step_samples = static_cast<uint64_t>(samples);
  UpdateStatistics(network_.graph(), step_samples, std::span(reduced_).first(dense_.size()),
                   dense_);
  stages_.End(Stage::kCompute);

  samples_ += step_samples;
  *report = {.step = step_,
             .samples = step_samples,
             .samples_total = samples_,
             .loss = loss,
             .batch = &part->batch,
             .logits = logits_};
  ++step_;
  ++epoch_steps_;
  return {};
}

Status Trainer::TrainEpoch(BatchSource& source, uint64_t epoch,
                           const std::function<Status(const StepReport&)>& on_step) {
  stages_.Start();
  ahead_.clear();
  (void)finder_.Wait();  // for a part of an epoch that ended early
  begun_.reset();
  STRATA_TRY(source.Rewind(epoch));
  if (epoch != epoch_) epoch_steps_ = 0;
  epoch_ = epoch;
  STRATA_TRY(SkipToPosition(source));
  std::shared_ptr<Part> part;
  STRATA_TRY(TakePart(source, &part));
  SubmitLookup(part);
  while (true) {
    stages_.End(Stage::kRows);
    STRATA_TRY(ReadAhead(source, *part));
    // A share that is at its end stays there.
    const std::shared_ptr<Part> next = ahead_.empty() ? part : ahead_.front();
    STRATA_TRY(network_.Prepare({part->batch, part->unique, part->rows, dense_}));
    stages_.End(Stage::kCompute);
    STRATA_TRY(lookup_.Wait());
    stages_.End(Stage::kRows);
    STRATA_TRY(Compute(*part));
    stages_.End(Stage::kCompute);
    bool ended = false;
    StepReport report;
    STRATA_TRY(Finish(part, next, &ended, &report));
    if (ended) {
      if (has_ended_) return {};  // nothing is under way
      break;
    }
    if (!options_.fused) SubmitLookup(next);
    stages_.End(Stage::kRows);
    STRATA_TRY(on_step(report));
    stages_.End(Stage::kOther);
    if (has_ended_) {
      STRATA_TRY(lookup_.Wait());  // the update that it came with, too
      return update_.Wait();
    }
    if (ahead_.empty()) continue;
    spares_.push_back(std::exchange(part, next));
    if (spares_.size() > kSparesMax) spares_.pop_front();
    ahead_.pop_front();
  }
  ++epoch_;
  epoch_steps_ = 0;
  return update_.Wait();
}

}  // namespace strata
