#include "cluster/collective/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <utility>

#include "base/hash.h"
#include "base/human_text.h"
#include "base/log.h"
#include "cluster/collective/blocks.h"
#include "cluster/collective/bruck_exchange.h"
#include "cluster/collective/engine.h"
#include "cluster/collective/sub_exchanger.h"
#include "cluster/schedule/algorithms.h"
#include "cluster/schedule/cost_model.h"

namespace strata {
namespace {

// A rank of an allgather says how much it brings; more than this in all is refused.
constexpr uint64_t kAllgatherBytesMax = 64ULL << 30;

constexpr size_t kElementBytesMax = 32'767;

std::span<std::byte> BlockOf(std::span<std::byte> buffer, const BlockOffsets& offsets, int block) {
  const auto b = static_cast<size_t>(block);
  return buffer.subspan(offsets[b], offsets[b + 1] - offsets[b]);
}

// Blocks of a buffer that is only read.
std::span<std::byte> Readable(std::span<const std::byte> bytes) {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

std::span<std::byte> First(std::vector<std::byte>* memory, size_t bytes) {
  if (memory->size() < bytes) memory->resize(bytes);
  return std::span(*memory).first(bytes);
}

}  // namespace

// The Impl does what a Group promises, and keeps all that this takes.
class Group::Impl {
 public:
  Impl(Exchanger& exchanger, GroupOptions options)
      : exchanger_(&exchanger), options_(std::move(options)) {}

  int rank() const { return exchanger_->rank(); }
  int world() const { return exchanger_->world(); }
  void Cancel(const Status& why) { exchanger_->Cancel(why); }
  Status Allreduce(std::span<std::byte> data, const Reduction& reduction,
                   const CallOptions& options);
  Status Reduce(std::span<std::byte> data, const Reduction& reduction, int root,
                const CallOptions& options);
  Result<std::span<std::byte>> ReduceScatter(std::span<std::byte> data, const Reduction& reduction,
                                             std::span<const size_t> counts,
                                             const CallOptions& options);
  Status Allgather(std::span<const std::byte> mine, std::vector<std::vector<std::byte>>* all);
  Status Barrier(const CallOptions& options);
  Result<std::unique_ptr<Impl>> Split(int color, int key);
  Status AllgatherBytes(std::span<std::byte> all, size_t element_bytes,
                        std::span<const size_t> counts, const CallOptions& options);
  Status BroadcastBytes(std::span<std::byte> data, int root, const CallOptions& options);
  Status GatherBytes(std::span<const std::byte> mine, std::span<std::byte> all,
                     size_t element_bytes, int root, std::span<const size_t> counts,
                     const CallOptions& options);
  Status ScatterBytes(std::span<const std::byte> all, std::span<std::byte> mine,
                      size_t element_bytes, int root, std::span<const size_t> counts,
                      const CallOptions& options);
  Status AllToAllBytes(std::span<const std::byte> in, std::span<std::byte> out,
                       size_t element_bytes, std::span<const size_t> in_counts,
                       std::span<const size_t> out_counts, const CallOptions& options);

 private:
  struct Plan {
    Algorithm algorithm;
    const Schedule* schedule;
    ExchangeTag tag;
    TimeNs deadline;
  };

  // The sizes of all ranks; this one's is at its place.
  Status AllgatherSizes(std::vector<size_t>* sizes) {
    return AllgatherBytes(std::as_writable_bytes(std::span(*sizes)), sizeof(size_t), {}, {});
  }
  // What a call does: algorithm, schedule, tag under the next call number, deadline. An error that
  // ended the group before, or kInvalid.
  Result<Plan> Begin(Collective operation, uint64_t bytes, const CallOptions& options,
                     const Reduction* reduction, int root = 0);
  // Of a gather or a scatter: all blocks, this rank's among them, cut by offsets_.
  struct Rooted {
    Plan plan;
    std::span<std::byte> blocks;
    std::span<std::byte> own;
  };
  // The blocks are those `at_root`, elsewhere in scratch_; kInvalid when they do not fit the
  // counts.
  Result<Rooted> BeginRooted(Collective collective, std::span<std::byte> at_root, size_t own_bytes,
                             size_t element_bytes, int root, std::span<const size_t> counts,
                             const CallOptions& options);
  // Begin's schedule over one buffer, cut by offsets_.
  Status Run(const Plan& plan, std::span<std::byte> buffer, const Reduction* reduction);
  Status Ended(const Status& status);  // remembers a failure
  Status ReduceInputs(const Plan& plan, std::span<std::byte> data, const Reduction& reduction);
  Status CheckRoot(int root) const;
  // sizes[s * n + d]: bytes that rank s sends to d. What is sent to this rank against what it
  // expects, cut by out_offsets_; a difference ends the group.
  Status CheckSenders(std::span<const size_t> sizes);
  // Blocks of counts[r] elements, or nearly equal ones of `bytes`, into *offsets.
  Status CutByRank(std::span<const size_t> counts, size_t element_bytes, size_t bytes,
                   std::string_view what, BlockOffsets* offsets) const;

