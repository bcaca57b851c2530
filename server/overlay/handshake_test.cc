#include "server/overlay/handshake.h"

#include <gtest/gtest.h>

namespace canopy::overlay {
namespace {

Identity Agent(NodeId self, char key = '1') {
  Identity identity;
  identity.self = self;
  identity.members = 4;
  identity.name = "node" + std::to_string(self);
  identity.incarnation = 100 + self;
  identity.overlay_id = "overlay";
  identity.version = 2;
  identity.oldest_version = 1;
  if (key != 0) {
    identity.key = *security::ClusterKey::FromHex(std::string(64, key));
  }
  return identity;
}

TEST(HandshakeTest, MembersWithTheSameKeyAcceptEachOther) {
  const Identity child = Agent(2);
  const Identity parent = Agent(0);
  const Hello hello = MakeHello(child, {7, 9});
  EXPECT_EQ(hello.peer_incarnation, 7u);
  EXPECT_EQ(hello.received, 9u);
  ASSERT_TRUE(CheckHello(parent, hello).ok());
  const Welcome welcome = MakeWelcome(parent, hello, {102, 3});
  EXPECT_TRUE(CheckWelcome(child, hello, welcome, 0, "node0").ok());
  EXPECT_TRUE(
      CheckProof(parent, hello, welcome, MakeProof(child, hello, welcome))
          .ok());
}

TEST(HandshakeTest, EachHelloHasItsOwnNonce) {
  EXPECT_NE(MakeHello(Agent(1), {}).nonce, MakeHello(Agent(1), {}).nonce);
}

TEST(HandshakeTest, AnAgentWithAnotherKeyIsNamedInTheError) {
  const Identity child = Agent(2, '2');
  const Identity parent = Agent(0);
  const Hello hello = MakeHello(child, {});
  const Welcome welcome = MakeWelcome(parent, hello, {});
  const StreamEnd end = CheckWelcome(child, hello, welcome, 0, "node0");
  EXPECT_EQ(end.code, kEndWrongKey);
  EXPECT_EQ(end.message, "cluster key differs from that of node0");
  EXPECT_EQ(
      CheckProof(parent, hello, welcome, MakeProof(child, hello, welcome)).code,
      kEndWrongKey);
}

TEST(HandshakeTest, AChildCannotReturnTheProofOfItsParent) {
  const Identity parent = Agent(0);
  const Hello hello = MakeHello(Agent(2, '2'), {});
  const Welcome welcome = MakeWelcome(parent, hello, {});
  EXPECT_EQ(CheckProof(parent, hello, welcome, Proof{welcome.proof}).code,
            kEndWrongKey);
  EXPECT_EQ(CheckProof(parent, hello, welcome, Proof{}).code, kEndWrongKey);
}

TEST(HandshakeTest, AProofIsValidOnlyForItsHello) {
  const Identity child = Agent(2);
  const Identity parent = Agent(0);
  const Hello hello = MakeHello(child, {});
  const Welcome welcome = MakeWelcome(parent, hello, {});
  const Proof proof = MakeProof(child, hello, welcome);
  for (int change = 0; change < 4; ++change) {
    Hello other = hello;
    if (change == 0) other.node = 3;
    if (change == 1) other.incarnation += 1;
    if (change == 2) other.nonce[0] ^= 1;
    if (change == 3) other.version = 1;
    EXPECT_FALSE(CheckProof(parent, other, welcome, proof).ok()) << change;
  }
}

TEST(HandshakeTest, WithoutAKeyNoProofIsRequired) {
  const Identity child = Agent(2, 0);
  const Identity parent = Agent(0, 0);
  const Hello hello = MakeHello(child, {});
  const Welcome welcome = MakeWelcome(parent, hello, {});
  EXPECT_TRUE(welcome.proof.empty());
  EXPECT_TRUE(CheckWelcome(child, hello, welcome, 0, "node0").ok());
  EXPECT_TRUE(CheckProof(parent, hello, welcome, Proof{}).ok());
}

TEST(HandshakeTest, TheHandshakeChoosesACommonVersion) {
  Identity old_child = Agent(2);
  old_child.version = 1;
  const Hello hello = MakeHello(old_child, {});
  const Welcome welcome = MakeWelcome(Agent(0), hello, {});
  EXPECT_EQ(welcome.version, 1u);
  EXPECT_TRUE(CheckWelcome(old_child, hello, welcome, 0, "node0").ok());
  Identity far = Agent(2);
  far.version = 5;
  far.oldest_version = 4;
  const StreamEnd end = CheckHello(Agent(0), MakeHello(far, {}));
  EXPECT_EQ(end.code, kEndRefused);
  EXPECT_EQ(
      end.message,
      "node2 speaks overlay protocol version 4 to 5, node0 speaks 1 to 2");
}

// The Hello of an agent of version 1, as recorded bytes.
TEST(HandshakeTest, AHelloOfVersionOneIsAccepted) {
  const std::string hello =
      std::string("\x08\x01\x10\x01\x18\x02\x22\x05node2") +
      "\x28\x66\x32\x07overlay\x3a\x20" + std::string(32, 'n') + "\x4a\x03h:1";
  const std::string recorded =
      std::string("\x0a") + static_cast<char>(hello.size()) + hello;
  const auto frame = DecodeFrame(Bytes(std::string(recorded)));
  ASSERT_TRUE(frame.ok());
  ASSERT_TRUE(frame->hello.has_value());
  EXPECT_EQ(frame->hello->incarnation, 102u);
  EXPECT_FALSE(frame->hello->recovered);
  ASSERT_TRUE(CheckHello(Agent(0), *frame->hello).ok());
  EXPECT_EQ(MakeWelcome(Agent(0), *frame->hello, {}).version, 1u);
}

TEST(HandshakeTest, HellosWithInvalidIdentitiesAreRejected) {
  const Identity parent = Agent(1);
  EXPECT_FALSE(CheckHello(parent, MakeHello(Agent(0), {})).ok());
  EXPECT_FALSE(CheckHello(parent, MakeHello(Agent(1), {})).ok());
  EXPECT_FALSE(CheckHello(parent, MakeHello(Agent(4), {})).ok());
  EXPECT_TRUE(CheckHello(parent, MakeHello(Agent(3), {})).ok());
  Hello zero = MakeHello(Agent(3), {});
  zero.incarnation = 0;
  EXPECT_FALSE(CheckHello(parent, zero).ok());
  Hello unsalted = MakeHello(Agent(3), {});
  unsalted.nonce.clear();
  EXPECT_FALSE(CheckHello(parent, unsalted).ok());
  Hello stranger = MakeHello(Agent(3), {});
  stranger.overlay_id = "else";
  EXPECT_EQ(CheckHello(parent, stranger).message,
            "node1 belongs to another overlay");
}

TEST(HandshakeTest, AWrongAgentAtTheAddressIsNamedInTheError) {
  const Identity child = Agent(3);
  const Hello hello = MakeHello(child, {});
  const Welcome welcome = MakeWelcome(Agent(1), hello, {});
  const StreamEnd end = CheckWelcome(child, hello, welcome, 0, "node0");
  EXPECT_EQ(end.code, kEndRefused);
  EXPECT_EQ(end.message,
            "the agent at the address of node0 is node1, node 1, not node 0");
}

}  // namespace
}  // namespace canopy::overlay
