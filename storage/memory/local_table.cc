#include "storage/memory/local_table.h"

namespace strata {

std::string_view TierName(Tier tier) {
  switch (tier) {
    case Tier::kHot:
      return "hot";
    case Tier::kWarm:
      return "warm";
    case Tier::kCold:
      return "cold";
  }
  return "?";
}

}  // namespace strata
