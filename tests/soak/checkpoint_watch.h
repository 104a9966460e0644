// What a folder of checkpoints shows from outside while servers write there.
#pragma once

#include <cstdint>
#include <string>

namespace strata::soak {

// Numbers; 0: there is none.
struct NewestCheckpoints {
  uint32_t begun = 0;  // its folder is there
  uint32_t whole = 0;  // its manifest is there, too
};
NewestCheckpoints FindNewest(const std::string& checkpoints);

}  // namespace strata::soak
