#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/tools/calls.h"
#include "client/tools/launch_words.h"
#include "pmix.h"

namespace canopy::tools {
namespace {

using Words = std::vector<std::string>;

Result<Words> Read(Infos& infos) {
  return LaunchWords({infos.data(), infos.size()});
}

TEST(LaunchWordsTest, EachDirectiveHasAnOption) {
  Infos infos;
  const uint32_t seconds = 7;
  const bool no = false;
  pmix_envar_t variable = {};
  variable.envar = const_cast<char*>("WORD");
  variable.value = const_cast<char*>("two words");
  infos.AddText(PMIX_MAPBY, "node");
  infos.AddFlag(PMIX_TAG_OUTPUT);
  infos.Add(PMIX_REPORT_BINDINGS, &no, PMIX_BOOL);
  infos.AddFlag(PMIX_FWD_STDOUT);
  infos.AddFlag(PMIX_NOTIFY_JOB_EVENTS);
  infos.Add(PMIX_JOB_TIMEOUT, &seconds, PMIX_UINT32);
  infos.Add(PMIX_SET_ENVAR, &variable, PMIX_ENVAR);
  const Result<Words> words = Read(infos);
  ASSERT_TRUE(words.ok());
  EXPECT_EQ(*words, (Words{"--map-by", "node", "--tag-output", "--timeout", "7",
                           "--genv", "WORD", "two words"}));
}

TEST(LaunchWordsTest, StopsBecomeOptionsForAllOrSomeRanks) {
  Infos all;
  const pmix_rank_t everyone = PMIX_RANK_WILDCARD;
  const bool no = false;
  all.Add(PMIX_DEBUG_STOP_IN_INIT, &everyone, PMIX_PROC_RANK);
  all.AddFlag(PMIX_DEBUG_STOP_ON_EXEC);
  all.Add(PMIX_DEBUG_STOP_IN_APP, &no, PMIX_BOOL);
  EXPECT_EQ(Read(all).value(), (Words{"--stop-in-init", "--stop-on-exec"}));
  Infos some;
  pmix_proc_t procs[2];
  PMIX_PROC_LOAD(&procs[0], "", 3);
  PMIX_PROC_LOAD(&procs[1], "", 1);
  pmix_data_array_t array = {PMIX_PROC, 2, procs};
  some.Add(PMIX_DEBUG_STOP_IN_APP, &array, PMIX_DATA_ARRAY);
  EXPECT_EQ(Read(some).value(),
            (Words{"--stop-in-app", "--stop-ranks", "1,3"}));
  some.AddFlag(PMIX_DEBUG_STOP_ON_EXEC);
  EXPECT_EQ(Read(some).code(), kErrNotSupported);
}

TEST(LaunchWordsTest, RefusedDirectivesAreNamed) {
  Infos unknown;
  unknown.AddText(PMIX_LAUNCHER_DAEMON, "/bin/true");
  EXPECT_EQ(Read(unknown).code(), kErrNotSupported);
  EXPECT_EQ(Read(unknown).status().message(),
            "'canopy run' has no option for PMIX_LAUNCHER_DAEMON");
  Infos wrong;
  wrong.AddFlag(PMIX_MAPBY);
  EXPECT_EQ(Read(wrong).code(), kErrBadParam);
  Infos none;
  pmix_data_array_t nobody = {PMIX_PROC, 0, nullptr};
  none.Add(PMIX_DEBUG_STOP_IN_APP, &nobody, PMIX_DATA_ARRAY);
  EXPECT_EQ(Read(none).code(), kErrBadParam);
  Infos empty;
  EXPECT_TRUE(Read(empty).value().empty());
}

}  // namespace
}  // namespace canopy::tools
