#include "worker/ctr/predictions.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <iterator>
#include <vector>

#include "base/file/output_file.h"
#include "kernels/core/math.h"
#include "worker/ctr/agree.h"

namespace strata {

Status WritePredictions(Disk& disk, const std::string& path, Group& group,
                        std::span<const float> mine, LossKind loss) {
  std::vector<std::vector<std::byte>> all;
  STRATA_TRY(group.Allgather(std::as_bytes(mine), &all));
  Status written;
  if (group.rank() == 0) {
    fmt::memory_buffer text;
    size_t row = 0;
    for (const std::vector<std::byte>& bytes : all) {
      for (size_t at = 0; at + sizeof(float) <= bytes.size(); at += sizeof(float)) {
        float logit = 0;
        std::memcpy(&logit, bytes.data() + at, sizeof(logit));
        if (std::isnan(logit)) {
          fmt::format_to(std::back_inserter(text), "{},nan\n", row++);
          continue;
        }
        fmt::format_to(std::back_inserter(text), "{},{:.9g}\n", row++,
                       loss == LossKind::kMse ? double{logit} : math::Sigmoid(double{logit}));
      }
    }
    written = WriteOutput(disk, path, {text.data(), text.size()});
  }
  return AgreeOnStatus(group, written);
}

}  // namespace strata
