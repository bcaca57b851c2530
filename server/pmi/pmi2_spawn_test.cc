#include "server/pmi/pmi2_spawn.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "common/codec/decoder.h"
#include "common/values/element_ops.h"
#include "pmix_common.h"
#include "pmix_types.h"
#include "server/pmi/pmi2_wire.h"

namespace canopy::pmi {
namespace {

int CodeOf(std::string_view message) {
  return SpawnCallOfPairs(*PairsIn(message)).code();
}

class Call {
 public:
  explicit Call(const std::string& call) {
    Decoder in(call);
    size_t infos = 9, count = 0;
    EXPECT_TRUE(in.GetSize(&infos) && in.GetSize(&count));
    EXPECT_EQ(infos, 0u);
    apps_.resize(count);
    for (pmix_app_t& app : apps_) {
      EXPECT_TRUE(in.GetElement(PMIX_APP, &app));
    }
    EXPECT_TRUE(in.done());
  }
  ~Call() {
    for (pmix_app_t& app : apps_) DestructElement(*FindType(PMIX_APP), &app);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const std::vector<pmix_app_t>& apps() const { return apps_; }

 private:
  std::vector<pmix_app_t> apps_;
};

std::vector<std::string> Texts(char** texts) {
  std::vector<std::string> out;
  for (; texts != nullptr && *texts != nullptr; ++texts)
    out.emplace_back(*texts);
  return out;
}

// The call would contain all pairs once for each command.
TEST(Pmi2SpawnTest, AShortMessageCannotBecomeAHugeCall) {
  std::string message = "ncmds=1000;preputcount=1500;";
  for (int i = 0; i < 1500; ++i) message += "ppkey=k;ppval=v;";
  for (int i = 0; i < 1000; ++i) message += "subcmd=x;maxprocs=1;argc=0;";
  ASSERT_LT(message.size(), kMaxMessage);
  EXPECT_EQ(CodeOf(message), kErrOutOfResource);
}

TEST(Pmi2SpawnTest, TheCallContainsArgumentsHintsAndPairsOfEachCommand) {
  const auto encoded = SpawnCallOfPairs(
      *PairsIn("thrid=1;ncmds=2;preputcount=2;ppkey0=a b;ppval0=c;ppkey1=d;"
               "ppval1=;subcmd=x;maxprocs=1;argc=2;argv0=-y;argv1=z;;;"
               "infokeycount=2;infokey0=wdir;infoval0=/usr;infokey1=colour;"
               "infoval1=blue;subcmd=/bin/w;maxprocs=3;argc=0;"));
  ASSERT_TRUE(encoded.ok());
  const Call call(encoded.value());
  ASSERT_EQ(call.apps().size(), 2u);
  const pmix_app_t& first = call.apps()[0];
  EXPECT_EQ(Texts(first.argv), (std::vector<std::string>{"x", "-y", "z;"}));
  EXPECT_EQ(Texts(first.env), (std::vector<std::string>{"PMI_PREPUT_0=a b=c",
                                                        "PMI_PREPUT_1=d="}));
  EXPECT_EQ(first.maxprocs, 1);
  ASSERT_EQ(first.ninfo, 1u);
  EXPECT_STREQ(first.info[0].key, PMIX_WDIR);
  EXPECT_STREQ(first.info[0].value.data.string, "/usr");
  const pmix_app_t& second = call.apps()[1];
  EXPECT_STREQ(second.cmd, "/bin/w");
  EXPECT_EQ(second.maxprocs, 3);
  EXPECT_EQ(second.ninfo, 0u);
  EXPECT_EQ(Texts(second.env).size(), 2u);
}

TEST(Pmi2SpawnTest, TheCountsMustMatchThePairs) {
  EXPECT_EQ(CodeOf("ncmds=1;subcmd=x;maxprocs=1;argc=0;"), kSuccess);
  for (const char* message : {
           "",
           "ncmds=0;",
           "ncmds=2;subcmd=x;maxprocs=1;argc=0;",
           "subcmd=x;maxprocs=1;argc=0;",
           "ncmds=1;subcmd=;maxprocs=1;argc=0;",
           "ncmds=1;subcmd=x;argc=0;",
           "ncmds=1;subcmd=x;maxprocs=0;argc=0;",
           "ncmds=1;subcmd=x;maxprocs=-1;argc=0;",
           "ncmds=1;subcmd=x;maxprocs=4294967297;argc=0;",
           "ncmds=1;subcmd=x;maxprocs=1;argc=1;",
           "ncmds=1;subcmd=x;maxprocs=1;argc=0;argv0=y;",
           "ncmds=1;subcmd=x;maxprocs=1;argc=99999999999999999999;",
           "ncmds=1;preputcount=1;subcmd=x;maxprocs=1;argc=0;",
           "ncmds=1;preputcount=0;ppkey0=a;ppval0=b;subcmd=x;maxprocs=1;argc="
           "0;",
           "ncmds=1;preputcount=1;ppval0=b;subcmd=x;maxprocs=1;argc=0;",
           "ncmds=1;subcmd=x;maxprocs=1;argc=0;infokeycount=1;infokey0=host;",
           "ncmds=1;subcmd=x;maxprocs=1;argc=0;infokeycount=1;",
       }) {
    EXPECT_EQ(CodeOf(message), kErrBadParam) << message;
  }
}

}  // namespace
}  // namespace canopy::pmi