  std::unique_ptr<Exchanger> owned_;  // of a group within a group
  Exchanger* exchanger_;
  GroupOptions options_;
  uint32_t id_ = 0;
  uint64_t calls_ = 0;
  Status failure_;
  std::map<uint64_t, Schedule> schedules_;  // by algorithm, root and pieces
  BlockOffsets offsets_;
  BlockOffsets out_offsets_;
  std::vector<std::byte> scratch_;
  Workspace workspace_;
};

Status Group::Impl::Ended(const Status& status) {
  if (!status.ok()) failure_ = status;
  return status;
}

Result<Group::Impl::Plan> Group::Impl::Begin(Collective operation, uint64_t bytes,
                                             const CallOptions& options, const Reduction* reduction,
                                             int root) {
  if (!failure_.ok()) return failure_;
  if (reduction != nullptr &&
      (reduction->element_bytes == 0 || reduction->element_bytes > kElementBytesMax)) {
    return Invalid(fmt::format("elements of {} bytes cannot be reduced; expected 1 to {}",
                               reduction->element_bytes, kElementBytesMax));
  }
  if (reduction != nullptr && bytes % reduction->element_bytes != 0) {
    return Invalid(fmt::format("{}: {} bytes are no elements of {}", CollectiveName(operation),
                               bytes, reduction->element_bytes));
  }
  if (options.algorithm.has_value() && !Has(operation, *options.algorithm)) {
    return Invalid(fmt::format("{} has no algorithm {}", CollectiveName(operation),
                               AlgorithmName(*options.algorithm)));
  }
  const Algorithm algorithm =
      options.algorithm.value_or(options_.choices.Choose(operation, world(), bytes));
  const int pieces =
      algorithm == Algorithm::kPipelined ? BestPieces(UsualCosts(), world(), bytes) : 1;
  const uint64_t key = static_cast<uint64_t>(operation) << 56 |
                       static_cast<uint64_t>(algorithm) << 48 |
                       static_cast<uint64_t>(pieces) << 32 | static_cast<uint32_t>(root);
  auto at = schedules_.find(key);
  if (at == schedules_.end()) {
    const SchedulePlace place{.world = world(), .rank = rank(), .root = root, .pieces = pieces};
    at = schedules_.emplace(key, MakeSchedule(operation, algorithm, place)).first;
    Log(LogLevel::kDebug, "group of {}: {} of {} bytes by {}: {}", world(),
        CollectiveName(operation), bytes, AlgorithmName(algorithm),
        options.algorithm.has_value() ? "the call says so"
                                      : options_.choices.Explain(operation, world(), bytes).reason);
  }
  const TimeNs timeout = options.timeout > 0 ? options.timeout : options_.timeout;
  return Plan{.algorithm = algorithm,
              .schedule = &at->second,
              .tag = {.operation = operation,
                      .algorithm = algorithm,
                      .detail = reduction == nullptr ? uint16_t{0} : reduction->detail,
                      .root = static_cast<uint16_t>(root),
                      .group = id_,
                      .call = calls_++,
                      .step = 0},
              .deadline = RealClock().Now() + timeout};
}

Status Group::Impl::Run(const Plan& plan, std::span<std::byte> buffer, const Reduction* reduction) {
  const Blocks blocks{.bytes = buffer, .offsets = &offsets_};
  return Ended(RunSchedule(*exchanger_,
                           {.schedule = plan.schedule,
                            .tag = plan.tag,
                            .from = blocks,
                            .into = blocks,
                            .reduction = reduction,
                            .deadline = plan.deadline},
                           &workspace_));
}

Status Group::Impl::CheckRoot(int root) const {
  if (root >= 0 && root < world()) return {};
  return Invalid(fmt::format("root {} of a group of {}", root, world()));
}

Status Group::Impl::CutByRank(std::span<const size_t> counts, size_t element_bytes, size_t bytes,
                              std::string_view what, BlockOffsets* offsets) const {
  if (bytes % element_bytes != 0) {
    return Invalid(fmt::format("{}: {} bytes are no elements of {}", what, bytes, element_bytes));
  }
  if (counts.empty()) {
    EqualBlocks(bytes / element_bytes, element_bytes, world(), offsets);
    return {};
  }
  const auto n = static_cast<size_t>(world());
  if (counts.size() != n) {
    return Invalid(
        fmt::format("{}: {} for {}", what, Counted(counts.size(), "count"), Counted(n, "rank")));
  }
  offsets->assign(n + 1, 0);
  for (size_t r = 0; r < n; ++r) (*offsets)[r + 1] = (*offsets)[r] + counts[r] * element_bytes;
  if (offsets->back() != bytes) {
    return Invalid(fmt::format("{}: the counts make {} bytes, the buffer has {}", what,
                               offsets->back(), bytes));
  }
  return {};
}

// ---- Reductions.

Status Group::Impl::Allreduce(std::span<std::byte> data, const Reduction& reduction,
                              const CallOptions& options) {
  STRATA_ASSIGN(const Plan plan, Begin(Collective::kAllreduce, data.size(), options, &reduction));
  if (plan.algorithm == Algorithm::kInputs) return Ended(ReduceInputs(plan, data, reduction));
  EqualBlocks(data.size() / reduction.element_bytes, reduction.element_bytes, plan.schedule->blocks,
              &offsets_);
  return Run(plan, data, &reduction);
}

Status Group::Impl::ReduceInputs(const Plan& plan, std::span<std::byte> data,
                                 const Reduction& reduction) {
  const auto n = static_cast<size_t>(world());
  offsets_.resize(n + 1);
  for (size_t r = 0; r <= n; ++r) offsets_[r] = r * data.size();
  const std::span<std::byte> inputs = First(&scratch_, n * data.size());
  std::ranges::copy(data, BlockOf(inputs, offsets_, rank()).begin());
  STRATA_TRY(Run(plan, inputs, &reduction));
  std::ranges::copy(BlockOf(inputs, offsets_, 0), data.begin());
  for (int r = 1; r < world(); ++r) {
    reduction.apply(data.data(), BlockOf(inputs, offsets_, r).data(),
                    data.size() / reduction.element_bytes, reduction.context);
  }
  return {};
}

Status Group::Impl::Reduce(std::span<std::byte> data, const Reduction& reduction, int root,
                           const CallOptions& options) {
  STRATA_TRY(CheckRoot(root));
  STRATA_ASSIGN(const Plan plan,
                Begin(Collective::kReduce, data.size(), options, &reduction, root));
  EqualBlocks(data.size() / reduction.element_bytes, reduction.element_bytes, plan.schedule->blocks,
              &offsets_);
  return Run(plan, data, &reduction);
}

Result<std::span<std::byte>> Group::Impl::ReduceScatter(std::span<std::byte> data,
                                                        const Reduction& reduction,
                                                        std::span<const size_t> counts,
                                                        const CallOptions& options) {
  STRATA_TRY(CutByRank(counts, reduction.element_bytes, data.size(), "reduce-scatter", &offsets_));
  STRATA_ASSIGN(const Plan plan,
                Begin(Collective::kReduceScatter, data.size(), options, &reduction));
  STRATA_TRY(Run(plan, data, &reduction));
  return BlockOf(data, offsets_, rank());
}

// ---- Without arithmetic.

Status Group::Impl::AllgatherBytes(std::span<std::byte> all, size_t element_bytes,
                                   std::span<const size_t> counts, const CallOptions& options) {
  STRATA_TRY(CutByRank(counts, element_bytes, all.size(), "allgather", &offsets_));
  STRATA_ASSIGN(const Plan plan, Begin(Collective::kAllgather, all.size(), options, nullptr));
  return Run(plan, all, nullptr);
}

Status Group::Impl::Allgather(std::span<const std::byte> mine,
                              std::vector<std::vector<std::byte>>* all) {
  const auto n = static_cast<size_t>(world());
  std::vector<size_t> sizes(n);
  sizes[static_cast<size_t>(rank())] = mine.size();
  STRATA_TRY(AllgatherSizes(&sizes));
  uint64_t total = 0;
  for (size_t r = 0; r < n; ++r) {
    if (sizes[r] > kAllgatherBytesMax - total) {
      return Ended(Refused(fmt::format("allgather of more than {} bytes in all: rank {} brings {}",
                                       kAllgatherBytesMax, r, sizes[r])));
    }
    total += sizes[r];
  }
  const std::span<std::byte> blocks = First(&scratch_, total);
  STRATA_TRY(CutByRank(sizes, 1, total, "allgather", &offsets_));
  std::ranges::copy(mine, BlockOf(blocks, offsets_, rank()).begin());
  STRATA_ASSIGN(const Plan plan, Begin(Collective::kAllgather, total, {}, nullptr));
  STRATA_TRY(Run(plan, blocks, nullptr));
  all->resize(n);
  for (int r = 0; r < world(); ++r) {
    const auto block = BlockOf(blocks, offsets_, r);
    (*all)[static_cast<size_t>(r)].assign(block.begin(), block.end());
  }
  return {};
}

Status Group::Impl::BroadcastBytes(std::span<std::byte> data, int root,
                                   const CallOptions& options) {
  STRATA_TRY(CheckRoot(root));
  STRATA_ASSIGN(const Plan plan,
                Begin(Collective::kBroadcast, data.size(), options, nullptr, root));
  EqualBlocks(data.size(), 1, plan.schedule->blocks, &offsets_);
  return Run(plan, data, nullptr);
}

Result<Group::Impl::Rooted> Group::Impl::BeginRooted(Collective collective,
                                                     std::span<std::byte> at_root, size_t own_bytes,
                                                     size_t element_bytes, int root,
                                                     std::span<const size_t> counts,
                                                     const CallOptions& options) {
  STRATA_TRY(CheckRoot(root));
  const std::string_view name = CollectiveName(collective);
  const size_t total =
      counts.empty() ? own_bytes * static_cast<size_t>(world())
                     : std::accumulate(counts.begin(), counts.end(), size_t{0}) * element_bytes;
  // Ranks between the leaves and the root carry the blocks of others.
  const std::span<std::byte> blocks = rank() == root ? at_root : First(&scratch_, total);
  if (blocks.size() != total) {
    return Invalid(
        fmt::format("{}: the counts make {} bytes, the buffer has {}", name, total, blocks.size()));
  }
  STRATA_TRY(CutByRank(counts, element_bytes, total, name, &offsets_));
  const std::span<std::byte> own = BlockOf(blocks, offsets_, rank());
  if (own.size() != own_bytes) {
    return Invalid(fmt::format("{}: the counts say {} bytes of this rank, its buffer has {}", name,
                               own.size(), own_bytes));
  }
  STRATA_ASSIGN(const Plan plan, Begin(collective, total, options, nullptr, root));
  return Rooted{.plan = plan, .blocks = blocks, .own = own};
}

Status Group::Impl::GatherBytes(std::span<const std::byte> mine, std::span<std::byte> all,
                                size_t element_bytes, int root, std::span<const size_t> counts,
                                const CallOptions& options) {
  STRATA_ASSIGN(const Rooted rooted, BeginRooted(Collective::kGather, all, mine.size(),
                                                 element_bytes, root, counts, options));
  if (rooted.own.data() != mine.data()) std::ranges::copy(mine, rooted.own.begin());
  return Run(rooted.plan, rooted.blocks, nullptr);
}

Status Group::Impl::ScatterBytes(std::span<const std::byte> all, std::span<std::byte> mine,
                                 size_t element_bytes, int root, std::span<const size_t> counts,
                                 const CallOptions& options) {
  STRATA_ASSIGN(const Rooted rooted, BeginRooted(Collective::kScatter, Readable(all), mine.size(),
                                                 element_bytes, root, counts, options));
  STRATA_TRY(Run(rooted.plan, rooted.blocks, nullptr));
  if (rooted.own.data() != mine.data()) std::ranges::copy(rooted.own, mine.begin());
  return {};
}

Status Group::Impl::AllToAllBytes(std::span<const std::byte> in, std::span<std::byte> out,
                                  size_t element_bytes, std::span<const size_t> in_counts,
                                  std::span<const size_t> out_counts, const CallOptions& options) {
  const auto n = static_cast<size_t>(world());
  const bool uneven = !in_counts.empty() || !out_counts.empty();
  if (!uneven && (in.size() != out.size() || in.size() % (n * element_bytes) != 0)) {
    return Invalid(fmt::format("all-to-all: {} bytes in and {} out are no {} equal blocks each",
                               in.size(), out.size(), n));
  }
  STRATA_TRY(CutByRank(in_counts, element_bytes, in.size(), "all-to-all, input", &offsets_));
  STRATA_TRY(CutByRank(out_counts, element_bytes, out.size(), "all-to-all, output", &out_offsets_));
  const auto self = static_cast<size_t>(rank());
  const std::span<std::byte> own = BlockOf(Readable(in), offsets_, rank());
  if (own.size() != out_offsets_[self + 1] - out_offsets_[self]) {
    return Invalid("all-to-all: a rank's block for itself has one size as input and one as output");
  }
  CallOptions chosen = options;
  // Ranks have different sums of uneven blocks, so sizes cannot decide.
  if (uneven && !options.algorithm.has_value()) chosen.algorithm = Algorithm::kPairwise;
  std::vector<size_t> sizes;
  if (chosen.algorithm == Algorithm::kBruck && uneven) {
    sizes.resize(n * n);
    for (size_t d = 0; d < n; ++d) sizes[self * n + d] = offsets_[d + 1] - offsets_[d];
    const BlockOffsets blocks = offsets_;
    STRATA_TRY(AllgatherSizes(&sizes));
    offsets_ = blocks;
    STRATA_TRY(CheckSenders(sizes));
  }
  STRATA_ASSIGN(const Plan plan, Begin(Collective::kAllToAll, in.size(), chosen, nullptr));
  const ScheduleCall call{.schedule = plan.schedule,
                          .tag = plan.tag,
                          .from = {.bytes = Readable(in), .offsets = &offsets_},
                          .into = {.bytes = out, .offsets = &out_offsets_},
                          .deadline = plan.deadline};
  if (plan.algorithm == Algorithm::kBruck) {
    if (sizes.empty()) sizes.assign(n * n, in.size() / n);
    return Ended(RunBruckAllToAll(*exchanger_, call, sizes, &workspace_));
  }
  std::ranges::copy(own, BlockOf(out, out_offsets_, rank()).begin());
  return Ended(RunSchedule(*exchanger_, call, &workspace_));
}

// Blocks travel by way of others, so no exchange sees that sender and receiver disagree.
Status Group::Impl::CheckSenders(std::span<const size_t> sizes) {
  const auto n = static_cast<size_t>(world());
  for (size_t s = 0; s < n; ++s) {
    const size_t sent = sizes[s * n + static_cast<size_t>(rank())];
    const size_t expected = out_offsets_[s + 1] - out_offsets_[s];
    if (sent == expected) continue;
    const Status why = Failed(
        fmt::format("all-to-all (bruck): rank {} sends {} bytes to rank {}, which expects {}", s,
                    sent, rank(), expected));
    exchanger_->Cancel(why);
    return Ended(why);
  }
  return {};
}

Status Group::Impl::Barrier(const CallOptions& options) {
  STRATA_ASSIGN(const Plan plan, Begin(Collective::kBarrier, 0, options, nullptr));
  EqualBlocks(0, 1, plan.schedule->blocks, &offsets_);
  return Run(plan, {}, nullptr);
}

// ---- Groups within the group.

Result<std::unique_ptr<Group::Impl>> Group::Impl::Split(int color, int key) {
  std::vector<std::array<int, 2>> wishes(static_cast<size_t>(world()));
  wishes[static_cast<size_t>(rank())] = {color, key};
  const uint64_t call = calls_;
  STRATA_TRY(AllgatherBytes(std::as_writable_bytes(std::span(wishes)), sizeof(wishes[0]), {}, {}));
  std::vector<std::pair<int, int>> members;  // key, rank
  for (int r = 0; r < world(); ++r) {
    const auto& [its_color, its_key] = wishes[static_cast<size_t>(r)];
    if (its_color == color) members.emplace_back(its_key, r);
  }
  std::ranges::sort(members);
  std::vector<int> ranks;
  int place = 0;
  for (const auto& [its_key, r] : members) {
    if (r == rank()) place = static_cast<int>(ranks.size());
    ranks.push_back(r);
  }
  auto exchanger = std::make_unique<SubExchanger>(*exchanger_, std::move(ranks), place);
  auto group = std::make_unique<Impl>(*exchanger, options_);
  group->owned_ = std::move(exchanger);
  // Never 0, which is the group of all ranks.
  const uint64_t hash = Mix64(Mix64(call << 32 | id_) ^ static_cast<uint32_t>(color));
  group->id_ = (static_cast<uint32_t>(hash) & ExchangeTag::kGroupMask) | 1;
  return group;
}

// ---- The public face.

Group::Group(Exchanger& exchanger) : Group(exchanger, GroupOptions()) {}
Group::Group(Exchanger& exchanger, GroupOptions options)
    : impl_(std::make_unique<Impl>(exchanger, std::move(options))) {}
Group::Group(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Group::Group(Group&& other) noexcept = default;
Group::~Group() = default;

int Group::rank() const { return impl_->rank(); }
int Group::world() const { return impl_->world(); }
void Group::Cancel(const Status& why) { impl_->Cancel(why); }

Status Group::Allreduce(std::span<std::byte> data, const Reduction& reduction,
                        const CallOptions& options) {
  return impl_->Allreduce(data, reduction, options);
}
Status Group::Reduce(std::span<std::byte> data, const Reduction& reduction, int root,
                     const CallOptions& options) {
  return impl_->Reduce(data, reduction, root, options);
}
Result<std::span<std::byte>> Group::ReduceScatter(std::span<std::byte> data,
                                                  const Reduction& reduction,
                                                  std::span<const size_t> counts,
                                                  const CallOptions& options) {
  return impl_->ReduceScatter(data, reduction, counts, options);
}
Status Group::Allgather(std::span<const std::byte> mine, std::vector<std::vector<std::byte>>* all) {
  return impl_->Allgather(mine, all);
}
Status Group::Barrier(const CallOptions& options) { return impl_->Barrier(options); }
Result<Group> Group::Split(int color, int key) {
  STRATA_ASSIGN(std::unique_ptr<Impl> part, impl_->Split(color, key));
  return Group(std::move(part));
}
Status Group::AllgatherBytes(std::span<std::byte> all, size_t element_bytes,
                             std::span<const size_t> counts, const CallOptions& options) {
  return impl_->AllgatherBytes(all, element_bytes, counts, options);
}
Status Group::BroadcastBytes(std::span<std::byte> data, int root, const CallOptions& options) {
  return impl_->BroadcastBytes(data, root, options);
}
Status Group::GatherBytes(std::span<const std::byte> mine, std::span<std::byte> all,
                          size_t element_bytes, int root, std::span<const size_t> counts,
                          const CallOptions& options) {
  return impl_->GatherBytes(mine, all, element_bytes, root, counts, options);
}
Status Group::ScatterBytes(std::span<const std::byte> all, std::span<std::byte> mine,
                           size_t element_bytes, int root, std::span<const size_t> counts,
                           const CallOptions& options) {
  return impl_->ScatterBytes(all, mine, element_bytes, root, counts, options);
}
Status Group::AllToAllBytes(std::span<const std::byte> in, std::span<std::byte> out,
                            size_t element_bytes, std::span<const size_t> in_counts,
                            std::span<const size_t> out_counts, const CallOptions& options) {
  return impl_->AllToAllBytes(in, out, element_bytes, in_counts, out_counts, options);
}

}  // namespace strata
