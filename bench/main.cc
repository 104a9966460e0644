// strata-bench: Strata beside its peers and the machine's limits, measured in the same run.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/cli/usage_error.h"
#include "base/file/disk.h"
#include "base/file/output_file.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/print.h"
#include "base/settings/settings.h"
#include "base/signals.h"
#include "bench/harness/figure.h"
#include "bench/harness/machine.h"
#include "bench/harness/report.h"
#include "bench/suites/collective/collective_measure.h"
#include "bench/suites/collective/collective_tune.h"
#include "bench/suites/gpu.h"
#include "bench/suites/search/search_data.h"
#include "kernels/core/device_choice.h"

namespace strata::bench {
namespace {

struct CommandLine {
  std::string suite;
  std::string device = "cpu";
  bool json = false;
  bool list = false;
  std::string tune;  // file; empty: measure
  std::vector<int> ranks = TuneOptions().worlds;
  SearchData search;
  BenchOptions options;
};

std::vector<Suite> Suites(const SearchData& search = {}) {
  return {TableSuite(),      ServiceSuite(), TieredSuite(), CheckpointSuite(),
          CollectiveSuite(), TreesSuite(),   CtrSuite(),    SearchSuite(search)};
}

// That a CPU has nothing of.
std::vector<Suite> GpuOnlySuites() { return {GpuEmbeddingSuite(), GpuTreeBlocksSuite()}; }

// What suites measure on a GPU that a CPU has something else of: in words, as a build without CUDA
// knows no more of them.
constexpr std::pair<std::string_view, std::string_view> kOnGpu[] = {
    {"table", "the hash map in a GPU's memory beside HierarchicalKV's recorded figures"},
    {"service", "a server whose rows are on a GPU beside one whose are in host memory"},
    {"tiered", "a table of which half fits the GPU; 20 GiB of the host's memory"},
    {"trees", "training on one GPU, and on two where there are"},
    {"ctr", "training steps of click models whose rows are on a GPU"},
    {"search", "exact top-K on a GPU"},
};

std::string Footer() {
  std::string text = "Suites:\n";
  for (const Suite& suite : Suites()) text += fmt::format("  {:<12} {}\n", suite.name, suite.about);
  for (const Suite& suite : GpuOnlySuites()) {
    text += fmt::format("  {:<12} {}: --device=cuda\n", suite.name, suite.about);
  }
  text += "With --device=cuda, or with auto where there is a GPU, in a build with CUDA:\n";
  for (const auto& [name, about] : kOnGpu) text += fmt::format("  {:<12} {}\n", name, about);
  return text +
         "\nFor each case and peer: ours, the peer's figure and the machine's limit, taken in "
         "turns\n"
         "in this very run; ratio is above 1 where Strata is ahead, share is of the limit.\n"
         "Exit codes: 0 done; 1 a case failed, or data is damaged; 2 the command line or a file "
         "is\n"
         "wrong, or there is no such GPU; 3 what was measured is lost; 4 refused; 70 a bug. Of "
         "several\n"
         "failed cases the first counts.\n";
}

bool Selected(const Case& one, const BenchOptions& options) {
  return one.name.find(options.filter) != std::string::npos;
}

int Fail(const Status& status) {
  PrintStderr("strata-bench: {}\n", status.ToString());
  return ExitCode(status);
}

int RunSuite(const Suite& suite, const std::string& device, const CommandLine& line) {
  std::vector<Case> selected;
  std::vector<Case> cases = suite.cases(line.options.all);
  const size_t count = cases.size();
  for (Case& one : cases) {
    if (Selected(one, line.options)) selected.push_back(std::move(one));
  }
  if (selected.empty()) {
    PrintStderr(
        "strata-bench: no case of suite {} contains '{}'; strata-bench {} --device={}{} "
        "--list names its {}{}\n",
        suite.name, line.options.filter, suite.name, line.device, line.options.all ? " --all" : "",
        count, line.options.all ? "" : "; --all may bring more");
    return 2;
  }
  if (line.list) {
    std::string names;
    for (const Case& one : selected) names += one.name + "\n";
    const Status shown = WriteStdout(names);
    return shown.ok() ? 0 : Fail(shown);
  }
  PrintStderr("{}; load before: {:.1f}{}\n", device, LoadAverage(),
              LoadAverage() > 0.5 ? " (other programs run here: trust ratios, not absolutes)" : "");
  if (!line.json) {
    if (const Status head = WriteStdout(TableHead()); !head.ok()) return Fail(head);
  }
  int code = 0;
  for (const Case& one : selected) {
    const Result<std::vector<Figure>> figures = one.run(line.options);
    if (!figures.ok()) {
      PrintStderr("strata-bench: {}: {}\n", one.name, figures.status().ToString());
      if (code == 0) code = ExitCode(figures.status());
      continue;
    }
    std::string lines;
    for (const Figure& figure : *figures) {
      lines += line.json ? JsonLine(suite.name, figure, device) : TableRow(figure);
    }
    if (const Status shown = WriteStdout(lines); !shown.ok()) return Fail(shown);
  }
  return code;
}

bool Has(const std::vector<Suite>& suites, const std::string& name) {
  return std::ranges::find(suites, name, &Suite::name) != suites.end();
}

// That there is one of that name, on whatever device.
Status CheckSuite(const std::string& name) {
  std::vector<std::string> names;
  for (const Suite& suite : Suites()) names.push_back(suite.name);
  for (const Suite& suite : GpuOnlySuites()) names.push_back(suite.name);
  if (std::ranges::find(names, name) != names.end()) return {};
  return UnknownWord("suite", name, names);
}

// The suites of a device, and what that is called. With "auto" those of a GPU, where there is one
// that will do and `wanted` runs there.
struct OnDevice {
  std::vector<Suite> suites;
  std::string name;
};
Result<OnDevice> SuitesOn(const std::string& device, const std::string& wanted, bool only_names,
                          const SearchData& search) {
  const Result<DeviceChoice> parsed = ParseDevice(device);
  if (!parsed.ok()) return parsed.status().Prefixed("--device");
  const DeviceChoice choice = *parsed;
  if (only_names && Has(GpuOnlySuites(), wanted)) return OnDevice{GpuOnlySuites(), device};
  const OnDevice cpu{Suites(search), MachineName()};
  if (choice.kind == DeviceKind::kCpu) return cpu;
  if (const int gpu = choice.ordinal.value_or(0); gpu > 0 && wanted != "service") {
    return Invalid(fmt::format(
        "--device={}: suite {} measures the first GPU that it sees: CUDA_VISIBLE_DEVICES={} with "
        "--device=cuda makes that number {}",
        device, wanted, gpu, gpu));
  }
  // Names need no GPU, and of most suites no CUDA either.
  if (only_names && choice.kind.has_value() &&
      (Has(GpuSuites(choice), wanted) || !Has(cpu.suites, wanted))) {
    return OnDevice{GpuSuites(choice), device};
  }
  const Result<std::string> gpu = UseGpu(choice.ordinal.value_or(0));
  if (!gpu.ok() && choice.kind.has_value()) return gpu.status();
  if (!gpu.ok()) {
    PrintStderr("device auto: the CPU, as {}\n", gpu.status().message());
    return cpu;
  }
  const OnDevice on_gpu{GpuSuites(choice), *gpu};
  if (choice.kind.has_value()) return on_gpu;
  return Has(cpu.suites, wanted) && !Has(on_gpu.suites, wanted) ? cpu : on_gpu;
}

// What suite search alone takes, on a CPU.
Status CheckSearchData(const CommandLine& line) {
  const SearchData& search = line.search;
  if (search.is_usual()) return {};
  if (line.suite != "search" || line.device != "cpu") {
    return Invalid(
        "--documents, --k, --queries, --data and --offsets belong to suite search on --device=cpu");
  }
  if (!search.file.empty() && search.documents != 0) {
    return Invalid(
        "--documents and --data exclude each other: drawn documents, or those of a file");
  }
  if (!search.offsets.empty() && search.file.empty()) {
    return Invalid(
        "--offsets has no effect without --data: it says where documents begin in a .npy of one "
        "dimension");
  }
  if (line.options.all && (search.documents != 0 || !search.file.empty())) {
    return Invalid(
        "--all brings other numbers of documents: leave it out with --documents or --data");
  }
  return {};
}

// Writes the table of the fastest algorithms, and prints what it rests on.
int Tune(const CommandLine& line) {
  if (line.suite != CollectiveSuite().name) {
    PrintStderr("strata-bench: --tune belongs to suite collective\n");
    return 2;
  }
  if (!line.options.filter.empty() || line.json || line.list) {
    PrintStderr(
        "strata-bench: --tune measures all sizes and writes a table: it goes with "
        "neither --filter nor --json nor --list\n");
    return 2;
  }
  const Status place = TryOutputFile(RealDisk(), line.tune).Prefixed("--tune " + line.tune);
  if (!place.ok()) return Fail(place);
  TuneOptions options;
  options.worlds = line.ranks;
  std::ranges::sort(options.worlds);
  options.sizes = CollectiveSizes();
  options.rounds = line.options.rounds;
  options.congestion = line.options.congestion;
  const auto table =
      TuneCollectives(options, [](const std::string& text) { PrintStderr("{}\n", text); });
  if (!table.ok()) return Fail(table.status());
  const Status written = WriteOutput(RealDisk(), line.tune, *table);
  if (!written.ok()) return Fail(written);
  const Status shown = IsStandardOutput(line.tune) ? Status() : WriteStdout(*table);
  return shown.ok() ? 0 : Fail(shown);
}

void AddOptions(CLI::App& app, CommandLine& line) {
  app.add_option("SUITE", line.suite, "what to measure")->required();
  app.add_option("--device", line.device,
                 "where it runs: cpu, cuda or cuda:N, or auto: on a GPU where there is one and the "
                 "suite has cases for it")
      ->capture_default_str();
  app.add_flag("--json", line.json, "one JSON object a line instead of a table");
  app.add_flag(
      "--list", line.list,
      "name the cases and measure nothing; takes no GPU, and CUDA only for trees and search "
      "with --device=cuda");
  app.add_flag("--all", line.options.all, "the whole grid instead of the short set");
  app.add_option("--filter", line.options.filter, "only cases whose name contains this");
  app.add_option(
         "--rounds", line.options.rounds,
         "rounds, of which the median counts; table, tiered, embedding, ctr and tree-blocks "
         "on a GPU have rounds of their own")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--congestion", line.options.congestion,
                 "collective: TCP's congestion control of all contenders; \"\": the system's")
      ->capture_default_str();
  app.add_option("--tune", line.tune,
                 "collective: write to this file which algorithm is the fastest, and when; - is "
                 "standard output alone");
  app.add_option("--ranks", line.ranks, "of --tune: numbers of ranks, as 2,3,4")
      ->delimiter(',')
      ->check(CLI::Range(2, 64))
      ->capture_default_str();
}

void AddSearchOptions(CLI::App& app, CommandLine& line) {
  app.add_option("--documents", line.search.documents,
                 "search: documents that are drawn, in place of each case's")
      ->check(CLI::Range(size_t{1}, size_t{100'000'000}))
      ->default_str("");
  app.add_option("-k,--k", line.search.k, "search: best documents of each query")
      ->check(CLI::Range(size_t{1}, size_t{1'000'000}))
      ->capture_default_str();
  app.add_option("--queries", line.search.queries, "search: different queries, asked in turn")
      ->check(CLI::Range(size_t{1}, size_t{1'000'000}))
      ->capture_default_str();
  app.add_option("--data", line.search.file,
                 "search: documents of a file, in the forms that strata-admin collection load "
                 "takes, in place of drawn ones; queries are some of them");
  app.add_option("--offsets", line.search.offsets,
                 "search: where documents begin in --data, both .npy of one dimension");
}

int Main(int argc, char** argv) {
  const Status values = CheckNoEmptyValue({argv, static_cast<size_t>(argc)}, "--congestion");
  if (!values.ok()) return Fail(values);
  CommandLine line;
  CLI::App app("Measures Strata beside its peers and the machine's limits.", "strata-bench");
  app.footer(Footer());
  app.set_version_flag("--version", "strata-bench " STRATA_VERSION);
  AddOptions(app, line);
  AddSearchOptions(app, line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return Fail(UsageError(app, error));
    const bool is_version = app.get_option("--version")->count() > 0;
    const Status shown = WriteStdout(is_version ? std::string(error.what()) + "\n" : app.help());
    return shown.ok() ? 0 : Fail(shown);
  }
  // How servers in this process and their clients reach each other would stand amid the table.
  if (const Status log = StartLogging(LogLevel::kWarning, "", ""); !log.ok()) return Fail(log);
  if (!line.tune.empty()) return Tune(line);
  if (const Status known = CheckSuite(line.suite); !known.ok()) return Fail(known);
  if (const Status data = CheckSearchData(line); !data.ok()) return Fail(data);
  if (!line.list) {
    if (const Status read = ReadDocuments(&line.search); !read.ok()) return Fail(read);
  }
  const Result<OnDevice> device = SuitesOn(line.device, line.suite, line.list, line.search);
  if (!device.ok()) return Fail(device.status());
  std::vector<std::string_view> names;
  for (const Suite& suite : device->suites) {
    if (suite.name == line.suite) {
      if (!suite.has_rounds && app.count("--rounds") != 0) {
        PrintStderr(
            "strata-bench: --rounds has no effect on suite {} with --device={}, whose cases have "
            "rounds of their own: leave it out\n",
            line.suite, line.device);
        return 2;
      }
      return RunSuite(suite, device->name, line);
    }
    names.push_back(suite.name);
  }
  if (Has(GpuOnlySuites(), line.suite)) {
    PrintStderr(
        "strata-bench: suite {} runs on a GPU alone: --device=cuda, in a build with CUDA; "
        "--list names its cases anywhere\n",
        line.suite);
    return 2;
  }
  PrintStderr("strata-bench: there is no suite '{}' on {}; there are: {}\n", line.suite,
              line.device, fmt::join(names, ", "));
  return 2;
}

}  // namespace
}  // namespace strata::bench

int main(int argc, char** argv) {
  strata::OpenMissingStreams();
  strata::IgnoreWriteSignals();
  strata::KeepFreedMemory();  // as strata-server and strata-worker do
  return strata::bench::Main(argc, argv);
}
