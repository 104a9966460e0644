#include "proto/wire/body_checksum.h"

#include "base/xxh3.h"
#include "strata/status.h"

namespace strata::wire {

void BodyChecksum::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

BodyChecksum::BodyChecksum() : state_(XXH3_createState()) {
  STRATA_CHECK(state_ != nullptr);
  Restart();
}

void BodyChecksum::Add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
}

uint64_t BodyChecksum::Sum() const { return XXH3_64bits_digest(state_.get()); }

void BodyChecksum::Restart() { XXH3_64bits_reset(state_.get()); }

}  // namespace strata::wire
