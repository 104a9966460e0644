// ExportTable: one table of a checkpoint in a form that other programs read. Rows come in the same
// order in all files: keys are each the one whose row stands at the same place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/disk.h"
#include "strata/status.h"

namespace strata {

enum class ExportFormat : uint8_t {
  // <out>/<table>.safetensors: tensors "keys" U64 [n], "values" F32 [n, dim] and, where the
  // optimizer keeps any, "state" F32 [n, state_width]. https://github.com/huggingface/safetensors
  // (README, "Format").
  kSafetensors = 1,
  // <out>/<table>.keys.npy, <u8 (n,), and <out>/<table>.values.npy, <f4 (n, dim); version 1.0.
  // https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
  kNpy = 2,
  // HugeCTR's sparse model: the folder <out>/<table>_sparse.model with `key`, n x int64, and
  // `emb_vector`, n x dim x float32, both without a header. Keys of 2^63 and above are negative
  // there. https://nvidia-merlin.github.io/HugeCTR/v24.04.00/hps_tf/notebooks/
  // hps_table_fusion_demo.html (convert_to_sparse_model)
  kHugeCtr = 3,
};

Result<ExportFormat> ParseExportFormat(std::string_view name);  // safetensors, npy, hugectr

struct ExportReport {
  uint64_t rows = 0;
  uint32_t dim = 0;
  std::vector<std::string> files;  // paths, on stable storage
};

// Reads checkpoint `number` under `root` and what it builds on, checking all of it; existing files
// are replaced once theirs are whole. Streams: memory holds the keys of incremental checkpoints at
// most. kNotFound: no such checkpoint, or no such table, with the names of those that there are.
Result<ExportReport> ExportTable(Disk& disk, const std::string& root, uint32_t number,
                                 const std::string& table, ExportFormat format,
                                 const std::string& out);

}  // namespace strata
