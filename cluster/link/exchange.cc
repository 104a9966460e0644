#include "cluster/link/exchange.h"

#include <fmt/format.h>

namespace strata {
namespace {

constexpr int kKindShift = 56;
constexpr int kDetailShift = 48;
constexpr uint64_t kCallMask = (1ULL << kDetailShift) - 1;

std::string_view KindName(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllreduce:
      return "allreduce";
    case CollectiveKind::kAllgather:
      return "allgather";
  }
  return "unknown collective";
}

}  // namespace

uint64_t ExchangeTag::Operation() const {
  return static_cast<uint64_t>(kind) << kKindShift | static_cast<uint64_t>(detail) << kDetailShift |
         (call & kCallMask);
}

ExchangeTag ExchangeTag::FromWords(uint64_t operation, uint64_t step) {
  return {.kind = static_cast<CollectiveKind>(operation >> kKindShift),
          .detail = static_cast<uint8_t>(operation >> kDetailShift),
          .call = operation & kCallMask,
          .step = step};
}

std::string ExchangeTag::Describe() const {
  const std::string variant = detail == 0 ? "" : fmt::format(" (variant {:#x})", detail);
  return fmt::format("{}{} call {} step {}", KindName(kind), variant, call, step);
}

}  // namespace strata
