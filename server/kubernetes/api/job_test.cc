#include "server/kubernetes/api/job.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace canopy::kubernetes {
namespace {

Job Parsed(const std::string& text) {
  const auto object = ParseJson(text);
  const auto job = object ? ParseJob(*object) : std::nullopt;
  EXPECT_TRUE(job) << text;
  return job.value_or(Job());
}

TEST(JobTest, ReadsAnIndexedJob) {
  const Job job = Parsed(
      R"({"metadata":{"name":"solver","namespace":"physics","uid":"77aa",
                      "annotations":{"canopy.dev/start":"gang","x":"y"}},
          "spec":{"completions":4,"parallelism":2,"completionMode":"Indexed",
                  "suspend":true},
          "status":{"active":2}})");
  EXPECT_EQ(job.name, "solver");
  EXPECT_EQ(job.nspace, "physics");
  EXPECT_EQ(job.uid, "77aa");
  EXPECT_EQ(job.annotations.size(), 1u);
  EXPECT_EQ(job.completions, 4u);
  EXPECT_EQ(job.parallelism, 2u);
  EXPECT_TRUE(job.indexed);
  EXPECT_TRUE(job.suspended);
  EXPECT_FALSE(job.complete);
  EXPECT_FALSE(job.failed);
}

TEST(JobTest, ReadsDefaults) {
  const Job job = Parsed(R"({"metadata":{"name":"a","uid":"1"}})");
  EXPECT_EQ(job.completions, 0u);
  EXPECT_EQ(job.parallelism, 1u);
  EXPECT_FALSE(job.indexed);
  EXPECT_FALSE(job.suspended);
  const Job odd = Parsed(
      R"({"metadata":{"name":"a","uid":"1"},
          "spec":{"completions":-1,"parallelism":"2","completionMode":1}})");
  EXPECT_EQ(odd.completions, 0u);
  EXPECT_EQ(odd.parallelism, 1u);
  EXPECT_FALSE(odd.indexed);
}

TEST(JobTest, ReadsHowTheJobHasEnded) {
  EXPECT_TRUE(Parsed(R"({"metadata":{"name":"a","uid":"1"},"status":{
      "conditions":[{"type":"Complete","status":"True"}]}})")
                  .complete);
  const Job failed = Parsed(R"({"metadata":{"name":"a","uid":"1"},"status":{
      "conditions":[{"type":"Complete","status":"False"},
                    {"type":"Failed","status":"True",
                     "reason":"DeadlineExceeded","message":"too long"}]}})");
  EXPECT_FALSE(failed.complete);
  EXPECT_TRUE(failed.failed);
  EXPECT_EQ(failed.failure_reason, "DeadlineExceeded");
  EXPECT_EQ(failed.failure_message, "too long");
}

TEST(JobTest, RejectsObjectsWithoutNameOrUid) {
  EXPECT_FALSE(ParseJob(Json()));
  EXPECT_FALSE(ParseJob(Json::object()));
  EXPECT_FALSE(ParseJob({{"metadata", {{"name", "a"}}}}));
}

}  // namespace
}  // namespace canopy::kubernetes
