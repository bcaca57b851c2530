#include "server/openpmix/kvals.h"

#include <gtest/gtest.h>

#include "common/codec/encoder.h"
#include "common/codec/stored_key.h"
#include "common/hex.h"
#include "common/values/value.h"
#include "common/values/zlib_access.h"
#include "tests/codec/hex.h"

namespace canopy::openpmix {
namespace {

PeerTraits Modern() { return TraitsOf("4.2.2", "v41", false).value(); }
PeerTraits Old() { return TraitsOf("3.2.3", "v3", false).value(); }
PeerTraits New() { return TraitsOf("7.0.0", "v41", false).value(); }

// Key "a" with UINT32 300, as calls and as an element.
constexpr char kModernCall[] = "02 04 6100 0e ac02";
constexpr char kElement[] = "04 6100 0e ac02";
constexpr char kOldCall[] = "00000001 00000002 6100 000e 0000012c";

int Read(const PeerTraits& peer, const std::string& calls, std::string* out) {
  Decoder decoder(calls, peer.form);
  return ReadKvals(&decoder, out);
}

std::string Packed(const PeerTraits& peer, const std::string& kvals) {
  Encoder encoder(peer.form);
  PackKvals(peer, kvals, &encoder);
  return encoder.Take();
}

TEST(Kvals, KvalsAreReadFromEitherForm) {
  std::string out;
  EXPECT_EQ(Read(Modern(), Unhex(kModernCall) + Unhex(kModernCall), &out),
            kSuccess);
  EXPECT_EQ(ToHex(out), ToHex(Unhex(kElement) + Unhex(kElement)));
  out.clear();
  EXPECT_EQ(Read(Old(), Unhex(kOldCall), &out), kSuccess);
  EXPECT_EQ(ToHex(out), ToHex(Unhex(kElement)));
}

TEST(Kvals, KvalsArePackedInEitherForm) {
  const std::string kvals = Unhex(kElement) + Unhex(kElement);
  EXPECT_EQ(ToHex(Packed(Modern(), kvals)),
            ToHex(Unhex(kModernCall) + Unhex(kModernCall)));
  EXPECT_EQ(ToHex(Packed(Old(), kvals)),
            ToHex(Unhex(kOldCall) + Unhex(kOldCall)));
  EXPECT_EQ(Packed(Old(), ""), "");
}

TEST(Kvals, TruncatedAndMissingOrExtraKeysAreRejected) {
  const std::string whole = Unhex(kModernCall);
  for (size_t n = 1; n < whole.size(); ++n) {
    std::string out;
    EXPECT_NE(Read(Modern(), whole.substr(0, n), &out), kSuccess) << n;
  }
  std::string out;
  // A call without a key, and two keys in one call.
  EXPECT_NE(Read(Modern(), Unhex("02 00 0e ac02"), &out), kSuccess);
  EXPECT_NE(Read(Modern(), Unhex("04 04 6100 0e ac02 04 6200 0e 01"), &out),
            kSuccess);
}

// An array without a type has a size before 6.1 and none since then. It is sent
// as an empty array of infos, which all clients can read.
TEST(Kvals, ArraysWithoutATypeBecomeArraysOfInfos) {
  std::string from_old;
  std::string from_new;
  EXPECT_EQ(Read(Modern(), Unhex("02 04 6100 27 00 00"), &from_old), kSuccess);
  EXPECT_EQ(Read(New(), Unhex("02 04 6100 27 00"), &from_new), kSuccess);
  EXPECT_EQ(ToHex(from_old), ToHex(Unhex("04 6100 27 18 00")));
  EXPECT_EQ(from_old, from_new);
}

TEST(Kvals, CompressedStringsAreInflated) {
  const std::string text(5000, 'x');
  const std::optional<std::string> compressed = Compress(text);
  ASSERT_TRUE(compressed);
  Encoder call;
  call.PutRaw(Unhex("02 04 6100 2a"));
  call.PutBytes(*compressed);
  std::string out;
  EXPECT_EQ(Read(Modern(), call.Take(), &out), kSuccess);
  // The length includes the terminator and is doubled: 10002.
  EXPECT_EQ(out, Unhex("04 6100 03 924e") + text + '\0');
}

TEST(Kvals, ValuesOfOtherTypesAreNotInflated) {
  // Type 42 with three bytes that no decompressor accepts.
  std::string out;
  EXPECT_EQ(Read(Modern(), Unhex("02 04 6100 2a 03 010203"), &out), kSuccess);
  EXPECT_EQ(ToHex(out), ToHex(Unhex("04 6100 2a 03 010203")));
}

TEST(Kvals, PeersGetOnlyValuesThatTheyCanRead) {
  // A data type (70) introduced with v51, and statistics (61).
  const std::string device = Unhex("04 6100 46 00 00 00");
  EXPECT_EQ(Packed(Modern(), device), "");
  EXPECT_NE(Packed(TraitsOf("6.1.0", "v61", false).value(), device), "");
  const std::string cpuset = Unhex("04 6100 34 04 3000");
  EXPECT_EQ(Packed(Old(), cpuset + Unhex(kElement)), Unhex(kOldCall));
  EXPECT_NE(Packed(Modern(), cpuset), "");
}

TEST(Kvals, InfosArePackedInEitherForm) {
  // SIZE 1, then key "a", no flags, UINT32 300.
  const std::string infos = Unhex("01 04 6100 00 0e ac02");
  Encoder modern(Modern().form);
  EXPECT_TRUE(PackInfos(Modern(), infos, &modern));
  EXPECT_EQ(ToHex(modern.Take()), ToHex(Unhex("02 01 02 04 6100 00 0e ac02")));
  Encoder old(Old().form);
  EXPECT_TRUE(PackInfos(Old(), infos, &old));
  EXPECT_EQ(ToHex(old.Take()),
            ToHex(Unhex("00000001 000f 0000000000000001"
                        "00000001 00000002 6100 00000000 000e 0000012c")));
  Encoder none(Modern().form);
  EXPECT_TRUE(PackInfos(Modern(), "", &none));
  EXPECT_EQ(ToHex(none.Take()), "0200");
  Encoder bad(Modern().form);
  EXPECT_FALSE(PackInfos(Modern(), Unhex("05 04 6100"), &bad));
}

std::string NameKval(const std::string& name, const std::string& value) {
  Encoder out;
  out.PutKvalEncoded(name, value);
  return out.Take();
}

// The message has two values of "k" that a qualifier distinguishes, and a value
// of "j" without a qualifier.
TEST(Kvals, QualifiedValuesAreStoredUnderTheirOwnNames) {
  const std::string key = "02 1c 706d69782e7175616c2e76616c00";
  const std::string one = "27 18 02 04 6b00 00 0e 01 04 7100 08 0e 07";
  const std::string two = "27 18 02 04 6b00 00 0e 02 04 7100 08 0e 08";
  const std::string other = "27 18 01 04 6a00 00 0e 03";
  const std::string plain = "02 04 6b00 0e 05";
  std::string kvals;
  ASSERT_EQ(Read(Modern(), Unhex(key + one + plain + key + two + key + other),
                 &kvals),
            kSuccess);
  EXPECT_EQ(
      ToHex(kvals),
      ToHex(NameKval(QualifiedNameOf("k", "q", Unhex("0e 07")), Unhex(one)) +
            Unhex("04 6b00 0e 05") +
            NameKval(QualifiedNameOf("k", "q", Unhex("0e 08")), Unhex(two)) +
            Unhex("04 6a00 0e 03")));
  EXPECT_EQ(ToHex(Packed(Modern(), kvals)),
            ToHex(Unhex(key + one + plain + key + two + "02 04 6a00 0e 03")));
}

TEST(Kvals, ValuesWithoutKeyAndQualifiersAreNotQualified) {
  const std::string text = "1c 706d69782e7175616c2e76616c00 0e 05";
  std::string kvals;
  ASSERT_EQ(Read(Modern(), Unhex("02" + text), &kvals), kSuccess);
  EXPECT_EQ(ToHex(kvals), ToHex(Unhex(text)));
}

TEST(Kvals, DeletedKeysAreNotSentToPeers) {
  Encoder deleted;
  deleted.PutKval("gone", Value().raw());
  EXPECT_EQ(ToHex(Packed(Modern(), deleted.Take() + Unhex(kElement))),
            ToHex(Unhex(kModernCall)));
}

TEST(Kvals, NamesOfScopesAreNotSentToPeers) {
  const std::string kvals = NameKval(ScopeNameOf("a"), Unhex("01 01"));
  EXPECT_EQ(ToHex(Packed(Modern(), kvals + Unhex(kElement))),
            ToHex(Unhex(kModernCall)));
  std::string out;
  EXPECT_NE(Read(Modern(), Unhex("02") + kvals, &out), kSuccess)
      << "nor from them";
}

}  // namespace
}  // namespace canopy::openpmix
