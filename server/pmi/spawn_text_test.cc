#include "server/pmi/spawn_text.h"

#include <gtest/gtest.h>

#include <vector>

#include "common/codec/decoder.h"
#include "common/values/element_ops.h"
#include "pmix_common.h"
#include "pmix_types.h"

namespace canopy::pmi {
namespace {

constexpr char kOne[] =
    "mcmd=spawn\nnprocs=2\nexecname=./child\ntotspawns=1\nspawnssofar=1\n"
    "arg1=-x\narg2=a b=c\nargcnt=2\npreput_num=1\npreput_key_0=PORT\n"
    "preput_val_0=tag#0$host\ninfo_num=2\ninfo_key_0=wdir\ninfo_val_0=/tmp\n"
    "info_key_1=soft\ninfo_val_1=1:2\nendcmd\n";

// Returns the codes of the lines, in order.
std::vector<int> AddAll(SpawnText* spawn, std::string_view text) {
  std::vector<int> codes;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    codes.push_back(spawn->Add(text.substr(0, end)));
    text.remove_prefix(end + 1);
  }
  return codes;
}

TEST(SpawnTextTest, ATextIsCompleteWhenItsLastCommandHasEnded) {
  SpawnText spawn;
  EXPECT_FALSE(spawn.complete());
  EXPECT_EQ(spawn.last_line(), "");
  AddAll(&spawn, "mcmd=spawn\nnprocs=1\nexecname=x\ntotspawns=2\n");
  EXPECT_EQ(spawn.last_line(), "totspawns=2");
  AddAll(&spawn, "spawnssofar=1\nendcmd\n");
  EXPECT_FALSE(spawn.complete());
  AddAll(&spawn,
         "mcmd=spawn\nnprocs=1\nexecname=y\ntotspawns=2\n"
         "spawnssofar=2\nendcmd\n");
  EXPECT_TRUE(spawn.complete());
}

TEST(SpawnTextTest, LinesThatDoNotBelongToASpawnAreRejected) {
  SpawnText spawn;
  EXPECT_EQ(spawn.Add("cmd=get"), kErrBadParam);
  EXPECT_EQ(spawn.Add(""), kErrBadParam);
  for (const int code : AddAll(&spawn, kOne)) EXPECT_EQ(code, kSuccess);
  EXPECT_EQ(spawn.Add("mcmd=spawn"), kErrBadParam);
  EXPECT_EQ(spawn.text(), kOne);
}

TEST(SpawnTextTest, TheSizeOfATextIsLimited) {
  SpawnText spawn;
  EXPECT_EQ(spawn.Add("mcmd=spawn"), kSuccess);
  const std::string line(kMaxSpawnBytes / 4, 'x');
  for (int i = 0; i < 3; ++i) EXPECT_EQ(spawn.Add(line), kSuccess);
  EXPECT_EQ(spawn.Add(line), kErrOutOfResource);
}

TEST(SpawnTextTest, TheCallContainsTheFieldsOfTheLines) {
  const auto call = SpawnCallOfLines(kOne);
  ASSERT_TRUE(call.ok());
  Decoder in(*call);
  size_t infos = 9, apps = 9;
  pmix_app_t app = {};
  ASSERT_TRUE(in.GetSize(&infos) && in.GetSize(&apps) &&
              in.GetElement(PMIX_APP, &app) && in.done());
  EXPECT_EQ(infos, 0u);
  EXPECT_EQ(apps, 1u);
  EXPECT_STREQ(app.cmd, "./child");
  EXPECT_EQ(app.maxprocs, 2);
  EXPECT_STREQ(app.argv[0], "./child");
  EXPECT_STREQ(app.argv[1], "-x");
  EXPECT_STREQ(app.argv[2], "a b=c");
  EXPECT_EQ(app.argv[3], nullptr);
  EXPECT_STREQ(app.env[0], "PMI_PREPUT_0=PORT=tag#0$host");
  EXPECT_EQ(app.env[1], nullptr);
  ASSERT_EQ(app.ninfo, 1u);
  EXPECT_STREQ(app.info[0].key, PMIX_WDIR);
  EXPECT_STREQ(app.info[0].value.data.string, "/tmp");
  DestructElement(*FindType(PMIX_APP), &app);
}

TEST(SpawnTextTest, InvalidTextsAreRejected) {
  EXPECT_EQ(SpawnCallOfLines("mcmd=spawn\nnprocs=1\nendcmd\n").code(),
            kErrBadParam);
  EXPECT_EQ(SpawnCallOfLines("mcmd=spawn\nexecname=x\nendcmd\n").code(),
            kErrBadParam);
  EXPECT_EQ(
      SpawnCallOfLines("mcmd=spawn\nexecname=x\nnprocs=-1\nendcmd\n").code(),
      kErrBadParam);
  EXPECT_EQ(
      SpawnCallOfLines("mcmd=spawn\nexecname=x\nnprocs=1\nargcnt=2000000000\n"
                       "arg1=a\nendcmd\n")
          .code(),
      kErrBadParam);
}

}  // namespace
}  // namespace canopy::pmi
