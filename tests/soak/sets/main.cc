// strata-soak-sets: random searches by set intersection beside a plain reference. The last line is
// JSON: operations are answers that were compared, documents the most of a case. Exit code 1 when
// anything was wrong.
#include "tests/soak/sets/sets_soak.h"
#include "tests/soak/soak_main.h"

namespace strata::soak {
namespace {

constexpr Setting kRows[] = {
    CountFlag("cycles", "2000", "Cases: batches of queries, each with a goal.", 1),
    CountFlag("seed", "1", "The first seed; the next one every 100 cases."),
    CountFlag("documents", "10000000", "The most of a case: the first one has so many.", 0, 1e8),
    {.key = "device",
     .type = SettingType::kChoice,
     .default_value = "cpu",
     .help = "Whose engines.",
     .choices = "cpu|cuda",
     .flag = "device",
     .programs = 1},
    {.key = "spoil",
     .type = SettingType::kBool,
     .default_value = "false",
     .help = "Answers are changed before they are compared: the soak must find that.",
     .flag = "spoil",
     .programs = 1},
};
constexpr SettingsTable kTable = {.title = "strata-soak-sets", .settings = kRows, .repeated = {}};

Result<SoakReport> Run(const Settings& settings) {
  return RunSetsSoak({.cases = static_cast<uint64_t>(settings.Int("cycles")),
                      .seed = static_cast<uint64_t>(settings.Int("seed")),
                      .documents = static_cast<uint64_t>(settings.Int("documents")),
                      .on_gpu = settings.Text("device") == "cuda",
                      .spoil = settings.Bool("spoil")});
}

}  // namespace
}  // namespace strata::soak

int main(int argc, char** argv) {
  return strata::soak::SoakMain(
      argc, argv,
      {.table = &strata::soak::kTable,
       .usage = "[--device=cpu|cuda] [--cycles=N] [flags]",
       .what = "Compares random searches by set intersection, by every engine of a device, with a "
               "plain reference.",
       .run = &strata::soak::Run});
}
