// Writes docs/configuration.md to stdout, from the very tables that parse the files and flags.
#include <fmt/format.h>

#include "base/settings.h"
#include "cluster/cluster_config.h"
#include "worker/job.h"
#include "worker/options.h"

namespace {

constexpr const char* kHead =
    R"(# Configuration

Written by `./dev docs` from the settings tables in the code; a test fails when this page is behind.

- `cluster.toml` is read by strata-server, strata-worker and strata-admin; `job.toml` by
  strata-worker, whose own flags come last.
- Precedence: default, then file, then flag (or `section.key=value` for keys of the job file).
- An unknown key, a value of the wrong type or one out of bounds is an error that names file, line
  and what was expected; so is one of [server] that would have no effect, as `server.admit_from` has
  none without `server.cold`. `strata-admin config check FILE` tells all problems of a cluster.toml.
- Sizes: `64MiB`, `1GiB`, or plain bytes. Durations: `500ms`, `10s`, `2min`.

)";

}  // namespace

int main() {
  fmt::print("{}{}\n{}\n{}", kHead, strata::SettingsMarkdown(strata::ClusterSettingsTable()),
             strata::SettingsMarkdown(strata::JobSettingsTable()),
             strata::SettingsMarkdown(strata::WorkerSettingsTable()));
  return 0;
}
