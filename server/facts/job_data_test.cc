#include "server/facts/job_data.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/shm/segment_writer.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::facts {
namespace {

using core::DataKey;
using core::DataRealm;

std::pair<std::string, std::string> Pair(const char* key, const char* text) {
  return {key, EncodeValue(Value::String(text).raw())};
}

// Two nodes with one rank and one application each, seen from the first node.
class JobDataTest : public testing::Test {
 protected:
  JobDataTest() {
    shm::SegmentContents contents;
    contents.nspace = "job";
    contents.self_node = 0;
    contents.session = {Pair("s", "session"),
                        Pair("x", "session"),
                        {PMIX_SESSION_ID, EncodeValue(Value::Uint32(4).raw())}};
    contents.job = {Pair("j", "job"), Pair("x", "job")};
    contents.apps = {{Pair("a", "app0")}, {Pair("a", "app1")}};
    for (const char* name : {"n0", "n1"}) {
      const std::string host = EncodeValue(Value::String(name).raw());
      const uint32_t id = name[1] == '0' ? 10 : 11;
      contents.nodes.push_back(
          {name, {}, host, {Pair("n", name), Pair("x", name)}, id});
    }
    for (uint32_t rank = 0; rank < 2; ++rank) {
      shm::ProcContents proc;
      proc.node = rank;
      proc.app = rank;
      contents.procs.push_back(proc);
    }
    shm::SegmentLimits limits;
    limits.arena_bytes = 1 << 20;
    writer_ = std::move(*shm::SegmentWriter::Create(contents, limits));
    reader_ =
        std::move(*shm::SegmentReader::Map(writer_->fd(), writer_->size()));
  }

  std::string Find(const DataKey& key) {
    const std::string encoded = FindJobData(*reader_, key);
    if (encoded.empty()) return "";
    return std::string(*DecodeValue(encoded)->AsString());
  }

  std::unique_ptr<shm::SegmentWriter> writer_;
  std::unique_ptr<shm::SegmentReader> reader_;
};

TEST_F(JobDataTest, WithoutARealmTheFirstRealmWithTheKeyIsUsed) {
  const ProcId proc{"job", 1};
  EXPECT_EQ(Find({proc, "s"}), "session");
  EXPECT_EQ(Find({proc, "j"}), "job");
  EXPECT_EQ(Find({proc, "a"}), "app1");
  EXPECT_EQ(Find({proc, "n"}), "n1") << "its own node";
  EXPECT_EQ(Find({proc, PMIX_HOSTNAME}), "n1");
  EXPECT_EQ(Find({proc, "x"}), "job") << "the nearest";
  EXPECT_EQ(Find({proc, "none"}), "");
  EXPECT_EQ(Find({{"job", kRankWildcard}, "n"}), "n0") << "this node";
  EXPECT_EQ(Find({{"job", 99}, "j"}), "job");
}

TEST_F(JobDataTest, ANamedRealmIsSearchedAlone) {
  const ProcId proc{"job", 0};
  EXPECT_EQ(Find({proc, "x", DataRealm::kSession}), "session");
  EXPECT_EQ(Find({proc, "x", DataRealm::kNode}), "n0");
  EXPECT_EQ(Find({proc, "x", DataRealm::kApp}), "");
  EXPECT_EQ(Find({proc, "j", DataRealm::kProc}), "");
}

TEST_F(JobDataTest, DataOfAnotherSessionIsNotFound) {
  DataKey key{{"job", 0}, "s"};
  key.session_id = 4;
  EXPECT_EQ(Find(key), "session");
  key.session_id = 5;
  EXPECT_EQ(Find(key), "");
  key.realm = DataRealm::kSession;
  EXPECT_EQ(Find(key), "");
}

TEST_F(JobDataTest, ANamedApplicationOrNodeIsUsed) {
  DataKey key{{"job", 0}, "a"};
  key.appnum = 1;
  EXPECT_EQ(Find(key), "app1");
  key.appnum = 7;
  EXPECT_EQ(Find(key), "");
  key = {{"job", 0}, "n"};
  key.hostname = "n1";
  EXPECT_EQ(Find(key), "n1");
  key.hostname = "n9";
  EXPECT_EQ(Find(key), "");
  key.hostname.clear();
  key.nodeid = 11;
  EXPECT_EQ(Find(key), "n1");
}

}  // namespace
}  // namespace canopy::facts
