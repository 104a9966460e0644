// A client of the kill soak of collections: changes documents that are its own alone, one call
// after the other, and searches among them. What it knows is a model of what has to be there.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "base/random.h"
#include "base/thread/mutex.h"
#include "ps/client/collections.h"
#include "ps/client/remote_store.h"
#include "tests/soak/findings.h"

namespace strata::soak {

inline constexpr const char* kItemCollection = "items";

// Its own documents have ids from `number` * 2^32 on and tokens that nobody else uses: a search for
// them with any similarity finds no others.
class ItemClient {
 public:
  // `durable`: servers have data folders, and offer level synced.
  ItemClient(uint32_t number, uint64_t seed, bool durable, std::unique_ptr<RemoteStore> store);
  ~ItemClient();

  Status Start();
  // Returns once nothing is under way; it goes on with Resume.
  void Pause();
  void Resume();
  // Counts of calls that have returned. Any thread.
  uint64_t acked() const { return acked_; }
  uint64_t searches() const { return searches_; }
  // How the client ended by itself, which it must not; OK while it runs.
  Status status() const;
  // Of searches so far. Only while paused.
  const Findings& findings() const { return findings_; }
  // Asks for every id that it ever used and compares. Only while paused.
  Status Verify(Findings* findings);

 private:
  void Run();
  Status Step();
  Status Put();
  Status Delete();
  Status Search();
  std::vector<Token> SomeTokens();
  DocumentId SomeId();
  std::vector<Hit> Expected(const std::vector<Token>& query, const SearchGoal& goal) const;

  const uint32_t number_;
  const bool durable_;
  Random random_;
  const std::unique_ptr<RemoteStore> store_;
  Collections collections_;
  std::map<DocumentId, std::vector<Token>> documents_;  // that have to be there
  std::set<DocumentId> used_;
  Findings findings_;
  std::atomic<uint64_t> acked_{0};
  std::atomic<uint64_t> searches_{0};

  mutable Mutex mutex_;
  CondVar changed_;
  bool pause_ STRATA_GUARDED_BY(mutex_) = false;
  bool is_paused_ STRATA_GUARDED_BY(mutex_) = false;
  bool stop_ STRATA_GUARDED_BY(mutex_) = false;
  Status ended_ STRATA_GUARDED_BY(mutex_);
  std::jthread thread_;  // last: it ends before what it uses
};

// Keeps the first few examples.
void AddExample(Findings* findings, uint64_t Findings::*count, const std::string& example);

}  // namespace strata::soak
