#include "server/rpc/deferred_reads.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace canopy::rpc {
namespace {

class FakeReader : public DeferredReads::Reader {
 public:
  void ResumeRead() override { ++ended; }
  int ended = 0;
};

// A TCP connection within this process.
class Connection {
 public:
  Connection() {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const name = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listener, name, size), 0);
    EXPECT_EQ(listen(listener, 1), 0);
    EXPECT_EQ(getsockname(listener, name, &size), 0);
    far_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(connect(far_, name, size), 0);
    fd_ = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    close(listener);
  }
  ~Connection() {
    close(far_);
    CloseNear();
  }

  int fd() const { return fd_; }
  void Arrive(size_t bytes) {
    const std::string data(bytes, 'x');
    EXPECT_EQ(send(far_, data.data(), bytes, 0), static_cast<ssize_t>(bytes));
  }
  // Reads data as gRPC does when the connection is readable.
  void Take(size_t bytes) {
    std::string data(bytes, ' ');
    EXPECT_EQ(recv(fd_, data.data(), bytes, MSG_WAITALL),
              static_cast<ssize_t>(bytes));
  }
  void CloseNear() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int far_ = -1;
  int fd_ = -1;
};

class DeferredReadsTest : public ::testing::Test {
 protected:
  static constexpr size_t kMessage = 50;
  static constexpr size_t kPacket = kMessage + 14 + 22;

  // Delivers a single message; returns true if its reader defers the next read.
  bool Message(Connection* connection, FakeReader* reader) {
    reads_.BeginRound();
    connection->Arrive(kPacket);
    reads_.Found(connection->fd());
    connection->Take(kPacket);
    return reads_.Defer(reader, kMessage);
  }
  void LetDefer(Connection* connection, FakeReader* reader) {
    for (int i = 0; i < 10; ++i) {
      if (Message(connection, reader)) return;
    }
    FAIL() << "no read is deferred";
  }

  EventLoop loop_;
  DeferredReads reads_{&loop_};
  Connection connection_;
  FakeReader reader_;
};

TEST_F(DeferredReadsTest, AReadIsDeferredWhenItsConnectionIsKnown) {
  EXPECT_FALSE(Message(&connection_, &reader_));
  LetDefer(&connection_, &reader_);
  EXPECT_EQ(reader_.ended, 0);
}

TEST_F(DeferredReadsTest, ADeferredReadEndsWhenTheConnectionIsReadable) {
  LetDefer(&connection_, &reader_);
  reads_.BeginRound();
  EXPECT_FALSE(reads_.HaveReadable());
  reads_.Found(connection_.fd() + 1000);
  EXPECT_FALSE(reads_.HaveReadable());
  reads_.Found(connection_.fd());
  EXPECT_TRUE(reads_.HaveReadable());
  reads_.WakeReadable();
  EXPECT_EQ(reader_.ended, 1);
  EXPECT_FALSE(reads_.HaveReadable());
}

TEST_F(DeferredReadsTest, ADeferredReadIsNotReadableAfterItsMessageIsTaken) {
  LetDefer(&connection_, &reader_);
  EXPECT_FALSE(reads_.HaveReadable());
}

TEST_F(DeferredReadsTest, ADeferredReadEndsAfterTheLongestDelay) {
  LetDefer(&connection_, &reader_);
  while (reader_.ended == 0) loop_.RunOnce(-1);
  EXPECT_EQ(reader_.ended, 1);
}

TEST_F(DeferredReadsTest, AReadIsNotDeferredIfMoreThanOneMessageHasArrived) {
  LetDefer(&connection_, &reader_);
  reads_.WakeAll();
  reads_.BeginRound();
  connection_.Arrive(2 * kPacket);
  reads_.Found(connection_.fd());
  connection_.Take(2 * kPacket);
  EXPECT_FALSE(reads_.Defer(&reader_, kMessage));
  // The second of the two messages is handled here.
  EXPECT_FALSE(reads_.Defer(&reader_, kMessage));
}

