// strata-soak-hostile: hostile peers at every port of a server, beside honest clients. The last
// line is JSON; exit code 1 when anything honest was wrong, refused or slow, or memory was not
// bounded.
#include "tests/soak/hostile/hostile_soak.h"
#include "tests/soak/soak_main.h"

namespace strata::soak {
namespace {

constexpr Setting kRows[] = {
    CountFlag("cycles", "300",
              "Periods of three seconds of hostile acts, and as many bytes of honest bulk.", 1),
    CountFlag("seed", "1", "Of the acts and what they send."),
    {.key = "act",
     .type = SettingType::kText,
     .default_value = "",
     .help = "Only this one, by its name in the JSON line; empty: all.",
     .flag = "act",
     .programs = 1},
    kPatienceFlag,
};
constexpr SettingsTable kTable = {
    .title = "strata-soak-hostile", .settings = kRows, .repeated = {}};

Result<SoakReport> Run(const Settings& settings) {
  return RunHostileSoak({.cycles = static_cast<uint64_t>(settings.Int("cycles")),
                         .seed = static_cast<uint64_t>(settings.Int("seed")),
                         .act = settings.Text("act"),
                         .patience = settings.Duration("patience")});
}

}  // namespace
}  // namespace strata::soak

int main(int argc, char** argv) {
  return strata::soak::SoakMain(argc, argv,
                                {.table = &strata::soak::kTable,
                                 .usage = "[--cycles=N] [flags]",
                                 .what = "Attacks a server at every port, beside honest clients.",
                                 .run = &strata::soak::Run});
}
