#include "server/core/host/job_control.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "common/codec/encoder.h"
#include "common/status.h"

namespace canopy::core {
namespace {

constexpr uint32_t kRequired = 1;

class Infos {
 public:
  Infos& Flag(const std::string& key, bool value = true, uint32_t flags = 0) {
    Begin(key, flags, PMIX_BOOL).PutBool(value);
    return *this;
  }
  Infos& Text(const std::string& key, const std::string& text) {
    Begin(key, 0, PMIX_STRING).PutString(text);
    return *this;
  }
  Infos& Int(const std::string& key, int value) {
    Begin(key, 0, PMIX_INT).PutInt(value);
    return *this;
  }
  int Parse(JobControl* out) {
    Encoder all;
    all.PutSize(count_);
    return ParseJobControl(Bytes(all.Take() + body_.Take()), out);
  }
  int Status() {
    JobControl control;
    return Parse(&control);
  }

 private:
  Encoder& Begin(const std::string& key, uint32_t flags, uint16_t type) {
    ++count_;
    body_.PutString(key);
    body_.PutUint32(flags);
    body_.PutUint16(type);
    return body_;
  }
  size_t count_ = 0;
  Encoder body_;
};

TEST(JobControlTest, TheActions) {
  JobControl pause;
  EXPECT_EQ(Infos().Flag("pmix.jctrl.pause").Parse(&pause), kSuccess);
  EXPECT_EQ(pause.action, ControlAction::kSignal);
  EXPECT_EQ(pause.signal, 19);
  EXPECT_EQ(ActionName(pause), "pause");
  JobControl resume;
  EXPECT_EQ(Infos().Flag("pmix.jctrl.resume").Parse(&resume), kSuccess);
  EXPECT_EQ(ActionName(resume), "resume");
  JobControl signal;
  EXPECT_EQ(Infos().Int("pmix.jctrl.sig", 10).Parse(&signal), kSuccess);
  EXPECT_EQ(signal.signal, 10);
  JobControl kill;
  EXPECT_EQ(Infos().Flag("pmix.jctrl.kill").Parse(&kill), kSuccess);
  EXPECT_EQ(kill.action, ControlAction::kKill);
  JobControl term;
  EXPECT_EQ(Infos().Flag("pmix.jctrl.term").Parse(&term), kSuccess);
  EXPECT_EQ(term.action, ControlAction::kTerminate);
}

TEST(JobControlTest, OneThingAtATime) {
  EXPECT_EQ(Infos().Flag("pmix.jctrl.pause").Flag("pmix.jctrl.resume").Status(),
            kErrBadParam);
  EXPECT_EQ(
      Infos().Flag("pmix.jctrl.kill").Text("pmix.reg.cleanup", "/x").Status(),
      kErrBadParam);
  EXPECT_EQ(Infos().Flag("pmix.jctrl.pause", false).Status(), kErrBadParam);
  EXPECT_EQ(Infos().Text("pmix.jctrl.id", "me").Status(), kErrBadParam);
  EXPECT_EQ(Infos().Status(), kErrBadParam);
}

TEST(JobControlTest, Malformed) {
  EXPECT_EQ(Infos().Int("pmix.jctrl.sig", 0).Status(), kErrBadParam);
  EXPECT_EQ(Infos().Int("pmix.jctrl.sig", 65).Status(), kErrBadParam);
  EXPECT_EQ(Infos().Text("pmix.jctrl.sig", "10").Status(), kErrBadParam);
  EXPECT_EQ(Infos().Text("pmix.jctrl.defpset", "").Status(), kErrBadParam);
  JobControl control;
  EXPECT_EQ(ParseJobControl(Bytes(std::string("\xff")), &control),
            kErrBadParam);
  EXPECT_EQ(ParseJobControl(Bytes(), &control), kErrBadParam);
}

TEST(JobControlTest, WhatNobodyHonoursIsInTheResults) {
  JobControl control;
  EXPECT_EQ(Infos()
                .Text("pmix.jctrl.id", "me")
                .Text("pmix.jctrl.restart", "x")
                .Flag("pmix.jctrl.pause")
                .Parse(&control),
            kSuccess);
  EXPECT_EQ(control.refused, std::vector<std::string>{"pmix.jctrl.restart"});
  const Bytes results = ControlResults(control);
  EXPECT_NE(results.view().find("pmix.jctrl.restart"), std::string::npos);
  EXPECT_NE(results.view().find("not supported"), std::string::npos);
  EXPECT_NE(results.view().find("pmix.jctrl.id"), std::string::npos);
  EXPECT_TRUE(ControlResults(JobControl()).empty());
  EXPECT_EQ(Infos().Text("pmix.jctrl.restart", "x").Status(), kErrNotSupported);
  EXPECT_EQ(Infos()
                .Flag("pmix.jctrl.preempt", true, kRequired)
                .Flag("pmix.jctrl.pause")
                .Status(),
            kErrNotSupported);
}

}  // namespace
}  // namespace canopy::core
