// What soaks find: violations of what was acknowledged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace strata::soak {

struct Findings {
  uint64_t lost = 0;                  // acknowledged (or seen) and not there
  uint64_t doubled = 0;               // applied more than once
  uint64_t wrong = 0;                 // anything else that nobody wrote there
  std::vector<std::string> examples;  // the first few, for people

  bool none() const { return lost + doubled + wrong == 0; }
};

}  // namespace strata::soak
