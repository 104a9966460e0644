#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/human_text.h"
#include "worker/gbdt/report/line_chart.h"
#include "worker/gbdt/report/tree_report.h"

namespace strata {
namespace {

constexpr size_t kImportancesShown = 30;

constexpr const char* kStyle = R"(
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --text: #1c2430; --faint: #667085; --rule: #e3e7ee;
  --c0: #2f6fde; --c1: #e0702a; --c2: #1f9d72; --c3: #9a52c9; --c4: #c2a014; --c5: #d2436e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12161d; --card: #1b212b; --text: #e6eaf1; --faint: #98a3b5; --rule: #2d3643;
    --c0: #6ea2ff; --c1: #ff9a5c; --c2: #4fd0a3; --c3: #c58af0; --c4: #e3c54a; --c5: #ff7fa3;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 36px 20px 64px; }
h1 { font-size: 26px; margin: 0; letter-spacing: -0.01em; }
h2 { font-size: 18px; margin: 36px 0 12px; }
h3 { font-size: 15px; margin: 0 0 8px; font-weight: 600; }
.lead { color: var(--faint); margin: 4px 0 24px; }
.grid-cards { display: grid; gap: 16px;
  grid-template-columns: repeat(auto-fit, minmax(min(440px, 100%), 1fr)); }
.card, .tile { background: var(--card); border: 1px solid var(--rule); border-radius: 12px; }
.card { padding: 18px 20px; }
.tiles { display: grid; gap: 12px;
  grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); }
.tile { padding: 14px 16px; }
.tile b { display: block; font-size: 22px; font-weight: 600; letter-spacing: -0.01em;
  font-variant-numeric: tabular-nums; }
.tile span { color: var(--faint); font-size: 13px; }
svg { width: 100%; height: auto; display: block; }
svg .grid { stroke: var(--rule); stroke-width: 1; }
svg .tick { fill: var(--faint); font-size: 12px; font-variant-numeric: tabular-nums; }
svg .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
svg .mark { stroke: var(--faint); stroke-width: 1; stroke-dasharray: 4 4; }
.c0 { stroke: var(--c0); } .c1 { stroke: var(--c1); } .c2 { stroke: var(--c2); }
.c3 { stroke: var(--c3); } .c4 { stroke: var(--c4); } .c5 { stroke: var(--c5); }
.dot.c0 { fill: var(--c0); } .dot.c1 { fill: var(--c1); } .dot.c2 { fill: var(--c2); }
.dot.c3 { fill: var(--c3); } .dot.c4 { fill: var(--c4); } .dot.c5 { fill: var(--c5); }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; color: var(--faint);
  font-size: 13px; margin-top: 6px; }
.swatch { display: inline-block; width: 10px; height: 10px; border-radius: 3px;
  margin-right: 7px; }
.legend b { color: var(--text); font-weight: 600; font-variant-numeric: tabular-nums; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
td, th { text-align: left; padding: 5px 10px 5px 0; border-bottom: 1px solid var(--rule);
  vertical-align: top; }
tr:last-child td { border-bottom: 0; }
td.n, th.n { text-align: right; padding-right: 0; padding-left: 12px; white-space: nowrap; }
th { color: var(--faint); font-weight: 500; font-size: 13px; }
td.name { max-width: 240px; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; }
td.value { overflow-wrap: anywhere; color: var(--faint); }
td.bar { width: 45%; padding: 5px 0; }
td.bar div { height: 12px; margin-top: 5px; border-radius: 3px; min-width: 2px; }
.stack { display: flex;
  height: 22px; border-radius: 6px; overflow: hidden; margin: 4px 0 14px; gap: 1px; }
)";

std::string Tile(const std::string& value, const std::string& name) {
  return fmt::format("<div class=\"tile\"><b>{}</b><span>{}</span></div>\n", EscapeHtml(value),
                     EscapeHtml(name));
}

std::string SecondsText(double seconds) {
  return seconds < 10 ? fmt::format("{:.2f} s", seconds) : fmt::format("{:.1f} s", seconds);
}

// One colour a place, in a circle.
std::string ColourOf(size_t place) { return fmt::format("var(--c{})", place % 6); }

