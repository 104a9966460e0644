// A job's data files as one rank sees them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "cluster/collective/group.h"
#include "strata/status.h"
#include "worker/data/batch/batch.h"
#include "worker/data/feature/feature.h"
#include "worker/data/feature/text_counts.h"
#include "worker/job/job.h"
#include "worker/model/model_shape.h"

namespace strata {

// What a pass over the training data found out.
struct JobFeatures {
  std::vector<FittedFeature> features;
  uint64_t rows = 0;          // of all shares together
  uint64_t bad_rows = 0;      // likewise: could not be read and are left out
  uint64_t content_hash = 0;  // FeatureStatistics::content_hash
};

// Fits the job's features to the training data: each rank reads its share, the statistics are
// merged, and every rank gets equal features. `texts`, unless null, gets the texts of this rank's
// share.
Result<JobFeatures> FitJobFeatures(Disk& disk, const JobConfig& job, Group& group,
                                   TextCounts* texts = nullptr);

// This rank's share of data.train in batches of `part_size`, shuffled if the job says so and read
// ahead.
Result<std::unique_ptr<BatchSource>> OpenTraining(Disk& disk, const JobConfig& job,
                                                  const std::vector<FittedFeature>& features,
                                                  size_t part_size, const Group& group);

// Opens data.train, before data.test is looked at: a column that neither has is then told of the
// data that the job learns from.
Status TryTraining(Disk& disk, const JobConfig& job, const Group& group);

// Reads the first rows of this rank's share of data.test, so that a file that is not as the job
// says is found before the work. OK when the job has none. kInvalid: it is standard input, and
// there are several ranks; or no rank has a row, where labels are required.
Status TryTest(Disk& disk, const JobConfig& job, bool labels_required, Group& group);

// kInvalid: data.test has no rows, of which nothing can be computed.
Status NoTestRows(const JobConfig& job);

// This rank's share of data.test in file order, in batches for a Scorer. Without `labels_required`,
// which is to predict, no labels are read, and rows that cannot be read keep their places. `check`
// is asked while standard input gives nothing, on a thread that reads ahead.
Result<std::unique_ptr<BatchSource>> OpenTest(Disk& disk, const JobConfig& job,
                                              const std::vector<FittedFeature>& features,
                                              bool labels_required, const Group& group,
                                              const std::function<Status()>& check);

// The model that the job file describes, of these features: those of the job file, or of sparse
// rows those that the data has. kInvalid: there is no such model.
Result<ModelShape> JobModelShape(const JobConfig& job, const std::vector<FeatureSpec>& features);

// Warnings of the features that no layer takes, with what to do; none of tables with sections,
// whose features JobModelShape looks at.
std::vector<std::string> UnusedFeatures(const LayerGraph& graph);

}  // namespace strata
