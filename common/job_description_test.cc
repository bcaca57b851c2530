#include "common/job_description.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace canopy {
namespace {

JobRequest Whole() {
  JobRequest request;
  request.apps.push_back({"", {"./a", "\xff"}, {"A=1"}, "/wd", 3});
  request.apps[0].hosts = {{"n1", 2, true, {}}};
  request.apps[0].preload_program = true;
  request.apps[0].preload_files = "x,y";
  request.env = {"B=2"};
  request.cwd = "/home";
  request.name = "ocean";
  request.places.hosts = {{"+any", 2, true, {}}};
  request.places.map_by = "node";
  request.places.waits = true;
  request.places.memory_per_proc = uint64_t{5} << 32;
  request.process.umask = 0;
  request.process.limits = {{3, 65536}, {7, UINT64_MAX}};
  request.process.nice = NiceValue{-3};
  request.hints = {"long", "physics", JobPriority{-1}, {"a=1"}};
  request.inject = Inject::kNever;
  request.stdin_target = StdinTarget::kNone;
  request.kill_grace_seconds = 9;
  request.reports = kTimeoutStacks;
  request.debug.in_init.emplace();
  request.daemons = DebugDaemons{{"job", 1}, 2, 0};
  return request;
}

TEST(JobRequestTest, SurvivesEncoding) {
  const JobRequest request = Whole();
  const Result<JobRequest> back = DecodeJobRequest(EncodeJobRequest(request));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(EncodeJobRequest(*back), EncodeJobRequest(request));
  EXPECT_EQ(back->apps[0].argv[1], "\xff") << "arguments are any bytes";
  EXPECT_EQ(back->apps[0].hosts[0].slots, 2u);
  EXPECT_EQ(back->process.umask, 0u);
  EXPECT_EQ(back->process.limits, request.process.limits);
  EXPECT_EQ(back->process.nice, request.process.nice);
  EXPECT_EQ(back->places.memory_per_proc, uint64_t{5} << 32);
  EXPECT_EQ(back->hints.queue, "long");
  EXPECT_EQ(back->hints.account, "physics");
  EXPECT_EQ(back->hints.priority, JobPriority{-1});
  EXPECT_EQ(back->hints.others, request.hints.others);
  EXPECT_EQ(back->debug.in_init, request.debug.in_init);
  EXPECT_EQ(back->daemons->target, request.daemons->target);
}

TEST(JobRequestTest, AnEmptyRequestStaysEmptyAfterDecoding) {
  const Result<JobRequest> back =
      DecodeJobRequest(EncodeJobRequest(JobRequest()));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->process.umask, std::nullopt);
  EXPECT_EQ(back->process.nice, std::nullopt);
  EXPECT_FALSE(back->hints.any());
  EXPECT_EQ(back->daemons, std::nullopt);
  EXPECT_EQ(back->kill_grace_seconds, 2u);
}

TEST(JobRequestTest, MalformedBytesAreRejected) {
  const std::string all = EncodeJobRequest(Whole());
  EXPECT_EQ(DecodeJobRequest(all + "x").code(), kErrUnpackFailure);
  EXPECT_EQ(DecodeJobRequest(all.substr(0, all.size() - 1)).code(),
            kErrUnpackFailure);
}

TEST(JobRequestTest, InvalidValuesAreRejected) {
  const std::function<void(JobRequest*)> faults[] = {
      [](JobRequest* r) { r->name = "\xff"; },
      [](JobRequest* r) { r->places.map_by = "\xff"; },
      [](JobRequest* r) { r->apps[0].hosts[0].name = "\xff"; },
      [](JobRequest* r) { r->process.umask = 01000; },
      [](JobRequest* r) {
        r->process.limits = {{999, 1}};
      },
  };
  for (const auto& add_fault : faults) {
    JobRequest request = Whole();
    add_fault(&request);
    EXPECT_EQ(DecodeJobRequest(EncodeJobRequest(request)).code(), kErrBadParam);
  }
  JobRequest request = Whole();
  request.debug.in_app = std::vector<Rank>{3, 1};
  EXPECT_EQ(DecodeJobRequest(EncodeJobRequest(request)).code(),
            kErrUnpackFailure);
}

}  // namespace
}  // namespace canopy
