// What programs whose command line CLI11 reads say of one that is wrong.
#pragma once

#include "base/status.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace strata {

// kInvalid. A word that `app` could not place is named as ParseCommandLine (base/settings.h) does,
// with the nearest command or flag of all of its commands; anything else is told by `error`, which
// parsing has thrown.
Status UsageError(const CLI::App& app, const CLI::ParseError& error);

}  // namespace strata
