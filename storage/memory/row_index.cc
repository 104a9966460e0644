#include "storage/memory/row_index.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

constexpr uint64_t kWordsMin = 1024;
// Words that the sweep passes for each insertion. The new array has room for 3/4 of the old one's
// size in new keys; four words each end the sweep after a quarter of it.
constexpr uint64_t kSweptPerInsert = 4;
// Words passed at a time: enough to have the rows' keys on their way while others are used.
constexpr uint64_t kSweepStretch = 256;

uint64_t KeysMax(uint64_t words) { return words / 4 * 3; }

}  // namespace

RowIndex::RowIndex(const RowSlabs& rows, MemoryBudget* budget) : rows_(rows), budget_(budget) {}

RowIndex::~RowIndex() {
  if (budget_ != nullptr) budget_->Give(bytes());
}

uint64_t RowIndex::Candidate(uint64_t hash) const {
  const Words& words = HomeWords(hash);
  if (!words.data) return kNoRow;
  const uint64_t fingerprint = FingerprintOf(hash);
  for (uint64_t place = hash & words.mask;; place = (place + 1) & words.mask) {
    const uint64_t word = words.data[place];
    if (word == 0) return kNoRow;
    if ((word & ~kRowMask) == fingerprint) return RowOf(word);
  }
}

uint64_t RowIndex::FindIn(const Words& words, Key key, uint64_t hash) const {
  if (!words.data) return kNoRow;
  const uint64_t fingerprint = FingerprintOf(hash);
  for (uint64_t place = hash & words.mask;; place = (place + 1) & words.mask) {
    const uint64_t word = words.data[place];
    if (word == 0) return kNoRow;
    if ((word & ~kRowMask) == fingerprint && rows_.KeyOf(RowOf(word)) == key) return place;
  }
}

uint64_t RowIndex::Find(Key key) const {
  const uint64_t hash = Mix64(key);
  const Words& home = HomeWords(hash);
  const uint64_t place = FindIn(home, key, hash);
  if (place != kNoRow) return RowOf(home.data[place]);
  if (&home == &current_) return kNoRow;
  const uint64_t young = FindIn(current_, key, hash);
  return young == kNoRow ? kNoRow : RowOf(current_.data[young]);
}

Status RowIndex::Reserve(uint64_t count) {
  if (count_ + count <= KeysMax(current_.size())) return {};
  return Grow(count);
}

Status RowIndex::Grow(uint64_t count_min) {
  // Only a batch larger than all before it comes here while a sweep is under way.
  Sweep(old_.size());
  uint64_t size = std::max(current_.size() * 2, kWordsMin);
  while (KeysMax(size) < count_ + count_min) size *= 2;
  const uint64_t bytes = size * sizeof(uint64_t);
  if (budget_ != nullptr && !budget_->Take(bytes)) {
    return Refused(fmt::format("{} bytes more for the index do not fit: {} of {} bytes are in use",
                               bytes, budget_->used(), budget_->bytes_max()));
  }
  // calloc, because large blocks then come from the system page by page, zero, as they are touched.
  auto* data = static_cast<uint64_t*>(std::calloc(size, sizeof(uint64_t)));
  if (data == nullptr) {
    if (budget_ != nullptr) budget_->Give(bytes);
    return Refused(fmt::format("the machine has no {} bytes more for the index", bytes));
  }
  old_ = std::move(current_);
  current_.data.reset(data);
  current_.mask = size - 1;
  swept_ = 0;
  sweep_start_ = 0;
  if (old_.data) {
    while (old_.data[(sweep_start_ - 1) & old_.mask] != 0) ++sweep_start_;
  }
  return {};
}

void RowIndex::Sweep(uint64_t words_min) {
  if (!old_.data) return;
  sweep_due_ = 0;
  const uint64_t goal = swept_ + words_min;
  const auto word_at = [this](uint64_t n) { return old_.data[(sweep_start_ + n) & old_.mask]; };
  // Two stages of reading ahead: the key beside the row, then the place that its hash names.
  constexpr uint64_t kKeyAhead = 32, kPlaceAhead = 16;
  // Stops behind an empty word only, so that no run is cut.
  for (bool in_run = true; swept_ < old_.size() && (swept_ < goal || in_run); ++swept_) {
    if (const uint64_t near = word_at(swept_ + kPlaceAhead); near != 0) {
      const uint64_t hash = Mix64(rows_.KeyOf(RowOf(near)));
      __builtin_prefetch(&current_.data[hash & current_.mask], 1);
    }
    if (const uint64_t far = word_at(swept_ + kKeyAhead); far != 0) rows_.Prefetch(RowOf(far), 0);
    const uint64_t word = word_at(swept_);
    in_run = word != 0;
    if (in_run) InsertIn(current_, Mix64(rows_.KeyOf(RowOf(word))), RowOf(word));
    ++words_swept_;
  }
  if (swept_ < old_.size()) return;
  if (budget_ != nullptr) budget_->Give(old_.size() * sizeof(uint64_t));
  old_ = Words{};
}

void RowIndex::InsertIn(Words& words, uint64_t hash, uint64_t row) {
  uint64_t place = hash & words.mask;
  while (words.data[place] != 0) place = (place + 1) & words.mask;
  words.data[place] = FingerprintOf(hash) | (row + 1);
}

void RowIndex::Insert(Key key, uint64_t row) {
  STRATA_CHECK(count_ < KeysMax(current_.size()) && row < kRowMask);
  ++count_;
  InsertIn(current_, Mix64(key), row);
  if (!old_.data) return;
  sweep_due_ += kSweptPerInsert;
  if (sweep_due_ >= kSweepStretch) Sweep(sweep_due_);
}

void RowIndex::Erase(Key key) {
  const uint64_t hash = Mix64(key);
  Words& home = &HomeWords(hash) == &old_ ? old_ : current_;
  uint64_t place = FindIn(home, key, hash);
  if (place != kNoRow) {
    EraseIn(home, place);
  } else {
    place = FindIn(current_, key, hash);
    STRATA_CHECK(&home == &old_ && place != kNoRow);
    EraseIn(current_, place);
  }
  --count_;
}

// D. Knuth, "The Art of Computer Programming", volume 3, section 6.4, algorithm R: a word further
// on in the run moves into the gap unless its home lies between the gap and itself.
void RowIndex::EraseIn(Words& words, uint64_t place) {
  uint64_t gap = place;
  for (uint64_t next = (gap + 1) & words.mask;; next = (next + 1) & words.mask) {
    const uint64_t word = words.data[next];
    if (word == 0) break;
    const uint64_t home = Mix64(rows_.KeyOf(RowOf(word))) & words.mask;
    if (((next - home) & words.mask) >= ((next - gap) & words.mask)) {
      words.data[gap] = word;
      gap = next;
    }
  }
  words.data[gap] = 0;
}

}  // namespace strata
