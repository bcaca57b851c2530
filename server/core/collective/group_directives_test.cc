#include "server/core/collective/group_directives.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/codec/encoder.h"
#include "common/status.h"
#include "server/core/collective/group_shared.h"

namespace canopy::core {
namespace {

struct One {
  std::string key;
  bool value = true;
  uint32_t flags = 0;
};

Bytes Infos(const std::vector<One>& all) {
  Encoder out;
  out.PutSize(all.size());
  for (const One& one : all) {
    out.PutString(one.key);
    out.PutUint32(one.flags);
    out.PutUint16(PMIX_BOOL);
    out.PutBool(one.value);
  }
  return Bytes(out.Take());
}

int Parse(const Bytes& info, GroupDirectives* out) {
  *out = {};
  return ParseGroupDirectives(info, {"job", 1}, CollectiveOp::kGroupConstruct,
                              out);
}

TEST(GroupDirectives, FlagsAreRead) {
  GroupDirectives out;
  ASSERT_EQ(Parse(Infos({{"pmix.grp.actxid"},
                         {"pmix.grp.notterm", true, 1},
                         {"pmix.grp.opt", false},
                         {"pmix.grp.ldr"},
                         {"pmix.grp.lcl"}}),
                  &out),
            kSuccess);
  EXPECT_EQ(out.record.flags, kGroupAssignsContextId | kGroupNotifies);
  EXPECT_TRUE(out.leads);
  EXPECT_TRUE(out.local_only);
  EXPECT_EQ(Parse(Bytes(), &out), kSuccess);
  EXPECT_EQ(out.record.flags, 0u);
}

TEST(GroupDirectives, ADestructHonoursOnlyATimeLimit) {
  const auto parse = [](const Bytes& info, GroupDirectives* out) {
    return ParseGroupDirectives(info, {"job", 1}, CollectiveOp::kGroupDestruct,
                                out);
  };
  GroupDirectives out;
  EXPECT_EQ(parse(Infos({{"pmix.timeout", true, 1}}), &out), kSuccess);
  EXPECT_TRUE(out.ignored.empty());
  for (const char* key : {"pmix.grp.opt", "pmix.grp.info", "pmix.collect"}) {
    EXPECT_EQ(parse(Infos({{key, true, 1}}), &out), kErrNotSupported) << key;
  }
  EXPECT_EQ(parse(Infos({{"pmix.grp.opt"}}), &out), kSuccess);
  EXPECT_EQ(out.record.flags, 0u);
  EXPECT_EQ(out.ignored, std::vector<std::string>{"pmix.grp.opt"});
}

TEST(GroupDirectives, SharedInfosAreKeptUnchanged) {
  GroupDirectives out;
  ASSERT_EQ(Parse(Infos({{"pmix.grp.info"}, {"x"}, {"pmix.grp.endpt"}}), &out),
            kSuccess);
  EXPECT_EQ(out.record.num_shared, 2u);
  const Bytes both = Infos({{"pmix.grp.info"}, {"pmix.grp.endpt"}});
  const Bytes none = Infos({});
  EXPECT_EQ(out.record.shared, both.view().substr(none.size()));
}

// The directive is shared as if it were in PMIX_GROUP_INFO.
TEST(GroupDirectives, ALocalContextIdIsSharedWithAllMembers) {
  GroupDirectives out;
  ASSERT_EQ(Parse(Infos({{"pmix.grp.lclid", true, 1}}), &out), kSuccess);
  EXPECT_EQ(out.record.num_shared, 1u);
  Encoder value;
  value.PutUint16(PMIX_BOOL);
  value.PutBool(true);
  EXPECT_EQ(out.record.shared,
            SharedBy({"job", 1}, "pmix.grp.lclid", value.Take()));
}

TEST(GroupDirectives, TooManySharedBytesAreRefused) {
  Encoder out;
  out.PutSize(1);
  out.PutString("pmix.grp.endpt");
  out.PutUint32(0);
  out.PutUint16(PMIX_STRING);
  out.PutString(std::string(kMaxSharedBytes, 'x'));
  GroupDirectives directives;
  EXPECT_EQ(Parse(Bytes(out.Take()), &directives), kErrOutOfResource);
}

TEST(GroupDirectives, RequiredUnknownDirectivesAreRefused) {
  GroupDirectives out;
  EXPECT_EQ(Parse(Infos({{"site.wish"}}), &out), kSuccess);
  EXPECT_EQ(Parse(Infos({{"site.wish", true, 1}}), &out), kErrNotSupported);
  EXPECT_EQ(Parse(Infos({{"pmix.grp.btstrp"}}), &out), kErrNotSupported);
  EXPECT_EQ(Parse(Infos({{"pmix.grp.add"}}), &out), kErrNotSupported);
}

TEST(GroupDirectives, TruncatedDirectivesAreRejected) {
  GroupDirectives out;
  const Bytes whole = Infos({{"pmix.grp.actxid"}, {"pmix.grp.info"}});
  for (size_t size = 1; size < whole.size(); ++size) {
    EXPECT_EQ(Parse(whole.Slice(0, size), &out), kErrBadParam) << size;
  }
}

}  // namespace
}  // namespace canopy::core
