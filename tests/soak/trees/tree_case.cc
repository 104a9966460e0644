#include "tests/soak/trees/tree_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "tests/support/temp_folder.h"

namespace strata::soak {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

struct Objective {
  const char* name;
  const char* metrics;  // all that fit
};

constexpr const char* kRegressionMetrics = "l1,l2,rmse,r2,quantile,huber,fair,mape";
constexpr const char* kPositiveMetrics =
    "l1,l2,rmse,r2,quantile,huber,fair,mape,poisson,gamma,gamma_deviance,tweedie";
constexpr const char* kBinaryMetrics =
    "binary_logloss,binary_error,auc,average_precision,accuracy,cross_entropy,kullback_leibler";
constexpr const char* kClassMetrics = "multi_logloss,multi_error,auc_mu,accuracy";
constexpr const char* kRankMetrics = "ndcg,map";

constexpr std::array kObjectives = {Objective{"regression", kRegressionMetrics},
                                    Objective{"regression_l1", kRegressionMetrics},
                                    Objective{"huber", kRegressionMetrics},
                                    Objective{"fair", kRegressionMetrics},
                                    Objective{"quantile", kRegressionMetrics},
                                    Objective{"mape", kRegressionMetrics},
                                    Objective{"poisson", kPositiveMetrics},
                                    Objective{"gamma", kPositiveMetrics},
                                    Objective{"tweedie", kPositiveMetrics},
                                    Objective{"binary", kBinaryMetrics},
                                    Objective{"binary", kBinaryMetrics},
                                    Objective{"cross_entropy", kBinaryMetrics},
                                    Objective{"cross_entropy_lambda", "cross_entropy_lambda,auc"},
                                    Objective{"multiclass", kClassMetrics},
                                    Objective{"multiclassova", kClassMetrics},
                                    Objective{"lambdarank", kRankMetrics},
                                    Objective{"rank_xendcg", kRankMetrics}};

// How the values of one feature are drawn.
enum class Kind : uint8_t { kReal, kSteps, kRare, kOneHot, kCategory };

struct Column {
  Kind kind = Kind::kReal;
  size_t group = 0;  // of kOneHot: features of a group exclude each other
  size_t place = 0;  // in the group
  double missing = 0;
};

class Drawer {
 public:
  Drawer(uint64_t seed, const std::string& device) : random_(seed), device_(device) {}

  TreeCase Draw() {
    const Objective& objective = kObjectives.at(random_.Below(kObjectives.size()));
    case_.objective = objective.name;
    if (case_.objective.starts_with("multiclass")) case_.classes = 2 + random_.Below(3);
    DrawColumns();
    DrawHow();
    has_weights_ = random_.Chance(0.4);
    has_one_label_ = random_.Chance(0.05);
    has_one_value_ = random_.Chance(0.05);
    ranks_ = case_.objective == "lambdarank" || case_.objective == "rank_xendcg";
    const bool has_init =
        !case_.is_forest && !case_.goes_on && case_.world == 1 && random_.Chance(0.15);
    case_.train = DrawRows(60 + random_.Below(400), 0, has_init);
    case_.valid = DrawRows(20 + random_.Below(200), random_.Chance(0.6) ? 0.3 : 0, has_init);
    KeepQueriesWhole();
    Set("objective", objective.name);
    Set("metric", objective.metrics);
    DrawParameters();
    return std::move(case_);
  }

 private:
  void Set(const std::string& key, const std::string& value) {
    case_.conf += fmt::format("{} = {}\n", key, value);
  }
  void Set(const std::string& key, double value) { Set(key, fmt::format("{}", value)); }
  void Maybe(double chance, const std::string& key, const std::string& value) {
    if (random_.Chance(chance)) Set(key, value);
  }
  double Between(double low, double high) {
    return std::round((low + (high - low) * random_.Uniform()) * 100) / 100;
  }

