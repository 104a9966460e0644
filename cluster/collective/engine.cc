#include "cluster/collective/engine.h"

#include <algorithm>

namespace strata {
namespace {

template <typename Byte>
void CutPieces(const Blocks& buffer, const BlockSet& set, int blocks,
               std::vector<std::span<Byte>>* pieces) {
  pieces->clear();
  VisitRuns(set, blocks, [&](int first, int count) {
    const size_t begin = (*buffer.offsets)[static_cast<size_t>(first)];
    const size_t end = (*buffer.offsets)[static_cast<size_t>(first + count)];
    if (end > begin) pieces->push_back(buffer.bytes.subspan(begin, end - begin));
  });
}

// An exchange whose sent bytes are among those that arriving ones are combined with: they must have
// left first. Both ranks combine the same two operands, the lower rank's first, so that they get
// the same bits even of those that compare equal, or not at all (zeros of either sign, NaN).
Status ExchangeThenReduce(Exchanger& exchanger, const ExchangeTag& tag, const SendPart& send,
                          int from, const Reduction& reduction, TimeNs deadline,
                          Workspace* workspace) {
  size_t total = 0;
  for (const auto& piece : workspace->receive) total += piece.size();
  if (workspace->bytes.size() < total) workspace->bytes.resize(total);
  const std::span<std::byte> arrived(workspace->bytes.data(), total);
  STRATA_TRY(exchanger.Exchange(tag, send, {.peer = from, .pieces = {&arrived, 1}}, deadline));
  std::byte* next = arrived.data();
  for (const auto& piece : workspace->receive) {
    const size_t count = piece.size() / reduction.element_bytes;
    if (from > exchanger.rank()) {
      reduction.apply(piece.data(), next, count, reduction.context);
    } else {
      reduction.apply(next, piece.data(), count, reduction.context);
      std::copy_n(next, piece.size(), piece.begin());
    }
    next += piece.size();
  }
  return {};
}

}  // namespace

Status RunSchedule(Exchanger& exchanger, const ScheduleCall& call, Workspace* workspace) {
  ExchangeTag tag = call.tag;
  const int blocks = call.schedule->blocks;
  for (const Step& step : call.schedule->steps) {
    tag.step = static_cast<uint32_t>(step.round);
    CutPieces(call.from, step.send, blocks, &workspace->send);
    CutPieces(call.into, step.receive, blocks, &workspace->receive);
    const SendPart send{.peer = step.to, .pieces = workspace->send};
    const bool reduces = step.on_arrival == OnArrival::kReduce;
    if (reduces && step.to >= 0 && Overlap(step.send, step.receive, blocks)) {
      STRATA_TRY(ExchangeThenReduce(exchanger, tag, send, step.from, *call.reduction, call.deadline,
                                    workspace));
      continue;
    }
    STRATA_TRY(exchanger.Exchange(tag, send,
                                  {.peer = step.from,
                                   .pieces = workspace->receive,
                                   .reduction = reduces ? call.reduction : nullptr},
                                  call.deadline));
  }
  return {};
}

}  // namespace strata
