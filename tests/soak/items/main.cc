// strata-soak-items: kills collections of item sets while they change, or has one grow large while
// it is searched. The last line is JSON; exit code 1 when anything was lost, resurrected or wrong.
#include "base/heap.h"
#include "tests/soak/items/item_kills.h"
#include "tests/soak/items/item_scale.h"
#include "tests/soak/soak_main.h"

namespace strata::soak {
namespace {

constexpr Setting kRows[] = {
    {.key = "kind",
     .type = SettingType::kChoice,
     .default_value = "kill",
     .help = "Collections are killed, or one grows.",
     .choices = "kill|scale",
     .flag = "kind",
     .programs = 1},
    CountFlag("cycles", "1000", "Kills.", 1),
    CountFlag("seed", "1", "The first seed; a new collection with the next every 100 kills."),
    {.key = "forget",
     .type = SettingType::kBool,
     .default_value = "false",
     .help = "Images are removed after each kill: the soak must find that.",
     .flag = "forget",
     .programs = 1},
    CountFlag("documents", "10000000", "With --kind=scale: upserts of 65 tokens.", 1, 4e9),
    CountFlag("deletes", "1000000", "With --kind=scale: spread among them.", 0, 4e9),
    CountFlag("vocabulary", "50000", "With --kind=scale: different tokens.", 1000, 4e9),
    CountFlag("tail", "256", "With --kind=scale: documents of the smallest segments.", 1, 256),
    kPatienceFlag,
};
constexpr SettingsTable kTable = {.title = "strata-soak-items", .settings = kRows, .repeated = {}};

uint64_t Count(const Settings& settings, std::string_view name) {
  return static_cast<uint64_t>(settings.Int(name));
}

Result<SoakReport> Run(const Settings& settings) {
  if (settings.Text("kind") == "kill") {
    return RunItemKills({.cycles = Count(settings, "cycles"),
                         .seed = Count(settings, "seed"),
                         .forget = settings.Bool("forget"),
                         .patience = settings.Duration("patience")});
  }
  return RunItemScale({.documents = Count(settings, "documents"),
                       .deletes = Count(settings, "deletes"),
                       .seed = Count(settings, "seed"),
                       .vocabulary = static_cast<uint32_t>(settings.Int("vocabulary")),
                       .tail = static_cast<size_t>(settings.Int("tail"))});
}

}  // namespace
}  // namespace strata::soak

int main(int argc, char** argv) {
  strata::KeepFreedMemory();  // as strata-server
  return strata::soak::SoakMain(
      argc, argv,
      {.table = &strata::soak::kTable,
       .usage = "[--kind=kill|scale] [--cycles=N] [flags]",
       .what = "Kills collections of item sets while they change, or has one grow while it is "
               "searched.",
       .run = &strata::soak::Run});
}
