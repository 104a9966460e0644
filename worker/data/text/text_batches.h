// TextBatches: batches from one rank's share of files of text, whose lines several threads parse.
//
// One thread at a time reads blocks of whole lines, in order. All threads parse them, each into
// samples of its own, while the next blocks are read. A batch is joined from the samples of blocks
// in their order, and bad lines are counted in theirs. Batches and errors are therefore the same
// with any number of threads.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "base/thread/work_pool.h"
#include "strata/status.h"
#include "worker/data/batch/batch.h"
#include "worker/data/batch/batch_slices.h"
#include "worker/data/file/bad_lines.h"
#include "worker/data/text/line_encoder.h"
#include "worker/data/text/text_blocks.h"
#include "worker/data/text/text_files.h"

namespace strata {

class TextBatches : public BatchSource {
 public:
  // At least one text; of several, all may be closed. `bad_share_max` is the share of bad lines
  // above which the texts are no good; then errors say `advice`. Each thread has an encoder, all of
  // which are alike. The disk outlives this. kRefused: the system has no more threads.
  static Result<std::unique_ptr<BatchSource>> Make(
      Disk& disk, std::vector<OpenedText> texts, std::string advice, double bad_share_max,
      const TextOptions& options,
      const std::function<std::unique_ptr<LineEncoder>()>& make_encoder);

  Status Rewind(uint64_t epoch) override;
  // kInvalid when too many lines are bad: as soon as that is certain, else at the end. kInvalid
  // names file and line of a row that the model cannot have. Other errors are those of TextBlocks.
  Status Next(size_t samples_max, Batch* batch) override;
  double Progress() const override { return progress_; }
  uint64_t bad_rows() const override { return bad_.count(); }

 private:
  // A line that is no sample, or one of missing values.
  struct NoRow {
    Line line;
    size_t row = 0;  // samples of the block before it
    LineKind kind = LineKind::kBad;
    std::string why;
  };
  // A block and what it holds.
  struct Piece {
    TextBlock block;
    Batch rows;
    std::vector<NoRow> no_rows;
    size_t taken = 0;  // of the rows, for batches
    size_t told = 0;   // of no_rows

    bool is_done() const { return taken == rows.samples && told == no_rows.size(); }
  };
  using Pieces = std::deque<std::unique_ptr<Piece>>;

  TextBatches(TextBlocks blocks, BadLines bad, bool keep_bad_rows,
              std::vector<std::unique_ptr<LineEncoder>> encoders,
              std::unique_ptr<WorkPool> threads);

  bool ParseMore();
  void ReadAhead();
  void Parse(LineEncoder& encoder, Piece* piece) const;
  Result<size_t> Take(size_t rows_max, Piece* piece, std::vector<BadRow>* bad);

  TextBlocks blocks_;
  BadLines bad_;
  bool keep_bad_rows_;
  std::vector<std::unique_ptr<LineEncoder>> encoders_;  // of each thread
  Batch shape_;                                         // empty
  Pieces read_;                                         // have been read ahead
  Pieces parsed_;                                       // hold rows that no batch has yet
  Pieces used_;                                         // of the batch that is made
  Pieces free_;                                         // kept for their memory
  Status end_;                                          // why nothing more is read, once that is so
  bool ended_ = false;
  double progress_ = 0;
  std::vector<BatchSlice> slices_;     // of a batch
  std::unique_ptr<WorkPool> threads_;  // last: its threads end before what they use
};

}  // namespace strata
