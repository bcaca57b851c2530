#include "server/openpmix/handshake.h"

#include <gtest/gtest.h>

#include "common/hex.h"
#include "server/openpmix/golden.h"
#include "tests/codec/hex.h"

namespace canopy::openpmix {
namespace {

const std::string kHeader = GoldenBytes("handshake.txt", "header", "client");
const std::string kPlain = GoldenBytes("handshake.txt", "greeting", "client");
const std::string kTool = GoldenBytes("handshake.txt", "greeting", "tool");

TEST(Handshake, AClientsGreetingIsParsed) {
  const std::string header = kHeader;
  const std::string payload = kPlain;
  // The golden header also counts a zero that this version sends after the
  // payload.
  EXPECT_EQ(ParseConnectHeader(header), payload.size() + 1);
  const Result<ConnectMessage> message = ParseConnect(payload);
  ASSERT_TRUE(message.ok());
  EXPECT_EQ(message->security, "native");
  EXPECT_EQ(CredentialUid(message->credential), 1000u);
  EXPECT_EQ(message->kind, PeerKind::kClient);
  EXPECT_EQ(message->identity, (ProcId{"nsx", 3}));
  EXPECT_EQ(message->version, "4.1.2");
  EXPECT_EQ(message->codec, "v41");
  EXPECT_FALSE(message->described);
  EXPECT_EQ(message->store, "hash");
}

// Some versions append a byte, and newer versions append infos.
TEST(Handshake, DataAfterAGreetingIsIgnored) {
  EXPECT_TRUE(ParseConnect(kPlain + std::string(1, '\0')).ok());
  EXPECT_TRUE(ParseConnect(kPlain + "anything").ok());
}

TEST(Handshake, AToolsGreetingIsParsed) {
  const std::string payload = kTool;
  const Result<ConnectMessage> message = ParseConnect(payload);
  ASSERT_TRUE(message.ok());
  EXPECT_EQ(message->security, "none");
  EXPECT_EQ(message->kind, PeerKind::kNamelessTool);
  EXPECT_EQ(message->uid, 1000u);
  EXPECT_FALSE(message->identity);
  EXPECT_TRUE(message->described);
  EXPECT_TRUE(IsTool(message->kind));
}

TEST(Handshake, GreetingsOfOldClientsAndNamedToolsAreParsed) {
  const std::string old =
      GoldenBytes("handshake.txt", "greeting", "old client");
  EXPECT_EQ(ParseConnect(old)->codec, "v3");
  EXPECT_EQ(ParseConnect(old)->identity, (ProcId{"nsx", 0}));
  const std::string named =
      GoldenBytes("handshake.txt", "greeting", "named tool");
  EXPECT_EQ(ParseConnect(named)->codec, "v51");
  EXPECT_EQ(ParseConnect(named)->identity, (ProcId{"t", 1}));
  EXPECT_TRUE(IsTool(ParseConnect(named)->kind));
}

TEST(Handshake, EveryTruncationIsRejected) {
  for (const std::string& whole : {kPlain, kTool}) {
    for (size_t n = 0; n < whole.size(); ++n) {
      const std::string cut = whole.substr(0, n);
      EXPECT_EQ(ParseConnect(cut).code(), kErrUnpackFailure) << n;
    }
  }
}

TEST(Handshake, MalformedGreetingsAreRejected) {
  EXPECT_FALSE(ParseConnectHeader("GET / HTTP/1.1\r\n"));
  EXPECT_FALSE(ParseConnectHeader(Unhex("ffffffff ffffffff")));
  std::string kind = kPlain;
  kind[19] = 2;  // a kind of old versions
  EXPECT_EQ(ParseConnect(kind).code(), kErrNotSupported);
  kind[19] = 11;
  EXPECT_EQ(ParseConnect(kind).code(), kErrNotSupported);
  std::string buffer = kPlain;
  buffer[buffer.size() - 6] = 3;
  EXPECT_EQ(ParseConnect(buffer).code(), kErrUnpackFailure);
  // A credential longer than the message.
  EXPECT_FALSE(ParseConnect(Unhex("6e6f6e6500 ffffffff 00")).ok());
  // A namespace without an end, and one that is too long.
  EXPECT_FALSE(ParseConnect(Unhex("6e6f6e6500 00000000 00") +
                            std::string(4000, 'n') + Unhex("00 00000000"))
                   .ok());
}

TEST(Handshake, WelcomesAreEncodedAsTheProtocolRequires) {
  EXPECT_EQ(ToHex(MakeClientWelcome(0x102)),
            ToHex(GoldenBytes("handshake.txt", "welcome", "client")));
  const ProcId server = {"srv", 1};
  const std::string server_field =
      "73727600" + std::string(2 * 252, '0') + "00000001";
  EXPECT_EQ(ToHex(MakeToolWelcome(nullptr, server)),
            "00000000" + server_field + "00000000");
  const ProcId tool = {"t", 0};
  EXPECT_EQ(ToHex(MakeToolWelcome(&tool, server)),
            "00000000" + ("7400" + std::string(2 * 254, '0')) + "00000000" +
                server_field + "00000000");
}

TEST(Handshake, AHeaderIsParsedAndEncoded) {
  const std::string header = GoldenBytes("handshake.txt", "header", "message");
  EXPECT_EQ(ParseHeader(header).tag, 101u);
  EXPECT_EQ(ParseHeader(header).length, 258u);
  EXPECT_EQ(ToHex(MakeHeader(101, 258)), "00000000000000650000010200000000");
}

}  // namespace
}  // namespace canopy::openpmix
