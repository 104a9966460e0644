#include "tests/soak/oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "strata/status.h"

namespace strata::soak {
namespace {

constexpr size_t kExamplesMax = 10;
constexpr float kOwnMax = static_cast<float>(1U << (2 * kDigits));

void Note(Findings* findings, uint64_t Findings::*kind, std::string text) {
  ++(findings->*kind);
  if (findings->examples.size() < kExamplesMax) findings->examples.push_back(std::move(text));
}

bool IsCount(float value) { return value >= 0 && value < 0x1p24F && std::floor(value) == value; }

template <typename Visit>
void ForEachLane(uint32_t lanes, Visit&& visit) {
  for (uint32_t lane = 0; lane < kLanesMax; ++lane) {
    if ((lanes >> lane & 1U) != 0) visit(lane);
  }
}

}  // namespace

Oracle::Oracle(const Load* load, uint32_t clients) : load_(load), clients_(clients) {
  STRATA_CHECK(clients <= kClientsMax);
}

void Oracle::Take(const Record& record) {
  STRATA_CHECK(record.client < clients_.size());
  switch (record.event) {
    case Event::kSubmitted:
      return Submit(record);
    case Event::kSettled:
      return Settle(record);
    case Event::kSession:
      ++sessions_;
      clients_[record.client].session = record.session;
      return;
    case Event::kStale:
      return ForEachLane(record.acked, [&](uint32_t lane) {
        Note(
            &stale_, &Findings::wrong,
            fmt::format("client {} op {} lane {}: a pull behind the acknowledgement did not see it",
                        record.client, record.op, lane));
      });
  }
}

void Oracle::Submit(const Record& record) {
  Client& client = clients_[record.client];
  STRATA_CHECK_MSG(record.op == client.ops.size(),
                   fmt::format("op {} after {}", record.op, client.ops.size()));
  const PlannedOp plan = load_->Plan(record.client, record.op);
  Op op;
  op.session = record.session;
  if (plan.action == Action::kPush) {
    op.pushed = static_cast<uint16_t>(plan.lanes);
    client.open.push_back(record.op);
  } else {
    ForEachLane(plan.lanes, [&](uint32_t lane) {
      registers_[{record.client, record.session, lane}].unknown.push_back(record.op);
    });
  }
  client.ops.push_back(op);
  ++submitted_;
}

void Oracle::Settle(const Record& record) {
  Client& client = clients_[record.client];
  STRATA_CHECK(record.op < client.ops.size());
  Op& op = client.ops[record.op];
  const uint32_t planned = load_->Plan(record.client, record.op).lanes;
  if ((record.acked & planned) == planned) ++acked_;
  if (op.pushed == 0) return SettleRegister(record, op);
  op.refused = static_cast<uint16_t>(record.refused & op.pushed);
  ForEachLane(record.acked & op.pushed & ~static_cast<uint32_t>(op.applied),
              [&](uint32_t lane) { SetApplied(record.client, record.op, lane); });
  Close(client);
}

// Takes the operations off the open ones whose outcome is known.
void Oracle::Close(Client& client) {
  std::erase_if(client.open, [&](uint64_t n) {
    const Op& op = client.ops[n];
    return (op.applied | op.refused | op.ignored) == op.pushed;
  });
}

void Oracle::SettleRegister(const Record& record, const Op& op) {
  const uint32_t planned = load_->Plan(record.client, record.op).lanes;
  ForEachLane((record.acked | record.refused) & planned, [&](uint32_t lane) {
    Register& reg = registers_[{record.client, op.session, lane}];
    const bool acked = (record.acked >> lane & 1U) != 0;
    if (acked) reg.last = std::max(reg.last, record.op + 1);
    std::erase_if(reg.unknown, [&](uint64_t n) { return n == record.op || n < reg.last; });
  });
}

void Oracle::SetApplied(uint32_t client, uint64_t op, uint32_t lane) {
  clients_[client].ops[op].applied |= static_cast<uint16_t>(1U << lane);
  for (const SharedDelta& shared : load_->Plan(client, op).shared) {
    if (load_->LaneOfShared(shared.row) != lane) continue;
    sums_[shared.row][client] += shared.delta;
    sums_[shared.row][kDim - 1] += shared.delta;
  }
}

std::vector<Probe> Oracle::Probes(bool all) const {
  std::vector<Probe> probes;
  for (uint32_t c = 0; c < clients_.size(); ++c) {
    const Client& client = clients_[c];
    if (client.ops.empty()) continue;
    const uint64_t last = (client.ops.size() - 1) / kOpsPerRow;
    std::set<uint64_t> rows;
    for (uint64_t row = all || last == 0 ? 0 : last - 1; row <= last; ++row) rows.insert(row);
    for (const uint64_t op : client.open) rows.insert(op / kOpsPerRow);
    for (const uint64_t row : rows) {
      for (uint32_t lane = 0; lane < load_->lanes(); ++lane) {
        probes.push_back({Probe::Kind::kOwn, c, row, lane, load_->OwnKey(c, row, lane)});
      }
    }
  }
  for (const auto& [name, reg] : registers_) {
    const auto [client, session, lane] = name;
    if (!all && session != clients_[client].session) continue;
    probes.push_back(
        {Probe::Kind::kRegister, client, session, lane, load_->RegisterKey(client, session, lane)});
  }
  // Behind the others, since what is found there decides what is expected here.
  for (uint32_t row = 0; row < kSharedKeys; ++row) {
    probes.push_back(
        {Probe::Kind::kShared, 0, row, load_->LaneOfShared(row), Load::SharedKey(row)});
  }
  return probes;
}

void Oracle::Compare(std::span<const Probe> probes, std::span<const float> rows,
                     Findings* findings) {
  STRATA_CHECK(rows.size() == probes.size() * kDim);
  findings->wrong += stale_.wrong;
  for (std::string& text : stale_.examples) findings->examples.push_back(std::move(text));
  stale_ = {};
  for (size_t i = 0; i < probes.size(); ++i) {
    const auto row = rows.subspan(i * kDim, kDim);
    switch (probes[i].kind) {
      case Probe::Kind::kOwn:
        CompareOwn(probes[i], row, findings);
        break;
      case Probe::Kind::kRegister:
        CompareRegister(probes[i], row, findings);
        break;
      case Probe::Kind::kShared:
        CompareShared(probes[i], row, findings);
        break;
    }
  }
  for (Client& client : clients_) Close(client);
}

void Oracle::CompareOwn(const Probe& probe, std::span<const float> row, Findings* findings) {
  for (uint32_t e = 0; e < kDim; ++e) {
    if (spoiled_.contains({probe.key, e})) continue;
    if (!IsCount(row[e]) || row[e] >= kOwnMax) {
      spoiled_.insert({probe.key, e});
      Note(findings, &Findings::wrong,
           fmt::format("client {} row {} lane {} element {}: {} is no sum of pushes", probe.client,
                       probe.row, probe.lane, e, row[e]));
      continue;
    }
    auto digits = static_cast<uint32_t>(row[e]);
    for (uint32_t d = 0; d < kDigits; ++d, digits >>= 2) {
      CompareDigit(probe, probe.row * kOpsPerRow + uint64_t{e} * kDigits + d, digits & 3U,
                   findings);
    }
  }
}

void Oracle::CompareDigit(const Probe& probe, uint64_t n, uint32_t count, Findings* findings) {
  std::vector<Op>& ops = clients_[probe.client].ops;
  const auto bit = static_cast<uint16_t>(1U << probe.lane);
  const auto where = [&] {
    return fmt::format("client {} op {} lane {}", probe.client, n, probe.lane);
  };
  if (n >= ops.size() || (ops[n].pushed & bit) == 0) {
    if (count != 0) {
      Note(findings, &Findings::wrong, where() + ": found, but was never pushed there");
      spoiled_.insert({probe.key, ElementOf(n)});
    }
    return;
  }
  Op& op = ops[n];
  if ((op.ignored & bit) != 0) return;
  const bool applied = (op.applied & bit) != 0;
  if (count >= 2) {
    Note(findings, &Findings::doubled, fmt::format("{}: applied {} times", where(), count));
    op.ignored |= bit;
  } else if (count == 0 && applied) {
    Note(findings, &Findings::lost, where() + ": acknowledged or seen before, and not there");
    op.ignored |= bit;  // the shared rows tell their part of the loss themselves
  } else if (count == 1 && (op.refused & bit) != 0) {
    Note(findings, &Findings::wrong, where() + ": refused, and applied all the same");
    op.ignored |= bit;
  } else if (count == 1 && !applied) {
    SetApplied(probe.client, n, probe.lane);
  }
}

float Oracle::Expected(uint32_t client, uint64_t op_plus_1, uint32_t element) const {
  if (op_plus_1 == 0) return 0;
  const bool erased = load_->Plan(client, op_plus_1 - 1).action == Action::kErase;
  return erased ? 0 : RegisterValue(op_plus_1 - 1, element);
}

void Oracle::CompareRegister(const Probe& probe, std::span<const float> row, Findings* findings) {
  Register& reg = registers_.at({probe.client, static_cast<uint32_t>(probe.row), probe.lane});
  if (reg.ignored) return;
  const auto holds = [&](uint64_t op_plus_1) {
    for (uint32_t e = 0; e < kDim; ++e) {
      if (row[e] != Expected(probe.client, op_plus_1, e)) return false;
    }
    return true;
  };
  if (holds(reg.last)) return;
  for (const uint64_t op : reg.unknown) {
    if (holds(op + 1)) return;
  }
  reg.ignored = true;
  const std::string where =
      fmt::format("register of client {} session {} lane {}", probe.client, probe.row, probe.lane);
  for (uint64_t op = 0; op < reg.last; ++op) {
    if (holds(op)) {
      return Note(findings, &Findings::lost,
                  fmt::format("{}: assignment {} was acknowledged; it holds that of {}", where,
                              reg.last - 1, static_cast<int64_t>(op) - 1));
    }
  }
  Note(findings, &Findings::wrong,
       fmt::format("{}: {} {} ... was never assigned", where, row[0], row[1]));
}

void Oracle::CompareShared(const Probe& probe, std::span<const float> row, Findings* findings) {
  for (uint32_t e = 0; e < kDim; ++e) {
    int64_t& expected = sums_[probe.row][e];
    STRATA_CHECK_MSG(expected < (1 << 24), "the shared sums left the exact range of float");
    if (row[e] == static_cast<float>(expected)) continue;
    const std::string text =
        fmt::format("shared row {} element {}: {} instead of {}", probe.row, e, row[e], expected);
    if (!IsCount(row[e])) {
      Note(findings, &Findings::wrong, text);
      continue;
    }
    Note(findings, row[e] < static_cast<float>(expected) ? &Findings::lost : &Findings::doubled,
         text);
    expected = static_cast<int64_t>(row[e]);
  }
}

}  // namespace strata::soak
