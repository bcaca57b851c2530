#include "server/library/upcalls.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <vector>

namespace canopy::library {
namespace {

class UpcallsTest : public testing::Test {
 protected:
  UpcallsTest() { upcalls().Open(&loop_); }
  ~UpcallsTest() override { upcalls().Close(); }

  static Upcalls& upcalls() { return Upcalls::OfProcess(); }

  // Calls a function that runs `body` and returns `status`.
  void Call(
      pmix_status_t status,
      const std::function<void(void*)>& body = [](void*) {}) {
    upcalls().Call(
        nullptr,
        [&](void* cbdata) {
          cbdata_ = cbdata;
          body(cbdata);
          return status;
        },
        [this](const HostAnswer& answer) {
          answers_.push_back(answer.status);
          data_ = answer.data;
        });
  }

  EventLoop loop_;
  void* cbdata_ = nullptr;  // of the last call
  std::vector<int> answers_;
  std::string data_;
};

TEST_F(UpcallsTest, AnAnswerIsHandledInALaterRoundOfTheLoop) {
  Call(PMIX_SUCCESS);
  loop_.RunOnce(0);
  EXPECT_TRUE(answers_.empty());
  Upcalls::OnOp(PMIX_ERR_TIMEOUT, cbdata_);
  EXPECT_TRUE(answers_.empty());
  loop_.RunOnce(0);
  EXPECT_EQ(answers_, std::vector<int>{PMIX_ERR_TIMEOUT});
}

// The answer would have no receiver.
TEST_F(UpcallsTest, AfterCloseTheHostIsNotCalled) {
  upcalls().Close();
  bool called = false;
  Call(PMIX_OPERATION_SUCCEEDED, [&](void*) { called = true; });
  loop_.RunOnce(0);
  EXPECT_FALSE(called);
  EXPECT_TRUE(answers_.empty());
}

// The destructor of a callback ends the wait for the answer.
TEST_F(UpcallsTest, CloseFreesPendingCallbacks) {
  const auto waits = std::make_shared<int>(0);
  upcalls().Call(
      nullptr, [](void*) { return static_cast<pmix_status_t>(PMIX_SUCCESS); },
      [waits](const HostAnswer&) { ADD_FAILURE(); });
  EXPECT_EQ(waits.use_count(), 2);
  upcalls().Close();
  EXPECT_EQ(waits.use_count(), 1);
}

TEST_F(UpcallsTest, AnImmediateCompletionIsASuccess) {
  Call(PMIX_OPERATION_SUCCEEDED);
  loop_.RunOnce(0);
  EXPECT_EQ(answers_, std::vector<int>{PMIX_SUCCESS});
}

TEST_F(UpcallsTest, AReturnedErrorIsTheAnswer) {
  Call(PMIX_ERR_NOT_SUPPORTED);
  loop_.RunOnce(0);
  EXPECT_EQ(answers_, std::vector<int>{PMIX_ERR_NOT_SUPPORTED});
}

// Some hosts call back and return the error as well.
TEST_F(UpcallsTest, OnlyTheFirstAnswerIsUsed) {
  Call(PMIX_ERROR, [](void* cbdata) { Upcalls::OnOp(PMIX_ERR_INIT, cbdata); });
  Upcalls::OnOp(PMIX_SUCCESS, cbdata_);
  loop_.RunOnce(0);
  EXPECT_EQ(answers_, std::vector<int>{PMIX_ERR_INIT});
}

// Hosts hold locks during the callback, and their release function takes these
// locks too.
TEST_F(UpcallsTest, DataIsReleasedAfterTheCallback) {
  Call(PMIX_SUCCESS);
  std::string data = "bytes";
  const auto release = [](void* text) {
    static_cast<std::string*>(text)->assign("xxxxx");
  };
  Upcalls::OnModex(PMIX_SUCCESS, data.data(), data.size(), cbdata_, release,
                   &data);
  EXPECT_EQ(data, "bytes");
  loop_.RunOnce(0);
  EXPECT_EQ(data_, "bytes");
  EXPECT_EQ(data, "xxxxx");
}

TEST_F(UpcallsTest, DataIsReleasedWithoutAReceiver) {
  std::string data = "bytes";
  const auto release = [](void* text) {
    static_cast<std::string*>(text)->clear();
  };
  upcalls().Close();
  Upcalls::OnModex(PMIX_SUCCESS, data.data(), data.size(), cbdata_, release,
                   &data);
  EXPECT_TRUE(data.empty());
}

TEST_F(UpcallsTest, ArgumentsLiveUntilTheAnswer) {
  auto arguments = std::make_shared<int>(1);
  const std::weak_ptr<int> alive = arguments;
  upcalls().Call(
      std::move(arguments),
      [&](void* cbdata) {
        cbdata_ = cbdata;
        return PMIX_SUCCESS;
      },
      [](const HostAnswer&) {});
  EXPECT_FALSE(alive.expired());
  Upcalls::OnOp(PMIX_SUCCESS, cbdata_);
  EXPECT_TRUE(alive.expired());
}

TEST_F(UpcallsTest, AnswersAfterCloseAreIgnored) {
  Call(PMIX_SUCCESS);
  upcalls().Close();
  Upcalls::OnOp(PMIX_SUCCESS, cbdata_);
  Upcalls::OnOp(PMIX_SUCCESS, Upcalls::kForgotten);
  upcalls().Open(&loop_);
  loop_.RunOnce(0);
  EXPECT_TRUE(answers_.empty());
}

TEST_F(UpcallsTest, ACallEndsAtItsTimeout) {
  const auto arguments = std::make_shared<int>(1);
  upcalls().Call(
      arguments,
      [&](void* cbdata) {
        cbdata_ = cbdata;
        return PMIX_SUCCESS;
      },
      [this](const HostAnswer& answer) { answers_.push_back(answer.status); },
      /*timeout_ms=*/1);
  for (int i = 0; i < 1000 && answers_.empty(); ++i) loop_.RunOnce(10);
  EXPECT_EQ(answers_, std::vector<int>{PMIX_ERR_TIMEOUT});
  // The host's function may read its arguments until it answers.
  EXPECT_EQ(arguments.use_count(), 2);
  Upcalls::OnOp(PMIX_SUCCESS, cbdata_);
  loop_.RunOnce(0);
  EXPECT_EQ(arguments.use_count(), 1);
  EXPECT_EQ(answers_.size(), 1u);
}

TEST_F(UpcallsTest, TheAnswerContainsTheNameOfTheTool) {
  ProcId name;
  upcalls().Call(
      nullptr,
      [&](void* cbdata) {
        pmix_proc_t proc = {};
        PMIX_LOAD_PROCID(&proc, "tool", 3);
        Upcalls::OnTool(PMIX_SUCCESS, &proc, cbdata);
        return PMIX_SUCCESS;
      },
      [&](const HostAnswer& answer) { name = answer.proc; });
  loop_.RunOnce(0);
  EXPECT_EQ(name, (ProcId{"tool", 3}));
}

TEST_F(UpcallsTest, AnAcceptedConnectionIsHandedOver) {
  static pmix_connection_cbfunc_t give;
  static void* data;
  const auto accept = [](int, pmix_connection_cbfunc_t done, void* cbdata) {
    give = done;
    data = cbdata;
    return static_cast<pmix_status_t>(PMIX_SUCCESS);
  };
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  int taken = -1;
  const auto take = [&](UniqueFd fd) {
    taken = fd.get();
    EXPECT_NE(fcntl(taken, F_GETFL) & O_NONBLOCK, 0);
  };
  EXPECT_FALSE(upcalls().Listen(nullptr, 0, take));
  EXPECT_TRUE(upcalls().Listen(accept, 0, take));
  give(ends[0], data);
  EXPECT_EQ(taken, -1);
  loop_.RunOnce(0);
  EXPECT_EQ(taken, ends[0]);
  upcalls().Close();
  give(ends[1], data);  // closes the descriptor
  EXPECT_EQ(fcntl(ends[1], F_GETFD), -1);
}

}  // namespace
}  // namespace canopy::library
