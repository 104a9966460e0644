#include "cluster/link/exchange.h"

#include <fmt/format.h>

namespace strata {
namespace {

// operation 8 | algorithm 8 | detail 16 | group 32
constexpr int kOperationShift = 56;
constexpr int kAlgorithmShift = 48;
constexpr int kDetailShift = 32;
// call 40 | step 24
constexpr int kCallShift = 24;
constexpr uint32_t kStepMask = (1U << kCallShift) - 1;

}  // namespace

uint64_t ExchangeTag::OperationWord() const {
  return static_cast<uint64_t>(operation) << kOperationShift |
         static_cast<uint64_t>(algorithm) << kAlgorithmShift |
         static_cast<uint64_t>(detail) << kDetailShift | group;
}

uint64_t ExchangeTag::SequenceWord() const { return call << kCallShift | (step & kStepMask); }

ExchangeTag ExchangeTag::FromWords(uint64_t operation, uint64_t sequence) {
  return {.operation = static_cast<Collective>(operation >> kOperationShift),
          .algorithm = static_cast<Algorithm>(operation >> kAlgorithmShift & 0xff),
          .detail = static_cast<uint16_t>(operation >> kDetailShift & 0xffff),
          .group = static_cast<uint32_t>(operation),
          .call = sequence >> kCallShift,
          .step = static_cast<uint32_t>(sequence) & kStepMask};
}

std::string ExchangeTag::Describe() const {
  return fmt::format("{} ({}{}{}) call {} step {}{}", CollectiveName(operation),
                     AlgorithmName(algorithm), detail == 0 ? "" : ", ", DescribeReduction(detail),
                     call, step, group == 0 ? "" : fmt::format(" of group {:08x}", group));
}

}  // namespace strata
