#include "worker/ctr/training_state.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/human_text.h"

namespace strata {
namespace {

static_assert(std::endian::native == std::endian::little, "dense parts are saved little-endian");

constexpr uint64_t kFormat = 1;
constexpr uint64_t kFormatWithEvaluations = 2;
constexpr uint64_t kFormatWithSquaredErrors = 3;  // of evaluations whose metric is mse
constexpr std::array<const char*, 3> kNames = {"progress.txt", "dense.f32", "dense_state.f32"};

std::string BytesOf(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

Result<std::vector<float>> FloatsOf(const std::string& bytes, const std::string& where) {
  if (bytes.size() % sizeof(float) != 0) {
    return Corrupt(fmt::format("{}: expected whole numbers of 4 bytes each, found {} bytes", where,
                               bytes.size()));
  }
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// Takes the line "name = value" from the front of `text`; the value.
Result<std::string_view> TakeValue(std::string_view* text, std::string_view name,
                                   std::string_view expected, const std::string& where) {
  const std::string_view line = text->substr(0, text->find('\n'));
  const std::string begin = fmt::format("{} = ", name);
  if (!line.starts_with(begin) || line.size() == text->size()) {
    return Corrupt(fmt::format("{}: expected a line '{}{}', found {}", where, begin, expected,
                               QuotedBytes(line.substr(0, 80))));
  }
  text->remove_prefix(line.size() + 1);
  return line.substr(begin.size());
}

template <typename Number>
Status TakeNumber(std::string_view* text, std::string_view name, const std::string& where,
                  Number* number) {
  STRATA_ASSIGN(const std::string_view value, TakeValue(text, name, "NUMBER", where));
  const char* const value_end = value.data() + value.size();
  const auto [end, error] = std::from_chars(value.data(), value_end, *number);
  if (error == std::errc() && end == value_end) return {};
  return Corrupt(fmt::format("{}: expected a line '{} = NUMBER', found {}", where, name,
                             QuotedBytes(value.substr(0, 80))));
}

std::string EvaluationLines(const EvaluationState& state) {
  const Metrics& metrics = state.best.metrics;
  std::string lines = fmt::format(
      "best_by = {}\nbest_steps = {}\nbest_samples = {}\nbest_auc = {}\nbest_logloss = {}\n"
      "best_calibration = {}\nbest_base_logloss = {}\nbest_gauc = {}\nbest_groups = "
      "{}\nbest_groups_left_out = {}\nbest_evaluated = {}\nbest_bad_rows = "
      "{}\nsince_best = {}\n"
      "evaluated_steps = {}\n",
      BestByName(state.by), state.best.steps, state.best.samples, metrics.auc, metrics.logloss,
      metrics.calibration, metrics.base_logloss, metrics.gauc, metrics.groups,
      metrics.groups_left_out, metrics.samples, metrics.bad_rows, state.since_best,
      state.evaluated_steps);
  if (state.by == BestBy::kMse) {
    lines += fmt::format("best_mse = {}\nbest_base_mse = {}\n", metrics.mse, metrics.base_mse);
  }
  return lines;
}

Status ParseEvaluations(std::string_view* text, const std::string& where, uint64_t steps,
                        EvaluationState* state) {
  STRATA_ASSIGN(const std::string_view by_name, TakeValue(text, "best_by", "METRIC", where));
  const std::optional<BestBy> by = BestByOf(by_name);
  if (!by.has_value()) {
    return Corrupt(
        fmt::format("{}: no metric is named {}", where, QuotedBytes(by_name.substr(0, 80))));
  }
  state->by = *by;
  ClickEvaluation& best = state->best;
  STRATA_TRY(TakeNumber(text, "best_steps", where, &best.steps));
  STRATA_TRY(TakeNumber(text, "best_samples", where, &best.samples));
  STRATA_TRY(TakeNumber(text, "best_auc", where, &best.metrics.auc));
  STRATA_TRY(TakeNumber(text, "best_logloss", where, &best.metrics.logloss));
  STRATA_TRY(TakeNumber(text, "best_calibration", where, &best.metrics.calibration));
  STRATA_TRY(TakeNumber(text, "best_base_logloss", where, &best.metrics.base_logloss));
  STRATA_TRY(TakeNumber(text, "best_gauc", where, &best.metrics.gauc));
  STRATA_TRY(TakeNumber(text, "best_groups", where, &best.metrics.groups));
  STRATA_TRY(TakeNumber(text, "best_groups_left_out", where, &best.metrics.groups_left_out));
  STRATA_TRY(TakeNumber(text, "best_evaluated", where, &best.metrics.samples));
  STRATA_TRY(TakeNumber(text, "best_bad_rows", where, &best.metrics.bad_rows));
  STRATA_TRY(TakeNumber(text, "since_best", where, &state->since_best));
  STRATA_TRY(TakeNumber(text, "evaluated_steps", where, &state->evaluated_steps));
  if (*by == BestBy::kMse) {
    best.metrics.loss = LossKind::kMse;
    STRATA_TRY(TakeNumber(text, "best_mse", where, &best.metrics.mse));
    STRATA_TRY(TakeNumber(text, "best_base_mse", where, &best.metrics.base_mse));
  }
  if (best.steps > state->evaluated_steps || state->evaluated_steps > steps ||
      !std::isfinite(ScoreOf(best.metrics, *by))) {
    return Corrupt(
        fmt::format("{}: a best evaluation after {} steps with {} = {}, a newest one after {}, out "
                    "of {} steps in all",
                    where, best.steps, by_name, std::abs(ScoreOf(best.metrics, *by)),
                    state->evaluated_steps, steps));
  }
  return {};
}

Status ParseProgress(std::string_view text, const std::string& where, TrainerState* state) {
  uint64_t format = 0;
  STRATA_TRY(TakeNumber(&text, "format", where, &format));
  if (format < kFormat || format > kFormatWithSquaredErrors) {
    return Invalid(
        fmt::format("{}: its format is {}: expected {} to {}; use the version of Strata that wrote "
                    "it, or newer",
                    where, format, kFormat, kFormatWithSquaredErrors));
  }
  STRATA_TRY(TakeNumber(&text, "steps", where, &state->steps));
  STRATA_TRY(TakeNumber(&text, "epoch", where, &state->epoch));
  STRATA_TRY(TakeNumber(&text, "epoch_steps", where, &state->epoch_steps));
  STRATA_TRY(TakeNumber(&text, "samples", where, &state->samples));
  if (format >= kFormatWithEvaluations) {
    STRATA_TRY(ParseEvaluations(&text, where, state->steps, &state->evaluations.emplace()));
  }
  if (!text.empty()) {
    return Corrupt(
        fmt::format("{}: expected nothing more, found {}", where, QuotedBytes(text.substr(0, 80))));
  }
  if (state->epoch_steps > state->steps) {
    return Corrupt(fmt::format("{}: {} steps of an epoch out of {} in all", where,
                               state->epoch_steps, state->steps));
  }
  return {};
}

}  // namespace

std::vector<Attachment> AttachmentsOf(const TrainerState& state) {
  // Older versions read a state without evaluations, or without such.
  uint64_t format = kFormat;
  if (state.evaluations.has_value()) {
    format =
        state.evaluations->by == BestBy::kMse ? kFormatWithSquaredErrors : kFormatWithEvaluations;
  }
  std::string progress =
      fmt::format("format = {}\nsteps = {}\nepoch = {}\nepoch_steps = {}\nsamples = {}\n", format,
                  state.steps, state.epoch, state.epoch_steps, state.samples);
  if (state.evaluations.has_value()) progress += EvaluationLines(*state.evaluations);
  return {{kNames[0], std::move(progress)},
          {kNames[1], BytesOf(state.dense)},
          {kNames[2], BytesOf(state.dense_state)}};
}

std::span<const char* const> TrainerAttachments() { return kNames; }

Result<TrainerState> ParseTrainerState(std::span<const std::string> texts,
                                       const std::string& where) {
  STRATA_CHECK(texts.size() == kNames.size());
  TrainerState state;
  STRATA_TRY(ParseProgress(texts[0], where + ", " + kNames[0], &state));
  STRATA_ASSIGN(state.dense, FloatsOf(texts[1], where + ", " + kNames[1]));
  STRATA_ASSIGN(state.dense_state, FloatsOf(texts[2], where + ", " + kNames[2]));
  return state;
}

}  // namespace strata
