// The options of strata-admin key.
#pragma once

#include <optional>
#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
}

namespace strata::admin {

// What "key" is asked for.
struct KeyRequest {
  std::string column;
  std::optional<std::string> text;  // nothing: that of a missing value
  bool missing = false;             // --missing was given
  std::string kind;                 // "categorical", "bucketised"; "": as the files say
  std::string job_file;             // "": none
  std::string features_file;        // of a saved model; "": none
};

// Adds the arguments and options to the command; they fill the request, which outlives it.
void AddKeyOptions(CLI::App* command, KeyRequest* request);

}  // namespace strata::admin