TEST_F(DeferredReadsTest, UnreadBytesDoNotPreventADeferral) {
  LetDefer(&connection_, &reader_);
  reads_.WakeAll();
  reads_.BeginRound();
  connection_.Arrive(2 * kPacket);
  reads_.Found(connection_.fd());
  connection_.Take(kPacket);
  LetDefer(&connection_, &reader_);
}

TEST_F(DeferredReadsTest, WindowUpdatesDoNotPreventADeferral) {
  LetDefer(&connection_, &reader_);
  reads_.WakeAll();
  connection_.Arrive(26 + 22);
  connection_.Take(26 + 22);
  EXPECT_TRUE(Message(&connection_, &reader_));
}

TEST_F(DeferredReadsTest, WithoutTlsASingleExtraBytePreventsADeferral) {
  reads_.SetRecordBytes(0);
  for (int i = 0; i < 10; ++i) {
    reads_.BeginRound();
    connection_.Arrive(kMessage + 14 + 26 + 1);
    reads_.Found(connection_.fd());
    connection_.Take(kMessage + 14 + 26 + 1);
    EXPECT_FALSE(reads_.Defer(&reader_, kMessage));
  }
}

TEST_F(DeferredReadsTest, ReadsOfLargeMessagesAreNotDeferred) {
  constexpr size_t kLarge = 5000;
  for (int i = 0; i < 10; ++i) {
    reads_.BeginRound();
    connection_.Arrive(kLarge + 36);
    reads_.Found(connection_.fd());
    connection_.Take(kLarge + 36);
    EXPECT_FALSE(reads_.Defer(&reader_, kLarge));
  }
}

TEST_F(DeferredReadsTest, NoReadIsDeferredIfTwoConnectionsAreReadable) {
  Connection other;
  for (int i = 0; i < 10; ++i) {
    reads_.BeginRound();
    connection_.Arrive(kPacket);
    reads_.Found(connection_.fd());
    reads_.Found(other.fd());
    connection_.Take(kPacket);
    EXPECT_FALSE(reads_.Defer(&reader_, kMessage));
  }
}

TEST_F(DeferredReadsTest, AReadableConnectionEndsOnlyItsReadersRead) {
  Connection other;
  FakeReader second;
  LetDefer(&connection_, &reader_);
  LetDefer(&other, &second);
  reads_.BeginRound();
  reads_.Found(other.fd());
  reads_.WakeReadable();
  EXPECT_EQ(reader_.ended, 0);
  EXPECT_EQ(second.ended, 1);
}

TEST_F(DeferredReadsTest, TheReadOfAForgottenReaderIsNotEnded) {
  LetDefer(&connection_, &reader_);
  reads_.Forget(&reader_);
  reads_.BeginRound();
  reads_.Found(connection_.fd());
  EXPECT_FALSE(reads_.HaveReadable());
  reads_.WakeAll();
  EXPECT_EQ(reader_.ended, 0);
}

TEST_F(DeferredReadsTest, AReaderMayForgetAnotherInResumeRead) {
  class Forgetful : public FakeReader {
   public:
    void ResumeRead() override {
      ++ended;
      reads->Forget(other);
    }
    DeferredReads* reads = nullptr;
    FakeReader* other = nullptr;
  };
  Connection other;
  Forgetful first, second;
  first.reads = second.reads = &reads_;
  first.other = &second;
  second.other = &first;
  LetDefer(&connection_, &first);
  LetDefer(&other, &second);
  reads_.WakeAll();
  EXPECT_EQ(first.ended + second.ended, 1);
}

TEST_F(DeferredReadsTest, AReaderCanGetAnotherConnectionAfterTheFirstIsClosed) {
  LetDefer(&connection_, &reader_);
  reads_.WakeAll();
  connection_.CloseNear();
  EXPECT_FALSE(reads_.Defer(&reader_, kMessage));
  Connection next;
  LetDefer(&next, &reader_);
}

}  // namespace
}  // namespace canopy::rpc
