#include "common/wording/transport_text.h"

#include <gtest/gtest.h>

namespace canopy {
namespace {

TEST(TransportTextTest, TransportTextReturnsOnlyTheCause) {
  EXPECT_EQ(TransportText("failed to connect to all addresses; last error: "
                          "UNKNOWN: ipv4:127.0.0.1:1: Failed to connect to "
                          "remote host: Connection refused"),
            "Connection refused");
  EXPECT_EQ(TransportText("failed to connect to all addresses; last error: "
                          "UNAVAILABLE: ipv4:10.0.0.1:1: Socket closed"),
            "no connection");
  EXPECT_EQ(TransportText("failed to connect to all addresses; last error: "
                          "UNKNOWN: Ssl handshake failed: SSL_ERROR_SSL: "
                          "error:0A000086:SSL routines::certificate verify "
                          "failed"),
            "the TLS handshake failed: certificate verify failed");
  EXPECT_EQ(TransportText("failed to connect to all addresses; last error: "
                          "UNKNOWN: Peer name a is not in peer certificate"),
            "the TLS handshake failed: Peer name a is not in peer certificate");
  EXPECT_EQ(TransportText("DNS resolution failed for a:1: C-ares status is not "
                          "ARES_SUCCESS"),
            "its name is unknown");
  EXPECT_EQ(TransportText("recvmsg:Connection reset by peer"),
            "the connection was closed");
  EXPECT_EQ(TransportText("Socket closed"), "the connection was closed");
  EXPECT_EQ(TransportText("Deadline Exceeded"), "no answer in time");
}

TEST(TransportTextTest, TransportTextKeepsTextsOfServices) {
  EXPECT_EQ(TransportText("the queue is full"), "the queue is full");
  EXPECT_EQ(TransportText(""), "");
}

}  // namespace
}  // namespace canopy
