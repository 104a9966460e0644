#pragma once

#include <string>

#include "strata/status.h"

namespace strata::admin {

// What stderr gets: "strata-admin: INVALID: ..." for each line of the message, and what
// to do about a deadline that has passed.
std::string ErrorLines(const Status& status);

}  // namespace strata::admin
