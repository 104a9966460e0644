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
  std::erase_if(clients_,
                [&](const auto& entry) { return entry.second.heard + kForgetAfter <= now; });
}

uint32_t Credits::Grant(const ClientId& client) {
  const auto known = clients_.find(client);
  if (known == clients_.end()) return wire::kCreditMin;
  size_t& granted = known->second.granted;
  granted = std::max<size_t>(std::min({bytes_max_ / clients_.size(), 2 * granted, kCreditMax}),
                             wire::kCreditMin);
  return static_cast<uint32_t>(granted);
}

uint32_t Credits::GrantedTo(const ClientId& client) const {
  const auto known = clients_.find(client);
  return known == clients_.end() ? 0 : static_cast<uint32_t>(known->second.granted);
}

}  // namespace strata
