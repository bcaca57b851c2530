#include "common/values/iof_failure.h"

#include <gtest/gtest.h>

#include <vector>

#include "common/status.h"
#include "pmix_common.h"

namespace canopy {
namespace {

TEST(IofFailure, ContainsProcessesChannelsAndReason) {
  const std::vector<ProcId> procs = {{"job", 1}, {"job", 4}};
  const InfoList one =
      IofEventInfos({procs.data(), 1}, PMIX_FWD_STDERR_CHANNEL, kErrNotFound);
  ASSERT_EQ(one.size(), 3u);
  EXPECT_STREQ(one[0].value.data.proc->nspace, "job");
  EXPECT_EQ(one[0].value.data.proc->rank, 1u);
  EXPECT_EQ(one.FindUint(kIofChannels), PMIX_FWD_STDERR_CHANNEL);
  EXPECT_EQ(one.Find(kIofStatus)->value.data.status, PMIX_ERR_NOT_FOUND);
  const InfoList both =
      IofEventInfos(procs, PMIX_FWD_STDOUT_CHANNEL, kErrNotFound);
  EXPECT_EQ(both.Find(PMIX_EVENT_AFFECTED_PROC), nullptr);
  EXPECT_EQ(both.Find(PMIX_EVENT_AFFECTED_PROCS)->value.data.darray->size, 2u);
}

}  // namespace
}  // namespace canopy
