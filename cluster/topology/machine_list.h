// The machine list: who belongs to the cluster. Three forms, never mixed in one file:
//   LightGBM's:  10.0.0.1 12400            all workers
//   Open MPI's:  node1 slots=2             all workers, as many as slots, on ports one after
//   another ours:        host:port role [option=value ...]   role: server or worker; # comments;
//                [2001:db8::1]:7600 server lanes=4
// Host names, IPv4 and bracketed IPv6. Ranks count within a role, in file order, from 0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "strata/status.h"

namespace strata {

enum class Role : uint8_t { kServer, kWorker };
std::string_view RoleName(Role role);

struct Machine {
  std::string host;  // without brackets
  uint16_t port = 0;
  Role role = Role::kWorker;
  uint16_t lanes = 1;  // servers: lanes=N
  int line = 0;        // in the file, from 1
  int column = 0;      // where the entry begins, from 1
  int rank = 0;        // within the role

  std::string Address() const;  // "host:port", IPv6 in brackets
};

// "rank 2 (10.0.0.2:7700)"
std::string RankName(int rank, const Machine& machine);

struct MachineList {
  std::string file;  // for messages
  std::vector<Machine> machines;

  std::vector<Machine> Of(Role role) const;  // in rank order
};

// Reads a list. Every error names file, line and column and says what was expected; all errors of
// the file come together, one a line, at most ten. Duplicate host:port, bad ports, unknown roles
// and options, mixed forms and an empty list are errors. `first_port` is that of each host's first
// worker in Open MPI's form, which names none; 0 makes that form an error.
Result<MachineList> ParseMachineList(std::string_view text, const std::string& file,
                                     uint16_t first_port = 0);

}  // namespace strata
