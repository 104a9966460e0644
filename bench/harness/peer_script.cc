#include "bench/harness/peer_script.h"

#include <fmt/format.h>
#include <stdio.h>
#include <sys/wait.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace strata::bench {
namespace {

constexpr int kNotInstalled = 69;  // the script's exit code
constexpr int kNoProgram = 127;    // the shell's

}  // namespace

Result<nlohmann::json> RunPeerScript(const std::string& script, const std::string& package,
                                     const std::vector<std::string>& arguments) {
  std::string command = fmt::format("exec python3 '{}/{}'", STRATA_BENCH_SCRIPTS, script);
  for (const std::string& argument : arguments) command += fmt::format(" '{}'", argument);
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return Failed("cannot start python3");
  std::string text;
  char part[256];
  while (fgets(part, sizeof part, pipe) != nullptr) text += part;
  const int end = pclose(pipe);
  if (WIFEXITED(end) && (WEXITSTATUS(end) == kNotInstalled || WEXITSTATUS(end) == kNoProgram)) {
    return NotFound(fmt::format("the Python package {} is not installed", package));
  }
  nlohmann::json json = ParseJson(text);
  if (end != 0 || !json.is_object()) {
    return Failed(fmt::format("{}: it has failed: {}", package, text));
  }
  return json;
}

}  // namespace strata::bench
