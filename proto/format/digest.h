// Digest: XXH3-128, the checksum of checkpoint files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace strata::format {

struct Digest {
  uint64_t high = 0;
  uint64_t low = 0;
  friend bool operator==(const Digest&, const Digest&) = default;
};

Digest DigestOf(std::span<const std::byte> bytes);
std::string DigestText(const Digest& digest);              // 32 hexadecimal digits
std::optional<Digest> ParseDigest(std::string_view text);  // the form of DigestText only

// The digest of bytes that come in pieces. One thread at a time.
class Digester {
 public:
  Digester();
  ~Digester();
  void Add(std::span<const std::byte> bytes);
  Digest Get() const;  // of what was added since Reset or the beginning
  void Reset();

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

}  // namespace strata::format
