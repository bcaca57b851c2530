#include "client/tool/initiator.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <future>
#include <optional>
#include <string>
#include <utility>

#include "client/session/event_op.h"
#include "client/session/fake_agent.h"
#include "client/session/tool_bootstrap.h"
#include "client/tool/launcher_orders.h"
#include "common/launcher_orders_env.h"
#include "common/posix/unique_fd.h"

namespace canopy::client {
namespace {

std::promise<std::string>* g_ended = nullptr;

void OnEnd(size_t, pmix_status_t, const pmix_proc_t* source, pmix_info_t*,
           size_t, pmix_info_t*, size_t,
           pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
  g_ended->set_value(source->nspace);
  done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, cbdata);
}

class InitiatorTest : public testing::Test {
 protected:
  InitiatorTest() {
    EXPECT_NE(mkdtemp(place_), nullptr);
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    reader_ = ends[0];
    writer_ = UniqueFd(ends[1]);
  }
  ~InitiatorTest() override {
    session_.reset();
    unlink(File().c_str());
    rmdir(place_);
    for (const char* name :
         {kEnvRendezvousUri, kEnvRendezvousFile, kEnvKeepalivePipe}) {
      unsetenv(name);
    }
  }
  std::string File() const { return std::string(place_) + "/server"; }
  void Offer() {
    agent_.Rename({"initiator", 0});
    std::ofstream(File()) << "initiator.0;tcp4://127.0.0.1:1\n4.2.2\n1\n0:0\n"
                          << "now\ncanopy:" << agent_.socket_path() << "\n";
  }
  void Begin() {
    session_.emplace(MakeUnconnectedTool({"me", 0}),
                     /*external_progress=*/false);
  }

  char place_[32] = "/tmp/canopy-initiator-XXXXXX";
  int reader_ = -1;
  UniqueFd writer_;
  FakeAgent agent_;
  std::optional<Session> session_;
};

TEST_F(InitiatorTest, TakenVariablesAreRemovedFromTheEnvironment) {
  EXPECT_FALSE(TakeInitiator().any());
  Offer();
  setenv(kEnvRendezvousUri, "the-uri", 1);
  setenv(kEnvRendezvousFile, File().c_str(), 1);
  setenv(kEnvKeepalivePipe, std::to_string(reader_).c_str(), 1);
  LauncherOrders orders;
  orders.name = {"launcher", 0};
  setenv(kEnvLauncherOrders, WriteOrders(orders).value().c_str(), 1);
  const Initiator initiator = TakeInitiator();
  EXPECT_EQ(initiator.uri, "the-uri");
  EXPECT_EQ(initiator.file, File());
  EXPECT_EQ(initiator.keepalive_pipe, reader_);
  EXPECT_EQ(initiator.orders.name, orders.name);
  EXPECT_EQ(getenv(kEnvLauncherOrders), nullptr);
  EXPECT_EQ(getenv(kEnvRendezvousUri), nullptr);
  EXPECT_EQ(getenv(kEnvRendezvousFile), nullptr);
  EXPECT_EQ(getenv(kEnvKeepalivePipe), nullptr);
  close(reader_);
}

TEST_F(InitiatorTest, TheVariableOfAnAbsentFileIsKeptForALauncher) {
  setenv(kEnvRendezvousFile, File().c_str(), 1);
  EXPECT_FALSE(TakeInitiator().any());
  EXPECT_STREQ(getenv(kEnvRendezvousFile), File().c_str());
  close(reader_);
}

TEST_F(InitiatorTest, TheEndOfThePipeRaisesTheEndOfTheInitiator) {
  std::promise<std::string> ended;
  g_ended = &ended;
  Begin();
  pmix_status_t code = PMIX_EVENT_JOB_END;
  Registration registration;
  registration.codes = &code;
  registration.ncodes = 1;
  registration.function = OnEnd;
  ASSERT_GE(RegisterHandler(*session_, registration), 0);
  Initiator initiator;
  initiator.keepalive_pipe = reader_;
  ASSERT_EQ(FollowInitiator(*session_, initiator), PMIX_SUCCESS);
  EXPECT_NE(fcntl(reader_, F_GETFD) & FD_CLOEXEC, 0);
  ASSERT_EQ(write(writer_.get(), "x", 1), 1);
  writer_ = UniqueFd();
  EXPECT_EQ(ended.get_future().get(), "me");
}

TEST_F(InitiatorTest, TheToolAttachesToItsInitiator) {
  Offer();
  Begin();
  Initiator initiator;
  initiator.file = File();
  ASSERT_EQ(FollowInitiator(*session_, initiator), PMIX_SUCCESS);
  ASSERT_EQ(session_->servers().names().size(), 1u);
  EXPECT_EQ(session_->servers().names()[0].nspace, "initiator");
  initiator.file.clear();
  initiator.uri = "file:" + File();
  EXPECT_EQ(FollowInitiator(*session_, initiator), PMIX_SUCCESS);
  EXPECT_EQ(session_->servers().names().size(), 1u);
  close(reader_);
}

TEST_F(InitiatorTest, MalformedVariablesAreReported) {
  Begin();
  Initiator initiator;
  initiator.uri = "file:/nowhere/at/all";
  EXPECT_EQ(FollowInitiator(*session_, initiator), PMIX_ERR_NOT_FOUND);
  setenv(kEnvKeepalivePipe, "rubbish", 1);
  setenv(kEnvLauncherOrders, "rubbish", 1);
  initiator = TakeInitiator();
  EXPECT_EQ(initiator.orders.name.nspace, "");
  EXPECT_TRUE(initiator.any());
  EXPECT_EQ(FollowInitiator(*session_, initiator), PMIX_ERR_BAD_PARAM);
  close(reader_);
}

}  // namespace
}  // namespace canopy::client
