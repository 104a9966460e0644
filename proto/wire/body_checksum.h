// The checksum of a message's payload, as its bytes come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

struct XXH3_state_s;  // xxHash's

namespace strata::wire {

// XXH3-64 over the bytes of all Adds, one after the other. Not thread-safe.
class BodyChecksum {
 public:
  BodyChecksum();
  void Add(std::span<const std::byte> bytes);
  uint64_t Sum() const;  // of what has come so far
  void Restart();        // as if nothing had come

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

}  // namespace strata::wire
