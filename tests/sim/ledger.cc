#include "tests/sim/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "strata/status.h"

namespace strata::sim {
namespace {

constexpr float kColumnMax = 16777216.0F;  // 4^12: beyond, a push was applied four times or more

}  // namespace

void Findings::Add(uint64_t Findings::*kind, const std::string& text) {
  if (none()) first = text;
  ++(this->*kind);
}

Ledger::Ledger(std::string name, size_t clients, size_t keys)
    : name_(std::move(name)), clients_(clients), keys_(keys), pushes_(clients * keys) {}

std::string Ledger::Name(Key key) const { return fmt::format("table {} key {:#x}", name_, key); }

std::optional<uint32_t> Ledger::BeginPush(size_t client, Key key, TimeNs now) {
  Pushes& pushes = Of(client, key);
  if (pushes.begun == kPushesMax) return std::nullopt;
  pushes.begun_at[pushes.begun] = now;
  return pushes.begun++;
}

void Ledger::AppendGradient(size_t client, uint32_t push, std::vector<float>* rows) const {
  const size_t at = rows->size() + client * kColumns + push / kPushesPerColumn;
  rows->resize(rows->size() + dim(), 0.0F);
  (*rows)[at] = -static_cast<float>(1U << (2 * (push % kPushesPerColumn)));
}

void Ledger::EndPush(size_t client, Key key, uint32_t push, Fate fate, TimeNs now) {
  Pushes& pushes = Of(client, key);
  pushes.acked_at[push] = now;
  if (fate == Fate::kAcked) pushes.acked |= Mask{1} << push;
  if (fate == Fate::kRefused) pushes.refused |= Mask{1} << push;
}

void Ledger::Doubt(size_t client, Key key, uint32_t push) {
  Of(client, key).acked &= ~(Mask{1} << push);
}

std::vector<Ledger::Mask> Ledger::Acked(Key key) const {
  std::vector<Mask> masks;
  for (size_t client = 0; client < clients_; ++client) masks.push_back(Of(client, key).acked);
  return masks;
}

void Ledger::CheckShared(Key key, std::span<const float> row, std::span<const Mask> must,
                         Findings& findings) {
  for (size_t client = 0; client < clients_; ++client) {
    CheckColumns(key, client, row.subspan(client * kColumns, kColumns), must[client], findings);
  }
}

void Ledger::CheckColumns(Key key, size_t client, std::span<const float> columns, Mask must,
                          Findings& findings) {
  Pushes& pushes = Of(client, key);
  Mask seen = 0;
  for (uint32_t push = 0; push < kPushesMax; ++push) {
    const float column = columns[push / kPushesPerColumn];
    if (!(column >= 0.0F && column < kColumnMax && column == std::floor(column))) {
      return findings.Add(
          column >= kColumnMax ? &Findings::doubled : &Findings::wrong,
          fmt::format("{}: a column of client {} holds {}", Name(key), client, column));
    }
    const uint32_t times = (static_cast<uint32_t>(column) >> (2 * (push % kPushesPerColumn))) & 3U;
    const Mask bit = Mask{1} << push;
    const auto found = [&](uint64_t Findings::*kind, std::string_view what) {
      findings.Add(kind, fmt::format("{}: push {} of client {} {}", Name(key), push, client, what));
    };
    if (times > 1) found(&Findings::doubled, fmt::format("was applied {} times", times));
    if (times == 0 && (must & pushes.acked & bit) != 0) {
      found(&Findings::lost, "was acknowledged, and is not there");
    }
    if (times == 0) continue;
    seen |= bit;
    if (push >= pushes.begun) found(&Findings::wrong, "is there, and was never made");
    if ((pushes.refused & bit) != 0) found(&Findings::wrong, "is there, and was refused");
    if ((pushes.dead & bit) != 0) found(&Findings::wrong, "is there, but a later one came first");
  }
  if (seen == 0) return;
  const Mask before_last = (Mask{1} << (std::bit_width(seen) - 1)) - 1;
  pushes.dead |= before_last & ~seen & ~pushes.acked;
}

std::vector<Ledger::Mask> Ledger::AllAcked() const {
  std::vector<Mask> masks;
  for (const Pushes& pushes : pushes_) masks.push_back(pushes.acked);
  return masks;
}

std::vector<Ledger::Mask> Ledger::AllBegun() const {
  std::vector<Mask> masks;
  for (const Pushes& pushes : pushes_) masks.push_back((Mask{1} << pushes.begun) - 1);
  return masks;
}

void Ledger::CheckCut(std::span<const float> rows, std::span<const Mask> least,
                      std::span<const Mask> most, Findings& findings) const {
  for (size_t client = 0; client < clients_; ++client) {
    TimeNs last_in = -1;        // submission of the newest push that is in the checkpoint
    TimeNs first_out = kNever;  // acknowledgement of the oldest one that is not
    for (Key key = 0; key < keys_; ++key) {
      const Pushes& pushes = Of(client, key);
      const size_t at = client * keys_ + key;
      const auto columns = rows.subspan(key * dim() + client * kColumns, kColumns);
      for (uint32_t push = 0; push < kPushesMax; ++push) {
        const auto column = static_cast<uint32_t>(columns[push / kPushesPerColumn]);
        const uint32_t times = (column >> (2 * (push % kPushesPerColumn))) & 3U;
        const Mask bit = Mask{1} << push;
        const auto found = [&](uint64_t Findings::*kind, std::string_view what) {
          findings.Add(kind, fmt::format("a checkpoint, {}: push {} of client {} {}", Name(key),
                                         push, client, what));
        };
        if (times > 1) found(&Findings::doubled, "is in it more than once");
        if (times == 0 && (least[at] & pushes.acked & bit) != 0) {
          found(&Findings::lost, "was acknowledged before the cut, and is not in it");
        }
        if (times > 0 && (most[at] & bit) == 0) {
          found(&Findings::wrong, "was made behind the cut, and is in it");
        }
        if (times > 0) last_in = std::max(last_in, pushes.begun_at[push]);
        const bool acked = (pushes.acked & bit) != 0;
        if (times == 0 && acked) first_out = std::min(first_out, pushes.acked_at[push]);
      }
    }
    if (first_out < last_in) {
      findings.Add(
          &Findings::wrong,
          fmt::format("a checkpoint of table {}: no consistent prefix of client {}: a push "
                      "acknowledged at {} ns is not in it, one submitted at {} ns is",
                      name_, client, first_out, last_in));
    }
  }
}

uint32_t Ledger::BeginWrite(Key key, bool erase) {
  Own& own = own_[key];
  own.erased.push_back(erase);
  own.refused.push_back(false);
  return static_cast<uint32_t>(own.erased.size());
}

void Ledger::EndWrite(Key key, uint32_t write, Fate fate) {
  Own& own = own_.at(key);
  if (fate == Fate::kAcked) own.acked.insert(write);
  if (fate == Fate::kRefused) own.refused[write - 1] = true;
}

void Ledger::DoubtWrite(Key key, uint32_t write) { own_.at(key).acked.erase(write); }

void Ledger::ForgetReads(const std::function<bool(Key)>& held) {
  for (auto& [key, own] : own_) {
    // Back to what was acknowledged: a write in between may never have reached its server.
    if (held(key)) own.seen = std::min(own.seen, own.last_acked());
  }
  for (size_t i = 0; i < pushes_.size(); ++i) {
    if (held(i % keys_)) pushes_[i].dead = 0;
  }
}

uint32_t Ledger::Floor(Key key) const {
  const auto own = own_.find(key);
  return own == own_.end() ? 0 : own->second.floor();
}

void Ledger::CheckOwn(Key key, std::span<const float> row, uint32_t floor, Findings& findings) {
  Own& own = own_[key];
  floor = std::min(floor, own.floor());  // doubts may have come meanwhile
  const float value = row[0];
  const bool same = std::ranges::all_of(row, [&](float other) { return other == value; });
  for (uint32_t write = floor; same && write <= own.erased.size(); ++write) {
    const bool erased = write == 0 || own.erased[write - 1];
    if (write > 0 && own.refused[write - 1]) continue;
    if (value != (erased ? 0.0F : static_cast<float>(write))) continue;
    own.seen = std::max(own.seen, write);
    return;
  }
  const bool older = same && value >= 0.0F && value < static_cast<float>(floor);
  findings.Add(older ? &Findings::lost : &Findings::wrong,
               fmt::format("{}: holds {} in {} columns alike; expected write {} to {}", Name(key),
                           value, same ? "all" : "not", floor, own.erased.size()));
}

}  // namespace strata::sim
