#include "cluster/collective/bruck_exchange.h"

#include <algorithm>
#include <utility>

namespace strata {
namespace {

// The blocks that this rank holds, by how far each has to go from where it began.
class Slots {
 public:
  Slots(const ScheduleCall& call, std::span<const size_t> sizes, std::vector<std::byte>* memory)
      : world_(call.schedule->world), rank_(call.schedule->rank), sizes_(sizes) {
    size_t total = 0;
    for (int d = 0; d < world_; ++d) total += 2 * Room(d);
    if (memory->size() < total) memory->resize(total);
    std::byte* free = memory->data();
    for (int d = 0; d < world_; ++d) {
      const auto to = static_cast<size_t>(Cyclic(rank_ + d, world_));
      // The first to leave leave from the caller's buffer.
      held_.push_back(call.from.bytes.data() + (*call.from.offsets)[to]);
      spare_.push_back({free, free + Room(d)});
      free += 2 * Room(d);
    }
  }

  // Block d before round j: its lower j bits have been travelled.
  std::span<std::byte> Held(int d, int round) {
    const int source = Cyclic(rank_ - (d & ((1 << round) - 1)), world_);
    return {held_[static_cast<size_t>(d)], Size(source, d)};
  }
  // Where block d arrives in the round.
  std::span<std::byte> Arriving(int d, int round) {
    const int source = Cyclic(rank_ - (d & ((2 << round) - 1)), world_);
    return {spare_[static_cast<size_t>(d)].first, Size(source, d)};
  }
  void Arrived(int d) {
    auto& [next, other] = spare_[static_cast<size_t>(d)];
    held_[static_cast<size_t>(d)] = next;
    std::swap(next, other);
  }

 private:
  size_t Size(int source, int d) const {
    return sizes_[static_cast<size_t>(source) * static_cast<size_t>(world_) +
                  static_cast<size_t>(Cyclic(source + d, world_))];
  }
  size_t Room(int d) const {
    size_t room = 0;
    for (int source = 0; source < world_; ++source) room = std::max(room, Size(source, d));
    return room;
  }

  const int world_;
  const int rank_;
  const std::span<const size_t> sizes_;
  std::vector<std::byte*> held_;
  std::vector<std::pair<std::byte*, std::byte*>> spare_;
};

}  // namespace

Status RunBruckAllToAll(Exchanger& exchanger, const ScheduleCall& call,
                        std::span<const size_t> sizes, Workspace* workspace) {
  const Schedule& schedule = *call.schedule;
  Slots slots(call, sizes, &workspace->bytes);
  ExchangeTag tag = call.tag;
  for (const Step& step : schedule.steps) {
    tag.step = static_cast<uint32_t>(step.round);
    workspace->send.clear();
    workspace->receive.clear();
    VisitRuns(step.send, schedule.blocks, [&](int first, int count) {
      for (int d = first; d < first + count; ++d) {
        workspace->send.push_back(slots.Held(d, step.round));
        workspace->receive.push_back(slots.Arriving(d, step.round));
      }
    });
    STRATA_TRY(exchanger.Exchange(tag, {.peer = step.to, .pieces = workspace->send},
                                  {.peer = step.from, .pieces = workspace->receive},
                                  call.deadline));
    VisitRuns(step.receive, schedule.blocks, [&](int first, int count) {
      for (int d = first; d < first + count; ++d) slots.Arrived(d);
    });
  }
  for (int d = 0; d < schedule.world; ++d) {
    const auto from = static_cast<size_t>(Cyclic(schedule.rank - d, schedule.world));
    std::ranges::copy(slots.Held(d, schedule.rounds),
                      call.into.bytes.begin() + static_cast<ptrdiff_t>((*call.into.offsets)[from]));
  }
  return {};
}

}  // namespace strata