// The curves of one metric: a line a data set.
struct Curves {
  std::string metric;
  std::vector<ChartLine> lines;
};

std::vector<Curves> CurvesOf(const TreeReport& report) {
  std::vector<Curves> all;
  const auto at = [](auto* items, auto member, const std::string& name) -> auto& {
    const auto found = std::ranges::find(*items, name, member);
    if (found != items->end()) return *found;
    auto& made = items->emplace_back();
    made.*member = name;
    return made;
  };
  for (const auto& [round, evaluations] : report.history) {
    for (const Evaluation& evaluation : evaluations) {
      for (const MetricValue& metric : evaluation.metrics) {
        Curves& curves = at(&all, &Curves::metric, metric.name);
        ChartLine& line = at(&curves.lines, &ChartLine::name, evaluation.data);
        line.points.emplace_back(static_cast<double>(round), metric.value);
      }
    }
  }
  return all;
}

std::string CurvesHtml(const TreeReport& report) {
  std::string html;
  for (const Curves& curves : CurvesOf(report)) {
    const double best = static_cast<double>(report.best_round.value_or(0));
    const std::string svg = LineChartSvg(
        {.label = curves.metric + " by round", .lines = curves.lines, .marked_x = best});
    if (svg.empty()) continue;
    std::string legend;
    for (size_t i = 0; i < curves.lines.size(); ++i) {
      legend += fmt::format(
          "<span><i class=\"swatch\" style=\"background:{}\"></i>{} <b>{:.6g}</b></span>",
          ColourOf(i), EscapeHtml(curves.lines[i].name), curves.lines[i].points.back().second);
    }
    html += fmt::format(
        "<section class=\"card\"><h3>{}</h3>{}<div class=\"legend\">{}</div></section>\n",
        EscapeHtml(curves.metric), svg, legend);
  }
  if (html.empty()) return "";
  return "<h2>Learning curves</h2>\n<div class=\"grid-cards\">\n" + html + "</div>\n";
}

// A table of names with a bar each.
struct BarRow {
  std::string name;
  double value;
  std::string text;
};

std::string BarsHtml(const std::vector<BarRow>& rows, size_t colour) {
  double most = 0;
  for (const BarRow& row : rows) most = std::max(most, row.value);
  std::string html = "<table>";
  for (const BarRow& row : rows) {
    const double width = most > 0 ? 100 * std::max(0.0, row.value) / most : 0;
    html += fmt::format(
        "<tr><td class=\"name\" title=\"{0}\">{0}</td><td class=\"bar\"><div "
        "style=\"width:{1:.1f}%;background:{2}\"></div></td><td class=\"n\">{3}</td></tr>\n",
        EscapeHtml(row.name), width, ColourOf(colour), row.text);
  }
  return html + "</table>";
}

std::string GainText(double gain) {
  return gain >= 1000 && gain < 1e15 ? HumanCount(static_cast<uint64_t>(std::llround(gain)))
                                     : fmt::format("{:.4g}", gain);
}

std::string ImportancesHtml(const TreeReport& report) {
  if (report.importances.empty()) return "";
  const auto shown = [](std::vector<FeatureImportance> all) {
    all.resize(std::min(all.size(), kImportancesShown));
    return all;
  };
  std::vector<BarRow> gains;
  std::vector<BarRow> splits;
  for (const FeatureImportance& one : shown(report.importances)) {
    gains.push_back({one.feature, one.gain, GainText(one.gain)});
  }
  std::vector<FeatureImportance> by_splits = report.importances;
  std::ranges::stable_sort(by_splits, std::greater<>(), &FeatureImportance::splits);
  for (const FeatureImportance& one : shown(std::move(by_splits))) {
    splits.push_back({one.feature, static_cast<double>(one.splits), HumanCount(one.splits)});
  }
  const std::string more =
      report.importances.size() > kImportancesShown
          ? fmt::format(" (the first {} of {})", kImportancesShown, report.importances.size())
          : "";
  return fmt::format(
      "<h2>Features{}</h2>\n<div class=\"grid-cards\">\n"
      "<section class=\"card\"><h3>By gain</h3>{}</section>\n"
      "<section class=\"card\"><h3>By number of splits</h3>{}</section>\n</div>\n",
      more, BarsHtml(gains, 0), BarsHtml(splits, 2));
}

