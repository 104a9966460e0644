// One life of a collection that is killed (item_kills.h).
#pragma once

#include <cstdint>
#include <string>

#include "storage/log/log.h"

namespace strata::soak {

// What a life tells, each in one write to its pipe.
struct LifeNews {
  enum class Kind : uint32_t {
    kOpened = 1,   // it is open and was compared with what it must be
    kWritten = 2,  // records up to `lsn` are acknowledged
    kWrong = 3,    // a search or an error that must not be; it is on stderr
  };
  Kind kind = Kind::kWritten;
  Lsn lsn = 0;
  // kOpened: documents that are not there and must be, or the other way round, or differ.
  uint64_t lost = 0;
  uint64_t resurrected = 0;
  uint64_t wrong = 0;
  uint64_t replayed = 0;  // records
  uint64_t images = 0;    // that it was loaded from
  // So far in this life.
  uint64_t saves = 0;
  uint64_t searches = 0;
};

// Opens what is in the folder and lives until it is killed. Does not return.
[[noreturn]] void LiveUntilKilled(const std::string& folder, uint64_t seed, int news);

}  // namespace strata::soak
