#include "server/core/collective/group_shared.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/codec/qualified_value.h"
#include "common/codec/stored_key.h"
#include "server/core/core_testing.h"
#include "server/core/step/step_context.h"

namespace canopy::core {
namespace {

constexpr char kLocalCid[] = "pmix.grp.lclid";
constexpr char kContextId[] = "pmix.grp.ctxid";

std::string Size(size_t number) {
  Encoder out;
  out.PutUint16(PMIX_SIZE);
  out.PutSize(number);
  return out.Take();
}

void PutHead(const char* key, Encoder* out) {
  out->PutString(key);
  out->PutUint32(0);
}

// Returns PMIX_GROUP_INFO with a value of kLocalCid, as a process passes it to
// a construct.
std::string Info(size_t number, const ProcId* member = nullptr) {
  Encoder out;
  PutHead("pmix.grp.info", &out);
  out.PutUint16(PMIX_DATA_ARRAY);
  out.PutUint16(PMIX_INFO);
  out.PutSize(member == nullptr ? 1 : 2);
  if (member != nullptr) {
    PutHead("pmix.procid", &out);
    out.PutUint16(PMIX_PROC);
    out.PutProc(*member);
  }
  PutHead(kLocalCid, &out);
  out.PutRaw(Size(number));
  return out.Take();
}

TEST(GroupSharedInfo, SharedByWritesTheNameOfTheSharingMember) {
  const ProcId self{"job", 1};
  const ProcId other{"job", 2};
  EXPECT_EQ(SharedBy(self, Info(7)), Info(7, &self));
  EXPECT_EQ(SharedBy(self, Info(7, &other)), Info(7, &self));
  EXPECT_EQ(SharedBy(self, kLocalCid, Size(7)), Info(7, &self));
}

TEST(GroupSharedInfo, InfoWithoutAnArrayIsUnchanged) {
  Encoder endpoint;
  PutHead("pmix.grp.endpt", &endpoint);
  endpoint.PutRaw(Size(7));
  const std::string info = endpoint.Take();
  EXPECT_EQ(SharedBy({"job", 1}, info), info);
  const std::string whole = Info(7);
  for (size_t size = 0; size < whole.size(); ++size) {
    (void)SharedBy({"job", 1}, whole.substr(0, size));
  }
}

GroupRecord Record(const std::vector<std::string>& infos, uint64_t context) {
  GroupRecord record;
  record.context_id = context;
  record.num_shared = infos.size();
  for (const std::string& info : infos) record.shared += info;
  return record;
}

TEST(GroupSharedInfo, KeepSharedRemovesArraysOfOtherMembers) {
  const ProcId one{"job", 0};
  const ProcId two{"job", 1};
  GroupRecord record = Record({Info(1, &one), Info(2, &two), Info(3)}, 5);
  KeepShared([&](const ProcId& proc) { return proc == two; }, &record);
  EXPECT_EQ(record.num_shared, 2u);
  EXPECT_EQ(record.shared, Info(2, &two) + Info(3));
}

// A job of two ranks; this node has the first.
class GroupShared : public testing::Test {
 protected:
  GroupShared() { (void)jobs_.Add(JobOn("job", {0, 1})); }
  void Publish(const GroupRecord& result) {
    StepContext step{10, actions_};
    PublishShared(step, result, jobs_, /*persists=*/true, &modex_);
  }
  // Returns the value that PMIx_Get with the context id finds for a rank on
  // this node.
  std::string Find(Rank rank, size_t context) {
    const std::string name =
        QualifiedNameOf(kLocalCid, kContextId, Size(context));
    const Bytes kvals = modex_.SeenHere({"job", rank});
    Decoder in(kvals.view());
    KvalView kval;
    while (!in.AtEnd() && in.GetKval(&kval)) {
      if (kval.key == name) {
        return std::string(MeantValueIn(kval.value).value_or(""));
      }
    }
    return "";
  }

  JobTable jobs_{0};
  ModexStore modex_;
  Actions actions_;
};

TEST_F(GroupShared, SharedValuesBecomeDataOfTheirMembers) {
  const ProcId own{"job", 0};
  const ProcId far{"job", 1};
  Publish(Record({Info(1, &own), Info(2, &far)}, 5));
  Publish(Record({Info(3, &own), Info(4, &far)}, 6));
  EXPECT_EQ(Find(0, 5), Size(1));
  EXPECT_EQ(Find(1, 5), Size(2));
  EXPECT_EQ(Find(0, 6), Size(3));
  EXPECT_EQ(Find(1, 6), Size(4));
  EXPECT_EQ(Find(0, 7), "");
  EXPECT_EQ(All<PublishRank>(actions_).size(), 4u);
  // Only the data of the local rank is sent to other nodes and recorded for a
  // successor.
  EXPECT_NE(modex_.UpdateSince(own, 0).version, 0u);
  EXPECT_EQ(All<PersistRecord>(actions_).size(), 2u);
}

TEST_F(GroupShared, WithoutAContextIdNoDataIsPublished) {
  const ProcId own{"job", 0};
  Publish(Record({Info(1, &own)}, 0));
  EXPECT_TRUE(actions_.empty());
}

TEST_F(GroupShared, DataOfUnknownProcessesIsIgnored) {
  const ProcId none{"job", 2};
  const ProcId other{"another", 0};
  Publish(Record({Info(1, &none), Info(2, &other), Info(3)}, 5));
  EXPECT_TRUE(actions_.empty());
}

}  // namespace
}  // namespace canopy::core
