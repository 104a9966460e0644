#include "base/file/standard_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>

#include "base/random.h"

namespace strata {
namespace {

using testing::HasSubstr;

class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe(ends_.data()), 0); }
  ~Pipe() {
    Close();
    close(ends_[0]);
  }
  // In small pieces; then the pipe is at its end.
  void Write(const std::string& text) {
    for (size_t begin = 0; begin < text.size();) {
      const ssize_t written =
          write(ends_[1], text.data() + begin, std::min<size_t>(777, text.size() - begin));
      ASSERT_GT(written, 0);
      begin += static_cast<size_t>(written);
    }
    Close();
  }
  void Close() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }
  int reading_end() const { return ends_[0]; }

 private:
  std::array<int, 2> ends_ = {-1, -1};
};

Result<std::string> Read(const File& file, uint64_t offset, size_t bytes) {
  std::string text(bytes, 'x');
  STRATA_ASSIGN(const size_t read, file.ReadAt(offset, std::as_writable_bytes(std::span(text))));
  text.resize(read);
  return text;
}

TEST(StandardInput, GivesTheBeginningAgainAndThenWhatComes) {
  Random random(1);
  std::string text;
  while (text.size() < kInputBytesKept + 100'000) text += static_cast<char>(random.Below(256));
  Pipe pipe;
  std::thread writer([&] { pipe.Write(text); });
  const auto input = OpenStandardInput({}, pipe.reading_end());
  for (const size_t bytes : {5U, 3U, 100'000U, 20U}) {
    EXPECT_TRUE(Read(*input, 0, bytes).value() == text.substr(0, bytes)) << bytes;
  }
  EXPECT_TRUE(Read(*input, 99'990, 50).value() == text.substr(99'990, 50));
  size_t offset = 0;
  while (true) {  // pieces that cross the end of what is kept
    const std::string piece = Read(*input, offset, 300'000).value();
    ASSERT_TRUE(piece == text.substr(offset, piece.size()));
    offset += piece.size();
    if (piece.size() < 300'000) break;
  }
  EXPECT_EQ(offset, text.size());
  EXPECT_EQ(Read(*input, offset, 10).value(), "");
  EXPECT_TRUE(Read(*input, 0, 1000).value() == text.substr(0, 1000));
  EXPECT_THAT(Read(*input, kInputBytesKept + 5, 10).status().message(),
              HasSubstr("standard input cannot be read again from byte 4194309 on"));
  EXPECT_FALSE(Read(*input, kInputBytesKept - 5, 10).ok());
  writer.join();
}

TEST(StandardInput, AsksWhetherToGoOnWhileNothingComes) {
  Pipe pipe;
  int asked = 0;
  const auto input = OpenStandardInput([&] { return ++asked == 2 ? Cancelled("stop") : Status(); },
                                       pipe.reading_end());
  EXPECT_EQ(Read(*input, 0, 10).status().code(), StatusCode::kCancelled);
  EXPECT_EQ(asked, 2);
}

TEST(StandardInput, IsNothingElse) {
  EXPECT_TRUE(IsStandardInput("-"));
  EXPECT_FALSE(IsStandardInput("./-"));
  const auto input = OpenStandardInput({}, 999999);
  EXPECT_FALSE(input->Size().ok());
  EXPECT_FALSE(input->Append({}).ok());
  EXPECT_EQ(Read(*input, 0, 1).status().code(), StatusCode::kFailed);
}

}  // namespace
}  // namespace strata
