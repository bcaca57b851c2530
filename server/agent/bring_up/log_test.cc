#include "server/agent/bring_up/log.h"

#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>

#include "server/net/log_gate.h"

namespace canopy::agent {
namespace {

using Level = core::LogLine::Level;

class LogTest : public ::testing::Test {
 protected:
  LogTest() {
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(out_)));
    SetLogPattern("node1");
  }

  int64_t Lines() const {
    const std::string text = out_.str();
    return std::count(text.begin(), text.end(), '\n');
  }

  std::ostringstream out_;
};

TEST_F(LogTest, AClaimedNameBeginsNoLineOfItsOwn) {
  Log({Level::kWarning, "refused x\n2026-01-01 error canopyd: y\x1b[2J"});
  EXPECT_EQ(Lines(), 1);
  EXPECT_NE(out_.str().find("node1: refused x\\n2026-01-01 error canopyd: "
                            "y\\x1b[2J"),
            std::string::npos)
      << out_.str();
}

TEST_F(LogTest, AFloodOfWarningsLeavesRoomForOthers) {
  for (int i = 0; i < 10000; ++i) {
    Log({Level::kWarning, "a warning of one kind"});
  }
  // The gate lets more lines pass if the flood takes longer than a second.
  EXPECT_LT(Lines(), net::LogGate::kBurst + 60);
  const int64_t flood = Lines();
  Log({Level::kError, "an error of another kind"});
  EXPECT_EQ(Lines(), flood + 1);
}

TEST_F(LogTest, AFloodOfOneUserLeavesRoomForTheSameLineOfAnother) {
  for (int i = 0; i < 10000; ++i) {
    Log({Level::kWarning, "a warning about a process", 7});
  }
  const int64_t flood = Lines();
  Log({Level::kWarning, "a warning about a process", 8});
  EXPECT_EQ(Lines(), flood + 1);
}

TEST_F(LogTest, InformationIsOffByDefaultAndComplete) {
  spdlog::set_level(spdlog::level::warn);
  Log({Level::kInfo, "information"});
  EXPECT_EQ(Lines(), 0);
  spdlog::set_level(spdlog::level::info);
  for (int i = 0; i < 1000; ++i) Log({Level::kInfo, "information"});
  EXPECT_EQ(Lines(), 1000);
}

}  // namespace
}  // namespace canopy::agent
