#include "proto/format/digest.h"

#include <fmt/format.h>

#include <charconv>

#include "base/xxh3.h"
#include "strata/status.h"

namespace strata::format {

Digest DigestOf(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

std::string DigestText(const Digest& digest) {
  return fmt::format("{:016x}{:016x}", digest.high, digest.low);
}

std::optional<Digest> ParseDigest(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  Digest digest;
  std::from_chars(text.data(), text.data() + 16, digest.high, 16);
  std::from_chars(text.data() + 16, text.data() + 32, digest.low, 16);
  if (DigestText(digest) != text) return std::nullopt;
  return digest;
}

void Digester::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

Digester::Digester() : state_(XXH3_createState()) {
  STRATA_CHECK(state_ != nullptr);
  Reset();
}
Digester::~Digester() = default;

void Digester::Add(std::span<const std::byte> bytes) {
  XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
}

Digest Digester::Get() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
  return {hash.high64, hash.low64};
}

void Digester::Reset() { XXH3_128bits_reset(state_.get()); }

}  // namespace strata::format
