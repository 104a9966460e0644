// strata-worker, run to its end, and what it printed.
#pragma once

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/process.h"

namespace strata {

inline ProcessResult RunWorker(std::vector<std::string> arguments) {
  return RunProcess(ProgramPath("strata-worker"), {.arguments = std::move(arguments)});
}

inline std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace strata
