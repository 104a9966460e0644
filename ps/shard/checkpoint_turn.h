// CheckpointTurn: one checkpoint after the other. Lane 0 of server 0 gives each taker a number of
// its own, and the next one's only once the one before is over.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "ps/shard/dedup_window.h"
#include "strata/status.h"

namespace strata {

// Not thread-safe.
class CheckpointTurn {
 public:
  // A taker asks for its parts and its commit once a second at least (RemoteCheckpointer). One that
  // is silent for so long is gone or in trouble: it holds nobody else up any more, and if it goes
  // on after all, it hears that another cut came.
  static constexpr TimeNs kSilenceMax = 5 * kSecond;
  // Whoever waits asks again within a second, and is not overtaken by who has only just come.
  static constexpr TimeNs kPlaceKept = 3 * kSecond;
  static constexpr size_t kPlacesMax = 64;

  // A CUT of a client: `call` tells it from the client's others, and is the same in its repeats.
  struct Taker {
    ClientId client;
    uint64_t call = 0;
    friend bool operator==(const Taker&, const Taker&) = default;
  };

  // The number that this very taker was given last; 0: none.
  uint32_t GivenTo(const Taker& taker, TimeNs now);
  // Ends a turn whose taker has been silent for too long. Its number; 0: there is none.
  uint32_t Lapse(TimeNs now);
  // OK: the taker may be given a number. kUnavailable: another's checkpoint is under way, or
  // another has waited for longer.
  Status Ask(const Taker& taker, TimeNs now);
  void Give(const Taker& taker, uint32_t number, TimeNs now);
  // A sign of life of who takes this checkpoint; nothing from anybody else.
  void Hear(const ClientId& client, uint32_t number, TimeNs now);
  void End(const ClientId& client, uint32_t number);
  // While a manifest is being written nobody need be heard.
  void BeginCommit() { ++commits_; }
  void EndCommit() { --commits_; }

 private:
  struct Place {
    ClientId client;
    TimeNs asked = 0;
  };

  Taker taker_;          // the last one
  uint32_t number_ = 0;  // and what it was given
  bool under_way_ = false;
  TimeNs heard_ = 0;
  int commits_ = 0;
  std::vector<Place> places_;  // who waits, the longest first
};

}  // namespace strata
