#include "worker/ctr/job_agreement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

namespace strata {
namespace {

std::string Describe(const OptimizerSpec& spec) {
  return fmt::format("{} {} {} {} {} {}", OptimizerKindName(spec.kind), spec.learning_rate,
                     spec.epsilon, spec.beta1, spec.beta2, spec.initial_accumulator);
}

// One setting a line.
std::string Describe(const JobConfig& job, const std::string& task) {
  std::string text = fmt::format("--task = {}\n", task);
  const auto add = [&](std::string_view key, const auto& value) {
    text += fmt::format("{} = {}\n", key, value);
  };
  add("job.name", job.name);
  add("job.seed", job.seed);
  add("model.kind", ModelKindName(job.model));
  add("model.embedding_dim", job.embedding_dim);
  add("model.hidden", job.hidden);
  add("model.dropout", job.dropout);
  add("model.l2", job.l2);
  add("[sparse] optimizer", Describe(job.sparse_optimizer));
  add("sparse.initializer", fmt::format("{} {}", InitializerKindName(job.sparse_initializer.kind),
                                        job.sparse_initializer.scale));
  add("[dense] optimizer", Describe(job.dense_optimizer));
  add("train.batch_size", job.batch_size);
  add("train.epochs", job.epochs);
  add("train.shuffle_rows", job.shuffle_rows);
  add("train.eval_every", job.eval_every);
  add("data.test is given", !job.test_path.empty());
  add("output.model is given", !job.model_path.empty());
  add("output.predictions is given", !job.predictions_path.empty());
  for (const FeatureSpec& feature : job.data.features) {
    add("[[feature]]", fmt::format("{} {} log={} standardise={} buckets={}", feature.column,
                                   FeatureKindName(feature.kind), feature.log, feature.standardise,
                                   feature.buckets));
  }
  return text;
}

// The first line of `text` and what is behind it.
std::string_view TakeLine(std::string_view* text) {
  const size_t end = text->find('\n');
  const std::string_view line = text->substr(0, end);
  *text = end == std::string_view::npos ? std::string_view() : text->substr(end + 1);
  return line.empty() ? "nothing more" : line;
}

}  // namespace

Status AgreeOnJob(Group& group, const JobConfig& job, const std::string& task) {
  const std::string mine = Describe(job, task);
  std::vector<std::vector<std::byte>> all;
  STRATA_TRY(group.Allgather(std::as_bytes(std::span(mine)), &all));
  const auto text_of = [&](size_t rank) {
    return std::string_view(reinterpret_cast<const char*>(all[rank].data()), all[rank].size());
  };
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    std::string_view first = text_of(0);
    std::string_view other = text_of(rank);
    std::string_view first_line = TakeLine(&first);
    std::string_view other_line = TakeLine(&other);
    while (first_line == other_line && !(first.empty() && other.empty())) {
      first_line = TakeLine(&first);
      other_line = TakeLine(&other);
    }
    return Invalid(fmt::format(
        "the workers do not run the same job: worker 0 has \"{}\", worker {} has \"{}\"; give all "
        "of them the same job file and overrides",
        first_line, rank, other_line));
  }
  return {};
}

}  // namespace strata
