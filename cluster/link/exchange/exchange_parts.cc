#include "cluster/link/exchange/exchange_parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata {

size_t ReduceWhole(const Reduction& reduction, std::span<const std::byte> from,
                   PieceCursor<std::byte>* into) {
  const size_t size = reduction.element_bytes;
  size_t used = 0;
  while (from.size() - used >= size) {
    const std::span<std::byte> piece = into->Next();
    const size_t count = std::min(piece.size(), from.size() - used) / size;
    reduction.apply(piece.data(), from.data() + used, count, reduction.context);
    used += count * size;
    into->Advance(count * size);
  }
  return used;
}

Status CheckMessage(std::string_view peer, const ExchangeTag& tag, uint64_t operation,
                    uint64_t sequence, uint64_t length, size_t bytes_expected) {
  if (operation != tag.OperationWord() || sequence != tag.SequenceWord()) {
    return Failed(
        fmt::format("{} is in {}, this rank in {}; all ranks must call the same collectives in the "
                    "same order",
                    peer, ExchangeTag::FromWords(operation, sequence).Describe(), tag.Describe()));
  }
  if (length != bytes_expected) {
    return Failed(
        fmt::format("{} sends {} bytes in {}, this rank expects {}; all ranks must pass the same "
                    "number of elements",
                    peer, length, tag.Describe(), bytes_expected));
  }
  return {};
}

Status LateError(std::string_view peer, std::string_view verb, size_t bytes_done, size_t bytes,
                 const ExchangeTag& tag) {
  return DeadlineExceeded(fmt::format("{} is alive but {} {} of {} bytes in {} until the deadline",
                                      peer, verb, bytes_done, bytes, tag.Describe()));
}

Status ClosedError(std::string_view peer, const ExchangeTag& tag) {
  return Lost(fmt::format("{} is lost: it closed its connection in {}", peer, tag.Describe()));
}

}  // namespace strata
