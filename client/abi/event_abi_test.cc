#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "client/abi/client_fixture.h"
#include "common/local/events.h"

namespace canopy::client {
namespace {

using local::FrameType;

constexpr int kCode = -5000;
constexpr int kOtherCode = -5001;

// One call of a handler.
struct Call {
  std::string handler;
  int status = 0;
  ProcId source;
  InfoList infos;
  InfoList results;
};

// Records the calls of the handlers of a test.
class Log {
 public:
  void Add(Call run) {
    std::lock_guard<std::mutex> lock(mu_);
    runs_.push_back(std::move(run));
    changed_.notify_all();
  }
  std::vector<Call> Await(size_t count) {
    std::unique_lock<std::mutex> lock(mu_);
    changed_.wait(lock, [&] { return runs_.size() >= count; });
    return runs_;
  }
  std::vector<std::string> Names(size_t count) {
    std::vector<std::string> names;
    for (const Call& run : Await(count)) names.push_back(run.handler);
    return names;
  }
  size_t size() {
    std::lock_guard<std::mutex> lock(mu_);
    return runs_.size();
  }

 private:
  std::mutex mu_;
  std::condition_variable changed_;
  std::vector<Call> runs_;
};

Log* g_log = nullptr;
// The status that a handler returns, by the handler's name.
std::map<std::string, int>* g_outcomes = nullptr;
// Actions by the name of a handler, which runs its action before it reports its
// status.
std::map<std::string, std::function<void(size_t)>>* g_actions = nullptr;

void Handle(size_t reference, pmix_status_t status, const pmix_proc_t* source,
            pmix_info_t info[], size_t ninfo, pmix_info_t* results,
            size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
            void* cbdata) {
  Call run;
  run.status = status;
  run.source = FromC(*source);
  run.infos = InfoList::FromC(info, ninfo);
  run.results = InfoList::FromC(results, nresults);
  const std::string name =
      run.infos.FindString(PMIX_EVENT_HDLR_NAME).value_or("");
  run.handler = name;
  if (g_actions->count(name)) (*g_actions)[name](reference);
  InfoList mine;
  mine.Add("result.of", Value::String(name));
  const int outcome = g_outcomes->count(name) ? (*g_outcomes)[name]
                                              : PMIX_EVENT_NO_ACTION_TAKEN;
  g_log->Add(std::move(run));
  cbfunc(outcome, mine.mutable_data(), mine.size(), nullptr, nullptr, cbdata);
}

class EventTest : public ClientTest {
 protected:
  EventTest() {
    g_log = &log_;
    g_outcomes = &outcomes_;
    g_actions = &actions_;
  }
  // Ends the session before the data that its handlers use.
  ~EventTest() override { EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS); }

  int Register(const std::string& name, std::vector<int> codes,
               InfoList infos = {}) {
    infos.Add(PMIX_EVENT_HDLR_NAME, Value::String(name));
    return PMIx_Register_event_handler(codes.empty() ? nullptr : codes.data(),
                                       codes.size(), infos.mutable_data(),
                                       infos.size(), Handle, nullptr, nullptr);
  }
  // Raises an event that stays in this process.
  int Raise(int status, const InfoList& infos = {}) {
    return PMIx_Notify_event(status, nullptr, PMIX_RANGE_PROC_LOCAL,
                             infos.data(), infos.size(), nullptr, nullptr);
  }

