#include "bench/suites/ctr/click_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/file/disk.h"
#include "base/hash.h"
#include "bench/suites/ctr/click_shapes.h"
#include "worker/data/text/criteo.h"
#include "worker/tasks/job_network.h"
#include "worker/tasks/progress.h"
#include "worker/tasks/session.h"
#include "worker/tasks/status_board.h"
#include "worker/tasks/tasks.h"

namespace strata::bench {
namespace {

constexpr uint64_t kTexts = 20'000;  // different ones of a column

// A job file describes the columns of CSV. Those of Criteo's logs are known.
std::string CsvColumns() {
  const std::vector<std::string> columns = CriteoFormat().columns;
  const std::vector<std::string> numbers(columns.begin() + 1, columns.begin() + 1 + kClickDense);
  const std::vector<std::string> texts(columns.begin() + 1 + kClickDense, columns.end());
  return fmt::format(
      "columns = {}\nlabel = \"label\"\n[[feature]]\ncolumns = {}\nkind = \"numeric\"\n"
      "transforms = [\"log\"]\n[[feature]]\ncolumns = {}\n",
      columns, numbers, texts);
}

// Numbers and texts between delimiters.
std::string ColumnsOf(uint64_t row, char delimiter) {
  std::string text;
  for (uint64_t d = 0; d < kClickDense; ++d) {
    text += fmt::format("{}{}", delimiter, Mix64(row * 64 + d) % 1000);
  }
  for (uint64_t slot = 0; slot < kClickSlots; ++slot) {
    const uint64_t drawn = DrawRow(row * kClickSlots + slot, kTexts);
    text += fmt::format("{}{:08x}", delimiter, ClickKey(slot, drawn) >> 32);
  }
  return text;
}

std::string ValuesOf(uint64_t row, bool has_fields) {
  std::string text;
  for (uint64_t slot = 0; slot < kClickSlots; ++slot) {
    const uint64_t drawn = DrawRow(row * kClickSlots + slot, kTexts);
    text += has_fields ? fmt::format(" {}:{:08x}:1", slot, ClickKey(slot, drawn) >> 32)
                       : fmt::format(" {}:0.{:04}", slot * kTexts + drawn, Mix64(row) % 10'000);
  }
  return text;
}

}  // namespace

Status WriteClickText(const std::string& path, const std::string& format, uint64_t rows) {
  STRATA_ASSIGN(const std::unique_ptr<File> file, RealDisk().Create(path));
  const bool has_columns = format == "criteo" || format == "csv";
  std::string text;
  for (uint64_t row = 0; row < rows; ++row) {
    text += Mix64(row) % 4 == 0 ? '1' : '0';
    text += has_columns ? ColumnsOf(row, format == "criteo" ? '\t' : ',')
                        : ValuesOf(row, format == "libffm");
    text += '\n';
    if (text.size() < (size_t{1} << 20) && row + 1 < rows) continue;
    STRATA_TRY(file->Append(std::as_bytes(std::span(text))));
    text.clear();
  }
  return {};
}

std::string ClickTextSection(const std::string& path, const std::string& format) {
  return fmt::format("[data]\nformat = \"{}\"\ntrain = \"{}\"\n{}", format, path,
                     format == "csv" ? CsvColumns() : "");
}

Result<double> TrainFromText(const std::string& path, const std::string& format,
                             const std::string& model, uint32_t dim, uint32_t batch_size,
                             int threads) {
  std::string job = ClickTextSection(path, format);
  job += fmt::format("[model]\nkind = \"{}\"\nembedding_dim = {}\n", model, dim);
  if (model == "deepfm") job += "hidden = [400, 400, 400]\n";
  job += fmt::format("[train]\nbatch_size = {}\n", batch_size);
  WorkerOptions options;
  STRATA_ASSIGN(options.job, ParseJob(job, "bench.toml", {}));
  options.threads = threads;
  STRATA_ASSIGN(const std::unique_ptr<WorkPool> pool, StartStepThreads(threads));
  STRATA_ASSIGN(const std::unique_ptr<Session> session,
                MakeEmbeddedSession(options.job, pool.get()));
  StatusBoard board(RealClock());
  ProgressPrinter printer(RealClock(), nullptr, false, nullptr);
  STRATA_ASSIGN(const TaskResult result, RunTask({.options = options,
                                                  .session = *session,
                                                  .disk = RealDisk(),
                                                  .clock = RealClock(),
                                                  .board = board,
                                                  .printer = printer,
                                                  .threads = pool.get(),
                                                  .check = [] { return Status(); }}));
  return static_cast<double>(result.samples) / result.seconds;
}

}  // namespace strata::bench
