#include "worker/ctr/training_state.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/human_text.h"

namespace strata {
namespace {

static_assert(std::endian::native == std::endian::little, "dense parts are saved little-endian");

constexpr uint64_t kFormat = 1;
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

// Takes the line "name = number" from the front of `text`.
Status TakeNumber(std::string_view* text, std::string_view name, const std::string& where,
                  uint64_t* number) {
  const std::string_view line = text->substr(0, text->find('\n'));
  const std::string begin = fmt::format("{} = ", name);
  const std::string_view digits = line.substr(std::min(begin.size(), line.size()));
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *number);
  if (!line.starts_with(begin) || error != std::errc() || end != digits.data() + digits.size() ||
      line.size() == text->size()) {
    return Corrupt(fmt::format("{}: expected a line '{}NUMBER', found {}", where, begin,
                               QuotedBytes(line.substr(0, 80))));
  }
  text->remove_prefix(line.size() + 1);
  return {};
}

Status ParseProgress(std::string_view text, const std::string& where, TrainerState* state) {
  uint64_t format = 0;
  STRATA_TRY(TakeNumber(&text, "format", where, &format));
  if (format != kFormat) {
    return Invalid(
        fmt::format("{}: its format is {}: expected {}; use the version of Strata that "
                    "wrote it, or newer",
                    where, format, kFormat));
  }
  STRATA_TRY(TakeNumber(&text, "steps", where, &state->steps));
  STRATA_TRY(TakeNumber(&text, "epoch", where, &state->epoch));
  STRATA_TRY(TakeNumber(&text, "epoch_steps", where, &state->epoch_steps));
  STRATA_TRY(TakeNumber(&text, "samples", where, &state->samples));
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
  return {
      {kNames[0], fmt::format("format = {}\nsteps = {}\nepoch = {}\nepoch_steps = {}\n"
                              "samples = {}\n",
                              kFormat, state.steps, state.epoch, state.epoch_steps, state.samples)},
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
