#include "server/library/wanted_events.h"

#include <gtest/gtest.h>

#include <vector>

#include "common/values/info_list.h"
#include "pmix_common.h"
#include "server/library/library_testing.h"

namespace canopy::library {
namespace {

constexpr int kNodeDown = PMIX_EVENT_NODE_DOWN;
constexpr int kNodeOffline = PMIX_EVENT_NODE_OFFLINE;
constexpr WantedEvents::User kUser = {7, 8};

class WantedEventsTest : public WithUpcalls<WantedEventsTest> {
 public:
  WantedEventsTest() {
    module_.register_events = [](pmix_status_t* codes, size_t ncodes,
                                 const pmix_info_t infos[], size_t ninfo,
                                 pmix_op_cbfunc_t done, void* cbdata) {
      const InfoList given = InfoList::FromC(infos, ninfo);
      EXPECT_EQ(given.FindUint(PMIX_USERID), 7u);
      EXPECT_EQ(given.FindUint(PMIX_GRPID), 8u);
      current->registered_.emplace_back(codes, codes + ncodes);
      if (current->answers_) done(current->status_, cbdata);
      current->cbdata_ = cbdata;
      return static_cast<pmix_status_t>(PMIX_SUCCESS);
    };
    module_.deregister_events = [](pmix_status_t* codes, size_t ncodes,
                                   pmix_op_cbfunc_t, void*) {
      current->deregistered_.emplace_back(codes, codes + ncodes);
      return static_cast<pmix_status_t>(PMIX_OPERATION_SUCCEEDED);
    };
  }

  bool Add(core::ClientId client, std::vector<int> codes) {
    core::EventsWanted in;
    in.client = client;
    in.codes = std::move(codes);
    const bool concerned =
        events_.Add(in, kUser, [this](int status) { told_.push_back(status); });
    Run();
    return concerned;
  }

  using Codes = std::vector<int>;
  WantedEvents events_{&module_, &upcalls()};
  std::vector<Codes> registered_, deregistered_;
  std::vector<int> told_;
  bool answers_ = true;
  int status_ = PMIX_SUCCESS;
  void* cbdata_ = nullptr;
};

TEST_F(WantedEventsTest, CodesOfJobsAreNotRegisteredWithTheHost) {
  EXPECT_FALSE(Add(1, {PMIX_ERR_PROC_ABORTED, PMIX_EXTERNAL_ERR_BASE - 1}));
  EXPECT_TRUE(registered_.empty());
}

TEST_F(WantedEventsTest, EachCodeIsRegisteredOnce) {
  EXPECT_TRUE(Add(1, {kNodeDown, PMIX_ERR_PROC_ABORTED}));
  EXPECT_EQ(told_, Codes{PMIX_SUCCESS});
  EXPECT_FALSE(Add(2, {kNodeDown}));
  EXPECT_TRUE(Add(2, {kNodeDown, kNodeOffline}));
  EXPECT_EQ(registered_, (std::vector<Codes>{{kNodeDown}, {kNodeOffline}}));
}

TEST_F(WantedEventsTest, UnwantedCodesAreDeregistered) {
  Add(1, {kNodeDown});
  Add(2, {kNodeDown, kNodeOffline});
  events_.RemoveAll(1);
  EXPECT_TRUE(deregistered_.empty());
  core::EventsUnwanted unwanted;
  unwanted.client = 2;
  unwanted.codes = {kNodeDown};
  events_.Remove(unwanted);
  EXPECT_EQ(deregistered_, (std::vector<Codes>{{kNodeDown}}));
  EXPECT_TRUE(Add(3, {kNodeDown}));
  EXPECT_EQ(registered_.size(), 3u);
}

TEST_F(WantedEventsTest, ARefusedCodeIsRegisteredAgainForTheNextCaller) {
  status_ = PMIX_ERR_NO_PERMISSIONS;
  EXPECT_TRUE(Add(1, {kNodeDown}));
  EXPECT_TRUE(Add(1, {kNodeDown}));
  EXPECT_EQ(told_, (Codes{PMIX_ERR_NO_PERMISSIONS, PMIX_ERR_NO_PERMISSIONS}));
  events_.RemoveAll(1);
  EXPECT_TRUE(deregistered_.empty());
}

TEST_F(WantedEventsTest, WithoutAHostFunctionARegistrationIsNotSupported) {
  module_.register_events = nullptr;
  EXPECT_TRUE(Add(1, {kNodeDown}));
  EXPECT_EQ(told_, Codes{PMIX_ERR_NOT_SUPPORTED});
}

TEST_F(WantedEventsTest, ConcurrentCallersWaitForTheSameAnswer) {
  answers_ = false;
  EXPECT_TRUE(Add(1, {kNodeDown}));
  EXPECT_TRUE(Add(2, {kNodeDown}));
  EXPECT_EQ(registered_.size(), 1u);
  Upcalls::OnOp(PMIX_SUCCESS, cbdata_);
  Run();
  EXPECT_EQ(told_, (Codes{PMIX_SUCCESS, PMIX_SUCCESS}));
  EXPECT_EQ(registered_.size(), 1u);
  events_.RemoveAll(1);
  EXPECT_TRUE(deregistered_.empty());
}

TEST_F(WantedEventsTest, CodesOfAGoneCallerAreDeregisteredAfterTheAnswer) {
  answers_ = false;
  EXPECT_TRUE(Add(1, {kNodeDown}));
  events_.RemoveAll(1);
  EXPECT_TRUE(deregistered_.empty());
  Upcalls::OnOp(PMIX_SUCCESS, cbdata_);
  Run();
  EXPECT_EQ(deregistered_, (std::vector<Codes>{{kNodeDown}}));
}

}  // namespace
}  // namespace canopy::library
