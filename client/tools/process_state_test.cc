#include "client/tools/process_state.h"

#include <gtest/gtest.h>

namespace canopy::tools {
namespace {

std::string Text(pmix_proc_state_t state, char os_state = 'S', int code = 0) {
  pmix_proc_info_t process = {};
  process.state = state;
  process.exit_code = code;
  return StateText(process, os_state);
}

TEST(ProcessStateTest, StatesAreDescribedInWordsOfUsers) {
  EXPECT_EQ(Text(PMIX_PROC_STATE_RUNNING), "running");
  EXPECT_EQ(Text(PMIX_PROC_STATE_CONNECTED), "in MPI");
  EXPECT_EQ(Text(PMIX_PROC_STATE_TERM_NON_ZERO, 'S', 3), "exited 3");
  EXPECT_EQ(Text(PMIX_PROC_STATE_TERMINATED), "exited 0");
  EXPECT_EQ(Text(PMIX_PROC_STATE_UNDEF), "unknown");
}

TEST(ProcessStateTest, StoppedProcessesAreAlive) {
  EXPECT_EQ(Text(PMIX_PROC_STATE_CONNECTED, 'T'), "stopped");
  EXPECT_EQ(Text(PMIX_PROC_STATE_RUNNING, 't'), "stopped");
  EXPECT_EQ(Text(PMIX_PROC_STATE_TERMINATED, 'T'), "exited 0");
  EXPECT_EQ(Text(PMIX_PROC_STATE_PREPPED, 'T'), "preparing");
}

}  // namespace
}  // namespace canopy::tools
