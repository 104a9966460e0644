// A RecordStore in memory that loses what a crash may lose, and fails when it is asked to.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/thread/mutex.h"
#include "storage/rocks/record_store.h"

namespace strata::test {

class SimRecords {
 public:
  explicit SimRecords(uint64_t seed) : random_(seed) {}

  RecordStoreOpener Opener() {
    return [this](RecordAccess) -> Result<std::unique_ptr<RecordStore>> {
      STRATA_TRY(Fails());
      return std::unique_ptr<RecordStore>(std::make_unique<Store>(*this));
    };
  }
  // Of what was put and not committed the end may be lost, or all of it.
  void Crash() {
    Close();
    const MutexLock lock(mutex_);
    fail_in_ = 0;
  }
  // The n-th call that writes or opens fails, and all behind it until 0 is set. A commit that fails
  // may be done all the same.
  void FailFrom(uint64_t n, Status error = DiskFull("sim: no room")) {
    const MutexLock lock(mutex_);
    fail_in_ = n;
    error_ = std::move(error);
  }
  // What is kept, to look at and to damage, while nobody has it open.
  std::map<std::string, std::string>& kept() { return kept_; }
  uint64_t commits() const { return commits_; }

 private:
  class Store : public RecordStore {
   public:
    explicit Store(SimRecords& of) : of_(of) {}
    ~Store() override { of_.Close(); }
    const std::string& name() const override { return of_.name_; }
    Status Put(const std::string& key, std::span<const std::byte> value) override {
      STRATA_TRY(of_.Fails());
      const MutexLock lock(of_.mutex_);
      of_.put_.emplace_back(key,
                            std::string(reinterpret_cast<const char*>(value.data()), value.size()));
      return {};
    }
    Status Commit(std::span<const RecordChange> changes) override {
      const Status failed = of_.Fails();
      const MutexLock lock(of_.mutex_);
      if (!failed.ok() && of_.random_.Below(2) == 0) return failed;
      for (auto& [key, value] : of_.put_) of_.kept_[key] = value;
      of_.put_.clear();
      for (const RecordChange& change : changes) {
        if (change.value) {
          of_.kept_[change.key] = *change.value;
        } else {
          of_.kept_.erase(change.key);
        }
      }
      ++of_.commits_;
      return failed;
    }
    Result<std::optional<std::string>> Read(const std::string& key) const override {
      const MutexLock lock(of_.mutex_);
      const auto found = of_.kept_.find(key);
      return found != of_.kept_.end() ? std::optional(found->second) : std::nullopt;
    }

   private:
    SimRecords& of_;
  };

  void Close() {
    const MutexLock lock(mutex_);
    put_.resize(random_.Below(put_.size() + 1));
    for (auto& [key, value] : put_) kept_[key] = std::move(value);
    put_.clear();
  }

  Status Fails() {
    const MutexLock lock(mutex_);
    if (fail_in_ == 0) return {};
    if (fail_in_ > 1) {
      --fail_in_;
      return {};
    }
    return error_;
  }

  const std::string name_ = "sim";
  Mutex mutex_;
  Random random_ STRATA_GUARDED_BY(mutex_);
  uint64_t fail_in_ STRATA_GUARDED_BY(mutex_) = 0;
  Status error_ STRATA_GUARDED_BY(mutex_);
  std::vector<std::pair<std::string, std::string>> put_ STRATA_GUARDED_BY(mutex_);
  // Tests look at these while nobody has it open.
  uint64_t commits_ = 0;
  std::map<std::string, std::string> kept_;
};

}  // namespace strata::test
