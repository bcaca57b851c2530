// Tests of non-blocking calls without a callback: the caller ignores the
// outcome.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "client/abi/client_fixture.h"
#include "common/codec/infos.h"
#include "common/values/info_list.h"
#include "pmix.h"

namespace canopy::client {
namespace {

using local::FrameType;

class NoCallbackTest : public ClientTest {
 protected:
  NoCallbackTest() : all_(Proc(agent_->nspace(), PMIX_RANK_WILDCARD)) {
    for (const FrameType type :
         {FrameType::kCollective, FrameType::kGroupCall, FrameType::kPublish,
          FrameType::kLookup, FrameType::kUnpublish, FrameType::kSpawn,
          FrameType::kQuery, FrameType::kHostCall}) {
      agent_->On(type, [](FakeAgent& agent, const Request& request) {
        agent.Reply(request, kSuccess, Answer());
      });
    }
  }

  // Waits until the agent has the request, and then for a get. Answers arrive
  // in order, so the library has the answer to the request afterwards.
  void ExpectTaken(FrameType type, int status) {
    EXPECT_EQ(status, PMIX_SUCCESS);
    (void)agent_->Await(type);
    Get(2, "absent");
    EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
  }
  static std::string Answer() {
    const InfoList infos{{"k", Value::Int(1)}};
    std::string out;
    EXPECT_EQ(EncodeInfos(infos.data(), infos.size(), &out), PMIX_SUCCESS);
    return out;
  }

  const pmix_proc_t all_;
  InfoList info_{{"key", Value::Int(1)}};
};

TEST_F(NoCallbackTest, AFenceWithoutACallbackBlocks) {
  EXPECT_EQ(PMIx_Fence_nb(nullptr, 0, nullptr, 0, nullptr, nullptr),
            PMIX_SUCCESS);
  agent_->On(FrameType::kCollective, [](FakeAgent& agent, const Request& r) {
    agent.Reply(r, kErrTimeout);
  });
  EXPECT_EQ(PMIx_Fence_nb(nullptr, 0, nullptr, 0, nullptr, nullptr),
            PMIX_ERR_TIMEOUT);
}

TEST_F(NoCallbackTest, ConnectAndDisconnectNeedNoCallback) {
  ExpectTaken(FrameType::kCollective,
              PMIx_Connect_nb(&all_, 1, nullptr, 0, nullptr, nullptr));
  ExpectTaken(FrameType::kCollective,
              PMIx_Disconnect_nb(&all_, 1, nullptr, 0, nullptr, nullptr));
  EXPECT_EQ(agent_->Count(FrameType::kCollective), 2u);
}

TEST_F(NoCallbackTest, GroupCallsNeedNoCallback) {
  ExpectTaken(
      FrameType::kCollective,
      PMIx_Group_construct_nb("g", &all_, 1, nullptr, 0, nullptr, nullptr));
  ExpectTaken(FrameType::kCollective,
              PMIx_Group_destruct_nb("g", nullptr, 0, nullptr, nullptr));
  ExpectTaken(FrameType::kGroupCall,
              PMIx_Group_leave_nb("g", nullptr, 0, nullptr, nullptr));
  const pmix_proc_t other = Proc(agent_->nspace(), 1);
  ExpectTaken(FrameType::kNotify, PMIx_Group_invite_nb("h", &other, 1, nullptr,
                                                       0, nullptr, nullptr));
  ExpectTaken(FrameType::kNotify,
              PMIx_Group_join_nb("i", &other, PMIX_GROUP_ACCEPT, nullptr, 0,
                                 nullptr, nullptr));
}

TEST_F(NoCallbackTest, PublishLookupAndUnpublishNeedNoCallback) {
  char key[] = "key";
  char* keys[] = {key, nullptr};
  ExpectTaken(FrameType::kPublish,
              PMIx_Publish_nb(info_.data(), 1, nullptr, nullptr));
  ExpectTaken(FrameType::kLookup,
              PMIx_Lookup_nb(keys, nullptr, 0, nullptr, nullptr));
  ExpectTaken(FrameType::kUnpublish,
              PMIx_Unpublish_nb(nullptr, nullptr, 0, nullptr, nullptr));
}

TEST_F(NoCallbackTest, SpawnAndQueryNeedNoCallback) {
  pmix_app_t app = {};
  char program[] = "child";
  app.cmd = program;
  app.maxprocs = 1;
  ExpectTaken(FrameType::kSpawn,
              PMIx_Spawn_nb(nullptr, 0, &app, 1, nullptr, nullptr));
  char key[] = "key";
  char* keys[] = {key, nullptr};
  pmix_query_t query = {keys, nullptr, 0};
  ExpectTaken(FrameType::kQuery,
              PMIx_Query_info_nb(&query, 1, nullptr, nullptr));
}

TEST_F(NoCallbackTest, HostCallsNeedNoCallback) {
  pmix_info_t* const info = info_.mutable_data();
  ExpectTaken(FrameType::kHostCall,
              PMIx_Job_control_nb(nullptr, 0, info, 1, nullptr, nullptr));
  ExpectTaken(FrameType::kHostCall,
              PMIx_Process_monitor_nb(info, -1, nullptr, 0, nullptr, nullptr));
  ExpectTaken(FrameType::kHostCall,
              PMIx_Log_nb(info, 1, nullptr, 0, nullptr, nullptr));
  ExpectTaken(
      FrameType::kHostCall,
      PMIx_Allocation_request_nb(PMIX_ALLOC_NEW, info, 1, nullptr, nullptr));
  char block[] = "block";
  ExpectTaken(FrameType::kHostCall,
              PMIx_Resource_block_nb(PMIX_RESOURCE_BLOCK_DEFINE, block, nullptr,
                                     0, nullptr, 0, nullptr, nullptr));
  ExpectTaken(FrameType::kHostCall,
              PMIx_Get_credential_nb(nullptr, 0, nullptr, nullptr));
  const pmix_byte_object_t credential = {block, 5};
  ExpectTaken(
      FrameType::kHostCall,
      PMIx_Validate_credential_nb(&credential, nullptr, 0, nullptr, nullptr));
  EXPECT_EQ(agent_->Count(FrameType::kHostCall), 7u);
}

TEST_F(NoCallbackTest, ErrorsAreReturned) {
  const pmix_proc_t other = Proc("job-2", 0);
  EXPECT_EQ(PMIx_Connect_nb(&other, 1, nullptr, 0, nullptr, nullptr),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Disconnect_nb(&other, 1, nullptr, 0, nullptr, nullptr),
            PMIX_ERR_INVALID_OPERATION);
  EXPECT_EQ(PMIx_Group_join_nb("g", nullptr, PMIX_GROUP_ACCEPT, nullptr, 0,
                               nullptr, nullptr),
            PMIX_ERR_BAD_PARAM)
      << "nobody has invited this process";
}

}  // namespace
}  // namespace canopy::client
