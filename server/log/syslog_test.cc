#include "server/log/syslog.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "common/status.h"

namespace canopy::log {
namespace {

const ProcId kProc = {"job", 3};

// A daemon whose lines the test reads.
class SyslogTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/canopy-syslog-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    setenv("TZ", "UTC", 1);
    Listen();
  }
  void TearDown() override {
    unlink(Path().c_str());
    rmdir(directory_.c_str());
  }

  std::string Path() const { return directory_ + "/log"; }
  void Listen() {
    unlink(Path().c_str());
    daemon_ = UniqueFd(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    Path().copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(bind(daemon_.get(), reinterpret_cast<sockaddr*>(&address),
                   sizeof address),
              0);
  }
  std::string Line() {
    char buffer[16384];
    const ssize_t n = recv(daemon_.get(), buffer, sizeof buffer, 0);
    return n < 0 ? "" : std::string(buffer, static_cast<size_t>(n));
  }
  Syslog Make() {
    Syslog::Options options;
    options.path = Path();
    options.uid_of = [](const std::string&) { return 1000; };
    options.now_ns = [this] { return now_ns_; };
    return Syslog(std::move(options));
  }

  std::string directory_;
  UniqueFd daemon_;
  int64_t now_ns_ = 1;
};

TEST_F(SyslogTest, ALineNamesTheProcessAndItsUser) {
  Syslog syslog = Make();
  EXPECT_EQ(syslog.Put({kProc, 4, 1000000000, "text"}), kSuccess);
  EXPECT_EQ(Line(), "<12>Sep  9 01:46:40 canopy: job:3 (user 1000): text");
}

TEST_F(SyslogTest, ControlCharactersAreEscaped) {
  Syslog syslog = Make();
  EXPECT_EQ(syslog.Put({kProc, 0, 0, "a\n<0>Jan 1 root: b\x1b[2J"}), kSuccess);
  const std::string line = Line();
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
  EXPECT_EQ(Line(), "");
}

TEST_F(SyslogTest, LongTextsAndTooManyLinesOfAProcessAreRejected) {
  Syslog syslog = Make();
  EXPECT_EQ(syslog.Put({kProc, 3, 0, std::string(kMaxSyslogText + 1, 'x')}),
            kErrOutOfResource);
  int taken = 0;
  for (int i = 0; i < 1000; ++i) {
    if (syslog.Put({kProc, 3, 0, "x"}) == kSuccess) ++taken;
    Line();
  }
  EXPECT_EQ(taken, kSyslogBurst);
  EXPECT_EQ(syslog.Put({{"job", 4}, 3, 0, "another's"}), kSuccess);
  Line();
  now_ns_ += int64_t{1000} * 1000 * 1000;
  for (int i = 0; i < kSyslogRate; ++i) {
    EXPECT_EQ(syslog.Put({kProc, 3, 0, "x"}), kSuccess);
    Line();
  }
  EXPECT_EQ(syslog.Put({kProc, 3, 0, "x"}), kErrOutOfResource);
  syslog.DropJob("job");
  EXPECT_EQ(syslog.Put({kProc, 3, 0, "x"}), kSuccess);
}

TEST_F(SyslogTest, PutDoesNotWaitForADaemonThatDoesNotRead) {
  Syslog syslog = Make();
  int status = kSuccess;
  for (uint32_t i = 0; i < 10000 && status == kSuccess; ++i) {
    status = syslog.Put({{"job", i}, 3, 0, "x"});
  }
  EXPECT_EQ(status, kErrOutOfResource);
}

TEST_F(SyslogTest, PutReconnectsToARestartedDaemon) {
  Syslog syslog = Make();
  EXPECT_EQ(syslog.Put({kProc, 3, 0, "x"}), kSuccess);
  Listen();
  EXPECT_EQ(syslog.Put({kProc, 3, 0, "y"}), kSuccess);
  EXPECT_NE(Line(), "");
  unlink(Path().c_str());
  daemon_ = UniqueFd();
  EXPECT_EQ(syslog.Put({kProc, 3, 0, "z"}), kErrNotSupported);
}

}  // namespace
}  // namespace canopy::log
