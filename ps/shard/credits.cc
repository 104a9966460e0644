#include "ps/shard/credits.h"

#include <algorithm>

#include "proto/wire/header.h"

namespace strata {

void Credits::Hear(const ClientId& client, TimeNs now) {
  if (now >= next_sweep_) Sweep(now);
  const auto known = clients_.find(client);
  if (known != clients_.end()) {
    known->second.heard = now;
  } else if (clients_.size() < kClientsMax) {
    clients_.emplace(client, Client{.heard = now});
  }
}

void Credits::Sweep(TimeNs now) {
  next_sweep_ = now + kForgetAfter;
  std::erase_if(clients_, [&](const auto& entry) {
    const bool gone = entry.second.heard + kForgetAfter <= now;
    if (gone) granted_ -= entry.second.granted;
    return gone;
  });
}

uint32_t Credits::Grant(const ClientId& client) {
  const auto known = clients_.find(client);
  if (known == clients_.end()) return wire::kCreditMin;
  size_t& granted = known->second.granted;
  const size_t others = granted_ - granted;
  const size_t left = bytes_max_ - std::min(bytes_max_, others);
  const size_t credit = std::max<size_t>(
      std::min({bytes_max_ / clients_.size(), left, 2 * granted, kCreditMax}), wire::kCreditMin);
  granted = credit;
  granted_ = others + credit;
  return static_cast<uint32_t>(credit);
}

}  // namespace strata