std::string PhasesHtml(const TreeReport& report) {
  double all = 0;
  for (const auto& phase : report.phases) all += phase.second;
  if (!(all > 0)) return "";
  std::string stack;
  std::string rows;
  for (size_t i = 0; i < report.phases.size(); ++i) {
    const auto& [name, seconds] = report.phases[i];
    if (!(seconds >= 0.0005)) continue;  // nothing to see
    const double percent = 100 * seconds / all;
    stack +=
        fmt::format("<div style=\"width:{:.2f}%;background:{};opacity:{}\" title=\"{}\"></div>",
                    percent, ColourOf(i), i < 6 ? "1" : "0.55", EscapeHtml(name));
    rows += fmt::format(
        "<tr><td><i class=\"swatch\" style=\"background:{};opacity:{}\"></i>{}</td>"
        "<td class=\"n\">{}</td><td class=\"n\">{:.1f} %</td></tr>\n",
        ColourOf(i), i < 6 ? "1" : "0.55", EscapeHtml(name), SecondsText(seconds), percent);
  }
  return fmt::format(
      "<section class=\"card\"><h3>Time by phase</h3><div class=\"stack\">{}</div><table>{}</table>"
      "</section>\n",
      stack, rows);
}

std::string FactsHtml(const TreeReport& report) {
  std::string rows;
  const auto add = [&rows](const std::string& name, const std::string& value) {
    rows += fmt::format("<tr><td>{}</td><td class=\"n\">{}</td></tr>\n", EscapeHtml(name),
                        EscapeHtml(value));
  };
  for (const auto& [name, count] : report.data) add("rows, " + name, HumanCount(count));
  add("features", HumanCount(report.features));
  add("features that can be split", HumanCount(report.used_features));
  add("bins of all features", HumanCount(report.bins));
  add("trees", HumanCount(report.trees));
  if (report.trees > 0) {
    add("leaves of a tree, on average",
        fmt::format("{:.1f}",
                    static_cast<double>(report.leaves) / static_cast<double>(report.trees)));
  }
  return "<section class=\"card\"><h3>Data and model</h3><table>" + rows + "</table></section>\n";
}

std::string ParametersHtml(const TreeReport& report) {
  if (report.parameters.empty()) return "";
  std::string rows;
  for (const auto& [key, value] : report.parameters) {
    rows += fmt::format("<tr><td>{}</td><td class=\"value\">{}</td></tr>\n", EscapeHtml(key),
                        EscapeHtml(value));
  }
  return "<h2>Parameters that were set</h2>\n<section class=\"card\"><table>" + rows +
         "</table></section>\n";
}

std::string TilesHtml(const TreeReport& report) {
  std::string html = "<div class=\"tiles\">\n";
  html += Tile(HumanCount(report.rounds),
               report.best_round.has_value() ? "rounds, where early stopping ended" : "rounds");
  html += Tile(SecondsText(report.train_seconds), "training");
  html += Tile(SecondsText(report.load_seconds), "loading and binning");
  // Of the model as it is: its last round.
  for (const auto& [round, evaluations] : report.history) {
    if (round != report.rounds || evaluations.empty()) continue;
    for (const MetricValue& metric : evaluations.back().metrics) {
      html += Tile(fmt::format("{:.6g}", metric.value),
                   fmt::format("{}, {}", metric.name, evaluations.back().data));
    }
  }
  return html + "</div>\n";
}

}  // namespace

std::string ReportHtml(const TreeReport& report) {
  const uint64_t rows = report.data.empty() ? 0 : report.data.front().second;
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<main>\n<h1>{0}</h1>\n"
      "<p class=\"lead\">Boosted trees, learned from {2} rows of {3} features</p>\n"
      "{4}{5}{6}<h2>Time and size</h2>\n<div class=\"grid-cards\">\n{7}{8}</div>\n{9}"
      "</main>\n</body>\n</html>\n",
      EscapeHtml(report.title), kStyle, HumanCount(rows), HumanCount(report.features),
      TilesHtml(report), CurvesHtml(report), ImportancesHtml(report), PhasesHtml(report),
      FactsHtml(report), ParametersHtml(report));
}

}  // namespace strata
