// The oracle of the simulation by itself: what must be a finding is one, and what may happen is
// none.
#include "tests/sim/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace strata::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr size_t kClients = 2;
constexpr Key kShared = 1;
constexpr Key kOwn = Key{1} << 32;
constexpr Ledger::Mask kAll = ~Ledger::Mask{0};

class LedgerTest : public ::testing::Test {
 protected:
  uint32_t Write(Fate fate) {
    const uint32_t write = ledger_.BeginWrite(kOwn, false);
    ledger_.EndWrite(kOwn, write, fate);
    return write;
  }
  // A read of the own row that is submitted and answered now.
  void ReadOwn(float value) { ReadOwn(std::vector<float>(ledger_.dim(), value)); }
  void ReadOwn(const std::vector<float>& row) {
    ledger_.CheckOwn(kOwn, row, ledger_.Floor(kOwn), findings_);
  }

  uint32_t Push(size_t client, Fate fate) {
    const uint32_t push = *ledger_.BeginPush(client, kShared, ++now_);
    ledger_.EndPush(client, kShared, push, fate, ++now_);
    return push;
  }
  // The shared row after the pushes of client 0.
  std::vector<float> Row(const std::vector<uint32_t>& pushes) const {
    std::vector<float> row(ledger_.dim());
    for (const uint32_t push : pushes) {
      std::vector<float> gradient;
      ledger_.AppendGradient(0, push, &gradient);
      for (size_t i = 0; i < row.size(); ++i) row[i] -= gradient[i];
    }
    return row;
  }
  void ReadShared(const std::vector<float>& row) {
    ledger_.CheckShared(kShared, row, ledger_.Acked(kShared), findings_);
  }
  // All shared rows of a checkpoint in which key 0 and key 1 have these pushes of client 0.
  std::vector<float> Rows(const std::vector<uint32_t>& first,
                          const std::vector<uint32_t>& second) const {
    std::vector<float> rows = Row(first);
    const std::vector<float> other = Row(second);
    rows.insert(rows.end(), other.begin(), other.end());
    return rows;
  }
  void LosePower() {
    ledger_.ForgetReads([](Key) { return true; });
  }
  void ExpectOnly(uint64_t Findings::*kind, const std::string& text) const {
    EXPECT_EQ(findings_.*kind, 1U);
    EXPECT_EQ(findings_.lost + findings_.doubled + findings_.wrong, 1U);
    EXPECT_THAT(findings_.first, HasSubstr(text));
  }

  Ledger ledger_{"table", kClients, 2};
  Findings findings_;
  TimeNs now_ = 0;
};

// Seeds 464 and 728 once: 5 is acknowledged for good, 6 was never sent, 7 goes with the power.
TEST_F(LedgerTest, ADoubtFallsBackToWhatWasAcknowledged) {
  for (int i = 0; i < 5; ++i) Write(Fate::kAcked);
  Write(Fate::kUnknown);
  const uint32_t doubted = Write(Fate::kAcked);
  ReadOwn(7);
  ledger_.DoubtWrite(kOwn, doubted);
  LosePower();
  EXPECT_EQ(ledger_.Floor(kOwn), 5U);
  ReadOwn(5);
  EXPECT_THAT(findings_.first, IsEmpty());
  ReadOwn(4);
  ExpectOnly(&Findings::lost, "holds 4 in all columns alike; expected write 5 to 7");
}

TEST_F(LedgerTest, ADoubtLeavesLaterAcknowledgementsAsTheyAre) {
  const uint32_t doubted = Write(Fate::kAcked);
  Write(Fate::kAcked);
  ledger_.DoubtWrite(kOwn, doubted);
  LosePower();
  ReadOwn(2);
  EXPECT_THAT(findings_.first, IsEmpty());
  ReadOwn(1);
  ExpectOnly(&Findings::lost, "holds 1");
}

TEST_F(LedgerTest, WhatWasSeenAndNeverAcknowledgedMayGoWithThePowerOnly) {
  Write(Fate::kAcked);
  Write(Fate::kUnknown);
  ReadOwn(2);
  LosePower();
  ReadOwn(1);
  ReadOwn(2);
  EXPECT_THAT(findings_.first, IsEmpty());
  ReadOwn(1);
  ExpectOnly(&Findings::lost, "holds 1");
}

TEST_F(LedgerTest, AnErasedRowIsZeroAndNoOlderWriteComesBack) {
  Write(Fate::kAcked);
  const uint32_t erase = ledger_.BeginWrite(kOwn, true);
  ledger_.EndWrite(kOwn, erase, Fate::kAcked);
  ReadOwn(0);
  EXPECT_THAT(findings_.first, IsEmpty());
  ReadOwn(1);
  ExpectOnly(&Findings::lost, "holds 1");
}

