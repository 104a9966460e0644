// strata-soak-flip: damages the files of a stopped server and looks at what it makes of them. The
// last line is JSON; exit code 1 when it served something wrong, crashed, or refused without naming
// the file.
#include "tests/soak/flip_soak.h"
#include "tests/soak/soak_main.h"

namespace strata::soak {
namespace {

constexpr Setting kRows[] = {
    CountFlag("cycles", "500", "Faults.", 1),
    CountFlag("seed", "1", "The first seed; a new load with the next seed every 100 faults."),
    kPatienceFlag,
};
constexpr SettingsTable kTable = {.title = "strata-soak-flip", .settings = kRows, .repeated = {}};

Result<SoakReport> Run(const Settings& settings) {
  return RunFlipSoak({.faults = static_cast<uint64_t>(settings.Int("cycles")),
                      .seed = static_cast<uint64_t>(settings.Int("seed")),
                      .patience = settings.Duration("patience")});
}

}  // namespace
}  // namespace strata::soak

int main(int argc, char** argv) {
  return strata::soak::SoakMain(argc, argv,
                                {.table = &strata::soak::kTable,
                                 .usage = "[--cycles=N] [flags]",
                                 .what = "Damages the files of a stopped server, then starts it.",
                                 .run = &strata::soak::Run});
}
