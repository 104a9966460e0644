#include "worker/tasks/best_by_check.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "worker/ctr/agree.h"
#include "worker/ctr/best_evaluation.h"
#include "worker/data/file/file_list.h"
#include "worker/model/network.h"

namespace strata {
namespace {

constexpr uint64_t kNegative = 1;
constexpr uint64_t kPositive = 2;
constexpr uint64_t kBoth = kNegative | kPositive;

// The labels of one group's rows that weigh more than 0. Plain bytes: ranks exchange them.
struct GroupLabels {
  uint64_t group = 0;
  uint64_t labels = 0;
};

// Rows of AUC and logloss are of one group.
class SeenLabels {
 public:
  explicit SeenLabels(BestBy by) : by_(by) {}

  void Add(const Batch& batch) {
    for (size_t i = 0; i < batch.samples && !defined_; ++i) {
      if (!(batch.weights[i] > 0)) continue;
      Add({.group = by_ == BestBy::kGauc ? batch.groups[i] : 0,
           .labels = batch.labels[i] > 0.5F ? kPositive : kNegative});
    }
  }
  void Add(const GroupLabels& more) {
    uint64_t& labels = labels_[more.group];
    labels |= more.labels;
    all_ |= more.labels;
    defined_ = defined_ || labels == kBoth || (by_ == BestBy::kLogloss && labels != 0);
  }

  bool defined() const { return defined_; }
  uint64_t all() const { return all_; }
  std::vector<GroupLabels> List() const {
    std::vector<GroupLabels> list;
    for (const auto& [group, labels] : labels_) list.push_back({group, labels});
    return list;
  }

 private:
  const BestBy by_;
  std::unordered_map<uint64_t, uint64_t> labels_;
  uint64_t all_ = 0;
  bool defined_ = false;
};

Status See(BatchSource& test, const std::function<Status()>& check, SeenLabels* seen) {
  STRATA_TRY(test.Rewind(0));
  Batch batch;
  do {
    STRATA_TRY(check());
    STRATA_TRY(test.Next(Network::kScoreBatch, &batch));
    seen->Add(batch);
  } while (batch.samples > 0 && !seen->defined());
  return {};
}

std::string WhyUndefined(uint64_t labels) {
  if (labels == 0) return "none of whose rows weighs more than 0: correct data.weight's column";
  if (labels == kBoth) {
    return "where no group has rows of both labels: name another data.group, or another metric, "
           "such as train.best_by = \"auc\"";
  }
  return fmt::format(
      "where all rows have the label {}: name a file with rows of both, or use "
      "train.best_by = \"logloss\"",
      labels == kPositive ? 1 : 0);
}

}  // namespace

Status CheckBestBy(const JobConfig& job, BatchSource& test, Group& group,
                   const std::function<Status()>& check) {
  const BestBy by = BestByOf(job.best_by).value();  // one of the choices
  SeenLabels mine(by);
  STRATA_TRY(AgreeOnStatus(group, See(test, check, &mine)));
  STRATA_ASSIGN(const uint64_t enough, SumOverRanks(group, mine.defined() ? 1 : 0));
  if (enough > 0) return {};
  const std::vector<GroupLabels> list = mine.List();
  std::vector<std::vector<std::byte>> parts;
  STRATA_TRY(group.Allgather(std::as_bytes(std::span(list)), &parts));
  SeenLabels all(by);
  for (const std::vector<std::byte>& part : parts) {
    for (size_t at = 0; at + sizeof(GroupLabels) <= part.size(); at += sizeof(GroupLabels)) {
      GroupLabels one;
      std::memcpy(&one, part.data() + at, sizeof(one));
      all.Add(one);
    }
  }
  if (all.defined()) return {};
  return WrongPath(
      job, "train.best_by",
      Invalid(fmt::format("\"{}\" cannot be computed of data.test ({}), {}", job.best_by,
                          FilesText(job.test_files), WhyUndefined(all.all()))));
}

}  // namespace strata