  void DrawColumns() {
    const size_t count = 2 + random_.Below(9);
    size_t group = 0;
    while (columns_.size() < count) {
      const auto kind = static_cast<Kind>(random_.Below(5));
      if (kind == Kind::kOneHot) {
        const size_t size = 2 + random_.Below(5);
        for (size_t place = 0; place < size; ++place) {
          columns_.push_back({.kind = kind, .group = group, .place = place});
        }
        group_sizes_.push_back(size);
        ++group;
      } else {
        columns_.push_back({.kind = kind, .missing = random_.Chance(0.3) ? Between(0, 0.3) : 0});
      }
    }
  }

  // Each rank needs a query of its own, wherever a share of the file ends.
  void KeepQueriesWhole() {
    const size_t needed = 8 * static_cast<size_t>(case_.world);
    const size_t fewest =
        std::min(case_.train.query_begins.size(), case_.valid.query_begins.size());
    if (!ranks_ || fewest > needed) return;
    case_.world = 1;
    case_.own_files = false;
  }

  // The way of training, and who trains.
  void DrawHow() {
    constexpr std::array kFormats = {"csv", "tsv", "svm"};
    case_.format = kFormats.at(random_.Below(kFormats.size()));
    const double way = random_.Uniform();
    case_.drops = way < 0.2;
    case_.is_forest = way >= 0.2 && way < 0.4;
    case_.goes_on = !case_.drops && random_.Chance(0.2);
    case_.world = random_.Chance(0.3) ? 2 + static_cast<int>(random_.Below(2)) : 1;
    case_.is_binned = case_.world == 1 && !case_.goes_on && random_.Chance(0.2);
    case_.own_files = case_.world > 1 && random_.Chance(0.3);
  }

  // `meeting`: the share of rows in which features of a group do not exclude each other.
  CaseRows DrawRows(size_t count, double meeting, bool has_init) {
    CaseRows rows;
    size_t left_in_query = 0;
    for (size_t row = 0; row < count; ++row) {
      rows.values.push_back(DrawRow(random_.Chance(meeting)));
      // Files are read as floats.
      rows.labels.push_back(static_cast<float>(LabelOf(rows.values.back())));
      if (has_weights_) rows.weights.push_back(static_cast<float>(Between(0.1, 3)));
      if (ranks_ && left_in_query == 0) {
        rows.query_begins.push_back(row);
        left_in_query = 1 + random_.Below(std::min<uint64_t>(20, count - row));
      }
      if (ranks_) --left_in_query;
    }
    if (ranks_) rows.query_begins.push_back(count);
    for (size_t i = 0; has_init && i < count * case_.classes; ++i) {
      // Of many digits: sums in another order must not part rows that tie.
      rows.init_scores.push_back(random_.Uniform() * 2 - 1);
    }
    return rows;
  }

  std::vector<double> DrawRow(bool meets) {
    std::vector<size_t> chosen;
    for (const size_t size : group_sizes_) chosen.push_back(random_.Below(size + 1));
    std::vector<double> values;
    for (const Column& column : columns_) {
      double value = 0;
      switch (column.kind) {
        case Kind::kReal:
          value = Between(-2, 2);
          break;
        case Kind::kSteps:
          value = static_cast<double>(random_.Below(6)) - 2;
          break;
        case Kind::kRare:
          value = random_.Chance(0.1) ? Between(-3, 3) : 0;
          break;
        case Kind::kOneHot: {
          const bool is_set =
              chosen[column.group] == column.place || (meets && random_.Chance(0.4));
          value = is_set ? static_cast<double>(1 + random_.Below(3)) : 0;
          break;
        }
        case Kind::kCategory:
          value = static_cast<double>(random_.Below(9));
          break;
      }
      values.push_back(random_.Chance(column.missing) ? kMissing : has_one_value_ ? 1 : value);
    }
    return values;
  }

