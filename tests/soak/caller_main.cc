// strata-soak-caller: kills workers, clients and strata-admin while they push, take checkpoints and
// restore them, and looks at what they leave. The last line is JSON; exit code 1 when anything was
// found.
#include "tests/soak/caller_soak.h"
#include "tests/soak/soak_main.h"

namespace strata::soak {
namespace {

constexpr Setting kRows[] = {
    CountFlag("cycles", "300", "Kills, shared evenly by all kinds.", 1),
    CountFlag("seed", "1", "Of the load, the data and the moments."),
    kPatienceFlag,
};
constexpr SettingsTable kTable = {.title = "strata-soak-caller", .settings = kRows, .repeated = {}};

Result<SoakReport> Run(const Settings& settings) {
  return RunCallerSoak({.cycles = static_cast<uint64_t>(settings.Int("cycles")),
                        .seed = static_cast<uint64_t>(settings.Int("seed")),
                        .patience = settings.Duration("patience")});
}

}  // namespace
}  // namespace strata::soak

int main(int argc, char** argv) {
  return strata::soak::SoakMain(argc, argv,
                                {.table = &strata::soak::kTable,
                                 .usage = "[--cycles=N] [flags]",
                                 .what = "Kills workers, clients and admins in the middle of "
                                         "pushes, checkpoints and restores.",
                                 .run = &strata::soak::Run});
}
