#include "base/message_port.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace strata {
namespace {

TEST(FrameTest, CopyIsIndependentOfItsSource) {
  std::vector<std::byte> source(3, std::byte{7});
  const Frame frame = Frame::Copy(source);
  source.assign(3, std::byte{9});
  EXPECT_EQ(frame.size(), 3u);
  EXPECT_TRUE(std::ranges::all_of(frame.bytes(), [](std::byte b) { return b == std::byte{7}; }));
}

TEST(FrameTest, OwnTakesTheVectorWithoutCopying) {
  std::vector<float> values = {1, 2, 3};
  const void* data = values.data();
  const Frame frame = Frame::Own(std::move(values));
  EXPECT_EQ(frame.size(), 12u);
  EXPECT_EQ(frame.bytes().data(), data);
}

TEST(FrameTest, CopiesShareTheOwner) {
  const auto owner = std::make_shared<const int>(5);
  {
    const Frame frame(owner, std::as_bytes(std::span(owner.get(), 1)));
    const Frame copy = frame;  // NOLINT: the copy is what is tested
    EXPECT_EQ(copy.bytes().data(), frame.bytes().data());
    EXPECT_EQ(owner.use_count(), 3);
  }
  EXPECT_EQ(owner.use_count(), 1);
}

TEST(FrameTest, MessageBytesSumsFrames) {
  EXPECT_EQ(MessageBytes({}), 0u);
  EXPECT_EQ(MessageBytes({Frame(), Frame::Own(std::vector<uint16_t>(3)),
                          Frame::Own(std::vector<uint8_t>(1))}),
            7u);
}

}  // namespace
}  // namespace strata
