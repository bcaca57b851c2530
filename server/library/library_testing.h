// Shared by the tests of this package: a loop that handles the process's
// upcalls, and a job of two nodes.
#ifndef CANOPY_SERVER_LIBRARY_LIBRARY_TESTING_H_
#define CANOPY_SERVER_LIBRARY_LIBRARY_TESTING_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "common/event_loop.h"
#include "pmix_server.h"
#include "server/library/hosted_jobs.h"
#include "server/library/upcalls.h"
#include "server/registration/registration.h"

namespace canopy::library {

// Returns a job whose ranks 0 and 1 are on one node, and 2 and 3 on another;
// `self` is this node.
inline registration::Registration JobOfTwoNodes(const std::string& nspace,
                                                uint32_t self = 0) {
  registration::Registration told;
  told.job.nspace = nspace;
  told.job.apps.resize(1);
  told.job.apps[0].num_procs = 4;
  for (const char* name : {"n1", "n2"}) {
    JobNode node;
    node.name = name;
    node.agent = static_cast<NodeId>(told.job.nodes.size());
    told.job.nodes.push_back(node);
  }
  for (uint32_t node : {0u, 0u, 1u, 1u})
    told.job.procs.push_back({node, 0, ""});
  told.self_node = self;
  return told;
}

// Passes the process's upcalls to a loop of the test. A module has no data of
// its own, so its functions find the test by `current`.
template <typename Derived>
class WithUpcalls : public testing::Test {
 protected:
  WithUpcalls() {
    upcalls().Open(&loop_);
    EXPECT_TRUE(jobs_.AddJob(JobOfTwoNodes("job")).ok());
    jobs_.AddClient({"job", 0}, 7, 8, this);
    jobs_.AddClient({"job", 1}, 7, 8, this);
    EXPECT_TRUE(jobs_.MakeSpec("job").ok());
  }
  ~WithUpcalls() override {
    upcalls().Close();
    current = nullptr;
  }

  // `current` is set here because `this` is not yet a Derived in the
  // constructor.
  void SetUp() override { current = static_cast<Derived*>(this); }

  static Upcalls& upcalls() { return Upcalls::OfProcess(); }
  // Runs the posted tasks, and the tasks that these post.
  void Run() {
    for (int i = 0; i < 8; ++i) loop_.RunOnce(0);
  }

  inline static Derived* current = nullptr;
  EventLoop loop_;
  HostedJobs jobs_;
  canopy_server_module_t module_ = {};
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_LIBRARY_TESTING_H_
