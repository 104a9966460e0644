// strata-soak-flip: flips bits of every kind of file under its readers, then damages the files of a
// stopped server and looks at what it makes of them. The last line is JSON; exit code 1 when
// something wrong was read or served, a reader crashed, or one refused without naming the file.
#include <fmt/format.h>

#include <string>

#include "tests/soak/bits/file_kinds.h"
#include "tests/soak/flip_soak.h"
#include "tests/soak/soak_main.h"

namespace strata::soak {
namespace {

constexpr Setting kRows[] = {
    CountFlag("bits", "10000", "Random bits of each kind of file, besides those of its head."),
    CountFlag("cycles", "500", "Faults.", 1),
    CountFlag("seed", "1", "The first seed; a new load with the next seed every 100 faults."),
    kPatienceFlag,
};
constexpr SettingsTable kTable = {.title = "strata-soak-flip", .settings = kRows, .repeated = {}};

// Members of the JSON; what is wrong is added to `wrong`.
Result<std::string> FlipBitsOfAllKinds(uint64_t bits, uint64_t seed, uint64_t* wrong) {
  std::string kinds;
  for (const auto& [name, make] : AllFileKinds()) {
    STRATA_ASSIGN(const FlipCounts counts, FlipBits(name, make, bits, seed));
    *wrong += counts.wrong + counts.crashes;
    kinds += fmt::format("{}\"{}\": {{{}}}", kinds.empty() ? "" : ", ", name,
                         CountsJson({{"bits", counts.bits},
                                     {"crashes", counts.crashes},
                                     {"detected", counts.detected},
                                     {"harmless", counts.harmless},
                                     {"wrong", counts.wrong}}));
  }
  return ", \"flipped\": {" + kinds + "}";
}

Result<SoakReport> Run(const Settings& settings) {
  const auto seed = static_cast<uint64_t>(settings.Int("seed"));
  uint64_t wrong = 0;  // before there are threads
  STRATA_ASSIGN(const std::string flipped,
                FlipBitsOfAllKinds(static_cast<uint64_t>(settings.Int("bits")), seed, &wrong));
  SoakReport report = RunFlipSoak({.faults = static_cast<uint64_t>(settings.Int("cycles")),
                                   .seed = seed,
                                   .patience = settings.Duration("patience")});
  report.findings.wrong += wrong;
  report.more += flipped;
  return report;
}

}  // namespace
}  // namespace strata::soak

int main(int argc, char** argv) {
  return strata::soak::SoakMain(argc, argv,
                                {.table = &strata::soak::kTable,
                                 .usage = "[--bits=N] [--cycles=N] [flags]",
                                 .what = "Damages files, then reads them, or starts their server.",
                                 .run = &strata::soak::Run});
}
