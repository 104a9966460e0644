// A page of memory that a soak's harness and one of its clients share through a file: what the
// client is to do, and how far it is. It outlives the client's processes.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace strata::soak {

struct ClientPage {
  // By the harness.
  std::atomic<uint32_t> stop;    // not 0: end
  std::atomic<uint32_t> paused;  // not 0: submit nothing
  // By the client.
  std::atomic<uint32_t> idle;   // not 0: paused, and every outcome is written down
  std::atomic<uint64_t> acked;  // operations acknowledged
};

class SharedPage {
 public:
  // Makes the file when there is none, all zero.
  explicit SharedPage(const std::string& path);
  ~SharedPage();
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;
  ClientPage& operator*() const { return *page_; }
  ClientPage* operator->() const { return page_; }

 private:
  ClientPage* page_;
};

}  // namespace strata::soak
