#include "cluster/topology/rank.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace strata {

Result<int> FindRank(const MachineList& list, Role role, const RankClues& clues) {
  const std::vector<Machine> entries = list.Of(role);
  const std::string_view name = RoleName(role);
  if (entries.empty()) {
    return Invalid(
        fmt::format("{} lists no {}; add a line \"host:port {}\"", list.file, name, name));
  }
  if (clues.rank) {
    if (*clues.rank >= 0 && *clues.rank < static_cast<int>(entries.size())) return *clues.rank;
    return Invalid(fmt::format("--rank={} is out of range: {} lists {} {}s, ranks 0 to {}",
                               *clues.rank, list.file, entries.size(), name, entries.size() - 1));
  }
  STRATA_CHECK(clues.entry_addresses.size() == entries.size());
  std::vector<int> matches;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (clues.port && entries[i].port != *clues.port) continue;
    const bool local = std::ranges::any_of(clues.entry_addresses[i], [&](const std::string& a) {
      return std::ranges::find(clues.local_addresses, a) != clues.local_addresses.end();
    });
    if (local) matches.push_back(static_cast<int>(i));
  }
  if (matches.size() == 1) return matches[0];
  const std::string port = clues.port ? fmt::format(" with port {}", *clues.port) : "";
  if (matches.empty()) {
    return Invalid(fmt::format(
        "no {}{} in {} is this machine, whose addresses are {}; add it to the list or give --rank",
        name, port, list.file, fmt::join(clues.local_addresses, ", ")));
  }
  std::vector<std::string> claimed;
  for (int rank : matches) {
    const Machine& entry = entries[static_cast<size_t>(rank)];
    claimed.push_back(fmt::format("rank {} ({}, line {})", rank, entry.Address(), entry.line));
  }
  return Invalid(
      fmt::format("more than one {}{} in {} is this machine: {}; say which with --rank or --port",
                  name, port, list.file, fmt::join(claimed, ", ")));
}

}  // namespace strata
