#include "server/library/cleanups.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "common/codec/infos.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::library {
namespace {

const HostCaller kCaller{{"job", 0}, geteuid(), getegid()};

core::HostCallArrived Call(const InfoList& infos,
                           HostOp op = HostOp::kJobControl) {
  std::string bytes;
  EXPECT_EQ(EncodeInfos(infos.data(), infos.size(), &bytes), kSuccess);
  core::HostCallArrived call;
  call.op = op;
  call.call = Bytes(std::move(bytes));
  return call;
}

class CleanupsTest : public testing::Test {
 protected:
  CleanupsTest() {
    std::ofstream(path_) << "data";
    jobs_.AddClient(kCaller.proc, geteuid(), getegid(), nullptr);
  }
  ~CleanupsTest() override { unlink(path_.c_str()); }

  bool IsThere() const { return access(path_.c_str(), F_OK) == 0; }
  InfoList Registration() const {
    return {{PMIX_REGISTER_CLEANUP, Value::String(path_)}};
  }

  const std::string path_ = testing::TempDir() + "/cleanups_test." +
                            std::to_string(static_cast<long>(getpid()));
  HostedJobs jobs_;
  std::unique_ptr<Cleanups> cleanups_ = std::make_unique<Cleanups>(&jobs_);
};

TEST_F(CleanupsTest, CleanupsRunWhenTheirProcessEnds) {
  EXPECT_EQ(cleanups_->Take(kCaller, Call(Registration())), kSuccess);
  cleanups_->OnEnd({"job", 1});
  EXPECT_TRUE(IsThere());
  cleanups_->OnEnd(kCaller.proc);
  EXPECT_FALSE(IsThere());
}

TEST_F(CleanupsTest, CleanupsRunWhenTheirJobIsDropped) {
  EXPECT_EQ(cleanups_->Take(kCaller, Call(Registration())), kSuccess);
  cleanups_->DropJob("other");
  EXPECT_TRUE(IsThere());
  cleanups_->DropJob("job");
  EXPECT_FALSE(IsThere());
}

TEST_F(CleanupsTest, CleanupsRunWhenTheServerEnds) {
  EXPECT_EQ(cleanups_->Take(kCaller, Call(Registration())), kSuccess);
  cleanups_.reset();
  EXPECT_FALSE(IsThere());
}

TEST_F(CleanupsTest, ARelativePathIsRefused) {
  EXPECT_EQ(cleanups_->Take(kCaller, Call({{PMIX_REGISTER_CLEANUP,
                                            Value::String("no/full/path")}})),
            kErrBadParam);
}

TEST_F(CleanupsTest, CallsThatRequestMoreThanCleanupsArePassedToTheHost) {
  EXPECT_FALSE(cleanups_->Take(
      kCaller, Call({{PMIX_JOB_CTRL_KILL, Value::Bool(true)}})));
  InfoList both = Registration();
  both.Add(PMIX_JOB_CTRL_TERMINATE, Value::Bool(true));
  EXPECT_FALSE(cleanups_->Take(kCaller, Call(both)));
  EXPECT_FALSE(
      cleanups_->Take(kCaller, Call(Registration(), HostOp::kAllocate)));
  core::HostCallArrived malformed;
  malformed.call = Bytes(std::string("?"));
  EXPECT_FALSE(cleanups_->Take(kCaller, malformed));
}

}  // namespace
}  // namespace canopy::library
