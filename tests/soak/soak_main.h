// What the programs of the soaks have in common: flags, --help, the closing line of JSON, the exit
// code.
#pragma once

#include <functional>
#include <string_view>

#include "base/settings/settings.h"
#include "strata/status.h"
#include "tests/soak/report.h"

namespace strata::soak {

// A flag with a whole number.
constexpr Setting CountFlag(std::string_view name, std::string_view value, std::string_view help,
                            double min = 0, double max = 1e18) {
  return {.key = name,
          .type = SettingType::kInt,
          .default_value = value,
          .help = help,
          .min = min,
          .max = max,
          .flag = name,
          .programs = 1};
}

constexpr Setting kPatienceFlag = {.key = "patience",
                                   .type = SettingType::kDuration,
                                   .default_value = "10s",
                                   .help = "Whatever takes longer is a hang.",
                                   .min = 1e9,
                                   .flag = "patience",
                                   .programs = 1};

struct SoakProgram {
  const SettingsTable* table = nullptr;  // its title is the program's name
  std::string_view usage = {};           // behind the name: "[--cycles=N] [flags]"
  std::string_view what = {};            // a sentence
  // An error is about the flags, or what the soak could not even begin.
  std::function<Result<SoakReport>(const Settings&)> run = {};
};

// 0: nothing was found; 1: something was; else the exit code of the error, which goes to stderr.
// There stands how far it is, too; of the log errors alone.
int SoakMain(int argc, char** argv, const SoakProgram& program);

}  // namespace strata::soak
