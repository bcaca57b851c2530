#include "server/kubernetes/identity/peer_pod.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/kubernetes/identity/cgroup_pod.h"

namespace canopy::kubernetes {
namespace {

namespace fs = std::filesystem;

const std::string kUid = "12345678-9abc-def0-1234-56789abcdef0";
const std::string kVictim = "00000000-0000-0000-0000-000000000000";
const std::string kId(64, 'a');
const std::string kCgroup = "0::/kubepods/pod" + kUid + "/" + kId + "\n";
constexpr int kPid = 4242;

struct Ends {
  UniqueFd server;
  UniqueFd client;
};

// A connection whose maker is the calling process.
Ends Pair() {
  int fds[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

void Write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

// A directory with the entries of a procfs that the agent reads. Descriptors
// with any small number have the same entry.
class FakeProc {
 public:
  FakeProc() {
    std::string path = "/tmp/peer-pod-XXXXXX";
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    path_ = path;
  }
  ~FakeProc() { fs::remove_all(path_); }

  void SetFdInfo(const std::string& text) {
    for (int fd = 0; fd < 64; ++fd) {
      Write(path_ / "self/fdinfo" / std::to_string(fd), text);
    }
  }
  void SetPid(const std::string& pid) {
    SetFdInfo("pos:\t0\nflags:\t02000002\nmnt_id:\t16\nino:\t9\nPid:\t" + pid +
              "\nNSpid:\t" + pid + "\t1\n");
  }
  void SetCgroup(const std::string& text) {
    Write(path_ / std::to_string(kPid) / "cgroup", text);
  }
  Result<PeerPod> Identify(int socket) const {
    return PeerPods(path_.string()).Identify(socket);
  }

 private:
  fs::path path_;
};

TEST(PeerPodTest, PeerIsIdentifiedByTheProcfsOfTheHost) {
  FakeProc proc;
  proc.SetPid(std::to_string(kPid));
  proc.SetCgroup(kCgroup);
  const Ends ends = Pair();
  const Result<PeerPod> peer = proc.Identify(ends.server.get());
  ASSERT_TRUE(peer.ok()) << peer.status().message();
  EXPECT_EQ(peer->pod_uid, kUid);
  EXPECT_EQ(peer->container_id, kId);
  EXPECT_EQ(peer->host_pid, kPid);
  ASSERT_TRUE(peer->pidfd);
  EXPECT_EQ(fcntl(peer->pidfd.get(), F_GETFD), FD_CLOEXEC);
}

struct Refusal {
  std::string name;
  std::string fdinfo;
  std::string cgroup;
  int code;
};

class RefusalTest : public testing::TestWithParam<Refusal> {};

TEST_P(RefusalTest, PeerIsRefusedWithAReason) {
  FakeProc proc;
  proc.SetFdInfo(GetParam().fdinfo);
  proc.SetCgroup(GetParam().cgroup);
  const Ends ends = Pair();
  const Result<PeerPod> peer = proc.Identify(ends.server.get());
  EXPECT_EQ(peer.code(), GetParam().code);
  EXPECT_FALSE(peer.status().message().empty());
}

INSTANTIATE_TEST_SUITE_P(
    , RefusalTest,
    testing::Values(
        Refusal{"EndedProcess", "Pid:\t-1\n", kCgroup, kErrLostConnection},
        Refusal{"ProcessOfAnotherNamespace", "Pid:\t0\n", kCgroup,
                kErrNotFound},
        Refusal{"NoNumber", "pos:\t0\n", kCgroup, kErrNotFound},
        Refusal{"WrongNumber", "Pid:\t../1\n", kCgroup, kErrNotFound},
        Refusal{"NumberTooLarge", "Pid:\t4294967295\n", kCgroup, kErrNotFound},
        Refusal{"NoSuchEntry", "Pid:\t17\n", kCgroup, kErrNotFound},
        Refusal{"ProcessOutsideOfPods", "Pid:\t4242\n", "0::/system.slice/x\n",
                kErrNoPermissions},
        Refusal{"GroupsTooLong", "Pid:\t4242\n",
                kCgroup + std::string(kMaxCgroupFile, '\n'), kErrOutOfResource},
        Refusal{"EntryTooLong", "Pid:\t4242\n" + std::string(1 << 16, '\n'),
                kCgroup, kErrOutOfResource}),
    [](const testing::TestParamInfo<Refusal>& info) {
      return info.param.name;
    });

TEST(PeerPodTest, MissingProcfsIsReported) {
  const Ends ends = Pair();
  const Result<PeerPod> peer =
      PeerPods("/nonexistent").Identify(ends.server.get());
  EXPECT_EQ(peer.code(), kErrNotFound);
  EXPECT_NE(peer.status().message().find("/nonexistent/self/fdinfo"),
            std::string::npos);
}

TEST(PeerPodTest, DescriptorThatIsNoSocketIsRefused) {
  const UniqueFd file(open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(PeerPods("/proc").Identify(file.get()).code(), kErrInvalidCred);
}

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Expects what the control groups of this process say, which may run anywhere.
void ExpectOwnPod(const Result<PeerPod>& peer, pid_t pid) {
  const std::optional<CgroupPod> own = FindPod(TextOf("/proc/self/cgroup"));
  if (!own) {
    EXPECT_EQ(peer.code(), kErrNoPermissions);
    EXPECT_NE(peer.status().message().find(std::to_string(pid)),
              std::string::npos);
    return;
  }
  ASSERT_TRUE(peer.ok()) << peer.status().message();
  EXPECT_EQ(peer->pod_uid, own->pod_uid);
  EXPECT_EQ(peer->host_pid, pid);
}

TEST(PeerPodTest, KernelNamesThisProcessAsThePeerOfItsOwnConnection) {
  const Ends ends = Pair();
  ExpectOwnPod(PeerPods("/proc").Identify(ends.server.get()), getpid());
}

// A child process that makes a connection to the test.
class Connector {
 public:
  // The child runs `body` with its end of the connection, and ends.
  explicit Connector(const std::function<void(int socket)>& body) {
    int listener[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, listener),
              0);
    const UniqueFd near(listener[0]);
    const UniqueFd far(listener[1]);
    child_ = fork();
    if (child_ == 0) {
      Ends ends = Pair();
      Send(far.get(), ends.server.get());
      ends.server.Reset();
      body(ends.client.get());
      _exit(0);
    }
    socket_ = Receive(near.get());
  }
  ~Connector() {
    socket_.Reset();
    Reap();
  }

  int socket() const { return socket_.get(); }
  pid_t pid() const { return child_; }
  // Waits for the end of the child without reaping it.
  void AwaitEnd() const {
    siginfo_t info;
    EXPECT_EQ(
        waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOWAIT), 0);
  }
  void Reap() {
    if (child_ > 0) waitpid(child_, nullptr, 0);
    child_ = 0;
  }

 private:
  static void Send(int channel, int fd) {
    char byte = 0;
    iovec data{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    *head = {CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    (void)!sendmsg(channel, &message, 0);
  }
  static UniqueFd Receive(int channel) {
    char byte = 0;
    iovec data{&byte, 1};
    int fd = -1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    EXPECT_EQ(recvmsg(channel, &message, MSG_CMSG_CLOEXEC), 1);
    if (const cmsghdr* const head = CMSG_FIRSTHDR(&message)) {
      memcpy(&fd, CMSG_DATA(head), sizeof fd);
    }
    return UniqueFd(fd);
  }

  pid_t child_ = 0;
  UniqueFd socket_;
};

void WaitForEndOf(int socket) {
  char byte;
  (void)!read(socket, &byte, 1);
}

TEST(PeerPodTest, PeerIsTheProcessThatMadeTheConnection) {
  Connector connector(WaitForEndOf);
  ExpectOwnPod(PeerPods("/proc").Identify(connector.socket()), connector.pid());
}

TEST(PeerPodTest, EndedConnectorIsRefusedAlthoughItsChildHasTheDescriptor) {
  Connector connector([](int socket) {
    if (fork() == 0) WaitForEndOf(socket);
  });
  connector.Reap();
  const Result<PeerPod> peer = PeerPods("/proc").Identify(connector.socket());
  EXPECT_EQ(peer.code(), kErrLostConnection) << peer.status().message();
}

// The fake procfs shows another process under the number of the ended peer.
TEST(PeerPodTest, NumberOfAnEndedPeerIsNotTakenForAnotherProcess) {
  FakeProc proc;
  proc.SetPid(std::to_string(kPid));
  proc.SetCgroup(kCgroup);
  Connector connector([](int) {});
  connector.AwaitEnd();
  const Result<PeerPod> peer = proc.Identify(connector.socket());
  EXPECT_EQ(peer.code(), kErrLostConnection) << peer.status().message();
}

// Makes the system calls of this process that name SO_PEERPIDFD fail as those
// of kernels without it.
void RemovePeerPidfd() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getsockopt, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 77, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOPROTOOPT),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter = {std::size(program), program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    _exit(99);
  }
}

// Returns the code of `identify` in a child process without SO_PEERPIDFD, with
// its sign changed.
int CodeWithoutPeerPidfd(const std::function<int()>& identify) {
  const pid_t child = fork();
  if (child == 0) {
    RemovePeerPidfd();
    _exit(-identify());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(PeerPodTest, OldKernelsIdentifyPeersInTheOwnProcfsOnly) {
  const Ends ends = Pair();
  const int socket = ends.server.get();
  FakeProc proc;
  proc.SetPid(std::to_string(kPid));
  proc.SetCgroup(kCgroup);
  EXPECT_EQ(CodeWithoutPeerPidfd([&] { return proc.Identify(socket).code(); }),
            -kErrNotSupported);
  const int usual = PeerPods("/proc").Identify(socket).code();
  EXPECT_EQ(CodeWithoutPeerPidfd(
                [&] { return PeerPods("/proc").Identify(socket).code(); }),
            -usual);
}

TEST(PeerPodTest, OldKernelsRefuseAPeerThatHasEnded) {
  Connector connector([](int) {});
  connector.Reap();
  EXPECT_EQ(CodeWithoutPeerPidfd([&] {
              return PeerPods("/proc").Identify(connector.socket()).code();
            }),
            -kErrLostConnection);
}

// Groups of a container of a pod in the machine's own hierarchy, where that may
// be changed.
class RealGroups {
 public:
  RealGroups() {
    for (const auto root : {"/sys/fs/cgroup/unified", "/sys/fs/cgroup",
                            "/sys/fs/cgroup/systemd"}) {
      std::error_code error;
      const fs::path groups = fs::path(root) / "kubepods";
      if (!fs::exists(fs::path(root) / "cgroup.procs")) continue;
      fs::create_directories(groups / ("pod" + uid_) / kId, error);
      if (error) continue;
      root_ = groups;
      return;
    }
  }
  ~RealGroups() {
    for (auto group = made_.rbegin(); group != made_.rend(); ++group) {
      rmdir(group->c_str());
    }
    if (!exists()) return;
    rmdir(container().c_str());
    rmdir(container().parent_path().c_str());
    rmdir(root_.c_str());
  }

  bool exists() const { return !root_.empty(); }
  const std::string& uid() const { return uid_; }
  fs::path container() const { return root_ / ("pod" + uid_) / kId; }
  // Makes the groups of a path below the container's.
  fs::path Make(const std::vector<std::string>& names) {
    fs::path group = container();
    for (const std::string& name : names) {
      group /= name;
      fs::create_directory(group);
      made_.push_back(group);
    }
    return group;
  }

 private:
  // Unlike the UID of any pod: those have a version.
  const std::string uid_ =
      "00000000-0000-0000-0000-" + std::to_string(100'000'000'000 + getpid());
  fs::path root_;
  std::vector<fs::path> made_;
};

TEST(PeerPodTest, ProcessInARealGroupOfAPodIsIdentified) {
  RealGroups groups;
  if (!groups.exists()) GTEST_SKIP() << "control groups cannot be made here";
  Connector connector(WaitForEndOf);
  std::ofstream(groups.container() / "cgroup.procs") << connector.pid();
  const Result<PeerPod> peer = PeerPods("/proc").Identify(connector.socket());
  ASSERT_TRUE(peer.ok()) << peer.status().message();
  EXPECT_EQ(peer->pod_uid, groups.uid());
  EXPECT_EQ(peer->container_id, kId);
  EXPECT_EQ(peer->host_pid, connector.pid());
}

TEST(PeerPodTest, ProcessInAGroupNamedAfterAnotherPodStaysInItsOwn) {
  RealGroups groups;
  if (!groups.exists()) GTEST_SKIP() << "control groups cannot be made here";
  const fs::path nested = groups.Make({"kubepods", "pod" + kVictim, kId});
  Connector connector(WaitForEndOf);
  std::ofstream(nested / "cgroup.procs") << connector.pid();
  const Result<PeerPod> peer = PeerPods("/proc").Identify(connector.socket());
  ASSERT_TRUE(peer.ok()) << peer.status().message();
  EXPECT_EQ(peer->pod_uid, groups.uid());
  ASSERT_NE(TextOf("/proc/" + std::to_string(connector.pid()) + "/cgroup")
                .find(kVictim),
            std::string::npos);
}

}  // namespace
}  // namespace canopy::kubernetes
