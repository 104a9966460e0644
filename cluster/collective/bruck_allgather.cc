#include "cluster/collective/bruck_allgather.h"

#include <algorithm>
#include <array>

namespace strata {
namespace {

// The one or two pieces of a cyclic range.
std::array<std::span<std::byte>, 2> Pieces(std::span<std::byte> buffer, const BlockOffsets& offsets,
                                           BlockRange range) {
  const int world = static_cast<int>(offsets.size()) - 1;
  const int first = std::min(range.count, world - range.start);
  return {BytesOf(buffer, offsets, {range.start, first}),
          BytesOf(buffer, offsets, {0, range.count - first})};
}

}  // namespace

Status BruckAllgather(Exchanger& exchanger, ExchangeTag* tag, std::span<std::byte> buffer,
                      const BlockOffsets& offsets) {
  const BruckMap map = MakeBruckMap(exchanger.world(), exchanger.rank());
  for (const BruckStep& step : map.steps) {
    const auto out = Pieces(buffer, offsets, step.send);
    STRATA_TRY(exchanger.Exchange(*tag, {.peer = step.out, .pieces = {out[0], out[1]}},
                                  {.peer = step.in, .pieces = Pieces(buffer, offsets, step.recv)}));
    ++tag->step;
  }
  return {};
}

}  // namespace strata
