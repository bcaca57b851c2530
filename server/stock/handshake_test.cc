#include "server/stock/handshake.h"

#include <gtest/gtest.h>

#include "tests/codec/hex.h"

namespace canopy::stock {
namespace {

// A greeting of version 4.1.2, uid 1000 and gid 1001, rank 3 of "nsx".
constexpr char kHeader[] = "ffffffff ffffffff 2d000000 00000000";
constexpr char kPlain[] =
    "6e617469766500"     // "native"
    "00000008"           // credential: its length, uid and gid in host order
    "e8030000 e9030000"  //
    "00"                 // a plain client
    "6e737800 00000003"  // "nsx", rank 3
    "342e312e3200"       // "4.1.2"
    "76343100"           // "v41"
    "01"                 // not described
    "6861736800";        // "hash"
constexpr char kTool[] =
    "6e6f6e6500"         // "none"
    "00000000"           //
    "03"                 // a tool that wants an identity
    "000003e8 000003e9"  // uid, gid
    "352e302e313100"     // "5.0.11"
    "76343100"           //
    "02"                 // described
    "6861736800";

TEST(Handshake, GreetingOfAClient) {
  const std::string header = Unhex(kHeader);
  const std::string payload = Unhex(kPlain);
  // This version leaves a zero behind.
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

// Some versions leave a byte behind, newer ones infos.
TEST(Handshake, WhatFollowsAGreetingIsIgnored) {
  EXPECT_TRUE(ParseConnect(Unhex(kPlain) + std::string(1, '\0')).ok());
  EXPECT_TRUE(ParseConnect(Unhex(kPlain) + "anything").ok());
}

TEST(Handshake, GreetingOfATool) {
  const std::string payload = Unhex(kTool);
  const Result<ConnectMessage> message = ParseConnect(payload);
  ASSERT_TRUE(message.ok());
  EXPECT_EQ(message->security, "none");
  EXPECT_EQ(message->kind, PeerKind::kNamelessTool);
  EXPECT_EQ(message->uid, 1000u);
  EXPECT_FALSE(message->identity);
  EXPECT_TRUE(message->described);
  EXPECT_TRUE(IsTool(message->kind));
}

TEST(Handshake, EveryCutIsRefused) {
  for (const char* text : {kPlain, kTool}) {
    const std::string whole = Unhex(text);
    for (size_t n = 0; n < whole.size(); ++n) {
      const std::string cut = whole.substr(0, n);
      EXPECT_EQ(ParseConnect(cut).code(), kErrUnpackFailure) << n;
    }
  }
}

TEST(Handshake, WrongGreetingsAreRefused) {
  EXPECT_FALSE(ParseConnectHeader("GET / HTTP/1.1\r\n"));
  EXPECT_FALSE(ParseConnectHeader(Unhex("ffffffff ffffffff")));
  std::string kind = Unhex(kPlain);
  kind[19] = 2;  // a kind of long ago
  EXPECT_EQ(ParseConnect(kind).code(), kErrNotSupported);
  kind[19] = 11;
  EXPECT_EQ(ParseConnect(kind).code(), kErrNotSupported);
  std::string buffer = Unhex(kPlain);
  buffer[buffer.size() - 6] = 3;
  EXPECT_EQ(ParseConnect(buffer).code(), kErrUnpackFailure);
  // A credential longer than the message.
  EXPECT_FALSE(ParseConnect(Unhex("6e6f6e6500 ffffffff 00")).ok());
  // A namespace without an end, and one that is too long.
  EXPECT_FALSE(ParseConnect(Unhex("6e6f6e6500 00000000 00") +
                            std::string(4000, 'n') + Unhex("00 00000000"))
                   .ok());
}

TEST(Handshake, Welcomes) {
  EXPECT_EQ(Hex(MakeClientWelcome(0x102)), "0000000000000102");
  const ProcId server = {"srv", 1};
  const std::string server_field =
      "73727600" + std::string(2 * 252, '0') + "00000001";
  EXPECT_EQ(Hex(MakeToolWelcome(nullptr, server)),
            "00000000" + server_field + "00000000");
  const ProcId tool = {"t", 0};
  EXPECT_EQ(Hex(MakeToolWelcome(&tool, server)),
            "00000000" + ("7400" + std::string(2 * 254, '0')) + "00000000" +
                server_field + "00000000");
}

TEST(Handshake, Headers) {
  const std::string header = Unhex("00000007 00000065 00000102 deadbeef");
  EXPECT_EQ(ParseHeader(header).tag, 101u);
  EXPECT_EQ(ParseHeader(header).length, 258u);
  EXPECT_EQ(Hex(MakeHeader(101, 258)), "00000000000000650000010200000000");
}

}  // namespace
}  // namespace canopy::stock
