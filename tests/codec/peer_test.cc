// Compares the codec and the printers with an installed OpenPMIx 4.2: bytes
// that one packs are unpacked by the other, and both print the same text. The
// library must be installed on the machine that runs the test.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/hex.h"
#include "common/values/print.h"
#include "common/values/regex.h"
#include "common/values/value_ops.h"
#include "pmix.h"
#include "pmix_server.h"
#include "tests/codec/hex.h"
#include "tests/codec/samples.h"

namespace canopy {
namespace {

constexpr char kPeerPath[] = "/usr/lib/x86_64-linux-gnu/pmix2/lib/libpmix.so.2";

// The functions of the other library. It must be initialised as a server before
// it can pack.
class Peer {
 public:
  static Peer& Get() {
    static Peer* const peer = new Peer;
    return *peer;
  }

  bool ok() const { return ok_; }

  decltype(&PMIx_Data_pack) pack = nullptr;
  decltype(&PMIx_Data_unpack) unpack = nullptr;
  decltype(&PMIx_Value_load) load = nullptr;
  decltype(&PMIx_Value_string) value_string = nullptr;
  decltype(&PMIx_generate_regex) generate_regex = nullptr;
  decltype(&PMIx_generate_ppn) generate_ppn = nullptr;
  decltype(&PMIx_server_finalize) finalize = nullptr;

