#include "client/cli/options/rankfile.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace canopy::cli {
namespace {

constexpr char kFile[] =
    "# the first node\n"
    "rank 1=b slot=1:0-2\n"
    "\n"
    "  rank 0=+n0  slots=0,2\r\n"
    "rank 2=a slot=0:*;1:1\n";

JobRequest Request(std::vector<uint32_t> counts) {
  JobRequest request;
  for (const uint32_t count : counts) {
    JobApp app;
    app.argv = {"./a"};
    app.num_procs = count;
    request.apps.push_back(app);
  }
  return request;
}

std::string HostsOf(const JobRequest& request) {
  std::string text;
  for (const JobApp& app : request.apps) {
    for (const Host& host : app.hosts) text += host.name + " ";
    text += "| ";
  }
  return text;
}

std::string Refusal(const std::string& text) {
  const auto file = ParseRankfile(text, "f");
  EXPECT_EQ(file.code(), kErrBadParam) << text;
  return file.status().message();
}

TEST(RankfileTest, RanksHaveTheirHostsAndCpus) {
  JobRequest request = Request({0});
  ASSERT_TRUE(ApplyRankfile(*ParseRankfile(kFile, "f"), "f", &request).ok());
  EXPECT_EQ(request.apps[0].num_procs, 3u);
  EXPECT_EQ(HostsOf(request), "+n0 b a | ");
  EXPECT_EQ(request.places.map_by, "seq");
  EXPECT_EQ(request.places.bind_to, "slots=0,2|1:0-2|0:*;1:1");
}

TEST(RankfileTest, RanksAreNumberedAcrossAllPrograms) {
  JobRequest request = Request({1, 2});
  request.places.bind_to = "none";
  ASSERT_TRUE(ApplyRankfile(*ParseRankfile(kFile, "f"), "f", &request).ok());
  EXPECT_EQ(HostsOf(request), "+n0 | b a | ");
  EXPECT_EQ(request.places.bind_to, "none");
}

TEST(RankfileTest, ASmallerJobUsesTheFirstLines) {
  JobRequest request = Request({2});
  ASSERT_TRUE(ApplyRankfile(*ParseRankfile(kFile, "f"), "f", &request).ok());
  EXPECT_EQ(request.places.bind_to, "slots=0,2|1:0-2");
}

TEST(RankfileTest, TheFileMayNameOnlyHostsOfTheCommandLine) {
  JobRequest request = Request({2});
  request.apps[0].hosts = {{"c", 4, true}, {"b"}};
  ASSERT_TRUE(ApplyRankfile(*ParseRankfile(kFile, "f"), "f", &request).ok());
  EXPECT_EQ(HostsOf(request), "c b | ");
  request = Request({3});
  request.apps[0].hosts = {{"c"}, {"b"}};
  EXPECT_EQ(ApplyRankfile(*ParseRankfile(kFile, "f"), "f", &request).message(),
            "f:5: host 'a' is none of those of --host or --hostfile");
}

TEST(RankfileTest, BadLinesAreNamed) {
  EXPECT_EQ(Refusal("rank 0=a slot=0\nrank 0=b slot=1"),
            "f:2: rank 0 has a line already, line 1");
  EXPECT_NE(Refusal("\nnode a").find("f:2: a line has the form"),
            std::string::npos);
  EXPECT_NE(Refusal("rank 0=a").find("'rank N=HOST slot=CORES'"),
            std::string::npos);
  EXPECT_EQ(Refusal("rank x=a slot=0"), "f:1: 'x' is no rank");
  EXPECT_EQ(Refusal("rank 0 slot=0"), "f:1: '0' is not RANK=HOST");
  EXPECT_EQ(Refusal("rank 0= slot=0"), "f:1: rank 0 has no host");
  EXPECT_EQ(Refusal("rank 0=a cpus=0"), "f:1: 'cpus=0' is not slot=CORES");
  EXPECT_NE(Refusal("rank 0=a slot=0-").find("f:1: '0-' is no list of cores"),
            std::string::npos);
  EXPECT_EQ(Refusal("# nothing\n"), "rankfile f names no rank");
}

TEST(RankfileTest, EveryRankNeedsALine) {
  JobRequest request = Request({4});
  EXPECT_EQ(ApplyRankfile(*ParseRankfile(kFile, "f"), "f", &request).message(),
            "f: rank 3 has no line, and the job has 4 processes");
  request = Request({0});
  const auto gap = ParseRankfile("rank 1=a slot=0", "f");
  EXPECT_EQ(ApplyRankfile(*gap, "f", &request).message(),
            "f: rank 0 has no line, and the job has 2 processes");
  request = Request({1, 0});
  EXPECT_NE(ApplyRankfile(*gap, "f", &request).message().find("needs its -n"),
            std::string::npos);
}

TEST(RankfileTest, ARankfileCannotBeCombinedWithOtherPolicies) {
  const auto refused = [](const JobPlaces& places) {
    JobRequest request = Request({1});
    request.places = places;
    const Status status =
        ApplyRankfile(*ParseRankfile(kFile, "f"), "f", &request);
    return status.message().substr(0, status.message().find(' '));
  };
  JobPlaces places;
  places.map_by = "node";
  EXPECT_EQ(refused(places), "--map-by");
  places.map_by = ":pe=2";
  EXPECT_EQ(refused(places), "--cpus-per-task");
  places.map_by = ":nooversubscribe";
  EXPECT_EQ(refused(places), "");
  places.rank_by = "node";
  EXPECT_EQ(refused(places), "--rank-by");
  places.rank_by = "";
  places.bind_to = "core";
  EXPECT_EQ(refused(places), "--bind-to");
}

TEST(RankfileTest, LoadingAMissingFileIsAnError) {
  EXPECT_NE(LoadRankfile("/nonexistent")
                .status()
                .message()
                .find("cannot read rankfile"),
            std::string::npos);
}

}  // namespace
}  // namespace canopy::cli
