// A dialer that goes as far in a handshake as a test wants.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "cluster/link/connect/frame.h"
#include "cluster/link/connect/handshake.h"
#include "tests/cluster/raw_end.h"

namespace strata {

class PartOfHandshake {
 public:
  PartOfHandshake(uint16_t port, const TlsContext* tls, const std::string& secret,
                  const LinkHello& hello)
      : end_(port, tls), key_(MakeLinkKey(secret)), hello_(EncodeHello(hello)) {}

  // 0: nothing; 1: hello; 2: the challenge has come; 3: proof; 4: the verdict has come.
  void Go(int steps) {
    if (steps >= 1) end_.Send(MakeLinkFrame({.type = LinkFrameType::kHello}, hello_));
    if (steps >= 2) challenge_ = Body();
    if (steps >= 3) {
      end_.Send(MakeLinkFrame({.type = LinkFrameType::kProof},
                              std::string(AsText(DialerProof(key_, hello_, challenge_)))));
    }
    if (steps >= 4) accepted_ = SameMac(Body(), AcceptorProof(key_, hello_, challenge_));
  }
  bool accepted() const { return accepted_; }
  RawEnd& end() { return end_; }

 private:
  std::string Body() {
    const std::string frame = end_.Read(kLinkHeaderBytes + sizeof(LinkMac));
    return frame.substr(std::min(frame.size(), kLinkHeaderBytes));
  }

  RawEnd end_;
  const LinkKey key_;
  const std::string hello_;
  std::string challenge_;
  bool accepted_ = false;
};

}  // namespace strata