  // Something that trees can learn, of the kind that the objective needs.
  double LabelOf(const std::vector<double>& values) {
    if (has_one_label_) return 1;
    double score = random_.Uniform();
    for (size_t f = 0; f < values.size(); ++f) {
      const double value = std::isnan(values[f]) ? 0.7 : values[f];
      score += (f % 3 == 0 ? 0.5 : -0.3) * value;
    }
    const std::string& name = case_.objective;
    if (name == "binary") return score > 0.3 ? 1 : 0;
    if (name.starts_with("cross_entropy")) {
      return std::round(100 / (1 + std::exp(-score))) / 100;
    }
    if (name.starts_with("multiclass")) {
      const auto label = static_cast<int64_t>(std::floor(score + 1));
      return static_cast<double>(
          std::clamp<int64_t>(label, 0, static_cast<int64_t>(case_.classes) - 1));
    }
    if (ranks_) return std::clamp(std::floor(score + 0.5), 0.0, 4.0);
    const double rounded = std::round(score * 100) / 100;
    if (name == "poisson" || name == "gamma" || name == "tweedie") return std::abs(rounded) + 0.1;
    return rounded;
  }

  void DrawParameters() {
    if (case_.classes > 1) Set("num_class", static_cast<double>(case_.classes));
    Set("is_provide_training_metric", "true");
    Set("num_iterations", static_cast<double>(1 + random_.Below(8)));
    Set("num_leaves", static_cast<double>(2 + random_.Below(14)));
    Set("min_data_in_leaf", static_cast<double>(1 + random_.Below(8)));
    Set("num_threads", static_cast<double>(1 + random_.Below(3)));
    Set("learning_rate", Between(0.05, 0.6));
    DrawMode();
    DrawBins();
    DrawLoss();
    if (case_.world > 1) {
      constexpr std::array kLearners = {"data", "feature", "voting"};
      const uint64_t drawn = case_.own_files ? 2 * random_.Below(2) : random_.Below(3);
      Set("tree_learner",
          kLearners.at(device_ == "cpu" ? drawn : 0));  // ranks with GPUs divide rows
      if (case_.own_files) Set("pre_partition", "true");
    }
    if (device_ != "cpu") Set("device_type", device_);
    Maybe(0.1, "extra_trees", "true");
    Maybe(0.1, "grow_policy", "depthwise");
    Maybe(0.2, "lambda_l2", fmt::format("{}", Between(0, 5)));
    Maybe(0.1, "lambda_l1", fmt::format("{}", Between(0, 1)));
    Maybe(0.1, "max_depth", fmt::format("{}", 1 + random_.Below(5)));
    if (!case_.drops && random_.Chance(0.2)) Set("early_stopping_round", "2");
    Maybe(0.15, "use_quantized_grad", "true");
    Maybe(0.15, "gradient_bits", "16");
  }

  void DrawMode() {
    const bool bags = random_.Chance(0.3);
    if (case_.is_forest) {
      Set("boosting", "rf");
      Set("bagging_freq", "1");
      Set("bagging_fraction", Between(0.4, 0.9));
    } else if (!bags && random_.Chance(0.2)) {
      Set("data_sample_strategy", "goss");
    } else if (bags) {
      Set("bagging_freq", static_cast<double>(1 + random_.Below(3)));
      Set("bagging_fraction", Between(0.4, 0.9));
    }
    if (case_.drops) {
      Set("boosting", "dart");
      Set("skip_drop", Between(0, 0.5));
      Set("drop_rate", Between(0.1, 0.8));
      Maybe(0.3, "xgboost_dart_mode", "true");
    }
    Maybe(0.2, "feature_fraction", "0.7");
    Maybe(0.3, "boost_from_average", "false");
  }

  void DrawBins() {
    Maybe(0.3, "enable_bundle", "false");
    Maybe(0.3, "bin_construct_sample_cnt", fmt::format("{}", 20 + random_.Below(60)));
    Maybe(0.3, "max_bin", fmt::format("{}", 3 + random_.Below(60)));
    Maybe(0.1, "zero_as_missing", "true");
    Maybe(0.1, "use_missing", "false");
    Set("min_data_in_bin", static_cast<double>(1 + random_.Below(3)));
    Set("feature_pre_filter", random_.Chance(0.5) ? "true" : "false");
    std::vector<size_t> categories;
    for (size_t f = 0; f < columns_.size(); ++f) {
      if (columns_[f].kind == Kind::kCategory && random_.Chance(0.7)) categories.push_back(f);
    }
    if (categories.empty()) return;
    Set("categorical_feature", fmt::format("{}", fmt::join(categories, ",")));
    Set("cat_smooth", "1");
    Set("min_data_per_group", "5");
  }