TEST_F(LedgerTest, AnOwnRowHoldsWhatItsClientWrote) {
  Write(Fate::kRefused);
  ReadOwn(1);
  ExpectOnly(&Findings::wrong, "holds 1");
  findings_ = {};
  ReadOwn(2);  // never written
  ExpectOnly(&Findings::wrong, "holds 2");
  findings_ = {};
  std::vector<float> torn(ledger_.dim(), 0.0F);
  torn.back() = 1.0F;
  ReadOwn(torn);
  ExpectOnly(&Findings::wrong, "in not columns alike");
}

TEST_F(LedgerTest, AnAcknowledgedPushIsThereOnce) {
  const uint32_t acked = Push(0, Fate::kAcked), unknown = Push(0, Fate::kUnknown);
  ReadShared(Row({acked}));
  EXPECT_THAT(findings_.first, IsEmpty());
  ReadShared(Row({}));
  ExpectOnly(&Findings::lost, "push 0 of client 0 was acknowledged, and is not there");
  findings_ = {};
  ReadShared(Row({acked, acked}));
  ExpectOnly(&Findings::doubled, "push 0 of client 0 was applied 2 times");
  findings_ = {};
  ReadShared(Row({acked, unknown, unknown, unknown}));
  ExpectOnly(&Findings::doubled, "push 1 of client 0 was applied 3 times");
}

TEST_F(LedgerTest, ADoubtedPushMayBeGoneAndNeverComesTwice) {
  const uint32_t push = Push(0, Fate::kAcked);
  ledger_.Doubt(0, kShared, push);
  LosePower();
  ReadShared(Row({}));
  EXPECT_THAT(findings_.first, IsEmpty());
  ReadShared(Row({push, push}));
  ExpectOnly(&Findings::doubled, "applied 2 times");
}

TEST_F(LedgerTest, WhatWasNotMadeOrWasRefusedIsNotThere) {
  const uint32_t refused = Push(0, Fate::kRefused);
  ReadShared(Row({refused}));
  ExpectOnly(&Findings::wrong, "is there, and was refused");
  findings_ = {};
  ReadShared(Row({refused + 1}));
  ExpectOnly(&Findings::wrong, "is there, and was never made");
  findings_ = {};
  std::vector<float> half = Row({});
  half[0] = 0.5F;
  ReadShared(half);
  ExpectOnly(&Findings::wrong, "a column of client 0 holds 0.5");
  findings_ = {};
  half[0] = 16777216.0F;
  ReadShared(half);
  ExpectOnly(&Findings::doubled, "a column of client 0 holds 16777216");
}

TEST_F(LedgerTest, AClientsPushesTakeEffectInItsOrder) {
  const uint32_t early = Push(0, Fate::kUnknown), late = Push(0, Fate::kUnknown);
  ReadShared(Row({early}));
  ReadShared(Row({early, late}));
  EXPECT_THAT(findings_.first, IsEmpty());
  const uint32_t passed = Push(0, Fate::kUnknown), last = Push(0, Fate::kAcked);
  ReadShared(Row({early, late, last}));
  EXPECT_THAT(findings_.first, IsEmpty());
  ReadShared(Row({early, late, passed, last}));
  ExpectOnly(&Findings::wrong, "push 2 of client 0 is there, but a later one came first");
}

TEST_F(LedgerTest, ACutHoldsWhatCameBeforeItAndNothingElse) {
  const uint32_t before = Push(0, Fate::kAcked);
  const auto least = ledger_.AllAcked(), most = ledger_.AllBegun();
  const uint32_t behind = Push(0, Fate::kAcked);
  ledger_.CheckCut(Rows({}, {before}), least, most, findings_);
  EXPECT_THAT(findings_.first, IsEmpty());
  ledger_.CheckCut(Rows({}, {before, before}), least, most, findings_);
  ExpectOnly(&Findings::doubled, "is in it more than once");
  findings_ = {};
  ledger_.CheckCut(Rows({}, {before, behind}), least, most, findings_);
  ExpectOnly(&Findings::wrong, "was made behind the cut, and is in it");
  findings_ = {};
  ledger_.CheckCut(Rows({}, {}), least, most, findings_);
  ExpectOnly(&Findings::lost, "was acknowledged before the cut, and is not in it");
}

TEST_F(LedgerTest, ACutIsAConsistentPrefixOfEachClient) {
  const uint32_t first = *ledger_.BeginPush(0, 0, ++now_);
  ledger_.EndPush(0, 0, first, Fate::kAcked, ++now_);
  const uint32_t second = Push(0, Fate::kAcked);  // once the first was acknowledged
  const std::vector<Ledger::Mask> least(2 * kClients, 0), most(2 * kClients, kAll);
  ledger_.CheckCut(Rows({first}, {}), least, most, findings_);
  EXPECT_THAT(findings_.first, IsEmpty());
  ledger_.CheckCut(Rows({}, {second}), least, most, findings_);
  ExpectOnly(&Findings::wrong, "no consistent prefix of client 0");
}

}  // namespace
}  // namespace strata::sim
