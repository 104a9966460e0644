// strata-admin scan: the rows of a table, page by page, so that memory holds one page.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/print.h"
#include "tools/admin/commands.h"
#include "tools/admin/tables/store.h"
#include "tools/admin/text/json_line.h"

namespace strata::admin {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kPageBytes = size_t{1} << 20;  // of its rows, about
constexpr uint32_t kPageRowsMax = 4096;

// Columns are as wide as the numbers may be: a page does not know what those after it hold.
constexpr std::string_view kTitles = "{:>20}  {}\n";
constexpr std::string_view kTitlesWithState = "{:>20}  {:>10}  {:>10}  {:>5}  {}\n";

std::string PlaceText(const ScanPage& page) { return fmt::format("{}:{}", page.lane, page.cursor); }

uint32_t RowWidth(const TableSpec& spec, bool with_state) {
  return spec.dim + (with_state ? SchemaOf(spec).state_width : 0);
}

std::string TitlesText(bool with_state) {
  return with_state
             ? fmt::format(kTitlesWithState, "key", "pushes", "last step", "cut", "values | state")
             : fmt::format(kTitles, "key", "values");
}

std::string RowText(const ScanPage& page, size_t i, std::span<const float> values,
                    std::span<const float> state) {
  std::string numbers = fmt::format("{}", fmt::join(values, " "));
  if (!page.with_state) return fmt::format(kTitles, page.keys[i], numbers);
  if (!state.empty()) numbers += fmt::format(" | {}", fmt::join(state, " "));
  const RowCounters& counters = page.counters[i];
  return fmt::format(kTitlesWithState, page.keys[i], counters.frequency, counters.last_step,
                     counters.checkpoint_epoch, numbers);
}

std::string RowJson(const ScanPage& page, size_t i, std::span<const float> values,
                    std::span<const float> state) {
  Json json = {{"key", page.keys[i]}, {"values", std::vector<float>(values.begin(), values.end())}};
  if (page.with_state) {
    json["state"] = std::vector<float>(state.begin(), state.end());
    json["pushes"] = page.counters[i].frequency;
    json["last_step"] = page.counters[i].last_step;
    json["cut"] = page.counters[i].checkpoint_epoch;
  }
  return JsonLine(json);
}

std::string PageText(const ScanPage& page, const TableSpec& spec, Request::Output output) {
  const size_t width = RowWidth(spec, page.with_state);
  std::string text;
  for (size_t i = 0; i < page.keys.size(); ++i) {
    const auto row = std::span(page.rows).subspan(i * width, width);
    const auto values = row.first(spec.dim);
    const auto state = row.subspan(spec.dim);
    text += output == Request::Output::kJson ? RowJson(page, i, values, state)
                                             : RowText(page, i, values, state);
  }
  return text;
}

// The next page, of at most rows_max rows.
Status ReadPage(TableStore& store, const TableSpec& spec, ScanPage* page) {
  const std::string place = PlaceText(*page);
  Operation operation;
  operation.kind = OpKind::kScan;
  operation.parts = {{.table = spec.id(), .page = page}};
  const Status read = SubmitAndWait(store, std::move(operation)).status;
  if (!read.ok()) return read.Prefixed(fmt::format("the page from {} on", place));
  if (page->rows.size() != page->keys.size() * RowWidth(spec, page->with_state)) {
    return Invalid(
        fmt::format("the page from {} on: {} rows of table '{}' are {} numbers, found {}", place,
                    page->keys.size(), spec.name,
                    page->keys.size() * RowWidth(spec, page->with_state), page->rows.size()));
  }
  if (page->done || place != PlaceText(*page)) return {};
  return Failed(
      fmt::format("the page from {} on ends where it begins, and others are to follow", place));
}

// Goes on to the next lane whose server is up.
void SkipAbsent(const ReachableStore& reachable, ScanPage* page) {
  if (reachable.absent.empty()) return;
  const std::vector<wire::LaneName> lanes = reachable.store->Map().lanes;
  const auto is_absent = [&](uint32_t lane) {
    return std::ranges::find(reachable.absent, lanes[lane].server) != reachable.absent.end();
  };
  while (!page->done && page->lane < lanes.size() && is_absent(page->lane)) {
    ++page->lane;
    page->cursor = 0;
    page->done = page->lane == lanes.size();
  }
}

std::string EndText(const Request& request, const ScanPage& page, uint64_t rows) {
  if (request.output == Request::Output::kJson) {
    return JsonLine({{"rows", rows}, {"next", page.done ? Json() : Json(PlaceText(page))}});
  }
  return page.done ? "" : fmt::format("the next rows: --from={}\n", PlaceText(page));
}

}  // namespace

Status RunScan(const Request& request, std::string* out) {
  STRATA_ASSIGN(const ReachableStore reachable, ConnectReachable(request));
  STRATA_ASSIGN(const TableSpec spec, FindTable(reachable, request.table));
  const bool with_state = request.scan.with_state;
  const size_t row_bytes = RowWidth(spec, with_state) * sizeof(float);
  const uint64_t page_rows = std::clamp<uint64_t>(kPageBytes / row_bytes, 1, kPageRowsMax);
  if (request.output == Request::Output::kTable) STRATA_TRY(WriteStdout(TitlesText(with_state)));
  ScanPage page;
  page.lane = request.scan.lane;
  page.cursor = request.scan.cursor;
  page.with_state = with_state;
  uint64_t rows = 0;
  while (true) {
    SkipAbsent(reachable, &page);
    if (page.done || rows >= request.scan.limit) break;
    page.rows_max = static_cast<uint32_t>(std::min(page_rows, request.scan.limit - rows));
    STRATA_TRY(ReadPage(*reachable.store, spec, &page));
    rows += page.keys.size();
    STRATA_TRY(WriteStdout(PageText(page, spec, request.output)));
  }
  *out = EndText(request, page, rows);
  if (reachable.absent.empty()) return {};
  return Status(reachable.verdict.code(),
                reachable.verdict.message() + "\nwithout the rows of those that are down");
}

}  // namespace strata::admin