  // What the loss and the metrics depend on.
  void DrawLoss() {
    ByHandParameters& p = case_.metric_parameters;
    if (random_.Chance(0.3)) Set("alpha", p.alpha = Between(0.1, 0.9));
    if (random_.Chance(0.2)) Set("fair_c", p.fair_c = Between(0.5, 2));
    if (random_.Chance(0.2)) {
      Set("tweedie_variance_power", p.tweedie_variance_power = Between(1.1, 1.9));
    }
    if (case_.classes > 1 && random_.Chance(0.3)) {
      Set("multi_error_top_k", static_cast<double>(p.multi_error_top_k = 2));
    }
    if (case_.objective == "binary" || case_.objective == "multiclassova") {
      Maybe(0.3, "sigmoid", fmt::format("{}", Between(0.5, 2)));
    }
    if (case_.objective == "binary" || case_.objective == "multiclassova") {
      Maybe(0.2, "is_unbalance", "true");
    }
    if (case_.objective == "regression") Maybe(0.3, "reg_sqrt", "true");
    if (ranks_) Set("eval_at", "1,3,10");
  }

  Random random_;
  const std::string device_;
  TreeCase case_;
  std::vector<Column> columns_;
  std::vector<size_t> group_sizes_;
  bool has_weights_ = false;
  bool has_one_label_ = false;
  bool has_one_value_ = false;
  bool ranks_ = false;
};

std::string Line(const std::vector<double>& values, double label, const std::string& format) {
  std::string line = fmt::format("{}", label);
  for (size_t f = 0; f < values.size(); ++f) {
    if (format == "svm") {
      if (values[f] != 0) line += fmt::format(" {}:{}", f, values[f]);
    } else {
      line += fmt::format("{}{}", format == "tsv" ? '\t' : ',', values[f]);
    }
  }
  return line + "\n";
}

}  // namespace

CaseRows CaseRows::Part(size_t first, size_t count) const {
  const auto of = [&](const auto& all) {
    const auto begin = all.begin() + static_cast<ptrdiff_t>(first);
    return std::decay_t<decltype(all)>(begin, begin + static_cast<ptrdiff_t>(count));
  };
  CaseRows part;
  part.values = of(values);
  part.labels = of(labels);
  if (!weights.empty()) part.weights = of(weights);
  for (const size_t begin : query_begins) {
    if (begin >= first && begin <= first + count) part.query_begins.push_back(begin - first);
  }
  return part;
}

TreeCase DrawTreeCase(uint64_t seed, const std::string& device) {
  return Drawer(seed, device).Draw();
}

void WriteRows(const CaseRows& rows, const std::string& format, const std::string& path) {
  std::string text;
  for (size_t row = 0; row < rows.labels.size(); ++row) {
    text += Line(rows.values[row], rows.labels[row], format);
  }
  WriteWholeFile(path, text);
  if (!rows.weights.empty()) {
    WriteWholeFile(path + ".weight", fmt::format("{}\n", fmt::join(rows.weights, "\n")));
  }
  if (!rows.query_begins.empty()) {
    std::string sizes;
    for (size_t q = 0; q + 1 < rows.query_begins.size(); ++q) {
      sizes += fmt::format("{}\n", rows.query_begins[q + 1] - rows.query_begins[q]);
    }
    WriteWholeFile(path + ".query", sizes);
  }
  if (rows.init_scores.empty()) return;
  const size_t count = rows.labels.size();
  std::string scores;
  for (size_t row = 0; row < count; ++row) {
    for (size_t at = row; at < rows.init_scores.size(); at += count) {
      scores += fmt::format("{}{}", at == row ? "" : "\t", rows.init_scores[at]);
    }
    scores += "\n";
  }
  WriteWholeFile(path + ".init", scores);
}

}  // namespace strata::soak
