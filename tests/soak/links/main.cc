// strata-soak-links: groups of ranks at work, and a fault in each: killed and stopped ranks, cut
// and reset connections, ranks that disagree, strangers. The last line is JSON; exit code 1 when a
// rank hung, blamed the wrong one, was late or left something behind.
#include "base/file/open_files.h"
#include "tests/soak/links/links_soak.h"
#include "tests/soak/soak_main.h"

namespace strata::soak {
namespace {

constexpr Setting kRows[] = {
    CountFlag("cycles", "500", "Faults, which go round all kinds.", 1),
    CountFlag("seed", "1", "Of the load, the faults and the moments."),
    {.key = "silence",
     .type = SettingType::kDuration,
     .default_value = "1s",
     .help = "After which a silent rank is lost; 10 s in every tenth cycle.",
     .min = 1e9,
     .flag = "silence",
     .programs = 1},
    {.key = "slack",
     .type = SettingType::kDuration,
     .default_value = "0s",
     .help = "What a busy machine may take on top of each bound.",
     .flag = "slack",
     .programs = 1},
};
constexpr SettingsTable kTable = {.title = "strata-soak-links", .settings = kRows, .repeated = {}};

Result<SoakReport> Run(const Settings& settings) {
  RaiseOpenFilesLimit();  // for the half-open connections
  return RunLinksSoak({.cycles = static_cast<uint64_t>(settings.Int("cycles")),
                       .seed = static_cast<uint64_t>(settings.Int("seed")),
                       .silence = settings.Duration("silence"),
                       .slack = settings.Duration("slack")});
}

}  // namespace
}  // namespace strata::soak

int main(int argc, char** argv) {
  return strata::soak::SoakMain(argc, argv,
                                {.table = &strata::soak::kTable,
                                 .usage = "[--cycles=N] [flags]",
                                 .what = "Hurts groups of ranks, and looks at what each rank says "
                                         "of it, when, and what it leaves.",
                                 .run = &strata::soak::Run});
}
