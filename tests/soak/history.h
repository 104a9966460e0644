// What a client of a soak writes down: each operation before it is submitted, and how it ended, in
// a file that only grows. It survives the client's own kill -9, since what was handed to the kernel
// stays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace strata::soak {

enum class Event : uint8_t {
  kSubmitted = 1,
  kSettled = 2,  // `acked` and `refused` say what is known of each lane; the rest is unknown
  kSession = 3,  // a new connection, `session`; nothing of the one before is under way any more
  kStale = 4,    // a pull behind an acknowledged push did not see it on the lanes `acked`
};

struct Record {
  Event event = Event::kSubmitted;
  uint8_t client = 0;
  uint16_t code = 0;  // StatusCode
  uint32_t session = 0;
  uint64_t op = 0;
  uint32_t acked = 0;
  uint32_t refused = 0;
};

// Thread-safe. A failed write ends the program.
class HistoryWriter {
 public:
  explicit HistoryWriter(const std::string& path);
  ~HistoryWriter();
  HistoryWriter(const HistoryWriter&) = delete;
  HistoryWriter& operator=(const HistoryWriter&) = delete;
  void Write(const Record& record);

 private:
  int fd_;
};

// Reads on in a file that a client may still be writing.
class HistoryReader {
 public:
  explicit HistoryReader(std::string path) : path_(std::move(path)) {}
  // What has come since the last call; nothing while there is no file.
  std::vector<Record> ReadNew();

 private:
  std::string path_;
  uint64_t offset_ = 0;
};

}  // namespace strata::soak
