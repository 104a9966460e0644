#include "cluster/collective/halving_reduce_scatter.h"

#include <bit>

namespace strata {
namespace {

// Receives as many bytes as `into` has from `peer` while `send` goes out, and reduces them into it.
Status ExchangeAndReduce(Exchanger& exchanger, const ExchangeTag& tag, const SendPart& send,
                         int peer, const Reduction& reduction, std::span<std::byte> into,
                         std::vector<std::byte>* scratch) {
  if (scratch->size() < into.size()) scratch->resize(into.size());
  const std::span<std::byte> received = std::span(*scratch).first(into.size());
  STRATA_TRY(exchanger.Exchange(tag, send, {.peer = peer, .pieces = {received}}));
  reduction.apply(into, received);
  return {};
}

}  // namespace

Status HalvingReduceScatter(Exchanger& exchanger, HalvingForm form, const Reduction& reduction,
                            ExchangeTag* tag, std::span<std::byte> buffer,
                            const BlockOffsets& offsets, std::vector<std::byte>* scratch) {
  const HalvingMap map = MakeHalvingMap(exchanger.world(), exchanger.rank(), form);
  if (map.type == NodeType::kOther) {
    STRATA_TRY(exchanger.Exchange(*tag, {.peer = map.neighbour, .pieces = {buffer}}, {}));
  } else if (map.type == NodeType::kLeader) {
    STRATA_TRY(ExchangeAndReduce(exchanger, *tag, {}, map.neighbour, reduction, buffer, scratch));
  }
  ++tag->step;
  uint64_t round_step = tag->step;
  for (const HalvingRound& round : map.rounds) {
    ExchangeTag round_tag = *tag;
    round_tag.step = round_step++;
    const SendPart send{.peer = round.peer,
                        .pieces = {BytesOf<std::byte>(buffer, offsets, round.send)}};
    STRATA_TRY(ExchangeAndReduce(exchanger, round_tag, send, round.peer, reduction,
                                 BytesOf(buffer, offsets, round.recv), scratch));
  }
  // The ranks without rounds count them all the same.
  tag->step += static_cast<uint64_t>(std::bit_width(static_cast<unsigned>(map.world))) - 1;
  if (map.type == NodeType::kOther) {
    STRATA_TRY(exchanger.Exchange(
        *tag, {}, {.peer = map.neighbour, .pieces = {BytesOf(buffer, offsets, {map.rank, 1})}}));
  } else if (map.type == NodeType::kLeader) {
    STRATA_TRY(
        exchanger.Exchange(*tag,
                           {.peer = map.neighbour,
                            .pieces = {BytesOf<std::byte>(buffer, offsets, {map.neighbour, 1})}},
                           {}));
  }
  ++tag->step;
  return {};
}

}  // namespace strata
