// A process that is initialised as rank 0 of a fake agent's job, for the tests
// of the client's entry points.
#ifndef CANOPY_CLIENT_ABI_CLIENT_FIXTURE_H_
#define CANOPY_CLIENT_ABI_CLIENT_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <initializer_list>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "client/session/fake_agent.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix.h"

namespace canopy::client {

// Returns an info list with these flags set.
inline InfoList Flags(std::initializer_list<const char*> keys) {
  InfoList infos;
  for (const char* key : keys) infos.Add(key, Value::Bool(true));
  return infos;
}

inline pmix_proc_t Proc(const std::string& nspace, Rank rank) {
  return ToC(ProcId{nspace, rank});
}

// The outcome of a non-blocking operation, and the thread of its callback.
struct OpResult {
  // A pmix_op_cbfunc_t whose cbdata is an OpResult.
  static void Set(pmix_status_t status, void* cbdata) {
    auto* result = static_cast<OpResult*>(cbdata);
    result->thread = std::this_thread::get_id();
    result->status.set_value(status);
  }
  // Waits for the callback.
  int Wait() { return status.get_future().get(); }

  std::promise<int> status;
  std::thread::id thread;
};

class ClientTest : public testing::Test {
 protected:
  ClientTest() : agent_(std::make_unique<FakeAgent>()) {
    EXPECT_EQ(PMIx_Init(&self_, nullptr, 0), PMIX_SUCCESS);
  }
  ~ClientTest() override {
    if (PMIx_Initialized()) {
      EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
    }
  }

  // Calls PMIx_Get and returns the value, which the result owns. *status is the
  // status of the call.
  static Value Get(const pmix_proc_t* proc, const char* key,
                   const InfoList& infos, int* status) {
    pmix_value_t* raw = nullptr;
    *status = PMIx_Get(proc, key, infos.data(), infos.size(), &raw);
    if (*status != PMIX_SUCCESS) return Value();
    Value value = Value::Adopt(raw);
    free(raw);
    return value;
  }
  Value Get(Rank rank, const char* key, const InfoList& infos = {}) {
    const pmix_proc_t proc = Proc(agent_->nspace(), rank);
    Value value = Get(&proc, key, infos, &status_);
    return value;
  }
  int Put(pmix_scope_t scope, const char* key, const Value& value) {
    return PMIx_Put(scope, key, const_cast<pmix_value_t*>(&value.raw()));
  }

  std::unique_ptr<FakeAgent> agent_;
  pmix_proc_t self_ = {};
  int status_ = 0;  // of the last Get
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_ABI_CLIENT_FIXTURE_H_
