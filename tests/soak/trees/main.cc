// strata-soak-trees: random trainings of boosted trees. What training prints for a data set, what
// task = evaluate says of the saved model, and the metric by hand from predictions are one number.
// The last line is JSON: operations are numbers that were compared. Exit code 1 when any differed.
#include "tests/soak/soak_main.h"
#include "tests/soak/trees/trees_soak.h"

namespace strata::soak {
namespace {

constexpr Setting kRows[] = {
    CountFlag("cycles", "2000", "Cases: trainings.", 1),
    CountFlag("seed", "1", "Of the first case; the next one has the next seed."),
    {.key = "device",
     .type = SettingType::kChoice,
     .default_value = "cpu",
     .help = "Where trees grow, and models predict.",
     .choices = "cpu|cuda",
     .flag = "device",
     .programs = 1},
};
constexpr SettingsTable kTable = {.title = "strata-soak-trees", .settings = kRows, .repeated = {}};

Result<SoakReport> Run(const Settings& settings) {
  return RunTreesSoak({.cases = static_cast<uint64_t>(settings.Int("cycles")),
                       .seed = static_cast<uint64_t>(settings.Int("seed")),
                       .device = std::string(settings.Text("device"))});
}

}  // namespace
}  // namespace strata::soak

int main(int argc, char** argv) {
  return strata::soak::SoakMain(
      argc, argv,
      {.table = &strata::soak::kTable,
       .usage = "[--device=cpu|cuda] [--cycles=N] [flags]",
       .what = "Compares the metrics of random trainings with task = evaluate's and with those by "
               "hand from predictions.",
       .run = &strata::soak::Run});
}
