#include "cluster/link/exchange/whereabouts.h"

namespace strata {
namespace {

// Each store also publishes those before it, each load sees at least what was before what it reads:
// a reader that meets a value of the next turn cannot meet the old turn behind it.
constexpr std::memory_order kPublish = std::memory_order_release;
constexpr std::memory_order kObserve = std::memory_order_acquire;

}  // namespace

void Whereabouts::Enter(const Stay& stay) {
  const uint64_t operation = stay.tag.OperationWord();
  if (operation != last_operation_ || stay.tag.call != last_call_) {
    Remember(operation, stay.tag.call);
  }
  operation_.store(operation, kPublish);
  sequence_.store(stay.tag.SequenceWord(), kPublish);
  to_.store(stay.to, kPublish);
  from_.store(stay.from, kPublish);
  turn_.store(++my_turn_, kPublish);
}

void Whereabouts::Remember(uint64_t operation, uint64_t number) {
  last_operation_ = operation;
  last_call_ = number;
  Call& call = calls_[next_call_++ % kCallsKept];
  call.operation.store(0, kPublish);
  call.number.store(number, kPublish);
  call.operation.store(operation, kPublish);
}

std::optional<Whereabouts::Stay> Whereabouts::LongStay() {
  const uint64_t turn = turn_.load(kObserve);
  const bool stays = turn == turn_seen_;
  turn_seen_ = turn;
  const std::optional<Stay> now = Now();
  return stays && turn_.load(kObserve) == turn ? now : std::nullopt;
}

std::optional<Whereabouts::Stay> Whereabouts::Now() const {
  const uint64_t turn = turn_.load(kObserve);
  if (turn % 2 == 0) return std::nullopt;
  const uint64_t operation = operation_.load(kObserve);
  const uint64_t sequence = sequence_.load(kObserve);
  const Stay stay{.tag = ExchangeTag::FromWords(operation, sequence),
                  .to = to_.load(kObserve),
                  .from = from_.load(kObserve)};
  if (turn_.load(kObserve) != turn) return std::nullopt;
  return stay;
}

std::optional<uint64_t> Whereabouts::OperationOf(uint32_t group, uint64_t call) const {
  for (const Call& known : calls_) {
    const uint64_t operation = known.operation.load(kObserve);
    const uint64_t number = known.number.load(kObserve);
    if (operation == 0 || known.operation.load(kObserve) != operation) continue;
    if (number == call && ExchangeTag::FromWords(operation, 0).group == group) return operation;
  }
  return std::nullopt;
}

}  // namespace strata
