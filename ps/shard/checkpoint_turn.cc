#include "ps/shard/checkpoint_turn.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata {

uint32_t CheckpointTurn::GivenTo(const Taker& taker, TimeNs now) {
  if (number_ == 0 || taker != taker_) return 0;
  Hear(taker.client, number_, now);
  return number_;
}

uint32_t CheckpointTurn::Lapse(TimeNs now) {
  if (!under_way_ || commits_ > 0 || now - heard_ < kSilenceMax) return 0;
  under_way_ = false;
  return number_;
}

Status CheckpointTurn::Ask(const Taker& taker, TimeNs now) {
  std::erase_if(places_, [&](const Place& place) { return now - place.asked >= kPlaceKept; });
  auto mine = std::ranges::find(places_, taker.client, &Place::client);
  if (mine != places_.end()) mine->asked = now;
  const bool first = places_.empty() || places_.front().client == taker.client;
  if (!under_way_ && first) return {};
  if (mine == places_.end() && places_.size() < kPlacesMax) {
    places_.push_back({taker.client, now});
  }
  if (under_way_) {
    return Unavailable(
        fmt::format("checkpoint {} is being taken by somebody else; the next one begins once it is "
                    "through",
                    number_));
  }
  const size_t others = places_.size() - 1;
  return Unavailable(
      fmt::format("{} to take a checkpoint, too",
                  others == 1 ? "another one waits" : fmt::format("{} others wait", others)));
}

void CheckpointTurn::Give(const Taker& taker, uint32_t number, TimeNs now) {
  std::erase_if(places_, [&](const Place& place) { return place.client == taker.client; });
  taker_ = taker;
  number_ = number;
  under_way_ = true;
  heard_ = now;
}

void CheckpointTurn::Hear(const ClientId& client, uint32_t number, TimeNs now) {
  if (client == taker_.client && number == number_) heard_ = now;
}

void CheckpointTurn::End(const ClientId& client, uint32_t number) {
  if (client == taker_.client && number == number_) under_way_ = false;
}

}  // namespace strata
