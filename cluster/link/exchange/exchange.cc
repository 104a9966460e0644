#include "cluster/link/exchange/exchange.h"

#include <fmt/format.h>

namespace strata {
namespace {

// operation 5 | algorithm 5 | detail 16 | root 16 | group 22
constexpr int kOperationShift = 59;
constexpr int kAlgorithmShift = 54;
constexpr int kDetailShift = 38;
constexpr int kRootShift = 22;
constexpr uint64_t kAlgorithmMask = 0x1f;
constexpr uint64_t kWordMask = 0xffff;
// call 40 | step 24
constexpr int kCallShift = 24;
constexpr uint32_t kStepMask = (1U << kCallShift) - 1;

}  // namespace

uint64_t ExchangeTag::OperationWord() const {
  return static_cast<uint64_t>(operation) << kOperationShift |
         static_cast<uint64_t>(algorithm) << kAlgorithmShift |
         static_cast<uint64_t>(detail) << kDetailShift | static_cast<uint64_t>(root) << kRootShift |
         (group & kGroupMask);
}

uint64_t ExchangeTag::SequenceWord() const { return call << kCallShift | (step & kStepMask); }

ExchangeTag ExchangeTag::FromWords(uint64_t operation, uint64_t sequence) {
  return {.operation = static_cast<Collective>(operation >> kOperationShift),
          .algorithm = static_cast<Algorithm>(operation >> kAlgorithmShift & kAlgorithmMask),
          .detail = static_cast<uint16_t>(operation >> kDetailShift & kWordMask),
          .root = static_cast<uint16_t>(operation >> kRootShift & kWordMask),
          .group = static_cast<uint32_t>(operation & kGroupMask),
          .call = sequence >> kCallShift,
          .step = static_cast<uint32_t>(sequence) & kStepMask};
}

std::string ExchangeTag::Describe() const {
  return fmt::format("{} ({}{}{}{}) call {} step {}{}", CollectiveName(operation),
                     AlgorithmName(algorithm), detail == 0 ? "" : ", ", DescribeReduction(detail),
                     HasRoot(operation) ? fmt::format(", root {}", root) : "", call, step,
                     group == 0 ? "" : fmt::format(" of group {:06x}", group));
}

}  // namespace strata