 private:
  Peer() {
    if (const char* directory = getenv("TEST_TMPDIR")) {
      setenv("TMPDIR", directory, 1);
    }
    void* library = dlopen(kPeerPath, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    decltype(&PMIx_server_init) init = nullptr;
    ok_ = Bind(library, "PMIx_server_init", &init) &&
          Bind(library, "PMIx_server_finalize", &finalize) &&
          Bind(library, "PMIx_Data_pack", &pack) &&
          Bind(library, "PMIx_Data_unpack", &unpack) &&
          Bind(library, "PMIx_Value_load", &load) &&
          Bind(library, "PMIx_Value_string", &value_string) &&
          Bind(library, "PMIx_generate_regex", &generate_regex) &&
          Bind(library, "PMIx_generate_ppn", &generate_ppn) &&
          init(nullptr, nullptr, 0) == PMIX_SUCCESS;
  }

  template <typename Function>
  static bool Bind(void* library, const char* name, Function* function) {
    *function = reinterpret_cast<Function>(dlsym(library, name));
    return *function != nullptr;
  }

  bool ok_ = false;
};

class PeerTest : public testing::Test {
 protected:
  static void TearDownTestSuite() {
    if (Peer::Get().ok()) Peer::Get().finalize();
  }
  void SetUp() override {
    ASSERT_TRUE(Peer::Get().ok()) << kPeerPath << " is not usable";
  }
};

// Excludes types that the other library does not know or encodes incorrectly,
// such as node statistics, for which it writes addresses. Also excludes arrays
// without a type, which the two libraries encode differently.
bool Comparable(const Sample& sample) {
  return sample.type < PMIX_DEVICE && sample.type != PMIX_NODE_STATS &&
         sample.name != "array without a type" && sample.name != "blob regex";
}

std::string PeerPack(pmix_data_type_t type, const void* element) {
  const char* const* characters = static_cast<const char* const*>(element);
  pmix_data_buffer_t buffer = {};
  const pmix_status_t status = Peer::Get().pack(
      nullptr, &buffer, const_cast<char**>(characters), 1, type);
  EXPECT_EQ(status, PMIX_SUCCESS);
  std::string bytes(buffer.base_ptr, buffer.bytes_used);
  free(buffer.base_ptr);
  return bytes;
}

TEST_F(PeerTest, BothLibrariesPackTheSameBytes) {
  int compared = 0;
  for (const Sample& sample : Samples()) {
    if (!Comparable(sample)) continue;
    EXPECT_EQ(ToHex(PeerPack(sample.type, sample.element)),
              ToHex(Unhex("02" + sample.modern)))
        << sample.name;
    ++compared;
  }
  EXPECT_GT(compared, 60);
}

pmix_status_t PeerUnpack(std::string bytes, pmix_data_type_t type,
                         void* element) {
  pmix_data_buffer_t buffer = {};
  buffer.base_ptr = buffer.unpack_ptr = bytes.data();
  buffer.bytes_used = buffer.bytes_allocated = bytes.size();
  buffer.pack_ptr = bytes.data() + bytes.size();
  int32_t count = 1;
  return Peer::Get().unpack(nullptr, &buffer, element, &count, type);
}

// Excludes types that the other library cannot read back, although it has
// written them itself.
bool Readable(const Sample& sample) {
  return sample.type != PMIX_REGEX && sample.type != PMIX_DATA_TYPE &&
         sample.type != PMIX_REGATTR && sample.type != PMIX_PROC_STATS &&
         sample.name != "array of arrays";
}

TEST_F(PeerTest, ThePeerUnpacksOurValues) {
  for (const Sample& sample : Samples()) {
    if (!Comparable(sample) || !Readable(sample)) continue;
    const TypeInfo& type = *FindType(sample.type);
    std::vector<char> memory(type.size);
    ASSERT_EQ(
        PeerUnpack(Unhex("02" + sample.modern), sample.type, memory.data()),
        PMIX_SUCCESS)
        << sample.name;
    if (sample.lossless && sample.name != "pointer array") {
      EXPECT_EQ(CompareElements(type, memory.data(), sample.element),
                PMIX_EQUAL)
          << sample.name;
    }
  }
}

// An exact floating point number is a text of another length, which peers also
// read.
TEST_F(PeerTest, ThePeerUnpacksFloatingPointNumbersExactly) {
  for (const double number : {0.1 + 0.2, 1e-300, 1e300, -1.0 / 3}) {
    Encoder encoder;
    encoder.PackCall(PMIX_DOUBLE, 1, &number);
    double back = 0;
    EXPECT_EQ(PeerUnpack(encoder.Take(), PMIX_DOUBLE, &back), PMIX_SUCCESS);
    EXPECT_EQ(back, number);
  }
}

// The types whose value the other library prints correctly.
TEST_F(PeerTest, BothLibrariesPrintTheSameText) {
  const std::set<pmix_data_type_t> types = {
      PMIX_BOOL,        PMIX_BYTE,       PMIX_SIZE,     PMIX_PID,
      PMIX_INT,         PMIX_INT8,       PMIX_INT16,    PMIX_INT32,
      PMIX_INT64,       PMIX_UINT,       PMIX_UINT8,    PMIX_UINT16,
      PMIX_UINT32,      PMIX_UINT64,     PMIX_FLOAT,    PMIX_DOUBLE,
      PMIX_TIMEVAL,     PMIX_TIME,       PMIX_STATUS,   PMIX_PROC,
      PMIX_BYTE_OBJECT, PMIX_PERSIST,    PMIX_ENVAR,    PMIX_COORD,
      PMIX_REGATTR,     PMIX_GEOMETRY,   PMIX_ENDPOINT, PMIX_PROC_RANK,
      PMIX_DEVICE_DIST, PMIX_PROC_NSPACE};
  int compared = 0;
  for (const Sample& sample : Samples()) {
    const bool array =
        sample.type == PMIX_DATA_ARRAY &&
        (sample.name == "int32 array" || sample.name == "info array");
    if (!types.contains(sample.type) && !array) continue;
    pmix_value_t value = {};
    ASSERT_EQ(LoadValue(&value, sample.element, sample.type), PMIX_SUCCESS);
    char* text = Peer::Get().value_string(&value);
    EXPECT_EQ(PrintValue(value, " "), text) << sample.name;
    free(text);
    DestructValue(&value);
    ++compared;
  }
  EXPECT_GT(compared, 30);
}

TEST_F(PeerTest, BothLibrariesShortenNodeListsAlike) {
  for (const char* names :
       {"node001,node002,node003,gpu01", "n1,n2,n4,n5,n6", "a,b,c",
        "node01,node1", "n9,n10,n11", "host", "n1x,n2x", "n1,n1", "x001y,x002y",
        "n3,n2,n1", "10.0.0.1,10.0.0.2", "a1b2,a1b3", "a1,b1,a2", "1,2", ""}) {
    char* text = nullptr;
    ASSERT_EQ(Peer::Get().generate_regex(names, &text), PMIX_SUCCESS);
    EXPECT_EQ(CompressNodeList(names), text);
    free(text);
  }
  char* text = nullptr;
  ASSERT_EQ(Peer::Get().generate_ppn("0,1;2,3", &text), PMIX_SUCCESS);
  EXPECT_EQ(CompressRankMap("0,1;2,3"), text);
  free(text);
}

}  // namespace
}  // namespace canopy
