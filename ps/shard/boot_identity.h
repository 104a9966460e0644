// What tells a boot of a server from another one with the same number: a copy of a data folder that
// is served goes through boots that its original has had, and holds other writes.
#pragma once

#include <cstdint>
#include <map>

namespace strata {

struct BootIdentity {
  uint32_t nonce = 1;                 // drawn by this boot, never 0
  std::map<uint16_t, uint32_t> past;  // nonces of earlier boots by their numbers, where known
};

}  // namespace strata