  Log log_;
  std::map<std::string, int> outcomes_;
  std::map<std::string, std::function<void(size_t)>> actions_;
};

TEST_F(EventTest, HandlersRunInTheOrderOfTheirCategories) {
  Register("last", {kCode}, Flags({PMIX_EVENT_HDLR_LAST}));
  Register("default", {});
  Register("multi", {kCode, kOtherCode});
  Register("single", {kCode});
  Register("first", {}, Flags({PMIX_EVENT_HDLR_FIRST}));
  Raise(kCode);
  EXPECT_EQ(log_.Names(5), (std::vector<std::string>{"first", "single", "multi",
                                                     "default", "last"}));
}

TEST_F(EventTest, HandlersOfACategoryRunInTheOrderOfTheirPlaces) {
  Register("lastcat", {kCode}, Flags({PMIX_EVENT_HDLR_LAST_IN_CATEGORY}));
  Register("app1", {kCode}, Flags({PMIX_EVENT_HDLR_APPEND}));
  Register("plain1", {kCode});
  Register("pre1", {kCode}, Flags({PMIX_EVENT_HDLR_PREPEND}));
  Register("pre2", {kCode}, Flags({PMIX_EVENT_HDLR_PREPEND}));
  Register("plain2", {kCode});
  Register("app2", {kCode}, Flags({PMIX_EVENT_HDLR_APPEND}));
  Register("firstcat", {kCode}, Flags({PMIX_EVENT_HDLR_FIRST_IN_CATEGORY}));
  Raise(kCode);
  EXPECT_EQ(log_.Names(8),
            (std::vector<std::string>{"firstcat", "pre2", "pre1", "plain1",
                                      "plain2", "app1", "app2", "lastcat"}));
}

TEST_F(EventTest, HandlersRunBeforeAndAfterANamedHandler) {
  InfoList before;
  before.Add(PMIX_EVENT_HDLR_BEFORE, Value::String("a"));
  InfoList after;
  after.Add(PMIX_EVENT_HDLR_AFTER, Value::String("a"));
  InfoList unknown;
  unknown.Add(PMIX_EVENT_HDLR_AFTER, Value::String("nobody"));
  Register("a", {kCode});
  Register("b", {kCode});
  Register("unknown", {kCode}, unknown);
  Register("after", {kCode}, after);
  Register("before", {}, before);
  Raise(kCode);
  EXPECT_EQ(log_.Names(5),
            (std::vector<std::string>{"before", "a", "after", "b", "unknown"}));
}

TEST_F(EventTest, OnlyOneHandlerCanBeFirstAndOneLast) {
  const int first = Register("x", {}, Flags({PMIX_EVENT_HDLR_FIRST}));
  ASSERT_GE(first, 0);
  EXPECT_EQ(Register("y", {kCode}, Flags({PMIX_EVENT_HDLR_FIRST})),
            PMIX_ERR_EVENT_REGISTRATION);
  EXPECT_EQ(PMIx_Deregister_event_handler(first, nullptr, nullptr),
            PMIX_SUCCESS);
  EXPECT_GE(Register("y", {kCode}, Flags({PMIX_EVENT_HDLR_FIRST})), 0);
  EXPECT_GE(Register("l", {}, Flags({PMIX_EVENT_HDLR_LAST})), 0);
  EXPECT_EQ(Register("l", {}, Flags({PMIX_EVENT_HDLR_LAST})),
            PMIX_ERR_EVENT_REGISTRATION);
}

TEST_F(EventTest, ActionCompleteEndsTheChain) {
  outcomes_["a"] = PMIX_EVENT_ACTION_COMPLETE;
  Register("a", {kCode});
  Register("b", {kCode});
  Register("last", {}, Flags({PMIX_EVENT_HDLR_LAST}));
  Register("other", {kOtherCode});
  Raise(kCode);
  Raise(kOtherCode);
  EXPECT_EQ(log_.Names(3), (std::vector<std::string>{"a", "other", "last"}));
}

TEST_F(EventTest, AHandlerGetsTheResultsOfEarlierHandlers) {
  outcomes_["a"] = PMIX_EVENT_PARTIAL_ACTION_TAKEN;
  Register("a", {kCode});
  Register("b", {kCode});
  Register("c", {kCode});
  Raise(kCode);
  const std::vector<Call> runs = log_.Await(3);
  EXPECT_TRUE(runs[0].results.empty());
  ASSERT_EQ(runs[1].results.size(), 2u);
  EXPECT_EQ(KeyOf(runs[1].results[0]), "a");
  EXPECT_EQ(Value::FromC(runs[1].results[0].value),
            Value::Status(PMIX_EVENT_PARTIAL_ACTION_TAKEN));
  EXPECT_EQ(runs[1].results.FindString("result.of"), "a");
  EXPECT_EQ(runs[2].results.size(), 4u);
  EXPECT_EQ(KeyOf(runs[2].results[2]), "b");
}

TEST_F(EventTest, AHandlerGetsItsObjectAndTheEventsInfos) {
  int object = 0;
  pmix_value_t pointer = {};
  pointer.type = PMIX_POINTER;
  pointer.data.ptr = &object;
  InfoList infos;
  infos.Add(PMIX_EVENT_RETURN_OBJECT, Value::FromC(pointer));
  Register("a", {kCode}, infos);
  InfoList event;
  event.Add(PMIX_EVENT_TEXT_MESSAGE, Value::String("text"));
  Raise(kCode, event);
  const Call run = log_.Await(1)[0];
  EXPECT_EQ(run.status, kCode);
  EXPECT_EQ(run.source, (ProcId{agent_->nspace(), 0}));
  EXPECT_EQ(run.infos.FindString(PMIX_EVENT_TEXT_MESSAGE), "text");
  const pmix_info_t* got = run.infos.Find(PMIX_EVENT_RETURN_OBJECT);
  ASSERT_NE(got, nullptr);
  EXPECT_EQ(got->value.data.ptr, &object);
}

TEST_F(EventTest, ANonDefaultEventSkipsDefaultHandlers) {
  Register("default", {});
  Register("single", {kCode});
  Raise(kCode, Flags({PMIX_EVENT_NON_DEFAULT}));
  Raise(kOtherCode);
  EXPECT_EQ(log_.Names(2), (std::vector<std::string>{"single", "default"}));
}

TEST_F(EventTest, ACustomRangeSelectsTheReceivers) {
  Register("a", {kCode});
  const ProcId other{agent_->nspace(), 3};
  const ProcId self{agent_->nspace(), 0};
  InfoList infos;
  infos.Add(PMIX_EVENT_CUSTOM_RANGE, Value::ProcArray({&other, 1}));
  infos.Add("n", Value::Int(1));
  Raise(kCode, infos);
  infos.Set(PMIX_EVENT_CUSTOM_RANGE, Value::ProcArray({&self, 1}));
  infos.Set("n", Value::Int(2));
  Raise(kCode, infos);
  EXPECT_EQ(log_.Await(1)[0].infos.FindInt("n"), 2);
}

TEST_F(EventTest, TheRangeOfAHandlerFiltersSources) {
  const auto range = [](pmix_data_range_t r) {
    InfoList infos;
    infos.Add(PMIX_RANGE, Value::Integer(PMIX_DATA_RANGE, r));
    return infos;
  };
  Register("proc", {kCode}, range(PMIX_RANGE_PROC_LOCAL));
  Register("local", {kCode}, range(PMIX_RANGE_LOCAL));
  Register("nspace", {kCode}, range(PMIX_RANGE_NAMESPACE));
  Register("rm", {kCode}, range(PMIX_RANGE_RM));
  Register("all", {kCode}, range(PMIX_RANGE_GLOBAL));
  const auto from = [&](const ProcId& source) {
    agent_->SendEvent(kCode, source, PMIX_RANGE_GLOBAL, {});
  };
  from({agent_->nspace(), 1});
  EXPECT_EQ(log_.Names(3),
            (std::vector<std::string>{"local", "nspace", "all"}));
  from({agent_->nspace(), 2});
  EXPECT_EQ(log_.Names(5)[3], "nspace");
  from({"agent", 0});
  const std::vector<std::string> names = log_.Names(8);
  EXPECT_EQ(std::vector<std::string>(names.begin() + 5, names.end()),
            (std::vector<std::string>{"local", "rm", "all"}));
}

TEST_F(EventTest, AHandlerMayFilterByAffectedProcess) {
  const ProcId two{agent_->nspace(), 2};
  const ProcId three{agent_->nspace(), 3};
  InfoList infos;
  infos.Add(PMIX_EVENT_AFFECTED_PROC, Value::Proc(two));
  Register("of two", {kCode}, infos);
  InfoList event;
  event.Add(PMIX_EVENT_AFFECTED_PROC, Value::Proc(three));
  event.Add("n", Value::Int(1));
  Raise(kCode, event);
  event.Set(PMIX_EVENT_AFFECTED_PROC, Value::Proc(two));
  event.Set("n", Value::Int(2));
  Raise(kCode, event);
  EXPECT_EQ(log_.Await(1)[0].infos.FindInt("n"), 2);
}

TEST_F(EventTest, EventsWithoutAHandlerAreKeptForALaterHandler) {
  InfoList no_cache = Flags({PMIX_EVENT_DO_NOT_CACHE});
  Raise(kCode, no_cache);
  InfoList infos;
  infos.Add("n", Value::Int(1));
  Raise(kCode, infos);
  infos.Set("n", Value::Int(2));
  Raise(kCode, infos);
  Register("late", {kCode});
  const std::vector<Call> runs = log_.Await(2);
  EXPECT_EQ(runs[0].infos.FindInt("n"), 1);
  EXPECT_EQ(runs[1].infos.FindInt("n"), 2);
  Register("later", {kCode});
  Raise(kOtherCode);
  Register("end", {kOtherCode});
  EXPECT_EQ(log_.Names(3).back(), "end");
}

TEST_F(EventTest, TheAgentIsNotifiedOnceOfEachCode) {
  const int a = Register("a", {kCode});
  Register("b", {kCode, kOtherCode});
  Register("c", {kCode});
  const int d = Register("d", {});
  EXPECT_EQ(agent_->Count(FrameType::kEventsWanted), 3u);
  const Request wanted_frame = agent_->Await(FrameType::kEventsWanted, 2);
  const auto wanted = wanted_frame.As<local::Subscription>();
  EXPECT_FALSE(wanted.all);
  EXPECT_EQ(wanted.codes, std::vector<int>{kOtherCode});
  const Request all_frame = agent_->Await(FrameType::kEventsWanted, 3);
  const auto all = all_frame.As<local::Subscription>();
  EXPECT_TRUE(all.all);
  EXPECT_TRUE(all.codes.empty());
  EXPECT_EQ(PMIx_Deregister_event_handler(a, nullptr, nullptr), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Deregister_event_handler(d, nullptr, nullptr), PMIX_SUCCESS);
  const Request unwanted_frame = agent_->Await(FrameType::kEventsUnwanted);
  const auto unwanted = unwanted_frame.As<local::Subscription>();
  EXPECT_TRUE(unwanted.all);
  EXPECT_TRUE(unwanted.codes.empty());
}

TEST_F(EventTest, ARepeatedEventIsHandledOnce) {
  Register("a", {kCode});
  const ProcId other{agent_->nspace(), 1};
  for (const uint64_t number : {7, 7, 8, 0, 0}) {
    agent_->SendEvent(kCode, other, PMIX_RANGE_GLOBAL, {}, number);
  }
  Register("b", {kCode - 1});
  agent_->SendEvent(kCode - 1, other, PMIX_RANGE_GLOBAL, {}, 9);
  EXPECT_EQ(log_.Names(5), (std::vector<std::string>{"a", "a", "a", "a", "b"}));
}

TEST_F(EventTest, AnEventBeforeTheReplyToARegistrationIsDelivered) {
  agent_->On(FrameType::kEventsWanted,
             [](FakeAgent& agent, const Request& request) {
               agent.SendEvent(kCode, {"agent", 0}, PMIX_RANGE_GLOBAL, {});
               agent.Reply(request, kSuccess);
             });
  Register("a", {kCode});
  EXPECT_EQ(log_.Await(1)[0].source, (ProcId{"agent", 0}));
}

TEST_F(EventTest, ARegistrationThatTheAgentRefusesFails) {
  agent_->On(FrameType::kEventsWanted,
             [](FakeAgent& agent, const Request& request) {
               agent.Reply(request, kErrNotSupported);
             });
  EXPECT_EQ(Register("a", {kCode}), PMIX_ERR_NOT_SUPPORTED);
  agent_->On(FrameType::kEventsWanted, nullptr);
  EXPECT_GE(Register("b", {kCode}), 0);
  Raise(kCode);
  EXPECT_EQ(log_.Names(1), std::vector<std::string>{"b"});
}

struct Registered {
  static void Set(pmix_status_t status, size_t reference, void* cbdata) {
    static_cast<Registered*>(cbdata)->done.set_value({status, reference});
  }
  std::promise<std::pair<int, size_t>> done;
};

TEST_F(EventTest, ANonBlockingRegistrationReportsItsReference) {
  Registered registered;
  int code = kCode;
  Raise(kCode);
  ASSERT_EQ(PMIx_Register_event_handler(&code, 1, nullptr, 0, Handle,
                                        Registered::Set, &registered),
            PMIX_SUCCESS);
  const auto [status, reference] = registered.done.get_future().get();
  EXPECT_EQ(status, PMIX_SUCCESS);
  log_.Await(1);
  EXPECT_EQ(PMIx_Deregister_event_handler(reference, nullptr, nullptr),
            PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Deregister_event_handler(reference, nullptr, nullptr),
            PMIX_ERR_NOT_FOUND);
}

TEST_F(EventTest, ANonBlockingDeregistrationReportsByItsCallback) {
  std::promise<int> done;
  const auto on_done = [](pmix_status_t status, void* data) {
    static_cast<std::promise<int>*>(data)->set_value(status);
  };
  const int reference = Register("a", {kCode});
  EXPECT_EQ(PMIx_Deregister_event_handler(reference, on_done, &done),
            PMIX_SUCCESS);
  EXPECT_EQ(done.get_future().get(), PMIX_SUCCESS);
}

TEST_F(EventTest, ErrorsArePassedToCallbacks) {
  OpResult deregistered;
  ASSERT_EQ(PMIx_Deregister_event_handler(12345, OpResult::Set, &deregistered),
            PMIX_SUCCESS);
  EXPECT_EQ(deregistered.Wait(), PMIX_ERR_NOT_FOUND);
  EXPECT_NE(deregistered.thread, std::this_thread::get_id());
  OpResult notified;
  ASSERT_EQ(PMIx_Notify_event(kCode, nullptr, PMIX_RANGE_INVALID, nullptr, 0,
                              OpResult::Set, &notified),
            PMIX_SUCCESS);
  EXPECT_EQ(notified.Wait(), PMIX_ERR_BAD_PARAM);
  ASSERT_GE(Register("x", {}, Flags({PMIX_EVENT_HDLR_FIRST})), 0);
  InfoList first = Flags({PMIX_EVENT_HDLR_FIRST});
  Registered second;
  ASSERT_EQ(PMIx_Register_event_handler(nullptr, 0, first.mutable_data(), 1,
                                        Handle, Registered::Set, &second),
            PMIX_SUCCESS);
  EXPECT_EQ(second.done.get_future().get(),
            std::pair(PMIX_ERR_EVENT_REGISTRATION, SIZE_MAX));
}

TEST_F(EventTest, AHandlerMayRemoveItself) {
  actions_["a"] = [](size_t reference) {
    EXPECT_EQ(PMIx_Deregister_event_handler(reference, nullptr, nullptr),
              PMIX_SUCCESS);
  };
  Register("a", {kCode});
  Register("b", {kCode});
  Raise(kCode);
  Raise(kCode);
  EXPECT_EQ(log_.Names(3), (std::vector<std::string>{"a", "b", "b"}));
}

TEST_F(EventTest, DeregisterWaitsForARunningHandler) {
  std::promise<void> running;
  std::promise<void> go_on;
  std::atomic<bool> left{false};
  actions_["a"] = [&](size_t) {
    running.set_value();
    go_on.get_future().wait();
    left = true;
  };
  const int reference = Register("a", {kCode});
  Raise(kCode);
  running.get_future().wait();
  std::thread other([&] { go_on.set_value(); });
  EXPECT_EQ(PMIx_Deregister_event_handler(reference, nullptr, nullptr),
            PMIX_SUCCESS);
  EXPECT_TRUE(left);
  other.join();
}

TEST_F(EventTest, AOneShotHandlerRunsOnce) {
  Register("once", {kCode}, Flags({PMIX_EVENT_ONESHOT}));
  Register("always", {kCode});
  Raise(kCode);
  Raise(kCode);
  EXPECT_EQ(log_.Names(3),
            (std::vector<std::string>{"once", "always", "always"}));
}

TEST_F(EventTest, NotifySendsToTheAgentAndToThisProcess) {
  Register("a", {kCode});
  const ProcId three{agent_->nspace(), 3};
  const ProcId self{agent_->nspace(), 0};
  const std::vector<ProcId> receivers = {three, self};
  InfoList infos;
  infos.Add(PMIX_EVENT_CUSTOM_RANGE, Value::ProcArray(receivers));
  agent_->On(FrameType::kNotify, [&](FakeAgent& agent, const Request& request) {
    agent.SendEvent(kCode, three, PMIX_RANGE_CUSTOM, {});
    agent.Reply(request, kSuccess);
  });
  EXPECT_EQ(PMIx_Notify_event(kCode, nullptr, PMIX_RANGE_CUSTOM, infos.data(),
                              infos.size(), nullptr, nullptr),
            PMIX_SUCCESS);
  const Request in_frame = agent_->Await(FrameType::kNotify);
  const auto notify = in_frame.As<local::Notify>();
  EXPECT_EQ(notify.status, kCode);
  EXPECT_EQ(notify.range, PMIX_RANGE_CUSTOM);
  ASSERT_EQ(notify.receivers.size(), 2u);
  EXPECT_EQ(OwnerOf(notify.receivers[0]), three);
  const std::vector<Call> runs = log_.Await(2);
  EXPECT_EQ(runs[0].source, self);
  EXPECT_EQ(runs[1].source, three);
}

TEST_F(EventTest, NotifyRejectsMalformedCalls) {
  EXPECT_EQ(PMIx_Notify_event(kCode, nullptr, PMIX_RANGE_INVALID, nullptr, 0,
                              nullptr, nullptr),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Notify_event(kCode, nullptr, PMIX_RANGE_CUSTOM, nullptr, 0,
                              nullptr, nullptr),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Notify_event(kCode, nullptr, PMIX_RANGE_LOCAL, nullptr, 1,
                              nullptr, nullptr),
            PMIX_ERR_BAD_PARAM);
  for (const char* key : {"no.such", PMIX_EVENT_TERMINATE_JOB}) {
    InfoList infos;
    infos.Add(key, Value::Bool(true), PMIX_INFO_REQD);
    EXPECT_EQ(PMIx_Notify_event(kCode, nullptr, PMIX_RANGE_LOCAL,
                                infos.mutable_data(), 1, nullptr, nullptr),
              PMIX_ERR_NOT_SUPPORTED);
  }
}

TEST_F(EventTest, MalformedRegistrationsAreRejected) {
  EXPECT_EQ(PMIx_Register_event_handler(nullptr, 0, nullptr, 0, nullptr,
                                        nullptr, nullptr),
            PMIX_ERR_BAD_PARAM);
  InfoList infos;
  infos.Add("no.such", Value::Bool(true), PMIX_INFO_REQD);
  EXPECT_EQ(Register("a", {kCode}, infos), PMIX_ERR_NOT_SUPPORTED);
  infos.Clear();
  infos.Add(PMIX_RANGE, Value::Integer(PMIX_DATA_RANGE, PMIX_RANGE_CUSTOM));
  EXPECT_EQ(Register("a", {kCode}, infos), PMIX_ERR_BAD_PARAM);
}

TEST_F(EventTest, AnIdleProcessGetsTheLossOfItsAgentAsAnEvent) {
  Register("lost", {PMIX_ERR_LOST_CONNECTION});
  agent_->Die();
  EXPECT_EQ(log_.Await(1)[0].status, PMIX_ERR_LOST_CONNECTION);
}

TEST_F(EventTest, InitRaisesAnEventForADeclaredModel) {
  Register("default", {});
  Register("model", {PMIX_MODEL_DECLARED});
  InfoList infos;
  infos.Add(PMIX_PROGRAMMING_MODEL, Value::String("OpenMP"), PMIX_INFO_REQD);
  ASSERT_EQ(PMIx_Init(nullptr, infos.mutable_data(), infos.size()),
            PMIX_SUCCESS);
  EXPECT_EQ(log_.Await(1)[0].infos.FindString(PMIX_PROGRAMMING_MODEL),
            "OpenMP");
  EXPECT_EQ(log_.Names(1), std::vector<std::string>{"model"});
  EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
}

TEST_F(EventTest, AHandlerMayMakeBlockingCalls) {
  std::promise<int> result;
  actions_["a"] = [&](size_t) {
    result.set_value(PMIx_Fence(nullptr, 0, nullptr, 0));
  };
  Register("a", {kCode});
  Raise(kCode);
  EXPECT_EQ(result.get_future().get(), PMIX_SUCCESS);
}

void NeverDone(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t[], size_t,
               pmix_info_t*, size_t, pmix_event_notification_cbfunc_fn_t cbfunc,
               void* cbdata) {
  static_cast<void>(cbfunc);
  g_actions->at("never")(reinterpret_cast<size_t>(cbdata));
}

TEST_F(EventTest, AHandlerThatNeverEndsDoesNotDelayOtherEvents) {
  std::promise<size_t> ticket;
  actions_["never"] = [&](size_t t) { ticket.set_value(t); };
  int code = kCode;
  ASSERT_GE(PMIx_Register_event_handler(&code, 1, nullptr, 0, NeverDone,
                                        nullptr, nullptr),
            0);
  Register("next", {kCode});
  Register("other", {kOtherCode});
  Raise(kCode);
  ticket.get_future().wait();
  Raise(kOtherCode);
  EXPECT_EQ(log_.Names(1), std::vector<std::string>{"other"});
}

}  // namespace
}  // namespace canopy::client
