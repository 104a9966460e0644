#include "worker/data/file/data_lines.h"

namespace strata {

DataLines::DataLines(Disk& disk, std::vector<OpenedText> texts, double bad_share_max,
                     const TextOptions& options)
    : blocks_(disk, std::move(texts), options),
      bad_(blocks_.files(), bad_share_max, options.log_bad_lines) {}

Result<bool> DataLines::Next(Line* line) {
  if (!cursor_.Next(block_.lines, line)) {
    STRATA_ASSIGN(const bool more, blocks_.Next(&block_));
    ended_ = !more;
    if (ended_) {
      STRATA_TRY(bad_.End(blocks_.lines()));
      return false;
    }
    cursor_ = {};
    cursor_.Next(block_.lines, line);
  }
  line_end_ = line->end;
  return true;
}

void DataLines::Rewind() {
  blocks_.Rewind();
  Restart();
}

void DataLines::BeginEpoch(uint64_t epoch) {
  blocks_.BeginEpoch(epoch);
  Restart();
}

Status DataLines::TakeShare(Share share, bool to_end) {
  STRATA_TRY(blocks_.TakeShare(share, to_end));
  Restart();
  return {};
}

void DataLines::Restart() {
  block_.lines.size = 0;
  block_.text = nullptr;
  cursor_ = {};
  ended_ = false;
  bad_.Reset();
}

double DataLines::Progress() const {
  if (ended_ || blocks_.is_empty()) return 1;
  return block_.text == nullptr ? 0 : block_.Progress(line_end_);
}

}  // namespace strata
