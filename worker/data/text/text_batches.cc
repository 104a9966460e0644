#include "worker/data/text/text_batches.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace strata {
namespace {

// Blocks a thread that are read and parsed at a time, so that none waits long for the last one.
constexpr size_t kBlocksAThread = 4;

template <typename T>
void MoveAll(std::deque<T>* from, std::deque<T>* to) {
  std::ranges::move(*from, std::back_inserter(*to));
  from->clear();
}

}  // namespace

Result<std::unique_ptr<BatchSource>> TextBatches::Make(
    Disk& disk, std::vector<OpenedText> texts, std::string advice, double bad_share_max,
    const TextOptions& options, const std::function<std::unique_ptr<LineEncoder>()>& make_encoder) {
  STRATA_CHECK(options.threads >= 1);
  TextBlocks blocks(disk, std::move(texts), options);
  BadLines bad(blocks.files(), bad_share_max, options.log_bad_lines);
  bad.SetAdvice(std::move(advice));
  STRATA_ASSIGN(auto threads, WorkPool::Start("parse", options.threads - 1));
  std::vector<std::unique_ptr<LineEncoder>> encoders;
  for (int i = 0; i < options.threads; ++i) encoders.push_back(make_encoder());
  return std::unique_ptr<BatchSource>(new TextBatches(std::move(blocks), std::move(bad),
                                                      options.keep_bad_rows, std::move(encoders),
                                                      std::move(threads)));
}

TextBatches::TextBatches(TextBlocks blocks, BadLines bad, bool keep_bad_rows,
                         std::vector<std::unique_ptr<LineEncoder>> encoders,
                         std::unique_ptr<WorkPool> threads)
    : blocks_(std::move(blocks)),
      bad_(std::move(bad)),
      keep_bad_rows_(keep_bad_rows),
      encoders_(std::move(encoders)),
      threads_(std::move(threads)) {
  encoders_[0]->Start(&shape_);
}

Status TextBatches::Rewind(uint64_t epoch) {
  blocks_.BeginEpoch(epoch);
  bad_.Reset();
  for (Pieces* pieces : {&read_, &parsed_, &used_}) MoveAll(pieces, &free_);
  end_ = {};
  ended_ = false;
  progress_ = 0;
  return {};
}

Status TextBatches::Next(size_t samples_max, Batch* batch) {
  MoveAll(&used_, &free_);
  slices_.clear();
  std::vector<BadRow> bad;
  size_t samples = 0;
  while (samples < samples_max) {
    if (parsed_.empty() && !ParseMore()) {
      STRATA_TRY(end_);
      STRATA_TRY(bad_.End(blocks_.lines()));
      progress_ = 1;
      break;
    }
    Piece* const piece = parsed_.front().get();
    const size_t begin = piece->taken;
    const size_t bad_before = bad.size();
    STRATA_ASSIGN(const size_t rows, Take(samples_max - samples, piece, &bad));
    for (size_t i = bad_before; i < bad.size(); ++i) bad[i].row += samples;
    slices_.push_back({.batch = &piece->rows, .begin = begin, .end = begin + rows});
    samples += rows;
    if (!piece->is_done()) continue;
    used_.push_back(std::move(parsed_.front()));
    parsed_.pop_front();
  }
  STRATA_TRY(JoinSlices(slices_, shape_, *threads_, batch));
  batch->bad = std::move(bad);
  return {};
}

// Parses what has been read ahead while more is read; false: there is nothing left.
bool TextBatches::ParseMore() {
  if (read_.empty()) ReadAhead();
  Pieces parsing;
  MoveAll(&read_, &parsing);
  std::atomic<size_t> next = 0;
  threads_->Run(encoders_.size(), [&](size_t thread) {
    if (thread == 0) ReadAhead();
    for (size_t n = next++; n < parsing.size(); n = next++) {
      Parse(*encoders_[thread], parsing[n].get());
    }
  });
  MoveAll(&parsing, &parsed_);
  return !parsed_.empty();
}

void TextBatches::ReadAhead() {
  while (!ended_ && read_.size() < kBlocksAThread * encoders_.size()) {
    if (free_.empty()) free_.push_back(std::make_unique<Piece>());
    const Result<bool> read = blocks_.Next(&free_.back()->block);
    end_ = read.status();
    ended_ = !read.ok() || !*read;
    if (ended_) return;
    read_.push_back(std::move(free_.back()));
    free_.pop_back();
  }
}

void TextBatches::Parse(LineEncoder& encoder, Piece* piece) const {
  encoder.Start(&piece->rows);
  piece->no_rows.clear();
  piece->taken = 0;
  piece->told = 0;
  LineCursor cursor;
  Line line;
  std::string why;
  while (cursor.Next(piece->block.lines, &line)) {
    if (encoder.IsSkipped(line.text)) continue;
    const LineKind kind = encoder.Append(line.text, &piece->rows, &why);
    if (kind == LineKind::kSample) continue;
    piece->no_rows.push_back({line, piece->rows.samples, kind, std::move(why)});
    if (kind == LineKind::kWrong) return;
    if (keep_bad_rows_) encoder.AppendMissing(&piece->rows);
  }
}

// Takes up to `rows_max` of the piece's rows, and the lines between them that are none. Those
// behind the last row come with the next one. `bad` gets those of the rows that cannot be read.
Result<size_t> TextBatches::Take(size_t rows_max, Piece* piece, std::vector<BadRow>* bad) {
  const size_t begin = piece->taken;
  for (; piece->told < piece->no_rows.size(); ++piece->told) {
    const NoRow& no_row = piece->no_rows[piece->told];
    if (no_row.row - begin >= rows_max) break;
    if (no_row.kind == LineKind::kWrong) {
      return Invalid(no_row.why).Prefixed(piece->block.PlaceOf(no_row.line));
    }
    STRATA_ASSIGN(std::string why, bad_.Add(piece->block, no_row.line, no_row.why));
    if (keep_bad_rows_) bad->push_back({no_row.row - begin, std::move(why)});
  }
  const size_t rows = std::min(rows_max, piece->rows.samples - begin);
  piece->taken += rows;
  // Lines are about equally long.
  const LineBlock& lines = piece->block.lines;
  const double share = piece->is_done() ? 1
                                        : static_cast<double>(piece->taken) /
                                              static_cast<double>(piece->rows.samples);
  progress_ = piece->block.Progress(lines.offset +
                                    static_cast<uint64_t>(static_cast<double>(lines.size) * share));
  return rows;
}

}  // namespace strata
